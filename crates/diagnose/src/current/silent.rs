//! A sysfs that lists only jiffies, whatever counter the kernel reads.
//!
//! 64-bit x86 kernels from 2.6.18 to 2.6.20 (and RHEL 5, whose kernel is a 2.6.18) have the directory in sysfs with
//! only jiffies in the list and in use, but read the time from another counter
//! (`arch/x86_64/kernel/time.c`; `CONFIG_GENERIC_TIME` came to x86_64 in 2.6.21).

use super::{Current, explained};
use clocksmith_facts::{Arch, Facts};
use clocksmith_kernel::Machine;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, Answer, OpenInput};

const INPUTS: [OpenInput; 2] = [OpenInput::KernelVersion, OpenInput::Architecture];

/// Whether the kernel reads the time from its clocksources, in every machine that the evidence allows.
fn reads_clocksources(machine: &Machine) -> Answer<bool> {
    open::ask_over(machine, &INPUTS, |m| {
        m.arch.value != Arch::X86_64 || Feature::SysfsClocksource64.of(&m.kernel.value)
    })
}

/// Whether only jiffies is listed, as on such a kernel.
fn lists_no_other(facts: &Facts) -> bool {
    facts.available_clocksources().is_none_or(|list| list == ["jiffies"])
}

/// Whether a list proves nothing, because the kernel may be one of those.
pub(super) fn says_nothing(machine: &Machine, list: &[String]) -> bool {
    matches!(list, [only] if only == "jiffies") && reads_clocksources(machine).same != Some(true)
}

/// Whether a value of sysfs comes from such a kernel.
pub(super) fn is_silent(facts: &Facts, machine: &Machine, current: &str) -> bool {
    current == "jiffies" && lists_no_other(facts) && reads_clocksources(machine).same == Some(false)
}

/// The inputs that decide whether a value of sysfs comes from such a kernel.
pub(crate) fn perhaps_silent(
    facts: &Facts,
    machine: &Machine,
    current: &Current,
) -> Vec<OpenInput> {
    let read = current.name.as_deref() == Some("jiffies") && facts.current_clocksource().is_known();
    if !read || !lists_no_other(facts) {
        return Vec::new();
    }
    reads_clocksources(machine).depends_on
}

/// The clocksource in use is unknown: only that value of sysfs is known.
pub(super) fn unread(place: &str) -> Current {
    explained(&format!(
        "sysfs shows jiffies ({place}), but 64-bit x86 kernels before 2.6.21 show jiffies with every counter; a line \
         of the boot names the counter: time.c: Using ... timer"
    ))
}

/// The text about sysfs that follows the line that names the counter.
pub(super) fn beside(facts: &Facts) -> &'static str {
    let read = facts.current_clocksource();
    if read.value().is_some_and(|name| *name == "jiffies") {
        "; sysfs shows jiffies, but such a kernel does not read jiffies"
    } else if facts.available_clocksources().is_some_and(|list| list == ["jiffies"]) {
        "; sysfs lists only jiffies, but such a kernel does not choose from that list"
    } else {
        ""
    }
}
