//! The kernel's actions on its clocksources according to its log: part of the report.

use crate::demotion::demoted_by;
use clocksmith_facts::Facts;
use clocksmith_facts::log::Event;
use serde::{Deserialize, Serialize};

/// What a line of the kernel log says about clocksources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A clocksource was registered, which does not mean that it can be chosen.
    Registered,
    /// Another clocksource came into use.
    Switched,
    /// A choice of an administrator or a program: refused, deferred, or written to sysfs.
    Choice,
    /// The frequency of a counter was determined, or could not be.
    Calibration,
    /// The kernel compared clocks, or did not.
    Check,
    /// A clocksource or counter was found unfit.
    Unstable,
    /// The machine was suspended, came back, or was restored.
    Suspend,
    /// A step of a later version of this program, in a document that is read; never written.
    #[serde(other, skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Other,
}

/// One line of the kernel's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moment {
    /// Seconds since boot; null where the line has no time stamp.
    #[serde(default)]
    pub at: Option<f64>,
    /// The kind of the line.
    pub step: Step,
    /// File and line, such as `dmesg:112`.
    pub source: String,
    /// The text of the line.
    pub text: String,
}

/// The moments of the last boot in the log. Of each kind of message the first and the last 64 are kept.
pub(crate) fn of(facts: &Facts) -> Vec<Moment> {
    let Some(log) = facts.kernel_log() else { return Vec::new() };
    log.entries
        .iter()
        .filter_map(|entry| {
            let step = step(&entry.event)?;
            Some(Moment {
                at: entry.at,
                step,
                source: log.source(entry).0,
                text: entry.text.clone(),
            })
        })
        .collect()
}

/// The kind of event that a message reports about clocksources; `None` for a property of the machine.
fn step(event: &Event) -> Option<Step> {
    if demoted_by(event).is_some() {
        return Some(Step::Unstable);
    }
    Some(match event {
        Event::Registered { .. } | Event::KvmClock => Step::Registered,
        Event::Switched(_) | Event::TimeSource { .. } => Step::Switched,
        Event::Override { .. }
        | Event::WroteCurrent(_)
        | Event::Unbound(_)
        | Event::SetForNextBoot(_)
        | Event::Restarted
        | Event::NotscIgnored
        | Event::NotscRefused => Step::Choice,
        Event::Detected { .. }
        | Event::Refined { .. }
        | Event::Calibration(_)
        | Event::ApicCalibration { .. }
        | Event::RecalibrationDiffers
        | Event::SteeredTooFar(_)
        | Event::P0Mismatch => Step::Calibration,
        Event::SyncSkipped
        | Event::WatchdogDisabled
        | Event::WatchdogInterval { .. }
        | Event::WatchdogDetail { .. }
        | Event::WatchdogSecond { .. }
        | Event::WatchdogSkewed { .. }
        | Event::WatchdogCurrent(_)
        | Event::WatchdogCpuOrder
        | Event::DelayInjected
        | Event::SkewTestSkipped
        | Event::WatchdogRetried
        | Event::LongReadout { .. }
        | Event::LongReadoutCut
        | Event::CrossCheck
        | Event::CrossCheckOfOne
        | Event::RemoteTimeout
        | Event::WatchdogReadTimeout { .. } => Step::Check,
        Event::ReadbackDelay { .. } => Step::Check,
        Event::SchedClockUnstable
        | Event::TscAdjust(_)
        | Event::CrossCheckSkew { .. }
        | Event::HpetDisabled(_)
        | Event::PmTimerBad
        | Event::PmTimerRate { .. }
        | Event::LostTicks(_)
        | Event::HpetFallback
        | Event::XenClockNotice(_)
        | Event::CounterTrapped
        | Event::ArchTimerErratum(_)
        | Event::KvmTscUnreliable(_)
        | Event::DriftReport(_)
        | Event::TimeWentBackwards
        | Event::XenReadBackwards => Step::Unstable,
        Event::Suspend | Event::Resume | Event::VmFork => Step::Suspend,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clocksmith_facts::log::KernelLog;

    #[test]
    fn a_demotion_is_reported_in_its_order() {
        let log = "\
[    0.000000] Linux version 6.1.0 (gcc)
[    0.000000] Command line: quiet
[    0.100000] tsc: Detected 2400.000 MHz processor
[    0.200000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns
[    1.000000] clocksource: Switched to clocksource tsc
[  900.000000] tsc: Marking TSC unstable due to clocksource watchdog
[  900.000009] clocksource: Switched to clocksource hpet
";
        let facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "log").unwrap());
        let moments = of(&facts);
        let steps: Vec<_> = moments.iter().map(|moment| moment.step).collect();
        let wanted =
            [Step::Calibration, Step::Registered, Step::Switched, Step::Unstable, Step::Switched];
        assert_eq!(steps, wanted);
        assert_eq!(moments[3].at, Some(900.0));
        assert_eq!(moments[3].source, "log:6");
        assert!(moments[3].text.ends_with("clocksource watchdog"));
    }
}
