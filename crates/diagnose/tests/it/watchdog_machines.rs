//! Synthetic machines: a true TSC rate, the rate that the kernel assumes, a reference and one event. The
//! kernel's own arithmetic makes the log; a clock without a fault is never reported as certainly at fault.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_precision_loss)]

use clocksmith_diagnose::{CauseId, Confidence, Measured, Report, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use proptest::prelude::*;

/// A watchdog reference: name, true rate in Hz, mask, and whether a log line names its rate.
#[derive(Clone, Copy, Debug)]
struct Reference {
    name: &'static str,
    hz: f64,
    mask: u64,
    line: Option<&'static str>,
}

const REFERENCES: [Reference; 6] = [
    Reference { name: "acpi_pm", hz: 3_579_545.0, mask: 0xff_ffff, line: None },
    Reference {
        name: "hpet",
        hz: 14_318_180.0,
        mask: 0xffff_ffff,
        line: Some("hpet0: 3 comparators, 32-bit 14.318180 MHz counter"),
    },
    Reference { name: "hpet", hz: 14_318_180.0, mask: 0xffff_ffff, line: None },
    Reference { name: "hpet", hz: 100e6, mask: 0xffff_ffff, line: None },
    Reference { name: "kvm-clock", hz: 1e9, mask: u64::MAX, line: None },
    Reference { name: "refined-jiffies", hz: 250.0, mask: 0xffff_ffff, line: None },
];

/// The event, in seconds or as a factor.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// The TSC's true rate, as a factor of the rate that the kernel assumes.
    TscRate(f64),
    /// The TSC steps.
    TscStep(f64),
    /// The machine stops; both clocks continue.
    Stall(f64),
    /// The reference loses this part of the interval.
    ReferenceLoses(f64),
    /// The reference runs at another rate.
    ReferenceRate(f64),
    /// The reference is read late by this many seconds.
    Late(f64),
}

impl Happens {
    fn tsc_is_guilty(self) -> bool {
        matches!(self, Self::TscRate(_) | Self::TscStep(_))
    }
}

/// The format of the kernel's message.
#[derive(Clone, Copy, Debug)]
enum Era {
    /// Up to 4.0: only the difference.
    Difference,
    /// 4.1 to 5.13: cycles.
    Cycles,
    /// 5.14 to 7.0: cycles and nanoseconds.
    Nanoseconds,
}

#[derive(Clone, Copy, Debug)]
struct World {
    hz: f64,
    reference: Reference,
    happens: Happens,
    era: Era,
    rate_in_log: bool,
    tsc_in_use: bool,
    /// Start values of the two counters.
    starts: (u64, u64),
}

/// `clocksource_delta()` from 4.5 to 6.12: half the range counts as negative, which counts as zero.
fn clamped(delta: u64, mask: u64) -> u64 {
    if delta & !(mask >> 1) == 0 { delta } else { 0 }
}

impl World {
    /// True seconds that pass, and the interval that each counter shows.
    fn interval(&self) -> (f64, f64, f64) {
        let believed = 1.0;
        let (mut tsc, mut reference) = (believed, 1.0);
        let (mut step, mut lost, mut late, mut stall) = (0.0, 0.0, 0.0, 0.0);
        match self.happens {
            Happens::TscRate(factor) => tsc = factor,
            Happens::TscStep(seconds) => step = seconds,
            Happens::Stall(seconds) => stall = seconds,
            Happens::ReferenceLoses(seconds) => lost = seconds,
            Happens::ReferenceRate(factor) => reference = factor,
            Happens::Late(seconds) => late = seconds,
        }
        // The timer is due after half a second of the clock in use.
        let pace = if self.tsc_in_use { tsc } else { reference };
        let passed = 0.5 / pace + stall;
        (passed, passed * tsc + step, (passed + late) * reference - lost)
    }

    /// The kernel's log, or `None` if the kernel would not have acted.
    fn log(&self) -> Option<String> {
        let (_, cs, wd) = self.interval();
        if wd < 0.0 {
            return None;
        }
        let cs_delta = (cs * self.hz).round() as i64 as u64;
        let wd_delta = ((wd * self.reference.hz).floor() as u64) & self.reference.mask;
        let (wd_last, cs_last) = (self.starts.0 & self.reference.mask, self.starts.1);
        let wd_now = wd_last.wrapping_add(wd_delta) & self.reference.mask;
        let cs_now = cs_last.wrapping_add(cs_delta);
        let wd_ns = clamped(wd_delta, self.reference.mask) as f64 / self.reference.hz * 1e9;
        let cs_ns = clamped(cs_delta, u64::MAX) as f64 / self.hz * 1e9;
        let threshold = match self.era {
            Era::Nanoseconds if self.reference.name.contains("jiffies") => 32e6,
            Era::Nanoseconds => 500e3,
            _ => 62.5e6,
        };
        let difference = cs_ns - wd_ns;
        if difference.abs() <= threshold {
            return None;
        }
        let mut log = String::from("[    0.000000] Linux version 5.19.0 (x@y)\n");
        if let Some(line) = self.reference.line {
            log += &format!("[    0.300000] {line}\n");
        }
        if self.rate_in_log {
            log += &format!("[    0.000001] tsc: Detected {:.3} MHz processor\n", self.hz / 1e6);
        }
        let name = self.reference.name;
        let mark = "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable \
                    because the skew is too large:";
        let mask = self.reference.mask;
        log += &match self.era {
            Era::Difference => {
                format!("[  900.0] Clocksource tsc unstable (delta = {difference:.0} ns)\n")
            }
            Era::Cycles => format!(
                "[  900.0] {mark}\n\
                 [  900.1] clocksource: '{name}' wd_now: {wd_now:x} wd_last: {wd_last:x} mask: {mask:x}\n\
                 [  900.2] clocksource: 'tsc' cs_now: {cs_now:x} cs_last: {cs_last:x} mask: ffffffffffffffff\n"
            ),
            Era::Nanoseconds => format!(
                "[  900.0] {mark}\n\
                 [  900.1] clocksource: '{name}' wd_nsec: {wd_ns:.0} wd_now: {wd_now:x} wd_last: {wd_last:x} mask: {mask:x}\n\
                 [  900.2] clocksource: 'tsc' cs_nsec: {cs_ns:.0} cs_now: {cs_now:x} cs_last: {cs_last:x} mask: ffffffffffffffff\n"
            ),
        };
        Some(log)
    }

    /// Whether a step that ends at a whole number of the reference's periods looks like a stall.
    fn is_coincidence(&self) -> bool {
        let Happens::TscStep(step) = self.happens else { return false };
        if self.reference.mask == u64::MAX {
            return false;
        }
        let period = (self.reference.mask as f64 + 1.0) / self.reference.hz;
        let turns = (step / period).round();
        turns != 0.0 && (step - turns * period).abs() < 0.005 * period
    }
}

fn read(text: &str) -> Report {
    let facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "dmesg").unwrap());
    assess(facts, Measured::default()).report
}

fn signed(range: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
    (range.start.ln()..range.end.ln(), any::<bool>())
        .prop_map(|(size, back)| if back { -size.exp() } else { size.exp() })
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        signed(0.0005..0.28).prop_map(|off| Happens::TscRate(1.0 + off)),
        signed(0.002..100_000.0).prop_map(Happens::TscStep),
        (0.1_f64..5.0).prop_map(|size| Happens::Stall(size.exp())),
        (0.001_f64..0.5).prop_map(Happens::ReferenceLoses),
        signed(0.0005..0.28).prop_map(|off| Happens::ReferenceRate(1.0 + off)),
        (0.0003_f64..0.9).prop_map(Happens::Late),
    ]
}

fn world() -> impl Strategy<Value = World> {
    (
        1.0e9_f64..5.0e9,
        prop::sample::select(REFERENCES.to_vec()),
        happens(),
        prop::sample::select(vec![Era::Difference, Era::Cycles, Era::Nanoseconds]),
        any::<(bool, bool)>(),
        (any::<u64>(), 1_u64 << 60..1 << 61),
    )
        .prop_map(|(hz, reference, happens, era, (rate_in_log, tsc_in_use), starts)| World {
            hz: (hz / 1e3).round() * 1e3,
            reference,
            happens,
            era,
            rate_in_log,
            tsc_in_use,
            starts,
        })
}

const TSC: [CauseId; 3] = [CauseId::TscSkew, CauseId::TscJump, CauseId::TscMiscalibrated];
const OTHER: [CauseId; 2] = [CauseId::WatchdogAtFault, CauseId::ParavirtClockBroken];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_global_rejects: 200_000, ..ProptestConfig::default() })]

    #[test]
    fn demotion_of_any_machine_blames_no_innocent_clock_for_sure(world in world()) {
        let Some(log) = world.log() else { return Ok(()) };
        prop_assume!(!world.is_coincidence());
        let seen = read(&log);
        let sure = |ids: &[CauseId]| {
            seen.causes
                .iter()
                .find(|c| ids.contains(&c.id) && c.confidence == Confidence::High)
                .map(|c| c.summary.clone())
        };
        let innocent = if world.happens.tsc_is_guilty() { sure(&OTHER) } else { sure(&TSC) };
        prop_assert!(innocent.is_none(), "{innocent:?}\n{log}");
        // Each demotion has at least one cause.
        prop_assert!(!seen.causes.is_empty(), "{log}");
    }

    #[test]
    fn fast_tsc_is_not_acquitted(off in 0.01_f64..0.28, hz in 1.0e9_f64..4.0e9, rate_in_log: bool) {
        let world = World {
            hz: (hz / 1e3).round() * 1e3,
            reference: REFERENCES[1],
            happens: Happens::TscRate(1.0 + off),
            era: Era::Nanoseconds,
            rate_in_log,
            tsc_in_use: true,
            starts: (1 << 20, 1 << 60),
        };
        let seen = read(&world.log().unwrap());
        let acquits = seen
            .causes
            .iter()
            .find(|c| c.id == CauseId::WatchdogAtFault && c.confidence > Confidence::Low);
        prop_assert!(acquits.is_none(), "{acquits:?}");
        let advised = seen
            .remedies
            .iter()
            .any(|r| r.id == "tsc-nowatchdog" && r.refused_because.is_none());
        prop_assert!(!advised);
    }
}
