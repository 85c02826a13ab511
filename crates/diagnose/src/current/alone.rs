//! The clocksource in use if the log prints no switch: a tick from the command line, or the only counter of an
//! architecture.

use super::{Current, SETTLED_BY, known};
use crate::Confidence;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_facts::{Arch, Facts, Origin};
use clocksmith_kernel::feature::Feature;

/// `clocksource=jiffies` on the command line prints no switch: each boot begins with jiffies.
pub(super) fn never_left_jiffies(facts: &Facts, log: &KernelLog) -> Option<Current> {
    let wanted = facts.cmdline.value()?.clocksource_override()?;
    let settled = log.from_boot
        && log.extent.would_show_switch_after("jiffies")
        && log.any(|e| matches!(e, Event::Registered { .. }));
    (wanted == "jiffies" && settled && !log.any(|e| matches!(e, Event::Switched(_)))).then(|| {
        let source = format!("{}: the command line requests it, and nothing replaced it", log.name);
        known(wanted, Confidence::Medium, source)
    })
}

/// These architectures have one counter, which is in use from the kernel's choice on
/// (`clocksource_done_booting()`). A log that ends earlier shows a kernel that counts ticks, and no choice. On s390 the
/// kernel begins with the counter (`clocksource_default_clock()`). On RISC-V a timer of the board may outrank the
/// counter, and may register later in the boot.
pub(super) fn only_counter(facts: &Facts, log: &KernelLog) -> Option<Current> {
    let arch = facts.arch.value()?;
    let name = match arch {
        Arch::Arm64 => "arch_sys_counter",
        Arch::S390 => "tod",
        Arch::Powerpc => "timebase",
        Arch::Riscv | Arch::Riscv32 => "riscv_clocksource",
        _ => return None,
    };
    let (entry, ()) = log.last(|event| match event {
        Event::Registered { name: registered, .. } => (registered == name).then_some(()),
        Event::ArchTimer { .. } => (name == "arch_sys_counter").then_some(()),
        _ => None,
    })?;
    let end = log.ends_at(entry);
    // A boot may take minutes, and stop before the choice: seconds alone prove it only if the beginning was left out.
    let chosen = log.extent.reaches_user_space
        || log.extent.reaches_login
        || !log.from_boot && end.is_some_and(|end| end >= SETTLED_BY);
    // A few lines without the first one were selected from the log of a running machine.
    let is_log = log.any(|event| matches!(event, Event::Banner(_))) || log.extent.is_ordinary();
    if is_log && !chosen && *arch != Arch::S390 {
        return None;
    }
    if matches!(arch, Arch::Riscv | Arch::Riscv32) {
        let highest = facts.kernel.value().is_some_and(|kernel| Feature::RiscvRating400.of(kernel));
        let other = |event: &Event| match event {
            Event::Registered { name: other, .. } => other != name && !other.contains("jiffies"),
            _ => false,
        };
        if log.any(other) || !highest && !log.extent.reaches_user_space {
            return None;
        }
    }
    let source = format!("{}: the only counter of this architecture", log.source(entry));
    Some(known(name.to_owned(), Confidence::Medium, source))
}

/// A message of the read function of xen (`xen_clocksource_read()` in arch/x86/kernel/time-xen.c), which runs only for
/// the clocksource in use. On a live machine sysfs decides, and the line of the log is ignored.
pub(super) fn read_of_xen(facts: &Facts, log: &KernelLog) -> Option<Current> {
    let (entry, ()) = log.last(|event| matches!(event, Event::XenReadBackwards).then_some(()))?;
    let later = log
        .all(|event| matches!(event, Event::WroteCurrent(name) if name != "xen"))
        .any(|write| write.line > entry.line);
    let guest = facts.hypervisor.value().and_then(Option::as_ref);
    let of_xen = guest
        .is_some_and(|found| matches!(found.kind, HypervisorKind::Xen | HypervisorKind::XenPv));
    if later || !of_xen || !matches!(facts.origin, Origin::Log(_)) {
        return None;
    }
    let source = format!("{}: a read of the clocksource xen printed this line", log.source(entry));
    Some(known("xen".to_owned(), Confidence::Medium, source))
}

/// A read of the file, followed by a restart that requests a different clocksource and not by a further read.
pub(super) fn read_then_restarted(log: &KernelLog) -> Option<String> {
    let (asked, wanted) = log.last(|event| match event {
        Event::SetForNextBoot(name) => Some(name.clone()),
        _ => None,
    })?;
    let read = |event: &Event| match event {
        Event::ReadCurrent(was) => Some(was.clone()),
        _ => None,
    };
    let (entry, was) = log.last(read)?;
    let (restart, ()) = log.last(|event| matches!(event, Event::Restarted).then_some(()))?;
    (entry.line < asked.line && asked.line < restart.line && was != wanted).then(|| {
        let change = match wanted.as_str() {
            "" => "the parameters of the next boot were changed".to_owned(),
            _ => format!("{wanted} was requested for the next boot"),
        };
        format!(
            "it was {was} ({}); then {change} ({}), the machine was restarted ({}), and no reading follows",
            log.source(entry),
            log.source(asked),
            log.source(restart)
        )
    })
}

/// A read of the file, followed by a command that unregisters the clocksource that was read.
pub(super) fn read_then_unbound(log: &KernelLog) -> Option<String> {
    let (gone, name) = log.last(|event| match event {
        Event::Unbound(name) => Some(name.clone()),
        _ => None,
    })?;
    let (read, was) = log.last(|event| match event {
        Event::ReadCurrent(was) => Some(was.clone()),
        _ => None,
    })?;
    (read.line < gone.line && was == name).then(|| {
        format!(
            "it was {was} ({}), which was then unregistered by unbind_clocksource ({}); the kernel chose another one, and no \
             reading follows",
            log.source(read),
            log.source(gone)
        )
    })
}

/// A read of the file, followed by a write and not by a further read.
pub(super) fn read_then_written(log: &KernelLog) -> Option<String> {
    let (wrote, wanted) = log.last(|event| match event {
        Event::WroteCurrent(name) => Some(name.clone()),
        _ => None,
    })?;
    let reading = |event: &Event| matches!(event, Event::ReadCurrent(_) | Event::XenReadBackwards);
    if log.all(reading).any(|entry| entry.line > wrote.line) {
        return None;
    }
    let read = log.all(reading).take_while(|entry| entry.line < wrote.line).last()?;
    let was = match &read.event {
        Event::ReadCurrent(was) => was.as_str(),
        _ => "xen",
    };
    (was != wanted).then(|| {
        format!(
            "it was {was} ({}); then {wanted} was written to current_clocksource ({}) and not read \
             back: a write that the kernel refuses also succeeds",
            log.source(read),
            log.source(wrote)
        )
    })
}

/// A mail whose text names a different state from the older mail that it quotes.
pub(super) fn two_states(log: &KernelLog) -> Option<String> {
    let [newest, older] = log.quoted_states()?;
    Some(format!(
        "this text has two states: its newest part names {newest}, and an older quoted part names {older}"
    ))
}
