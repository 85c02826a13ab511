//! The difference of the wall clock from a clock that continues while a guest does not run.

use crate::Confidence;
use crate::cause::Evidence;
use clocksmith_facts::{Fact, Facts};

/// A difference to the host's clock below which nothing is reported, in seconds.
const HOST_MIN_S: f64 = 0.5;
/// The same for a real-time clock: it counts whole seconds, and two readings of it may each be one off.
const RTC_MIN_S: f64 = 3.0;
/// Real-time clocks that hypervisors emulate from the host's clock.
const EMULATED: [&str; 4] = ["rtc_cmos", "rtc-pl031", "rtc-efi", "goldfish_rtc"];
/// Time zones differ from UTC by multiples of that, in seconds, and by no more than 14 hours.
const ZONE_S: f64 = 900.0;
const ZONE_MOST_S: f64 = 14.0 * 3600.0;

/// Another clock, against the wall clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Difference {
    /// No such clock was read.
    Unknown,
    /// They agree.
    Agrees(Other),
    /// They differ.
    Differs(Other),
    /// They differ by whole quarters of an hour: the other one may keep local time.
    PerhapsZone(Other),
    /// They are so far apart that one of them is wrong, whatever machine it is.
    Apart(Other),
}

/// The other clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other {
    /// `the host's clock (ptp0)`.
    pub(super) words: String,
    /// `ptp0`.
    pub(super) name: String,
    /// How far the wall clock is behind it, in seconds.
    pub(super) behind_s: f64,
    /// How certain it is that this is the right one.
    pub(super) sure: Confidence,
    pub(super) evidence: Evidence,
}

/// The difference from the best of the other clocks. A real-time clock counts only in a guest, where the hypervisor
/// derives it from the host's clock: that of hardware drifts by seconds a day.
pub(super) fn difference(facts: &Facts, in_guest: bool) -> Difference {
    if let Fact::Known { value: clocks, source } = &facts.wall.clocks
        && let Some(host) = &clocks.host
    {
        let behind_s = seconds(host.ahead_ns);
        let other = Other {
            words: format!("the host's clock ({})", host.device),
            name: host.device.clone(),
            behind_s,
            sure: Confidence::High,
            evidence: Evidence::new(
                format!("/dev/{} against {source}", host.device),
                match behind_s >= 0.0 {
                    true => format!("the host's clock is ahead by {behind_s:.3} s"),
                    false => format!("the host's clock is behind by {:.3} s", behind_s.abs()),
                },
            ),
        };
        let least = HOST_MIN_S.max(2.0 * seconds(host.window_ns));
        return if behind_s.abs() < least {
            Difference::Agrees(other)
        } else {
            Difference::Differs(other)
        };
    }
    let Some((name, behind_s, local, source)) = real_time_clock(facts) else {
        return Difference::Unknown;
    };
    if !in_guest {
        let far = is_far(behind_s);
        return if far {
            Difference::Apart(clock(behind_s, &name, &source))
        } else {
            Difference::Unknown
        };
    }
    let other = |behind_s: f64| clock(behind_s, &name, &source);
    let zone = (behind_s / ZONE_S).round() * ZONE_S;
    let rest = behind_s - zone;
    let may_be_zone = zone != 0.0 && zone.abs() <= ZONE_MOST_S;
    if behind_s.abs() < RTC_MIN_S || local && may_be_zone && rest.abs() < RTC_MIN_S {
        return Difference::Agrees(other(if local { rest } else { behind_s }));
    }
    if may_be_zone && rest.abs() < RTC_MIN_S {
        return Difference::PerhapsZone(other(behind_s));
    }
    // In local time and behind by a few minutes: it is open which part is the zone.
    if local {
        return Difference::PerhapsZone(other(behind_s));
    }
    Difference::Differs(other(behind_s))
}

fn clock(behind_s: f64, name: &str, source: &str) -> Other {
    Other {
        words: format!("the real-time clock ({name})"),
        name: name.to_owned(),
        behind_s,
        sure: Confidence::Medium,
        evidence: Evidence::new(
            source.to_owned(),
            match behind_s >= 0.0 {
                true => format!("the real-time clock is ahead by {behind_s:.0} s"),
                false => format!("the real-time clock is behind by {:.0} s", behind_s.abs()),
            },
        ),
    }
}

/// Farther than a time zone, and than a real-time clock of hardware drifts in months.
fn is_far(behind_s: f64) -> bool {
    behind_s.abs() >= FAR_S && !is_of_zone(behind_s)
}

/// Whether a time zone explains a difference.
pub(super) fn is_of_zone(behind_s: f64) -> bool {
    let zone = (behind_s / ZONE_S).round() * ZONE_S;
    zone.abs() <= ZONE_MOST_S && (behind_s - zone).abs() < 60.0
}

/// A difference that no drift makes, in seconds.
const FAR_S: f64 = 3600.0;

/// Name, seconds ahead, whether it keeps local time, and where it was read.
fn real_time_clock(facts: &Facts) -> Option<(String, f64, bool, String)> {
    if let Fact::Known { value: clocks, .. } = &facts.wall.clocks
        && let Some(rtc) = &clocks.rtc
    {
        let known = EMULATED.contains(&rtc.name.as_str());
        let place = format!("{} against CLOCK_REALTIME", rtc.name);
        return known.then(|| (rtc.name.clone(), seconds(rtc.ahead_ns), rtc.local, place));
    }
    let Fact::Known { value, source } = &facts.wall.shown_rtc_ahead_s else { return None };
    // timedatectl's clocks are read one after the other, in whole seconds.
    #[allow(clippy::cast_precision_loss)]
    let ahead = *value as f64;
    let local = facts.wall.rtc_local.value() == Some(&true);
    Some(("RTC".to_owned(), ahead, local, source.0.clone()))
}

fn seconds(ns: i64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let seconds = ns as f64 / 1e9;
    seconds
}

/// A duration as text: `61.0 s`, `23 min`, `5.2 h`, `95.1 years`.
pub(super) fn text(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 600.0 => format!("{s:.1} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s if s < 86_400.0 * 731.0 => format!("{:.1} days", s / 86_400.0),
        s => format!("{:.1} years", s / (86_400.0 * 365.25)),
    }
}
