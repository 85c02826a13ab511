//! The watchdog's figures, combined and converted to seconds.
//!
//! One demotion is several lines: the verdict, the two counters, the skew, the cross check. An
//! [`Incident`] combines them; [`Incident::decode`] converts cycles to seconds. The possible meanings of the two
//! intervals, and their premises, are in [`reading`].

pub mod reading;

use super::event::{Event, Role, UnstableReason};
use super::rates::{ACPI_PM_HZ, HPET_RATES, Rates, hertz};
use super::{Entry, KernelLog};
use reading::{
    Fit, Hypothesis, MEASURABLE_S, Pair, Reading, readings, readings_of_difference,
    readings_of_ticks,
};
use serde::Serialize;

pub use reading::INTERVAL_S;
/// Lines after the first line of an incident that can still belong to it.
const REACH: u64 = 24;
/// Seconds by which the uptime of a machine can exceed its time stamps: the time before the kernel's clock began.
const MORE_THAN_STAMP_S: f64 = 60.0;
/// Wraps of the HPET that are tried to find its rate.
const WRAPS_TRIED: u32 = 6;

/// The reason why the watchdog acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The two clocks disagreed about the length of an interval.
    Skew,
    /// Reading the reference took too long, too often.
    ReferenceSlow,
    /// Reading the clocksource took too long.
    ClocksourceSlow,
    /// 7.1+: counters that were read in order on several CPUs returned values out of order.
    CpuOrder,
}

/// The progress of one counter in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Delta {
    /// Cycles, within the mask.
    pub cycles: u64,
    /// Counter mask.
    pub mask: u64,
    /// The same in nanoseconds by the kernel's conversion (5.14+).
    pub nsec: Option<i64>,
}

/// One action of the watchdog.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Incident {
    /// The clocksource under test.
    pub clocksource: String,
    /// The reference, if a line names it.
    pub watchdog: Option<String>,
    /// The reason why the watchdog acted.
    pub trigger: Trigger,
    /// The reference's interval.
    pub wd: Option<Delta>,
    /// The clocksource's interval.
    pub cs: Option<Delta>,
    /// A second reference and its interval in nanoseconds.
    pub second: Option<(String, i64)>,
    /// Clocksource minus reference in nanoseconds, where a line states it.
    pub skew_ns: Option<i64>,
    /// Interval by the reference in nanoseconds, where a line states it.
    pub interval_ns: Option<i64>,
    /// A cross check between CPUs found some ahead of or behind others.
    pub cpus_differ: bool,
    /// Only the old one-line message was seen (no reference named, interval assumed).
    pub old_style: bool,
    /// Seconds since boot.
    pub at: Option<f64>,
    /// Indices of its lines in [`KernelLog::entries`].
    pub entries: Vec<usize>,
}

/// The figures of an incident in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decoded {
    /// Interval by the reference, in seconds, without wraps.
    pub wd_seconds: Option<f64>,
    /// Interval by the clocksource, in seconds.
    pub cs_seconds: Option<f64>,
    /// Every hypothesis that fits the figures, the most plausible first; empty: the figures are
    /// missing or cannot be converted.
    pub readings: Vec<Reading>,
    /// The reference's rate is stated by the evidence or fixed by its standard. Otherwise `wd_seconds`, and every size
    /// derived from it, depends on an assumed rate, and must not be reported as a figure.
    pub wd_rate_known: bool,
}

impl Decoded {
    /// The most plausible reading; `None`: no figures, or several that are equally plausible.
    #[must_use]
    pub fn best(&self) -> Option<&Reading> {
        let first = self.readings.first()?;
        let alone = self.readings.get(1).is_none_or(|next| next.fit < first.fit);
        (alone || first.fit > Fit::Possible).then_some(first)
    }
}

/// Whether the log shows that the watchdog demoted the TSC. Slow reads and skipped checks do not.
#[must_use]
pub fn tsc_demoted(log: &KernelLog) -> bool {
    log.any(|event| matches!(event, Event::TscUnstable(UnstableReason::Watchdog)))
        || incidents(log).iter().any(|incident| incident.clocksource.starts_with("tsc"))
}

/// All actions of the watchdog in a log, in order.
#[must_use]
pub fn incidents(log: &KernelLog) -> Vec<Incident> {
    let mut all: Vec<Incident> = Vec::new();
    for (index, entry) in log.entries.iter().enumerate() {
        // Two consoles print each line twice.
        let twice = index.checked_sub(1).and_then(|last| log.entries.get(last));
        if twice.is_some_and(|last| last.event == entry.event && last.at == entry.at) {
            continue;
        }
        if let Some(mut new) = opens(entry) {
            // A skew line that follows its verdict is a detail, not another incident.
            let detail = matches!(entry.event, Event::WatchdogSkewed { .. })
                && open(&mut all, log, entry)
                    .is_some_and(|i| i.clocksource == new.clocksource && i.skew_ns.is_none());
            if !detail {
                adopt(&mut all, log, entry, &mut new);
                new.entries.push(index);
                all.push(new);
                continue;
            }
        }
        if let Some(incident) = open(&mut all, log, entry)
            && attach(incident, &entry.event)
        {
            name_by_detail(incident, log, entry);
            incident.entries.push(index);
        } else if let Event::WatchdogDetail { .. } = entry.event {
            // The kernel prints figures only for a demotion: its first line was omitted, or comes later in a text
            // whose newest line is the first.
            let mut headless = unopened(entry);
            attach(&mut headless, &entry.event);
            name_by_detail(&mut headless, log, entry);
            headless.entries.push(index);
            all.push(headless);
        }
    }
    all
}

/// Names the clocksource under test by the figures, if the first line is missing.
fn name_by_detail(incident: &mut Incident, log: &KernelLog, entry: &Entry) {
    let first = incident.entries.first().and_then(|index| log.entries.get(*index));
    let headless = first.is_none_or(|first| matches!(first.event, Event::WatchdogDetail { .. }));
    if let Event::WatchdogDetail { role: Role::Clocksource, name, .. } = &entry.event
        && headless
    {
        incident.clocksource.clone_from(name);
    }
}

/// Moves the figures to the incident whose first line is this one, in a text whose newest line is the first.
fn adopt(all: &mut Vec<Incident>, log: &KernelLog, entry: &Entry, new: &mut Incident) {
    let headless = |incident: &Incident| {
        incident.entries.first().and_then(|index| log.entries.get(*index)).is_some_and(|first| {
            matches!(first.event, Event::WatchdogDetail { .. })
                && entry.line.saturating_sub(first.line) <= REACH
        })
    };
    let fits = |incident: &Incident| {
        let clock = incident.cs.is_none() || incident.clocksource == new.clocksource;
        headless(incident) && clock && new.trigger == Trigger::Skew && !new.old_style
    };
    if !all.last().is_some_and(fits) {
        return;
    }
    if let Some(figures) = all.pop() {
        new.watchdog = new.watchdog.take().or(figures.watchdog);
        new.wd = figures.wd;
        new.cs = figures.cs;
        new.cpus_differ |= figures.cpus_differ;
        new.entries = figures.entries;
    }
}

/// The incident to which a line can still belong.
fn open<'a>(all: &'a mut [Incident], log: &KernelLog, entry: &Entry) -> Option<&'a mut Incident> {
    let last = all.last_mut()?;
    let first = log.entries.get(*last.entries.first()?)?;
    (entry.line.saturating_sub(first.line) <= REACH).then_some(last)
}

/// A new incident of the TSC without any details.
fn unopened(entry: &Entry) -> Incident {
    Incident {
        clocksource: "tsc".to_owned(),
        watchdog: None,
        trigger: Trigger::Skew,
        wd: None,
        cs: None,
        second: None,
        skew_ns: None,
        interval_ns: None,
        cpus_differ: false,
        old_style: false,
        at: entry.at,
        entries: Vec::new(),
    }
}

fn opens(entry: &Entry) -> Option<Incident> {
    let mut incident = unopened(entry);
    match &entry.event {
        Event::WatchdogMarked { name, .. } => incident.clocksource.clone_from(name),
        Event::WatchdogVerdict { name, inter_cpu } => {
            incident.clocksource.clone_from(name);
            if *inter_cpu {
                incident.trigger = Trigger::CpuOrder;
                incident.cpus_differ = true;
            }
        }
        Event::WatchdogOld { name, delta_ns } => {
            incident.clocksource.clone_from(name);
            incident.skew_ns = Some(*delta_ns);
            incident.old_style = true;
        }
        Event::WatchdogSkewed { name, skew_ns, watchdog, interval_ns } => {
            incident.clocksource.clone_from(name);
            incident.watchdog.clone_from(watchdog);
            incident.skew_ns = Some(*skew_ns);
            incident.interval_ns = *interval_ns;
        }
        Event::ReadbackDelay { name, marks: true, tested, .. } => {
            if *tested || name.starts_with("tsc") {
                incident.clocksource.clone_from(name);
                incident.trigger = Trigger::ClocksourceSlow;
            } else {
                incident.trigger = Trigger::ReferenceSlow;
                incident.watchdog = Some(name.clone());
            }
        }
        _ => return None,
    }
    Some(incident)
}

/// Adds a detail line; returns whether the line belongs to the incident.
fn attach(incident: &mut Incident, event: &Event) -> bool {
    match event {
        Event::WatchdogDetail { role, name, nsec, now, last, mask } => {
            let delta = Delta { cycles: now.wrapping_sub(*last) & mask, mask: *mask, nsec: *nsec };
            match role {
                Role::Watchdog => {
                    incident.watchdog = Some(name.clone());
                    incident.wd = Some(delta);
                }
                Role::Clocksource => incident.cs = Some(delta),
            }
        }
        Event::WatchdogSkewed { skew_ns, watchdog, interval_ns, .. } => {
            incident.watchdog = watchdog.clone().or_else(|| incident.watchdog.take());
            incident.skew_ns = Some(*skew_ns);
            incident.interval_ns = *interval_ns;
        }
        Event::WatchdogInterval { role, name, ns } => {
            let nsec = i64::try_from(*ns).ok();
            let delta = Delta { cycles: 0, mask: 0, nsec };
            match role {
                Role::Watchdog => {
                    incident.watchdog = Some(name.clone());
                    incident.wd = Some(delta);
                }
                Role::Clocksource => incident.cs = Some(delta),
            }
        }
        Event::WatchdogSecond { name, ns } => incident.second = Some((name.clone(), *ns)),
        Event::CrossCheckSkew { .. } | Event::WatchdogCpuOrder => incident.cpus_differ = true,
        Event::WatchdogCurrent(_)
        | Event::CrossCheck
        | Event::CrossCheckOfOne
        | Event::TscUnstable(_) => {}
        _ => return false,
    }
    true
}

impl Incident {
    /// Converts the figures to seconds.
    #[must_use]
    pub fn decode(&self, rates: &Rates) -> Decoded {
        if self.old_style {
            let periods = [wrap_period(0xff_ffff, ACPI_PM_HZ)]
                .into_iter()
                .chain(hpet_rates(rates).map(|hz| wrap_period(0xffff_ffff, hz)))
                .flatten()
                .collect::<Vec<f64>>();
            let of = |periods: &[f64]| {
                self.skew_ns
                    .map(|ns| readings_of_difference(from_ns(ns), periods))
                    .unwrap_or_default()
            };
            let mut readings = of(&periods);
            // If an HPET is the reference, figures that match wraps of the PM timer are a coincidence.
            if rates.has_hpet && of(&periods[1..]).iter().all(|reading| reading.fit < Fit::Likely) {
                for reading in &mut readings {
                    reading.fit = reading.fit.min(Fit::Possible);
                }
            }
            let mut decoded =
                Decoded { wd_seconds: None, cs_seconds: None, readings, wd_rate_known: true };
            self.within_uptime(&mut decoded);
            return decoded;
        }
        let cs_hz = self.cs.and_then(Delta::hz).or_else(|| rates.hz(&self.clocksource));
        let Some(wd_hz) = self.reference_hz(rates) else {
            let mut decoded = self.decode_at(None, cs_hz, rates);
            if let (true, Some(wd), Some(cs), None) = (self.counts_ticks(), self.wd, self.cs, cs_hz)
                && wd.mask != 0
                && cs.mask != 0
            {
                decoded.readings = readings_of_ticks(cs.signed(), hertz(wd.cycles));
                decoded.wd_rate_known = false;
            }
            return decoded;
        };
        self.decode_at(Some(wd_hz), cs_hz, rates)
    }

    /// Whether the reference is the timer tick.
    #[must_use]
    pub fn counts_ticks(&self) -> bool {
        self.watchdog.as_deref().is_some_and(|name| name.contains("jiffies"))
    }

    /// Removes jumps that are longer than the machine's uptime: the figure is of a counter whose conversion
    /// overflowed, or that wrapped.
    fn within_uptime(&self, decoded: &mut Decoded) {
        // Cycles are raw counter values: they need no conversion, and do not overflow.
        let raw = self.cs.is_some_and(|cs| cs.mask != 0);
        let Some(at) = self.at.filter(|_| !raw) else { return };
        decoded.readings.retain(|reading| match reading.hypothesis {
            Hypothesis::ClocksourceJumped { seconds }
            | Hypothesis::ReferenceJumped { seconds }
            | Hypothesis::StoodStill { seconds, .. } => seconds.abs() <= at + MORE_THAN_STAMP_S,
            _ => true,
        });
    }

    /// The reference's rate. For an HPET without a rate in the log, the one of its few common rates at which the
    /// clocks differ least, so that no clock is reported as at fault because of a guess.
    fn reference_hz(&self, rates: &Rates) -> Option<f64> {
        let name = self.watchdog.as_deref()?;
        let known = self.wd.and_then(Delta::hz).or_else(|| rates.hz(name));
        if known.is_some() || name != "hpet" {
            return known;
        }
        let wd = self.wd.filter(|delta| delta.mask != 0)?;
        let cs_hz = self.cs.and_then(Delta::hz).or_else(|| rates.hz(&self.clocksource));
        let cs = self.cs.and_then(|delta| seconds(delta, cs_hz)).unwrap_or(INTERVAL_S);
        // The rate at which the clocks agree within a read, after some wraps of the counter.
        let agrees = |hz: &f64| {
            let once = hertz(wd.cycles) / hz;
            let period = wrap_period(wd.mask, *hz).unwrap_or(0.0);
            cs > INTERVAL_S
                && (0..=WRAPS_TRIED)
                    .any(|wraps| (once + f64::from(wraps) * period - cs).abs() < MEASURABLE_S)
        };
        if let Some(hz) = HPET_RATES.into_iter().find(agrees) {
            return Some(hz);
        }
        let off = |hz: f64| (hertz(wd.cycles) / hz - cs).abs();
        HPET_RATES.into_iter().reduce(|best, hz| if off(hz) < off(best) { hz } else { best })
    }

    fn decode_at(&self, wd_hz: Option<f64>, cs_hz: Option<f64>, rates: &Rates) -> Decoded {
        let name = self.watchdog.as_deref().unwrap_or("");
        let wd_seconds = self
            .wd
            .and_then(|delta| seconds(delta, wd_hz))
            .or_else(|| self.interval_ns.map(from_ns));
        let cs_seconds = self
            .cs
            .and_then(|delta| seconds(delta, cs_hz))
            .or_else(|| Some(wd_seconds? + from_ns(self.skew_ns?)));
        let mask = self.wd.map(|delta| delta.mask).filter(|mask| *mask != 0).or(match name {
            "acpi_pm" => Some(0xff_ffff),
            "hpet" => Some(0xffff_ffff),
            _ => None,
        });
        let wd_hz = wd_hz.or_else(|| rates.hz(name));
        let period = mask.zip(wd_hz).and_then(|(mask, hz)| wrap_period(mask, hz));
        let stated = |delta: Option<Delta>| delta.and_then(|delta| delta.nsec);
        let raw = self.wd.is_some_and(|delta| delta.mask != 0);
        let wd_rate_known = name != "hpet"
            || rates.hpet.is_some()
            || self.wd.and_then(Delta::hz).is_some()
            || self.wd.is_some_and(|wd| wd.mask == 0 && wd.nsec.is_some())
            || self.interval_ns.is_some();
        let pair = wd_seconds.map(|wd| Pair {
            wd,
            cs: cs_seconds,
            cs_cycles: self.cs.filter(|delta| delta.mask != 0).map(Delta::signed),
            cs_hz,
            period,
            wd_zero: stated(self.wd) == Some(0) && !raw,
            repeats: stated(self.cs).is_some() || self.interval_ns.is_some(),
            ticks: name.contains("jiffies"),
            wd_rate_known,
        });
        let readings = pair.map(|pair| readings(&pair)).unwrap_or_default();
        let mut decoded = Decoded { wd_seconds, cs_seconds, readings, wd_rate_known };
        self.within_uptime(&mut decoded);
        decoded
    }
}

fn hpet_rates(rates: &Rates) -> impl Iterator<Item = f64> {
    let known = rates.hpet;
    HPET_RATES.into_iter().filter(move |_| known.is_none()).chain(known)
}

/// Cycles at a rate, or else the kernel's figure. The kernel's figure is zero if the counter went
/// back or too far, so the cycles come first.
fn seconds(delta: Delta, hz: Option<f64>) -> Option<f64> {
    match (delta.mask != 0, hz, delta.nsec) {
        (true, Some(hz), _) => Some(delta.signed() / hz),
        // Without a rate the kernel's zero proves nothing about a counter that moved.
        (true, None, Some(0)) if delta.cycles != 0 => None,
        (_, _, nsec) => nsec.map(from_ns),
    }
}

impl Delta {
    /// The cycles as a number: a 64-bit counter that went back has wrapped into the upper half.
    fn signed(self) -> f64 {
        #[allow(clippy::cast_possible_wrap)]
        match self.mask {
            u64::MAX => from_ns(self.cycles as i64) * 1e9,
            _ => hertz(self.cycles),
        }
    }

    /// The rate of the kernel's conversion, if the line contains both figures.
    fn hz(self) -> Option<f64> {
        let ns = self.nsec.filter(|ns| *ns >= 1_000_000)?;
        (self.mask != 0 && self.cycles > 0).then(|| hertz(self.cycles) / from_ns(ns))
    }
}

#[allow(clippy::cast_precision_loss)]
fn from_ns(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn wrap_period(mask: u64, hz: f64) -> Option<f64> {
    (mask != 0 && mask < u64::from(u32::MAX) + 1).then(|| (hertz(mask) + 1.0) / hz)
}

#[cfg(test)]
mod tests;
