//! The table of steps, in the order in which they run. Each module has related steps.
//!
//! A new step is an entry here; one of tier `all` also goes into a turn of continuous integration
//! ([`crate::plan::TURNS`]), which a test makes sure of.

mod boots;
#[cfg(test)]
mod cargo_tests;
#[cfg(test)]
mod ci_tests;
mod clock;
mod deny;
#[cfg(test)]
mod deploy_tests;
#[cfg(test)]
mod environment_tests;
mod fmt;
mod fuzz;
mod guest_parts;
mod guests;
mod rust;
mod scripts;
#[cfg(test)]
mod tree_tests;

use crate::step::Step;

/// All steps: shared ones, the default tier, the rest.
pub(crate) static STEPS: &[&Step] = &[
    &rust::COMPILE,
    &rust::PROGRAM,
    &guest_parts::STATIC_PROGRAM,
    &guest_parts::TESTBED,
    &guest_parts::DISK_IMAGE,
    &guest_parts::PARAVIRT_EMULATOR,
    &guest_parts::CLOCK_READER,
    &fmt::FMT,
    &rust::CLIPPY,
    &rust::TEST,
    &scripts::BOOK,
    &scripts::C,
    &scripts::PYTHON,
    &deny::LICENCES,
    &deny::ADVISORIES,
    &scripts::ACTIONS,
    &scripts::TREE,
    &scripts::PROSE,
    &rust::DOC,
    &rust::CRASH,
    &rust::NO_DEFAULT_FEATURES,
    &clock::CLOCK,
    &clock::TARGETS,
    &scripts::VM,
    &boots::BOOTS,
    &guests::SCENARIOS,
    &guests::WALL_CLOCK,
    &guests::EMULATOR,
    &guests::SWEEP,
    &guests::FORGERY,
    &guests::WHO,
    &guests::PARAVIRT,
    &guests::DISK,
    &guests::FIX,
    &guests::ALERT,
    &scripts::BOOK_HTML,
    &clock::MIRI,
    &clock::TSAN,
    &rust::AGREEMENT,
    &rust::CALIBRATION,
    &rust::WHO_CALIBRATION,
    &scripts::MSRV,
    &scripts::WHEELS,
    &scripts::FORMATS,
    &scripts::WATCH,
    &scripts::FLEET,
    &scripts::PACKAGES,
    &scripts::DEPLOY,
    &fuzz::FUZZ,
    &scripts::SPEED,
    &scripts::SEMVER,
    &scripts::SHIMS,
    &guests::UEFI,
    &guests::SERVERS,
    &guests::SOAK,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn steps_names_are_unique_and_budgets_have_slack() {
        let names: BTreeSet<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        for step in STEPS {
            let tight = step.seconds + step.seconds / 4;
            assert!(step.budget >= tight, "{}: {} s of {} s", step.name, step.seconds, step.budget);
        }
    }
}
