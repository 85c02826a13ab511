//! `cpus-differ`: the CPUs differ in properties that concern clocks: because of a hypervisor that moves virtual CPUs
//! between kinds of cores, a repaired board, or firmware.

use super::definition::{Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::Fact;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the CPUs differ in features that concern clocks"),
    returns: true,
    find,
    any_architecture: true,
    ..PLAIN
};

/// Flags that concern clocks.
const FLAGS: [&str; 5] = ["tsc", "constant_tsc", "nonstop_tsc", "tsc_adjust", "tsc_known_freq"];

fn find(case: &Case<'_>, causes: &mut Causes) {
    let mut evidence = Vec::new();
    if let Fact::Known { value: dump, source } = &case.facts.cpuid {
        for difference in dump.differences() {
            let values: Vec<String> = difference
                .values
                .iter()
                .take(4)
                .map(|(value, cpus)| format!("{value:#x} on {} CPUs", cpus.len()))
                .collect();
            evidence.push(Evidence::new(
                format!("{source} {}", difference.leaf),
                format!("{}: {}", difference.what, values.join(", ")),
            ));
        }
    }
    for flag in case.facts.cpu.flag_differences.iter().filter(|f| FLAGS.contains(&f.as_str())) {
        evidence.push(Evidence::new("/proc/cpuinfo flags", format!("{flag} is not on all CPUs")));
    }
    if !evidence.is_empty() {
        causes.add(
            CauseId::CpusDiffer,
            Severity::Info,
            Confidence::High,
            "the CPUs report different properties of their clocks; the TSC can be trusted only if it is sound on every \
             CPU",
            evidence,
        );
    }
}
