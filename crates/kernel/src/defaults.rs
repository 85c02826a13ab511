//! The stated defaults that matter to a prediction: for each assumed input, the behaviour of Linux with the other
//! values that the evidence allows.

use crate::open::{self, OpenInput};
use crate::{Expectation, Machine, predict};
use serde::Serialize;

/// The behaviour of Linux with another value of one assumed input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// The input.
    pub input: OpenInput,
    /// The value, or the range of kernel versions: `no`, `8`, `5.16 and later`.
    pub value: String,
    /// The clocksource in use.
    pub current: Option<String>,
    /// The clocksources that sysfs would list, best first.
    pub available: Option<Vec<String>>,
    /// Whether CLOCK_MONOTONIC would be read in user space; `None` if only the host decides.
    pub vdso: Option<bool>,
}

/// The assumed inputs that matter to a prediction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// Values of single inputs that change the answer.
    pub alternatives: Vec<Alternative>,
    /// Inputs that change the answer only together with another one.
    pub together: Vec<OpenInput>,
}

/// The part of a prediction that the defaults can change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    current: Option<String>,
    available: Option<Vec<String>>,
    vdso: Option<bool>,
}

impl Answer {
    fn of(machine: &Machine) -> Self {
        let Expectation { current, available, vdso, .. } = predict(machine);
        Self { current, available, vdso }
    }

    fn with(self, input: OpenInput, value: String) -> Alternative {
        let Self { current, available, vdso } = self;
        Alternative { input, value, current, available, vdso }
    }
}

/// Repeats the prediction with each assumed input changed, alone and in pairs.
#[must_use]
pub fn defaults(machine: &Machine) -> Defaults {
    let base = Answer::of(machine);
    let mut alternatives: Vec<Alternative> = Vec::new();
    for input in OpenInput::ALL.into_iter().filter(|input| input.is_open(machine)) {
        let worlds = input.worlds(machine);
        let answers: Vec<(String, Answer)> = if input == OpenInput::KernelVersion {
            versions(&worlds)
        } else {
            worlds.iter().map(|world| (value(input, world), Answer::of(world))).collect()
        };
        for (value, answer) in answers {
            if answer != base {
                alternatives.push(answer.with(input, value));
            }
        }
    }
    let alone = |input: &OpenInput| alternatives.iter().any(|other| other.input == *input);
    let depends = open::ask(machine, Answer::of).depends_on;
    let together = depends.into_iter().filter(|input| !alone(input)).collect();
    Defaults { alternatives, together }
}

/// The answers over ranges of kernel versions: neighbours with the same answer are one range.
fn versions(worlds: &[Machine]) -> Vec<(String, Answer)> {
    let mut points: Vec<_> =
        worlds.iter().map(|world| (world.kernel.value.version, Answer::of(world))).collect();
    points.sort_by_key(|(version, _)| *version);
    points.dedup_by(|later, earlier| later.1 == earlier.1);
    let ends = points.iter().skip(1).map(|(version, _)| Some(*version)).chain([None]);
    let mut ranges = Vec::new();
    for (index, ((begin, answer), end)) in points.iter().zip(ends).enumerate() {
        let text = match (index, end) {
            (0, Some(end)) => format!("before {end}"),
            (_, Some(end)) => format!("from {begin}, before {end}"),
            (_, None) => format!("{begin} and later"),
        };
        ranges.push((text, answer.clone()));
    }
    ranges
}

/// The value of an input in a world, as text for the user.
fn value(input: OpenInput, world: &Machine) -> String {
    let flag = |on: bool| if on { "yes" } else { "no" }.to_owned();
    match input {
        OpenInput::KernelVersion => world.kernel.value.version.to_string(),
        OpenInput::Architecture => format!("{:?}", world.arch.value).to_lowercase(),
        OpenInput::StableBit => flag(world.pvclock_stable.value),
        OpenInput::Hypervisor => {
            world.hypervisor.value.as_ref().map_or("none", |h| h.kind.name()).to_owned()
        }
        OpenInput::CpuVendor => world.vendor.value.to_string(),
        OpenInput::ConstantTsc => flag(world.constant_tsc.value),
        OpenInput::NonstopTsc => flag(world.nonstop_tsc.value),
        OpenInput::TscAdjust => flag(world.tsc_adjust.value),
        OpenInput::PossibleCpus => world.possible_cpus.value.to_string(),
        OpenInput::Packages => world.packages.value.to_string(),
        OpenInput::NumaNodes => world.nodes.value.to_string(),
        OpenInput::Hpet => flag(world.hpet.value),
        OpenInput::PmTimer => flag(world.pm_timer.value),
        OpenInput::InvariantGrant => flag(world.invariant_tsc_granted()),
        OpenInput::CounterTrapped => flag(world.counter_trapped.is_some()),
        OpenInput::DeviceTreeTimer => flag(world.vdso_nulled),
        OpenInput::TimeCsr => flag(world.time_csr_emulated.is_none()),
        OpenInput::LogEnd | OpenInput::Choice | OpenInput::LostLine => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use clocksmith_facts::{Facts, Origin};

    fn blank() -> Machine {
        Machine::of(&Facts::empty(Origin::Stated))
    }

    #[test]
    fn defaults_names_each_value_that_changes_the_answer() {
        let mut machine = blank();
        for (fact, value) in [("arch", "x86_64"), ("hypervisor", "none"), ("vendor", "AMD")] {
            machine.set(fact, value).unwrap();
        }
        machine.set_kernel("6.1").unwrap();
        let found = defaults(&machine);
        let of = |input| found.alternatives.iter().filter(move |other| other.input == input);
        // On an AMD machine with several CPUs and no constant TSC, the kernel assumes that the TSCs are unsynchronised.
        let unsynchronised: Vec<_> = of(OpenInput::ConstantTsc).collect();
        assert_eq!(unsynchronised.len(), 1, "{found:?}");
        assert_eq!(unsynchronised[0].value, "no");
        assert_eq!(unsynchronised[0].current.as_deref(), Some("hpet"));
        assert_eq!(unsynchronised[0].vdso, Some(false));
        // Before 6.12, the number of packages has no effect.
        assert_eq!(of(OpenInput::Packages).count(), 0);
        assert_eq!(of(OpenInput::KernelVersion).count(), 0, "it is stated");
    }

    #[test]
    fn defaults_of_versions_are_ranges_without_gaps() {
        let mut machine = blank();
        machine.set("arch", "x86_64").unwrap();
        machine.set("hypervisor", "hyperv").unwrap();
        machine.set("hyperv_invariant", "yes").unwrap();
        let found = defaults(&machine);
        let ranges: Vec<&str> = found
            .alternatives
            .iter()
            .filter(|other| other.input == OpenInput::KernelVersion)
            .map(|other| other.value.as_str())
            .collect();
        assert!(ranges.first().is_some_and(|range| range.starts_with("before ")), "{ranges:?}");
        assert!(
            ranges
                .iter()
                .skip(1)
                .all(|range| range.starts_with("from ") || range.ends_with(" and later"))
        );
    }

    #[test]
    fn defaults_of_settled_question_are_empty() {
        let mut machine = blank();
        for (fact, value) in [
            ("arch", "x86_64"),
            ("hypervisor", "none"),
            ("vendor", "Intel"),
            ("invtsc", "yes"),
            ("tsc_adjust", "yes"),
            ("cpus", "4"),
            ("packages", "1"),
            ("nodes", "1"),
            ("hpet", "yes"),
            ("pm_timer", "yes"),
        ] {
            machine.set(fact, value).unwrap();
        }
        machine.set_kernel("6.12").unwrap();
        assert_eq!(defaults(&machine), Defaults::default());
    }
}
