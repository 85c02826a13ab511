//! What changes on the kernel command line: by `clocksmith fix`, which knows this system's boot loader,
//! and by the distribution's own way.

use super::offer::{Offer, quote};
use super::{Parameters, Plan};
use crate::CauseId as C;
use crate::causes::Case;
use clocksmith_facts::version::Vendor;
use clocksmith_kernel::expectation::TscState;

/// Where a word for the kernel goes.
const COMMAND_LINE: &str = "the kernel command line";

/// Adds words to the kernel command line of later boots.
pub(super) fn add(case: &Case<'_>, words: &[&str]) -> Offer {
    let options: Vec<String> =
        words.iter().map(|word| format!("--param {}", quote(word))).collect();
    let text = words.join(" ");
    let by_hand = match case.machine.kernel.value.vendor {
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
}

/// Takes words off the kernel command line of later boots.
fn remove(case: &Case<'_>, words: &[String]) -> Offer {
    let plain = |word: &String| quote(word) == *word;
    let shown: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let text = shown.join(" ");
    let mut offer = Offer::default();
    // A word that needs quotes is no ordinary parameter: clocksmith fix does not write such words.
    if words.iter().all(plain) {
        let options: Vec<String> =
            words.iter().map(|word| format!("--remove-param {word}")).collect();
        offer = offer.command(format!("sudo clocksmith fix {} --apply", options.join(" ")));
        offer.parameters.remove = words.to_vec();
    }
    let by_hand = match case.machine.kernel.value.vendor {
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
        Vendor::Unknown => "with this system's boot loader".to_owned(),
    };
    offer.instruction(format!("to be taken off: {text}; without clocksmith: {by_hand}"))
}

/// Parameters that are in the way.
pub(super) fn remove_parameter(plan: &Plan<'_>) -> Option<Offer> {
    let case = plan.case;
    let line = &case.machine.cmdline.value;
    let mut words = Vec::new();
    // What lets the TSC be chosen again is no remedy where the TSC is at fault.
    if plan.against_tsc().is_none() {
        let absent = matches!(case.expectation.tsc, TscState::NotPresent);
        if plan.has(C::CmdlineNotsc) {
            words.push("notsc".to_owned());
        }
        if plan.has(C::CmdlineTscUnstable) && !absent {
            words.push("tsc=unstable".to_owned());
        }
        let slow_override = plan.has(C::CmdlineClocksourceOverride) && case.slow == Some(true);
        if slow_override || plan.likely(C::CmdlineClocksourceUnknown) {
            let word = line.clocksource_override();
            words.extend(word.map(|name| format!("clocksource={name}")));
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
