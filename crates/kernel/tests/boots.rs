//! Recorded boots of real kernels in QEMU: the model must predict the kernel's choice from the kernel's findings about
//! the machine, both with and without the log lines that state the choice.
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_facts::log::{self, Event};
use clocksmith_facts::tree::DirTree;
use clocksmith_facts::{Fact, Facts, Origin, collect};
use clocksmith_kernel::open::{self, OpenInput};
use clocksmith_kernel::{Machine, predict};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The kernel's choice.
#[derive(Debug, Deserialize, PartialEq)]
struct Truth {
    current: Option<String>,
    available: Option<Vec<String>>,
}

fn boots() -> Vec<PathBuf> {
    let boots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/boots");
    let mut boots: Vec<PathBuf> =
        std::fs::read_dir(boots).unwrap().map(|boot| boot.unwrap().path()).collect();
    boots.sort();
    assert!(boots.len() >= 12, "only {} boots found", boots.len());
    boots
}

fn facts(boot: &Path) -> Facts {
    let tree = DirTree::new(boot.join("root")).unwrap();
    let mut facts = collect::collect(&tree, Origin::Root("root".into()));
    log::complete(&mut facts);
    facts
}

fn truth(boot: &Path) -> Truth {
    serde_json::from_str(&std::fs::read_to_string(boot.join("truth.json")).unwrap()).unwrap()
}

fn predicted(facts: &Facts) -> Truth {
    let expectation = predict(&Machine::of(facts));
    Truth { current: expectation.current, available: expectation.available }
}

#[test]
fn predict_of_recorded_boot_is_what_the_kernel_chose() {
    for boot in boots() {
        assert_eq!(predicted(&facts(&boot)), truth(&boot), "{}", boot.display());
    }
}

/// The kernel's reports of its choice, in sysfs and in its log, are not an input of the model.
#[test]
fn predict_without_what_the_kernel_chose_is_the_same() {
    for boot in boots() {
        let mut facts = facts(&boot);
        facts.clocksources = Fact::default();
        if let Fact::Known { value: log, .. } = &mut facts.log {
            log.entries.retain(|entry| {
                !matches!(entry.event, Event::Switched(_) | Event::WatchdogCurrent(_))
            });
        }
        assert_eq!(predicted(&facts), truth(&boot), "{}", boot.display());
    }
}

/// A recorded boot leaves no input open on which its answer depends: every world that its evidence allows chooses the
/// same clocksource.
#[test]
fn ask_of_recorded_boot_is_what_the_kernel_chose() {
    for boot in boots() {
        let machine = Machine::of(&facts(&boot));
        let answer = open::ask(&machine, |machine| predict(machine).current);
        assert_eq!(answer.depends_on, [] as [OpenInput; 0], "{}", boot.display());
        assert_eq!(answer.same.flatten(), truth(&boot).current, "{}", boot.display());
    }
}

#[test]
fn a_reference_that_the_kernel_refused_is_not_registered() {
    let boot = |line: &str| {
        let text = format!(
            "[    0.000000] Linux version 5.15.0-91-generic (b@h) (x86_64-linux-gnu-gcc 11) #101 SMP\n\
             [    0.000000] Command line: root=/dev/sda1 ro\n\
             [    0.010000] ACPI: RSDP 0x00000000000F0490 000024 (v02 ACME)\n\
             [    0.010100] ACPI: HPET 0x00000000CA6E5498 000038 (v01 ACME A M I 01072009 AMI. 00000005)\n\
             [    0.020000] ACPI: PM-Timer IO Port: 0x408\n\
             [    0.025000] {line}\n\
             [    0.030000] smpboot: Allowing 8 CPUs, 0 hotplug CPUs\n"
        );
        let log = log::KernelLog::scan(text.as_bytes(), "log").unwrap();
        predict(&Machine::of(&Facts::from_log(log))).available.unwrap_or_default()
    };
    let lists = |list: &[String], name: &str| list.iter().any(|other| other == name);
    let whole = boot("ACPI: HPET id: 0x8086a201 base: 0xfed00000");
    assert!(lists(&whole, "hpet") && lists(&whole, "acpi_pm"), "{whole:?}");
    // The driver of /dev/hpet prints this line, and not the clocksource.
    assert!(lists(&boot("hpet_acpi_add: no address or irqs in _CRS"), "hpet"));
    for line in [
        "ACPI: HPET id: 0x8086a201 base: 0x0 is invalid",
        "ACPI: HPET timers must be located in memory.",
        "hpet: HPET dysfunctional in PC10. Force disabled.",
        "hpet: Counter not counting. HPET disabled",
        "hpet: Config register invalid. Disabling HPET",
        "x86/hpet: Will disable the HPET for this platform because it's not reliable",
    ] {
        let list = boot(line);
        assert!(!lists(&list, "hpet") && lists(&list, "acpi_pm"), "{line}: {list:?}");
    }
    for line in [
        "PM-Timer running at invalid rate: 200% of normal - aborting.",
        "PM-Timer had inconsistent results: 0xffff, 0xffff - aborting.",
        "PM-Timer failed consistency check  (0xffffff) - aborting.",
    ] {
        let list = boot(line);
        assert!(!lists(&list, "acpi_pm") && lists(&list, "hpet"), "{line}: {list:?}");
    }
}
