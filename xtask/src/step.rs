//! The definition of a step.

use crate::context::Context;
use crate::needs::Need;

/// Which runs have a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tier {
    /// `./test.sh`: no emulator, no root, and no network except for dependencies.
    Default,
    /// `./test.sh all`.
    All,
    /// Only when it is named: figures to read, or too long for any whole run.
    Named,
    /// Made when a step needs it, once a run.
    Shared,
}

/// A check, or something that several checks need.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// One line for `--help`.
    pub(crate) what: &'static str,
    pub(crate) tier: Tier,
    /// An emulator, or the load that other guests put on the host, may decide how it ends, so a failure is tried once more.
    pub(crate) emulated: bool,
    /// It uses one processor most of the time, so it runs beside the steps next to it in the table that also do.
    pub(crate) beside: bool,
    /// The time that it takes on two quiet processors, in seconds, after the work that it shares
    /// with others.
    pub(crate) seconds: u64,
    /// The time that it may take there, in seconds; see [`crate::load`].
    pub(crate) budget: u64,
    /// The duration in seconds of the short form, which every run of continuous integration uses, unless
    /// [`crate::plan::SHORT_BY_NAME`] has the step; `None`: there is no short form.
    pub(crate) short: Option<u64>,
    /// Without these it is skipped.
    pub(crate) needs: &'static [Need],
    /// Made before it.
    pub(crate) uses: &'static [&'static Step],
    pub(crate) run: fn(&Context) -> Done,
}

impl Step {
    /// The seconds that it may take; a short form has the same share of slack.
    pub(crate) fn budget_of(&self, short: bool) -> u64 {
        let seconds = self.short.filter(|_| short).unwrap_or(self.seconds);
        (seconds * self.budget).div_ceil(self.seconds.max(1))
    }
}

/// How a step ended.
pub(crate) type Done = Result<(), Stop>;

/// Why a step did not end well.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    /// Something that it needs is not here. `network`: because the network is missing, which `STRICT=1` forgives.
    Skip {
        reason: String,
        network: bool,
    },
    Fail(String),
}

impl Stop {
    pub(crate) fn skip(reason: impl Into<String>) -> Stop {
        Stop::Skip { reason: reason.into(), network: false }
    }

    pub(crate) fn no_network(reason: impl Into<String>) -> Stop {
        let reason = reason.into();
        let reason = match reason.contains("network") {
            true => reason,
            false => format!("{reason}: the network is missing"),
        };
        Stop::Skip { reason, network: true }
    }

    pub(crate) fn fail(why: impl Into<String>) -> Stop {
        Stop::Fail(why.into())
    }
}

/// How a step of several parts ended: a failure outranks what is missing, and all failures are in its words.
pub(crate) fn together(parts: impl IntoIterator<Item = Done>) -> Done {
    let (mut failures, mut rest) = (Vec::new(), Ok(()));
    for part in parts {
        match part {
            Err(Stop::Fail(why)) => failures.push(why),
            Err(missing) => rest = rest.and(Err(missing)),
            Ok(()) => {}
        }
    }
    match failures.is_empty() {
        true => rest,
        false => Err(Stop::fail(failures.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_of_a_part_outranks_what_another_lacks() {
        let fail = |why: &str| Err(Stop::fail(why));
        let skip = || Err(Stop::skip("no tool"));
        assert_eq!(together([Ok(()), Ok(())]), Ok(()));
        assert_eq!(together([skip(), Ok(())]), skip());
        assert_eq!(together([skip(), fail("a"), Ok(()), fail("b")]), fail("a; b"));
    }

    #[test]
    fn missing_network_is_named_once() {
        for (said, reason) in [
            ("pip cannot install pytest", "pip cannot install pytest: the network is missing"),
            ("no network, so no packages", "no network, so no packages"),
        ] {
            let found = Stop::no_network(said);
            assert_eq!(found, Stop::Skip { reason: reason.to_owned(), network: true });
        }
    }
}
