//! Which clocksource is in use: read, or concluded from the log.

use crate::Confidence;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::{Entry, Event, KernelLog};
use clocksmith_facts::{Arch, Facts};

/// The clocksource in use, how sure that is, and where it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// Name, where known.
    pub name: Option<String>,
    /// How sure.
    pub confidence: Confidence,
    /// Where it was read, or how it was concluded.
    pub source: String,
}

/// The clocksource in use.
#[must_use]
pub fn current(facts: &Facts) -> Current {
    if let clocksmith_facts::Fact::Known { value, source } = facts.current_clocksource() {
        return Current {
            name: Some(value.to_owned()),
            confidence: Confidence::High,
            source: source.0,
        };
    }
    let Some(log) = facts.kernel_log() else { return unknown("neither sysfs nor a kernel log") };
    from_log(facts, log)
}

fn unknown(why: &str) -> Current {
    Current { name: None, confidence: Confidence::Low, source: why.to_owned() }
}

fn from_log(facts: &Facts, log: &KernelLog) -> Current {
    let switched = log.last(|event| match event {
        Event::Switched(name) => Some(name.clone()),
        _ => None,
    });
    let demoted = last_demotion(log);
    if let Some((entry, name)) = &switched {
        let tsc = name.starts_with("tsc");
        let overtaken = demoted.as_ref().is_some_and(|(d, _)| d.line > entry.line);
        if !(tsc && overtaken) {
            let early = name == "tsc-early" || ends_early(log, entry, name);
            let confidence = if early { Confidence::Medium } else { Confidence::High };
            return Current { name: Some(name.clone()), confidence, source: log.source(entry).0 };
        }
    }
    if let Some((entry, Some(watchdog))) = demoted {
        // The watchdog is the highest-rated source that is not itself watched, so it is next in
        // line when the TSC goes (`clocksource_select_watchdog()`, all versions).
        if !watchdog.contains("jiffies") {
            return Current {
                name: Some(watchdog),
                confidence: Confidence::Medium,
                source: format!(
                    "{}: the reference that demoted the TSC is next in rank",
                    log.source(entry)
                ),
            };
        }
    }
    if let Some((entry, name)) = log.last(|event| match event {
        Event::WatchdogCurrent(name) => name.clone().filter(|n| !n.starts_with("tsc")),
        _ => None,
    }) {
        return Current {
            name: Some(name),
            confidence: Confidence::Medium,
            source: log.source(entry).0,
        };
    }
    if let Some(current) = never_left_jiffies(facts, log) {
        return current;
    }
    only_counter(facts, log).unwrap_or_else(|| unknown("the log does not say"))
}

/// The last line that takes the TSC away, with the reference that did it, if one is named.
fn last_demotion(log: &KernelLog) -> Option<(&Entry, Option<String>)> {
    let (entry, ()) = log.last(|event| match event {
        Event::TscUnstable(UnstableReason::Other(_)) => None,
        Event::TscUnstable(_) => Some(()),
        Event::WatchdogMarked { name, .. }
        | Event::WatchdogOld { name, .. }
        | Event::WatchdogVerdict { name, .. } => name.starts_with("tsc").then_some(()),
        Event::ReadbackDelay { marks: true, .. } => Some(()),
        _ => None,
    })?;
    let by_watchdog = !log.any(
        |event| matches!(event, Event::TscUnstable(reason) if *reason != UnstableReason::Watchdog),
    );
    let incidents = clocksmith_facts::log::incident::incidents(log);
    let watchdog = incidents.iter().rev().find_map(|incident| incident.watchdog.clone());
    Some((entry, watchdog.filter(|_| by_watchdog)))
}

/// A switch to hpet or acpi_pm in the first seconds of an old kernel's log: the TSC follows a second
/// later, behind the end of the excerpt.
fn ends_early(log: &KernelLog, entry: &Entry, name: &str) -> bool {
    let slow = crate::names::is_slow_by_nature(name);
    let in_first_seconds = entry.at.is_some_and(|at| at < 3.0);
    let log_ends = log.last_at.is_some_and(|at| at < 4.0);
    let demoted = log.any(|e| matches!(e, Event::TscUnstable(_)));
    slow && in_first_seconds && log_ends && !demoted
}

/// `clocksource=jiffies` on the command line prints no switch: jiffies is what a boot begins with.
fn never_left_jiffies(facts: &Facts, log: &KernelLog) -> Option<Current> {
    let wanted = facts.cmdline.value()?.clocksource_override()?;
    let settled = log.from_boot && log.any(|e| matches!(e, Event::Registered { .. }));
    (wanted == "jiffies" && settled && !log.any(|e| matches!(e, Event::Switched(_)))).then(|| {
        Current {
            name: Some(wanted),
            confidence: Confidence::Medium,
            source: format!("{}: the command line asks for it, and nothing replaced it", log.name),
        }
    })
}

/// On these architectures there is nothing to choose: the counter that registers is the one in use.
fn only_counter(facts: &Facts, log: &KernelLog) -> Option<Current> {
    let arch = facts.arch.value()?;
    let name = match arch {
        Arch::Arm64 => "arch_sys_counter",
        Arch::S390 => "tod",
        Arch::Powerpc => "timebase",
        Arch::Riscv => "riscv_clocksource",
        _ => return None,
    };
    let (entry, ()) = log.last(|event| match event {
        Event::Registered { name: registered, .. } => (registered == name).then_some(()),
        Event::ArchTimer { .. } => (name == "arch_sys_counter").then_some(()),
        _ => None,
    })?;
    Some(Current {
        name: Some(name.to_owned()),
        confidence: Confidence::Medium,
        source: format!("{}: the only counter of this architecture", log.source(entry)),
    })
}
