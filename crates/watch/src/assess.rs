//! One look at a machine: facts, a short measurement, the diagnosis.

use crate::judge::{Judgement, Thresholds, judge};
use clocksmith_diagnose::{Assessment, Measured, Path, Read, assess};
use clocksmith_facts::probe::kernel_log::{self, LiveLog};
use clocksmith_facts::tree::{LiveTree, Tree};
use clocksmith_facts::{Facts, Missing, Origin, collect};
use clocksmith_measure::LightMeasurement;
use clocksmith_measure::light;
use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read as Input};
use std::time::{Duration, Instant};

/// How long the measurement takes at first, and how long if the path of the reads is in doubt: a clocksource that
/// the vDSO should serve, without a sign that it does. The last value is that of `why`, and enough for the kernel to
/// count ticks of CPU time at 250 Hz and above.
const STEPS: [Duration; 3] = [Duration::from_millis(6), Duration::from_millis(48), light::BUDGET];
/// How long the result of a longer measurement is reused, while the clocksource and the cost of a read stay as they
/// were.
const SETTLED: Duration = Duration::from_secs(600);
/// The cost stays as it was within this factor.
const ALIKE: f64 = 1.5;

/// The judgement that monitoring needs.
#[must_use]
pub fn judgement(seen: &Assessment, thresholds: &Thresholds) -> Judgement {
    judge(&seen.report, thresholds).with_ntp(seen.facts.ntp.value())
}

/// Looks at the running machine without disturbing it: it starts no other program, and takes a few milliseconds; up to
/// [`light::BUDGET`] if only a longer measurement shows the path of the reads.
#[derive(Debug, Default)]
pub struct Live {
    tree: LiveTree,
    settled: Cell<Option<Settled>>,
}

/// The result of a longer measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Settled {
    /// The clocksource, as a number: names are compared, never shown.
    clocksource: u64,
    path: Path,
    ns: f64,
    at: Instant,
}

impl Settled {
    /// Returns whether the result is still valid for a read of this cost by this clocksource.
    fn holds(&self, clocksource: u64, ns: Option<f64>, now: Instant) -> bool {
        let alike = |ns: f64| ns < self.ns * ALIKE && self.ns < ns * ALIKE;
        self.clocksource == clocksource
            && now.saturating_duration_since(self.at) < SETTLED
            && ns.is_some_and(alike)
    }
}

impl Live {
    /// The running machine. Constant data (CPUID) is read once in the life of this value.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The running machine, whose `/proc` and `/sys` are below `root`; `None` if `root` mirrors another one.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be opened.
    pub fn below(root: &std::path::Path) -> io::Result<Option<Self>> {
        Ok(LiveTree::below(root)?.map(|tree| Self { tree, ..Self::default() }))
    }

    /// Looks once.
    #[must_use]
    pub fn assess(&self, measure: bool) -> Assessment {
        let quick = Quick { live: &self.tree, log: kernel_log::ring() };
        let facts = collect::collect(&quick, Origin::Live);
        if !measure {
            return of(facts, None);
        }
        let name = facts.current_clocksource().value().map(|name| (*name).to_owned());
        let name = name.unwrap_or_default();
        let measured = self.measure(&name, &mut |budget| clocksmith_measure::light(budget));
        of(facts, Some(&measured))
    }

    /// Measures until the path of the reads is known, within [`STEPS`].
    fn measure(
        &self,
        clocksource: &str,
        light: &mut dyn FnMut(Duration) -> LightMeasurement,
    ) -> LightMeasurement {
        let mut hasher = DefaultHasher::new();
        clocksource.hash(&mut hasher);
        let clocksource_id = hasher.finish();
        let mut measured = light(STEPS[0]);
        // A device is slow on either path.
        if clocksmith_diagnose::names::is_slow_by_nature(clocksource) {
            return measured;
        }
        for (step, budget) in STEPS.into_iter().enumerate() {
            if step > 0 {
                measured = light(budget);
            }
            let Some(cost) = measured.clocks.iter_mut().find(|c| c.clock.name() == MONOTONIC)
            else {
                return measured;
            };
            let path = cost.path;
            if path == Path::Vdso {
                return measured;
            }
            let now = Instant::now();
            if let Some(settled) =
                self.settled.get().filter(|settled| settled.holds(clocksource_id, cost.ns, now))
            {
                cost.path = settled.path;
                return measured;
            }
            // The first step may find a system call by accident, from a few batches.
            let enough = step > 0 && path == Path::Syscall;
            if enough || budget == light::BUDGET {
                if let Some(ns) = cost.ns {
                    let settled = Settled { clocksource: clocksource_id, path, ns, at: now };
                    self.settled.set(Some(settled));
                }
                return measured;
            }
        }
        measured
    }
}

const MONOTONIC: &str = "CLOCK_MONOTONIC";

/// Returns the judgement of facts and, for the machine that runs this program, of the measurement.
#[must_use]
pub fn of(facts: Facts, light: Option<&LightMeasurement>) -> Assessment {
    assess(facts, light.map(measured).unwrap_or_default())
}

/// Returns the measurement, in the terms of the diagnosis.
#[must_use]
pub fn measured(light: &LightMeasurement) -> Measured {
    Measured { reads: reads(light), counter_ns: light.counter.ns }
}

/// The measurement in the words of the diagnosis.
#[must_use]
pub fn reads(measurement: &LightMeasurement) -> Vec<Read> {
    measurement
        .clocks
        .iter()
        .map(|cost| Read {
            clock: cost.clock.name().to_owned(),
            path: cost.path,
            ns: cost.ns,
            syscall_ns: cost.syscall_ns,
        })
        .collect()
}

/// The running machine, with only the ring buffer for its kernel log: the journal would start another
/// program, which may take seconds.
struct Quick<'a> {
    live: &'a LiveTree,
    log: Result<LiveLog, Missing>,
}

impl Tree for Quick<'_> {
    fn describe(&self, path: &str) -> String {
        match (path, &self.log) {
            ("dmesg", Ok(log)) => log.source.clone(),
            ("dmesg", Err(_)) => "/dev/kmsg".to_owned(),
            _ => self.live.describe(path),
        }
    }

    fn open(&self, path: &str) -> Result<Box<dyn Input + '_>, Missing> {
        match (path, &self.log) {
            ("dmesg", Ok(log)) => Ok(Box::new(log.text.as_slice())),
            ("dmesg", Err(missing)) => Err(missing.clone()),
            _ => self.live.open(path),
        }
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, Missing> {
        self.live.list(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clocksmith_measure::light::{self as measured, ClockCost, CounterCost};
    use clocksmith_measure::reads::ClockId;

    /// The measurement of a read of this cost, as [`light`] judges it; `share` is the kernel's part of
    /// the CPU time, if there was enough time to see it.
    fn made_up(ns: f64, syscall_ns: f64, share: Option<f64>, counter: f64) -> LightMeasurement {
        let (ns, syscall_ns, counter) = (Some(ns), Some(syscall_ns), Some(counter));
        let path = measured::judge(ns, syscall_ns, share, counter);
        let clock = ClockId::Monotonic;
        let cost = ClockCost { clock, ns, syscall_ns, system_share: share, path };
        LightMeasurement {
            clocks: vec![cost],
            counter: CounterCost { name: Some("rdtsc"), ns: counter, why: None },
            cpu: Some(0),
            rounds: 9,
            elapsed_ms: 6.0,
        }
    }

    fn verdict(clocksource: &str, measured: &LightMeasurement) -> clocksmith_diagnose::Verdict {
        let mut facts = Facts::empty(Origin::Stated);
        let device = clocksmith_facts::clockdev::ClocksourceDevice::parse(
            "clocksource0",
            clocksource,
            clocksource,
        );
        facts.clocksources =
            clocksmith_facts::Fact::known(vec![device.unwrap()], "/sys/devices/system/clocksource");
        of(facts, Some(measured)).report.verdict
    }

    #[test]
    fn paravirtual_clock_read_by_system_call_is_slow() {
        use clocksmith_diagnose::Verdict;
        // Figures of guests without the stable bit, and of Hyper-V's page with sequence 0.
        for (name, ns, syscall) in [
            ("kvm-clock", 722.0, 760.0),
            ("kvm-clock", 646.5, 651.7),
            ("hyperv_clocksource_tsc_page", 661.0, 640.0),
        ] {
            let live = Live::new();
            let mut taken = Vec::new();
            let measured = live.measure(name, &mut |budget| {
                taken.push(budget);
                made_up(ns, syscall, None, 10.0)
            });
            assert_eq!(measured.clocks[0].path, Path::Syscall);
            assert_eq!(taken, STEPS[..2]);
            assert_eq!(verdict(name, &measured), Verdict::Slow, "{name}");
            // A repeated look with the same result takes only the short measurement.
            let again = live.measure(name, &mut |budget| {
                taken.push(budget);
                made_up(ns * 1.1, syscall * 1.6, None, 10.0)
            });
            assert_eq!((again.clocks[0].path, taken.len()), (Path::Syscall, 3));
        }
    }

    #[test]
    fn measure_in_doubt_takes_longer_up_to_the_bound() {
        let live = Live::new();
        let mut taken = Vec::new();
        let mut light = |budget| {
            taken.push(budget);
            // Only the longest look has ticks enough.
            made_up(450.0, 650.0, (budget == light::BUDGET).then_some(0.9), 10.0)
        };
        assert_eq!(live.measure("kvm-clock", &mut light).clocks[0].path, Path::Syscall);
        assert_eq!(taken, STEPS);
        // Fast: the short look is enough. So it is for a device.
        for (name, ns) in [("kvm-clock", 60.0), ("hpet", 1_300.0)] {
            let mut looks = 0;
            Live::new().measure(name, &mut |_| {
                looks += 1;
                made_up(ns, 600.0, None, 10.0)
            });
            assert_eq!(looks, 1, "{name}");
        }
    }

    #[test]
    fn settled_answer_ends_with_its_clocksource_and_its_cost() {
        let at = Instant::now();
        let settled = Settled { clocksource: 1, path: Path::Syscall, ns: 650.0, at };
        assert!(settled.holds(1, Some(700.0), at) && !settled.holds(2, Some(700.0), at));
        assert!(!settled.holds(1, Some(60.0), at) && !settled.holds(1, None, at));
        assert!(!settled.holds(1, Some(650.0), at + SETTLED));
    }

    #[test]
    fn this_machine_is_assessed() {
        let live = Live::new();
        let seen = live.assess(true);
        assert_eq!(seen.report.reads.len(), 3);
        assert!(seen.facts.kernel.is_known());
        let blind = live.assess(false);
        assert!(blind.report.reads.is_empty() && blind.report.counter_ns.is_none());
        assert_eq!(blind.report.clocksource, seen.report.clocksource);
    }
}
