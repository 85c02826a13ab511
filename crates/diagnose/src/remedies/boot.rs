//! Changes of the kernel command line: by `clocksmith fix`, which knows this system's boot loader,
//! and by the tools of the distribution.

use super::offer::Offer;
use super::{Parameters, Plan};
use crate::CauseId as C;
use crate::causes::Case;
use clocksmith_facts::Arch;
use clocksmith_facts::log::Event;
use clocksmith_facts::shell::quote;
use clocksmith_facts::version::Vendor;
use clocksmith_kernel::Machine;
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};

/// The place of a setting for a word on the kernel command line.
const COMMAND_LINE: &str = "the kernel command line";

/// The change that introduced a parameter; `None`: every kernel that the rules cover has it.
fn feature(word: &str) -> Option<Feature> {
    Some(match word.split_once('=').unwrap_or((word, "")) {
        ("tsc", "nowatchdog") => Feature::TscNowatchdog,
        ("tsc", "unstable") => Feature::TscUnstableParameter,
        ("tsc", "recalibrate") => Feature::TscRecalibrate,
        ("tsc", "watchdog") => Feature::TscWatchdogParameter,
        ("tsc_early_khz", _) => Feature::TscEarlyKhz,
        ("intel_idle.max_cstate", _) => Feature::IntelIdle,
        _ => return None,
    })
}

/// Whether the kernel knows a parameter; `None`: only some of the kernels that the evidence allows do.
pub(super) fn knows(machine: &Machine, word: &str) -> Option<bool> {
    let Some(feature) = feature(word) else { return Some(true) };
    let has = |m: &Machine| feature.of(&m.kernel.value);
    open::ask_over(machine, &[OpenInput::KernelVersion], has).same
}

/// Whether distributions boot this architecture with GRUB.
fn boots_with_grub(machine: &Machine) -> bool {
    matches!(
        machine.arch.value,
        Arch::X86 | Arch::X86_64 | Arch::Arm64 | Arch::Powerpc | Arch::Riscv
    )
}

/// The vendor of the kernel, if it determines the boot loader.
fn vendor(case: &Case<'_>) -> Vendor {
    if boots_with_grub(case.machine) { case.machine.kernel.value.vendor } else { Vendor::Unknown }
}

/// Adds words to the kernel command line of later boots; older kernels among those that the evidence allows ignore
/// them.
pub(super) fn add(case: &Case<'_>, words: &[&str]) -> Offer {
    let options: Vec<String> =
        words.iter().map(|word| format!("--param {}", quote(word))).collect();
    let text = words.join(" ");
    let by_hand = match vendor(case) {
        Vendor::Rhel(_) | Vendor::Fedora | Vendor::Oracle | Vendor::Amazon => {
            format!("grubby --update-kernel=ALL --args={}", quote(&text))
        }
        Vendor::Debian | Vendor::Ubuntu => format!(
            "append {text} to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run update-grub"
        ),
        Vendor::Suse => format!(
            "append {text} to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run grub2-mkconfig -o \
             /boot/grub2/grub.cfg"
        ),
        Vendor::Unknown => format!("append {text} with this system's boot loader"),
    };
    let parameters = Parameters {
        add: words.iter().map(|word| (*word).to_owned()).collect(),
        remove: Vec::new(),
    };
    Offer { parameters, ..Offer::default() }
        .command(format!("sudo clocksmith fix {} --apply", options.join(" ")))
        .setting(COMMAND_LINE, text)
        .instruction(format!("without clocksmith: {by_hand}"))
        .instructions(words.iter().filter(|word| knows(case.machine, word).is_none()).filter_map(
            |word| {
                let since = feature(word)?.versions();
                let name = if word.starts_with("tsc=") {
                    word
                } else {
                    word.split('=').next().unwrap_or(word)
                };
                Some(format!("{name} exists {since}; older kernels ignore it"))
            },
        ))
}

/// Removes words from the kernel command line of later boots.
fn remove(case: &Case<'_>, words: &[String]) -> Offer {
    let plain = |word: &String| quote(word) == *word;
    let shown: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let text = shown.join(" ");
    let mut offer = Offer::default();
    // A word that needs quotes is not an ordinary parameter: clocksmith fix does not write such words.
    if words.iter().all(plain) {
        let options: Vec<String> =
            words.iter().map(|word| format!("--remove-param {word}")).collect();
        offer = offer.command(format!("sudo clocksmith fix {} --apply", options.join(" ")));
        offer.parameters.remove = words.to_vec();
    }
    let by_hand = match vendor(case) {
        Vendor::Rhel(_) | Vendor::Fedora | Vendor::Oracle | Vendor::Amazon => {
            "grubby --update-kernel=ALL --remove-args=... does so".to_owned()
        }
        Vendor::Debian | Vendor::Ubuntu => {
            "edit GRUB_CMDLINE_LINUX* in /etc/default/grub and /etc/default/grub.d, then run update-grub"
                .to_owned()
        }
        Vendor::Suse => "edit GRUB_CMDLINE_LINUX* in /etc/default/grub, then run grub2-mkconfig -o \
                         /boot/grub2/grub.cfg"
            .to_owned(),
        Vendor::Unknown => "use this system's boot loader".to_owned(),
    };
    offer.instruction(format!("remove {text}; without clocksmith: {by_hand}"))
}

/// Whether the kernel would choose another clocksource without the override: on architectures other than x86, one that
/// registered and is not rated last (`cr16_unstable` and similar ones are).
fn has_better(case: &Case<'_>) -> bool {
    if case.may_be_x86() {
        return true;
    }
    let asked = case.machine.cmdline.value.clocksource_override();
    let better = |name: &str| {
        !name.contains("jiffies") && !name.ends_with("_unstable") && asked.as_deref() != Some(name)
    };
    case.log().is_none_or(|log| {
        log.any(|event| matches!(event, Event::Registered { name, .. } if better(name)))
    })
}

/// Removes parameters that prevent a better choice.
pub(super) fn remove_parameter(plan: &Plan<'_>) -> Option<Offer> {
    let case = plan.case;
    let line = &case.machine.cmdline.value;
    let mut words = Vec::new();
    // A change that makes the TSC eligible again is not a remedy if the TSC is at fault.
    if plan.against_tsc().is_none() {
        let absent = matches!(case.expectation.tsc, TscState::NotPresent);
        if plan.has(C::CmdlineNotsc) {
            words.push("notsc".to_owned());
        }
        if plan.has(C::CmdlineTscUnstable) && !absent {
            words.push("tsc=unstable".to_owned());
        }
        let slow_override =
            plan.has(C::CmdlineClocksourceOverride) && case.slow == Some(true) && has_better(case);
        if slow_override || plan.likely(C::CmdlineClocksourceUnknown) {
            words.extend(line.clocksource_word());
        }
    }
    if plan.likely(C::TscMiscalibrated)
        && let Some(khz) = line.last("tsc_early_khz")
    {
        words.push(format!("tsc_early_khz={khz}"));
    }
    if plan.warns(C::AcpiDisabled) {
        words.push("acpi=off".to_owned());
    }
    if plan.has(C::VdsoBypassed) && line.last("vdso") == Some("0") {
        words.push("vdso=0".to_owned());
    }
    (!words.is_empty()).then(|| remove(case, &words))
}
