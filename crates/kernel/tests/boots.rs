//! Recorded boots of real kernels in QEMU: the model must say what the kernel chose, from what it found on the
//! machine, with the lines of its log in which it says what it chose and without them.
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_facts::log::{self, Event};
use clocksmith_facts::tree::DirTree;
use clocksmith_facts::{Fact, Facts, Origin, collect};
use clocksmith_kernel::open::{self, OpenInput};
use clocksmith_kernel::{Machine, predict};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What the kernel chose.
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

/// What the kernel says of its choice, in sysfs and in its log, is no input of the model.
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

/// A recorded boot leaves nothing open that its answer depends on: every world that its evidence allows chooses the
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
