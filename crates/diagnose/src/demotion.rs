//! The messages by which the kernel demotes a clocksource until the next boot.

use clocksmith_facts::Facts;
use clocksmith_facts::log::incident::reading::{Hypothesis, overflow};
use clocksmith_facts::log::{Entry, Event, KernelLog};

/// The clocksource that a message demotes until the next boot.
#[must_use]
pub fn demoted_by(event: &Event) -> Option<&str> {
    match event {
        Event::TscUnstable(_)
        | Event::FoundUnstableAfterBoot
        | Event::Warp { .. }
        | Event::WarpRandom
        | Event::WarpHeader { .. }
        | Event::CrossCheck
        | Event::CrossCheckOfOne
        | Event::ReadbackDelay { marks: true, tested: false, .. } => Some("tsc"),
        Event::ReadbackDelay { name, marks: true, tested: true, .. } => Some(name),
        Event::WatchdogMarked { name, .. }
        | Event::WatchdogOld { name, .. }
        | Event::WatchdogVerdict { name, .. } => Some(name),
        _ => None,
    }
}

/// Whether a message demotes the TSC until the next boot, or reports an earlier demotion.
#[must_use]
pub(crate) fn takes_tsc(event: &Event) -> bool {
    demoted_by(event).is_some_and(|name| name.starts_with("tsc")) || shows_marked_tsc(event)
}

/// Whether a message shows that the kernel has marked the TSC unstable, without saying when or why: KVM looks at the mark
/// where it starts a guest (`kvm_check_tsc_unstable()` in `arch/x86/kvm/x86.c`), and the kernel compares the counters of
/// several CPUs only for a clocksource in use that it has marked (`__clocksource_watchdog_kthread()`, 5.13 and later).
#[must_use]
pub(crate) fn shows_marked_tsc(event: &Event) -> bool {
    match event {
        Event::KvmTscUnreliable(text) => text.contains("host with unstable TSC"),
        Event::CrossCheck | Event::CrossCheckOfOne => true,
        _ => false,
    }
}

/// Whether a log demotes the TSC.
#[must_use]
pub(crate) fn demotes_tsc(log: &KernelLog) -> bool {
    log.any(takes_tsc)
}

/// Whether the watchdog found the TSC to differ from its reference and the kernel kept it (RHEL 6 without
/// `clocksource_failover`). Such a kernel lists the TSC whether it is right or wrong.
#[must_use]
pub(crate) fn differed_and_kept(log: &KernelLog) -> bool {
    log.any(|event| match event {
        Event::WatchdogKept { name, delta_ns } => {
            name.starts_with("tsc") && overflow_ns(*delta_ns).is_none()
        }
        _ => false,
    })
}

/// The overflow that gives a difference in nanoseconds: such a figure says nothing about either clock.
pub(crate) fn overflow_ns(delta_ns: i64) -> Option<Hypothesis> {
    #[allow(clippy::cast_precision_loss)]
    overflow(delta_ns as f64 / 1e9)
}

/// The last line of a log that demotes the TSC.
#[must_use]
pub fn last_of_tsc(log: &KernelLog) -> Option<&Entry> {
    log.last(|event| takes_tsc(event).then_some(())).map(|(entry, ())| entry)
}

/// Whether sysfs proves that a clocksource was not demoted.
#[must_use]
pub fn disproved_by_sysfs(facts: &Facts, name: &str) -> bool {
    listed_as_healthy(facts).is_some_and(|list| list.iter().any(|n| n == name))
}

/// Whether the list of clocksources is that of a directory in sysfs, and no part of a text.
#[must_use]
pub(crate) fn reads_directory(facts: &Facts) -> bool {
    facts.clocksources.source().is_some_and(|source| source.0.ends_with("/clocksource"))
}

/// The clocksources that sysfs proves not to be demoted; `None` if its list does not show it.
///
/// A demoted one loses `VALID_FOR_HRES` and gets rating 0 (`__clocksource_unstable()`,
/// `__clocksource_watchdog_kthread()`). While the tick is one-shot, it is not listed, and neither is jiffies
/// (`available_clocksource_show()`). While the tick is periodic, it is listed in the order of ratings
/// (`clocksource_enqueue()`): after jiffies, whose rating is 1. All versions.
#[must_use]
pub fn listed_as_healthy(facts: &Facts) -> Option<&[String]> {
    let listed = facts.available_clocksources()?;
    match listed.iter().position(|name| name.contains("jiffies")) {
        Some(at) => listed.get(..at),
        None if facts.tick_oneshot.value() == Some(&false) => None,
        None => Some(listed),
    }
}
