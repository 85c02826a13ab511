//! One look at a machine: facts, a short measurement, the diagnosis.

use clocksmith_diagnose::{Diagnosis, Path, Read, diagnose};
use clocksmith_facts::probe::kernel_log::{self, LiveLog};
use clocksmith_facts::tree::{LiveTree, Tree};
use clocksmith_facts::{Facts, Missing, Origin, collect, log};
use clocksmith_kernel::{Machine, predict};
use clocksmith_measure::{LightMeasurement, light};
use std::io::Read as Input;
use std::time::Duration;

/// How long the measurement takes.
const SHORT: Duration = Duration::from_millis(6);
/// How long it takes where the short one and the facts contradict each other.
const LONG: Duration = Duration::from_millis(48);

/// What one look gave.
#[derive(Debug)]
pub struct Assessment {
    /// The facts.
    pub facts: Facts,
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Nanoseconds a read of the counter, where measured.
    pub counter_ns: Option<f64>,
}

/// Looks at the running machine without disturbing it: it starts no other program, and takes a few
/// milliseconds.
#[derive(Debug, Default)]
pub struct Live {
    tree: LiveTree,
}

impl Live {
    /// The running machine. What never changes (CPUID) is asked once in the life of this value.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks once.
    #[must_use]
    pub fn assess(&self, measure: bool) -> Assessment {
        let quick = Quick { live: &self.tree, log: kernel_log::ring() };
        let mut facts = collect::collect(&quick, Origin::Live);
        log::complete(&mut facts);
        let measured = measure.then(|| light(SHORT));
        let first = of(facts, measured.as_ref());
        let doubtful = |read: &Read| read.clock == MONOTONIC && read.path != Path::Vdso;
        let slow_by_nature = first
            .diagnosis
            .current
            .name
            .as_deref()
            .is_some_and(clocksmith_diagnose::names::is_slow_by_nature);
        if !first.diagnosis.reads.iter().any(doubtful) || slow_by_nature {
            return first;
        }
        // A clocksource that the vDSO should serve, and reads that look like system calls: only the
        // split of CPU time can tell a trapping counter from a bypassed vDSO, and that takes longer.
        let longer = light(LONG);
        let mut second = of(first.facts, Some(&longer));
        let told = longer.clocks.iter().any(|cost| {
            cost.clock.name() == MONOTONIC
                && (cost.system_share.is_some() || cost.path == clocksmith_measure::Path::Vdso)
        });
        if !told {
            let reads = reads(&longer)
                .into_iter()
                .map(|read| Read { path: Path::Unknown, ..read })
                .collect();
            second = with_reads(second.facts, reads, longer.counter.ns);
        }
        second
    }
}

const MONOTONIC: &str = "CLOCK_MONOTONIC";

/// The diagnosis of facts and, for the machine that runs this program, of what was measured.
#[must_use]
pub fn of(facts: Facts, measured: Option<&LightMeasurement>) -> Assessment {
    let counter = measured.and_then(|measured| measured.counter.ns);
    with_reads(facts, measured.map(reads).unwrap_or_default(), counter)
}

fn with_reads(facts: Facts, reads: Vec<Read>, counter_ns: Option<f64>) -> Assessment {
    let machine = Machine::of(&facts);
    let expectation = predict(&machine);
    let diagnosis = diagnose(&facts, &machine, &expectation, reads);
    Assessment { facts, diagnosis, counter_ns }
}

/// The measurement in the words of the diagnosis.
#[must_use]
pub fn reads(measurement: &LightMeasurement) -> Vec<Read> {
    measurement
        .clocks
        .iter()
        .map(|cost| Read {
            clock: cost.clock.name().to_owned(),
            path: match cost.path {
                clocksmith_measure::Path::Vdso => Path::Vdso,
                clocksmith_measure::Path::Syscall => Path::Syscall,
                clocksmith_measure::Path::Unknown => Path::Unknown,
            },
            ns: cost.ns,
            syscall_ns: cost.syscall_ns,
        })
        .collect()
}

/// The running machine, with the ring buffer alone for its kernel log: the journal would start another
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

    #[test]
    fn this_machine_is_assessed() {
        let live = Live::new();
        let seen = live.assess(true);
        assert_eq!(seen.diagnosis.reads.len(), 3);
        assert!(seen.facts.kernel.is_known());
        let blind = live.assess(false);
        assert!(blind.diagnosis.reads.is_empty() && blind.counter_ns.is_none());
        assert_eq!(blind.diagnosis.current, seen.diagnosis.current);
    }
}
