//! Which clock a program gets, and the reasons against another one.

use super::Source;
use clocksmith_facts::tree::LiveTree;
use clocksmith_facts::verified::{self, Trust, VerifyResult};
use std::time::Duration;

/// The longest time of the test of the counters, and of two repetitions where other programs keep the processors busy,
/// as at the end of a boot. On an idle machine the test takes a millisecond or two for each processor.
const TESTS: [Duration; 3] =
    [Duration::from_millis(300), Duration::from_secs(2), Duration::from_secs(6)];
/// The pause before the last of them.
const PAUSE: Duration = Duration::from_millis(700);
/// The number of tries of each path.
const TRIES: usize = 16;

/// The chosen source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) source: Source,
    /// One sentence.
    pub(crate) reason: String,
}

/// Why no clock was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) String);

/// The evidence for the choice; [`Live`] is that of this machine.
pub(crate) trait Evidence {
    /// Returns whether the kernel serves its clock without a system call.
    fn is_fast(&self) -> bool;
    /// Returns whether the counters of all processors can be used as one, or why not.
    fn counter(&self) -> Result<String, String>;
}

/// Chooses.
pub(crate) fn choose(
    evidence: &impl Evidence,
    wish: Option<Source>,
    relaxed: bool,
) -> Result<Choice, Refused> {
    let choice = |source, reason: String| Ok(Choice { source, reason });
    match wish {
        Some(Source::Exact) => choice(Source::Exact, "it was requested".to_owned()),
        Some(Source::Coarse) => choice(Source::Coarse, "it was requested".to_owned()),
        Some(Source::Disciplined) => counter(evidence),
        None if evidence.is_fast() && !relaxed => choice(
            Source::Exact,
            "the kernel serves its clock without a system call here, and no clock that keeps the order of reads is \
             faster (--relaxed is; --source disciplined tries the counter nevertheless)"
                .to_owned(),
        ),
        None => counter(evidence),
    }
}

fn counter(evidence: &impl Evidence) -> Result<Choice, Refused> {
    match evidence.counter() {
        Ok(reason) => Ok(Choice { source: Source::Disciplined, reason }),
        Err(why) => Err(Refused(format!(
            "the counter (TSC) of this machine is not used: {why}. --source coarse needs no counter: it returns \
             the time of the kernel's last tick, which is up to 10 ms old, so shorter differences are 0"
        ))),
    }
}

/// This machine.
pub(crate) struct Live;

impl Live {
    fn kernel_uses_it(&self) -> bool {
        let name = std::fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        );
        self.is_fast() && name.is_ok_and(|name| name.trim() == "tsc")
    }
}

impl Evidence for Live {
    fn is_fast(&self) -> bool {
        let best = |read: fn()| {
            (0..TRIES)
                .map(|_| {
                    let begin = std::time::Instant::now();
                    for _ in 0..4 {
                        read();
                    }
                    begin.elapsed()
                })
                .min()
                .unwrap_or(Duration::MAX)
        };
        let (usual, by_call) = (best(read_usual), best(read_by_call));
        usual < by_call / 2
    }

    fn counter(&self) -> Result<String, String> {
        // All CPUs that the program may use.
        let cpus = clocksmith_measure::pin::allowed();
        if let Some(known) = proof(verified::recent(&LiveTree::new()).as_ref(), &cpus) {
            return known;
        }
        let [short, long, longest] = TESTS;
        let found = match clocksmith::test_counters(short) {
            Err(clocksmith::Refused::TooBusy { .. }) if self.kernel_uses_it() => {
                return Ok(
                    "the kernel uses the counter itself (this machine is too busy to test it)"
                        .to_owned(),
                );
            }
            Err(clocksmith::Refused::TooBusy { .. }) => match clocksmith::test_counters(long) {
                Err(clocksmith::Refused::TooBusy { .. }) => {
                    std::thread::sleep(PAUSE);
                    clocksmith::test_counters(longest)
                }
                other => other,
            },
            other => other,
        };
        match found {
            Ok(found) => Ok(format!(
                "the counters of {} processors agree (tested just now; `clocksmith verify` tests \
                 more, and makes this test unnecessary for a day)",
                found.processors
            )),
            Err(clocksmith::Refused::TooBusy { .. }) => Err(
                "the machine is too busy to test it now; `clocksmith verify` takes longer, and its \
                 result is used here; with --or-plain the program runs nevertheless"
                    .to_owned(),
            ),
            Err(why @ clocksmith::Refused::NotInvariant) => Err(format!(
                "{why}; if `clocksmith verify` trusts it nevertheless, run uses it for a day"
            )),
            Err(why) => Err(why.to_string()),
        }
    }
}

/// Returns the result of an earlier `verify` for the counter of these CPUs; `None` if it proves nothing for all of
/// them.
fn proof(result: Option<&VerifyResult>, cpus: &[u32]) -> Option<Result<String, String>> {
    let result = result?;
    let ago = format!("{} minutes ago", result.age_s / 60);
    if result.counter == Trust::NotTrusted {
        let faults: Vec<_> =
            result.findings.iter().filter(|f| f.fault).map(|f| &*f.summary).collect();
        return Some(Err(format!("`verify` found a fault {ago}: {}", faults.join("; "))));
    }
    let proven = !cpus.is_empty() && result.proves_counter(cpus);
    proven.then(|| Ok(format!("`verify` found the counter of CPUs {} good {ago}", result.scope())))
}

fn read_usual() {
    let mut time = [0i64; 2];
    // SAFETY: writes a `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr().cast()) };
}

fn read_by_call() {
    let mut time = [0i64; 2];
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, time.as_mut_ptr()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(cpus: &[u32], confidence: &str) -> VerifyResult {
        serde_json::from_value(serde_json::json!({
            "schema": verified::SCHEMA, "version": "0", "boot_id": "b", "uptime_s": 1, "time_s": 1,
            "kernel": null, "machine": null, "clocksource": "hpet", "cpus": cpus,
            "machine_cpus": [0, 1], "verdict": "trusted", "confidence": confidence,
            "counter": "trusted", "clocks": "trusted", "detectable_offset_ns": null,
            "detectable_rate_ppm": null, "detectable_jump_ns": null,
            "findings": [{"id": "counter-offset", "fault": true, "summary": "CPU 1 is behind"}],
        }))
        .unwrap()
    }

    #[test]
    fn proof_covers_all_cpus_and_is_sure() {
        let full = result(&[0, 1], "high");
        assert!(proof(Some(&full), &[0, 1]).unwrap().unwrap().contains("CPUs 0-1"));
        assert_eq!(proof(None, &[0]), None);
        // Some of the CPUs, or none that are known.
        assert_eq!(proof(Some(&result(&[0], "medium")), &[0, 1]), None);
        assert_eq!(proof(Some(&full), &[]), None);
        assert!(proof(Some(&result(&[0], "medium")), &[0]).unwrap().unwrap().contains("0 of 0-1"));
        assert_eq!(proof(Some(&result(&[0, 1], "low")), &[0, 1]), None);
        // A fault counts in any case.
        let fault = VerifyResult { counter: Trust::NotTrusted, ..result(&[0], "low") };
        assert!(proof(Some(&fault), &[0, 1]).unwrap().unwrap_err().contains("CPU 1 is behind"));
    }

    struct Machine(bool, Result<&'static str, &'static str>);

    impl Evidence for Machine {
        fn is_fast(&self) -> bool {
            self.0
        }

        fn counter(&self) -> Result<String, String> {
            self.1.map(str::to_owned).map_err(str::to_owned)
        }
    }

    #[test]
    fn the_best_that_is_proven() {
        let of = |machine: Machine, wish, relaxed| {
            choose(&machine, wish, relaxed).map(|choice| choice.source)
        };
        let (good, bad) = (Ok("proven"), Err("CPU 1 is behind"));
        assert_eq!(of(Machine(true, bad), None, false), Ok(Source::Exact));
        assert_eq!(of(Machine(true, good), None, true), Ok(Source::Disciplined));
        assert_eq!(of(Machine(false, good), None, false), Ok(Source::Disciplined));
        assert_eq!(
            of(Machine(true, good), Some(Source::Disciplined), false),
            Ok(Source::Disciplined)
        );
        assert_eq!(of(Machine(false, bad), Some(Source::Coarse), false), Ok(Source::Coarse));
        // No program gets a bad counter, even with --source disciplined.
        for wish in [None, Some(Source::Disciplined)] {
            let Err(Refused(why)) = choose(&Machine(false, bad), wish, false) else { panic!() };
            assert!(why.contains("CPU 1 is behind") && why.contains("--source coarse"), "{why}");
        }
    }
}
