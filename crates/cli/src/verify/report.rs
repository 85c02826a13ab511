//! `verify --json`.

use clocksmith_diagnose::demotion;
use clocksmith_diagnose::report::MachineReport;
use clocksmith_facts::Facts;
use clocksmith_facts::cpu::CpuList;
use clocksmith_measure::verify::{AbiCase, Outcome, Trust, Weight};
use serde::Serialize;

/// `verify --json`; with `--soak` one line each round.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct VerifyReport {
    /// Always `clocksmith.verify.v1`.
    schema: &'static str,
    /// The result in one sentence.
    pub(crate) headline: String,
    /// Verdict, findings and figures.
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    /// The machine in short.
    pub(crate) machine: Machine,
    /// The kernel's clocksource, and the kernel's messages about the counter.
    pub(crate) kernel: KernelView,
    /// Calls with unknown ids and bad pointers; only with `--abi`.
    pub(crate) abi: Option<Vec<AbiCase>>,
    /// Rounds so far; only with `--soak`.
    pub(crate) rounds: Option<u64>,
    /// The file in which the result was saved; null if it was not saved.
    pub(crate) kept: Option<String>,
    /// Why the result was not saved: an earlier result proves more. Null if it was saved, or `--no-save` was used.
    pub(crate) not_kept: Option<String>,
}

/// The machine in short.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Machine {
    /// Kernel release.
    pub(crate) kernel: Option<String>,
    /// Hypervisor, `none` on bare metal, null where unknown.
    pub(crate) hypervisor: Option<String>,
    /// Processor.
    pub(crate) cpu: Option<String>,
    /// Processors that are online.
    pub(crate) online: Option<u32>,
}

/// The kernel's own statements.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct KernelView {
    /// The clocksource in use.
    pub(crate) clocksource: Option<String>,
    /// Available clocksources in the order of sysfs, best first.
    pub(crate) available: Option<Vec<String>>,
    /// The kernel's message that the counter is unstable; null where there is none, or the log cannot be read.
    pub(crate) unstable: Option<String>,
    /// Whether the kernel log could be read.
    pub(crate) log: bool,
}

impl VerifyReport {
    /// Builds the document.
    pub(crate) fn new(facts: &Facts, outcome: &Outcome, rounds: Option<u64>) -> Self {
        let log = facts.kernel_log();
        let machine = MachineReport::of(facts);
        let kernel = KernelView {
            clocksource: facts.current_clocksource().value().map(|name| (*name).to_owned()),
            available: facts.available_clocksources().map(<[String]>::to_vec),
            unstable: log.and_then(demotion::last_of_tsc).map(|entry| entry.text.clone()),
            log: log.is_some(),
        };
        Self {
            schema: "clocksmith.verify.v1",
            headline: headline(outcome),
            outcome: outcome.clone(),
            machine: Machine {
                kernel: machine.kernel,
                hypervisor: machine.hypervisor,
                cpu: machine.cpu,
                online: facts.cpu.online.value().map(clocksmith_facts::cpu::CpuList::count),
            },
            kernel,
            abi: None,
            rounds,
            kept: None,
            not_kept: None,
        }
    }
}

/// Returns the result in one sentence.
pub(crate) fn headline(outcome: &Outcome) -> String {
    let sure = outcome.confidence;
    let what = outcome.findings.iter().find(|finding| finding.weight != Weight::Note);
    match outcome.verdict {
        Trust::Trusted if outcome.method.partial => format!(
            "Nothing wrong was found on CPUs {} ({sure} confidence){}.",
            scope(outcome),
            if outcome.method.cpus.len() > 1 { "" } else { "; no two CPUs were compared" }
        ),
        Trust::Trusted if outcome.method.counter.is_none() => {
            format!("The clocks can be trusted ({sure} confidence): nothing wrong was found.")
        }
        Trust::Trusted => format!(
            "The counter and the clocks can be trusted ({sure} confidence): nothing wrong was found."
        ),
        Trust::NotTrusted => {
            let who = match (outcome.counter, outcome.clocks) {
                (Trust::NotTrusted, Trust::NotTrusted) => "The counter and the clocks",
                (Trust::NotTrusted, _) => "The counter",
                _ => "The clocks",
            };
            let what = what.map_or("a fault was found", |finding| finding.summary.as_str());
            format!("{who} cannot be trusted ({sure} confidence): {what}.")
        }
        Trust::Unknown if !outcome.complete => format!(
            "Interrupted after {:.1} s: nothing wrong was found until then. This is not a verdict.",
            outcome.method.seconds
        ),
        Trust::Unknown if outcome.rate_reference.only_gap && outcome.counter == Trust::Trusted => {
            format!(
                "Nothing wrong was found ({sure} confidence), but no reference shows whether the clocks run at the \
                 correct rate."
            )
        }
        Trust::Unknown => unknown(outcome.counter, outcome.clocks, &outcome.untested),
    }
}

/// Says which part is not known, and why: what was not tested of the other part is not the reason.
fn unknown(counter: Trust, clocks: Trust, untested: &[String]) -> String {
    let (what, of) = match (counter, clocks) {
        (Trust::Trusted, _) => ("the clocks", "of the clocks"),
        (_, Trust::Trusted) => ("the counter", "the counter"),
        _ => ("counter and clocks", ""),
    };
    let why = untested.iter().find(|why| why.contains(of)).or(untested.first());
    let why = why.map_or("too little was measured", String::as_str);
    format!("Whether {what} can be trusted is not known: {why}.")
}

/// The CPUs that were tested: `0-3`, or `0 of 0-3`.
pub(crate) fn scope(outcome: &Outcome) -> String {
    let list = |cpus: &[u32]| cpus.iter().copied().collect::<CpuList>().to_string();
    let method = &outcome.method;
    match (method.partial, method.cpus.is_empty()) {
        (false, _) => list(&method.cpus),
        (true, true) => format!("none of {}", list(&method.machine_cpus)),
        (true, false) => format!("{} of {}", list(&method.cpus), list(&method.machine_cpus)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_the_part_and_its_reason() {
        let late = "the end of the run on processors 0, 1: no message came through".to_owned();
        let steps = "steps back of the clocks: threads could not read them in turn".to_owned();
        let all = [late.clone(), steps.clone()];
        let clocks = unknown(Trust::Trusted, Trust::Unknown, &all);
        assert_eq!(clocks, format!("Whether the clocks can be trusted is not known: {steps}."));
        let both = unknown(Trust::Unknown, Trust::Unknown, &all);
        assert_eq!(
            both,
            format!("Whether counter and clocks can be trusted is not known: {late}.")
        );
        let counter = unknown(Trust::Unknown, Trust::Trusted, &[]);
        assert!(counter.starts_with("Whether the counter can be trusted"), "{counter}");
    }
}
