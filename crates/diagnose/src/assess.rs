//! From evidence to a judgement; the same for every verb.

use crate::diagnosis::judge;
use crate::reconcile::reconcile;
use crate::{Read, Report, elsewhere, outlived};
use clocksmith_facts::{Facts, log};
use clocksmith_kernel::arch_vdso::has_sysfs_directory;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};
use clocksmith_kernel::{Expectation, Machine, Reason, predict};
use serde::{Deserialize, Serialize};

/// The measurements of the machine in question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The cost of each clock; empty if nothing was measured.
    #[serde(default)]
    pub reads: Vec<Read>,
    /// The cost of a bare read of the counter, in nanoseconds, where measured.
    #[serde(default)]
    pub counter_ns: Option<f64>,
}

impl Measured {
    /// Reads the measurements that another run saved, as in a bundle.
    ///
    /// # Errors
    /// Returns an error if the text is not such a document, names a clock that no kernel has, or states a cost that is
    /// not a number of nanoseconds.
    pub fn kept(json: &[u8]) -> Result<Self, String> {
        let found: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let is_cost = |ns: Option<f64>| ns.is_none_or(|ns| ns > 0.0 && ns <= LONGEST_NS);
        for (at, read) in found.reads.iter().enumerate() {
            let name = read.clock.strip_prefix("CLOCK_").unwrap_or_default();
            let is_name = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
            if name.is_empty() || name.len() > 32 || !name.bytes().all(is_name) {
                return Err(format!("{:.40?} is not a clock", read.clock));
            }
            if found.reads.iter().take(at).any(|other| other.clock == read.clock) {
                return Err(format!("{} occurs twice", read.clock));
            }
            if !is_cost(read.ns) || !is_cost(read.syscall_ns) {
                return Err(format!(
                    "the read cost of {} is not in the accepted range (above 0, up to 1 s)",
                    read.clock
                ));
            }
        }
        if is_cost(found.counter_ns) {
            Ok(found)
        } else {
            Err("the read cost of the counter is not in the accepted range (above 0, up to 1 s)"
                .to_owned())
        }
    }
}

/// The longest accepted read, in nanoseconds: one second.
const LONGEST_NS: f64 = 1e9;

/// A report with its basis.
#[derive(Debug)]
pub struct Assessment {
    /// The evidence, complete, without the parts that stronger evidence contradicts.
    pub facts: Facts,
    /// The machine that the evidence describes.
    pub machine: Machine,
    /// The behaviour of Linux on that machine, with the model's stated defaults where an input is open.
    pub expectation: Expectation,
    /// The report.
    pub report: Report,
}

/// Judges a machine: completes the facts, settles contradictions, runs the model for every machine that the
/// evidence allows, and finds causes and remedies.
#[must_use]
pub fn assess(mut facts: Facts, measured: Measured) -> Assessment {
    log::complete(&mut facts);
    let mut contradictions = reconcile(&mut facts);
    contradictions.extend(elsewhere::set_aside(&mut facts));
    contradictions.extend(outlived::set_aside(&mut facts));
    let machine = Machine::of(&facts);
    let mut expectation = predict(&machine);
    let report = judge(&facts, &machine, &expectation, measured, contradictions);
    if is_before_clocksources(&machine) {
        forget_ratings(&mut expectation);
    }
    Assessment { facts, machine, expectation, report }
}

/// Whether every kernel that the evidence allows is an x86 kernel from before the clocksources, which has no ratings.
pub(crate) fn is_before_clocksources(machine: &Machine) -> bool {
    const INPUTS: [OpenInput; 2] = [OpenInput::KernelVersion, OpenInput::Architecture];
    machine.arch.value.is_x86()
        && open::ask_over(machine, &INPUTS, has_sysfs_directory).same == Some(false)
}

/// Removes the model's rules for clocksources, because such a kernel does not read the time from clocksources.
fn forget_ratings(expectation: &mut Expectation) {
    expectation.current = None;
    expectation.available = None;
    expectation.candidates.clear();
    expectation.assumed.clear();
    expectation.reasons = vec![Reason {
        rule: "before clocksources".to_owned(),
        because: format!(
            "x86 kernels have clocksources with ratings {} (64 bits: {}); this one chooses a counter once, while it boots",
            Feature::SysfsClocksource.versions(),
            Feature::SysfsClocksource64.versions()
        ),
        source: "arch/i386/kernel/timers, arch/x86_64/kernel/time.c".to_owned(),
    }];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_costs_come_back_and_others_are_refused() {
        let kept = |json: &str| Measured::kept(json.as_bytes());
        let read = |cost: &str| {
            format!("{{\"reads\":[{{\"clock\":\"CLOCK_MONOTONIC\",\"path\":\"vdso\",{cost}}}]}}")
        };
        let found = kept(&read("\"ns\":24.5,\"syscall_ns\":190")).unwrap();
        assert_eq!(found.reads[0].ns, Some(24.5));
        assert_eq!(kept(&serde_json::to_string(&found).unwrap()), Ok(found));
        assert_eq!(kept("{}"), Ok(Measured::default()));
        for wrong in ["\"ns\":-1", "\"ns\":0", "\"ns\":1e10", "\"ns\":1e400", "\"ns\":\"x\""] {
            assert!(kept(&read(wrong)).is_err(), "{wrong}");
        }
        let named = |name: &str| read("\"ns\":1").replace("CLOCK_MONOTONIC", name);
        for wrong in ["MONOTONIC", "CLOCK_", "CLOCK_\\u001b[2J", "CLOCK_a"] {
            assert!(kept(&named(wrong)).is_err(), "{wrong}");
        }
        assert!(kept("[").is_err() && kept("{\"counter_ns\":-3}").is_err());
    }
}
