//! The reader: a program that reads a clock in several threads while a scenario plays, and reports its observations.
//! `testbed/README.md` has the requirements of such a program.

use super::Story;
use super::journal::{Entry, Journal, reads_on};
use serde::Deserialize;
use serde_json::{Value, json};

/// The reader, and its allowed observations.
#[derive(Clone, Debug)]
pub struct Reader {
    /// A static program; the probe's own reader if there is none.
    pub program: Option<Vec<u8>>,
    /// How many threads read.
    pub threads: u32,
    /// How far its clock may be from CLOCK_MONOTONIC, in nanoseconds.
    pub error_ns: u64,
    /// Whether it runs under `clocksmith run`, and with which clocksource of the kernel.
    pub under_run: Option<String>,
    /// The clocksource that the guest has when nothing has been changed.
    pub clocksource: &'static str,
}

/// The longest continuous time for which the wall clock of a program under `clocksmith run` may be off: 10 ms
/// until a step of it is noticed, 20 ms where the counter jumped (`docs/run.md`), and as much again for an
/// emulator on a busy host.
const WALL_OFF_NS: u64 = 40_000_000;

/// Functions for the guest's scripts: `settle` waits for the clocksource that the guest will have, `mark`
/// notes an event, `reader_start` and `reader_end` are for a reader in the background.
///
/// Reports go to the console past the frame that the script's output is in.
const FUNCTIONS: &str = r#"S=/sys/devices/system/clocksource/clocksource0
settle() {
    for i in $(seq 100); do
        read -r current <$S/current_clocksource
        [ "$current" = "$chosen" ] && break
        usleep 100000
    done
    sleep 1
}
mark() { echo "|mark $*" >/dev/console; }
reader_start() {
    "$@" 2>&1 >/dev/console &
    reader=$!
}
reader_end() {
    kill -TERM $reader
    (sleep 15; kill -KILL $reader) >/dev/null 2>&1 &
    killer=$!
    wait $reader
    echo "the reader ended with $?"
    kill $killer
}
"#;

/// `run` tests the counter in a few milliseconds, which may be too short on a busy host; it accepts the
/// result of `verify`, which takes longer.
const VERIFY: &str =
    "for i in 1 2 3 4 5; do clocksmith verify -q --duration 3s && break; done >/dev/null 2>&1\n";

/// The prefix of a script's line with the exit status of the reader.
pub const ENDED: &str = "the reader ended with ";

/// The keys that every report must have, and one that it may have.
#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "the fields that are not read must exist, too")]
pub struct Report {
    /// Reads since the start.
    pub reads: u64,
    /// Threads that read.
    pub threads: u64,
    /// How often the clock went back.
    pub back_steps: u64,
    /// By how much at most.
    pub largest_back_step_ns: u64,
    /// The largest distance from CLOCK_MONOTONIC.
    pub largest_error_ns: u64,
    /// The clock that was read.
    pub clock: String,
    /// How often CLOCK_MONOTONIC went back by the system call's account.
    #[serde(default)]
    pub kernel_back_steps: u64,
    /// For how long on end CLOCK_REALTIME was off by more than a millisecond.
    #[serde(default)]
    pub wall_longest_off_ns: u64,
}

impl Reader {
    /// The command that runs it in a guest.
    pub fn command(&self) -> String {
        let program = if self.program.is_some() { "reader" } else { "probe reader" };
        let run =
            if self.under_run.is_some() { "clocksmith run --source disciplined -- " } else { "" };
        format!("{run}{program} --threads {}", self.threads)
    }

    /// Returns a script, preceded by the functions that scripts use. Its word `READER` starts the reader, with a lower
    /// priority than everything else in the guest, so that the events come in time.
    pub fn script(&self, script: &str) -> String {
        let choose = self.under_run.as_ref().map_or_else(String::new, |source| {
            format!("{VERIFY}echo {source} >$S/current_clocksource\nsleep 1\n")
        });
        let start = format!("{choose}reader_start probe nice {}", self.command());
        format!("chosen={}\n{FUNCTIONS}{}", self.clocksource, script.replace("READER", &start))
    }

    /// Judges a reader's reports over a whole scenario. `said` is the output of the guest's script.
    pub fn judge(&self, story: &mut Story, journal: &Journal, said: &str) {
        let entries = journal.entries();
        let ended = said.lines().find_map(|line| Some(line.split_once(ENDED)?.1.trim()));
        story.check(ended == Some("0"), || match ended {
            Some(status) => format!("the reader ended with status {status}"),
            None => "the guest did not say how the reader ended".into(),
        });
        story.check(reads_on(&entries), || {
            let last = entries.iter().rev().find_map(|entry| match entry {
                Entry::Mark(name) => Some(name.as_str()),
                Entry::Report(_) => None,
            });
            format!("the reader stopped reporting after: {}", last.unwrap_or("its start"))
        });
        for entry in &entries {
            let Entry::Report(value) = entry else { continue };
            if let Some(problem) = self.problem_of(value)
                && !story.problems.contains(&problem)
            {
                // The totals only grow; the last report is the most complete.
                story.problems.retain(|old| old.split(':').next() != problem.split(':').next());
                story.problems.push(problem);
            }
        }
        story.readers = readers(&entries);
    }

    fn problem_of(&self, value: &Value) -> Option<String> {
        let report: Report = match serde_json::from_value(value.clone()) {
            Ok(report) => report,
            Err(error) => return Some(format!("a report of the reader: {error}: {value}")),
        };
        if report.back_steps > report.kernel_back_steps {
            return Some(format!(
                "the reader saw {} go back: {} times, by {} ns at most; CLOCK_MONOTONIC did {} times",
                report.clock,
                report.back_steps,
                report.largest_back_step_ns,
                report.kernel_back_steps
            ));
        }
        if self.under_run.is_some() && report.wall_longest_off_ns > WALL_OFF_NS {
            return Some(format!(
                "the reader saw CLOCK_REALTIME off for {} ms on end",
                report.wall_longest_off_ns / 1_000_000
            ));
        }
        (report.largest_error_ns > self.error_ns).then(|| {
            format!(
                "the reader saw {} off CLOCK_MONOTONIC: by {} ns; {} are allowed",
                report.clock, report.largest_error_ns, self.error_ns
            )
        })
    }
}

/// A report with a word about when it was made.
pub fn at(mut report: Value, when: &str) -> Value {
    if let Some(object) = report.as_object_mut() {
        object.insert("at".into(), json!(when));
    }
    report
}

/// The last report before each event, and the last of all.
fn readers(entries: &[Entry]) -> Vec<Value> {
    let mut list = Vec::new();
    let mut last: Option<&Value> = None;
    let mut add = |last: Option<&Value>, when: String| {
        list.extend(last.map(|report| at(report.clone(), &when)));
    };
    for entry in entries {
        match entry {
            Entry::Report(report) => last = Some(report),
            Entry::Mark(name) => add(last, format!("before: {name}")),
        }
    }
    add(last, "end".into());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(reads: u64, steps: u64, kernel: u64, error: u64) -> String {
        format!(
            "|reader {{\"reads\":{reads},\"threads\":3,\"back_steps\":{steps},\
             \"largest_back_step_ns\":7,\"largest_error_ns\":{error},\"clock\":\"X\",\
             \"kernel_back_steps\":{kernel},\"more\":true}}"
        )
    }

    fn judged(error_ns: u64, lines: &[String], said: &str) -> Story {
        let journal = Journal::default();
        for line in lines {
            journal.take(line);
        }
        let mut story = Story::new("pause", "6.1");
        let reader =
            Reader { program: None, threads: 3, error_ns, under_run: None, clocksource: "tsc" };
        reader.judge(&mut story, &journal, said);
        story
    }

    #[test]
    fn reader_without_error_has_no_problem() {
        let lines = [line(5, 0, 0, 0), "|mark paused".into(), line(6, 0, 0, 0), line(9, 0, 0, 0)];
        let story = judged(0, &lines, "a\nthe reader ended with 0\n");
        assert_eq!(story.problems, Vec::<String>::new());
        assert_eq!(story.readers.len(), 2);
        assert_eq!(story.readers[0]["at"], "before: paused");
        assert_eq!(
            (&story.readers[1]["reads"], &story.readers[1]["more"]),
            (&json!(9), &json!(true))
        );
        let story = judged(5, &[line(1, 2, 2, 5), line(2, 2, 2, 5)], "the reader ended with 0");
        assert_eq!(story.problems, Vec::<String>::new());
    }

    #[test]
    fn under_run_the_wall_clock_may_be_late_for_a_moment() {
        let reader = Reader {
            program: None,
            threads: 3,
            error_ns: 9,
            under_run: Some("hpet".into()),
            clocksource: "tsc",
        };
        assert_eq!(
            reader.command(),
            "clocksmith run --source disciplined -- probe reader --threads 3"
        );
        let script = reader.script("READER");
        assert!(script.contains("echo hpet >$S/current_clocksource"));
        assert!(script.starts_with("chosen=tsc\n"));
        let report = |off: u64| {
            let text =
                line(1, 0, 0, 0).replace("true", &format!("1,\"wall_longest_off_ns\":{off}"));
            serde_json::from_str(text.strip_prefix("|reader ").unwrap()).unwrap()
        };
        assert_eq!(reader.problem_of(&report(WALL_OFF_NS)), None);
        assert!(reader.problem_of(&report(WALL_OFF_NS + 1_000_000)).is_some());
        let plain = Reader { under_run: None, ..reader };
        assert_eq!(plain.problem_of(&report(u64::MAX)), None);
    }

    #[test]
    fn steps_back_errors_silence_and_a_bad_end_are_problems() {
        let good = "the reader ended with 0\n";
        let problems = |lines: &[String], said: &str| judged(5, lines, said).problems.join("; ");
        let steps = problems(&[line(1, 0, 0, 0), line(2, 1, 0, 0), line(3, 4, 1, 0)], good);
        assert!(steps.contains("go back: 4 times") && !steps.contains("1 times,"), "{steps}");
        let error = problems(&[line(1, 0, 0, 0), line(2, 0, 0, 6)], good);
        assert!(error.contains("by 6 ns; 5 are allowed"), "{error}");
        // A snapshot that was loaded takes the reader's totals back: the step is remembered here.
        assert!(
            !problems(&[line(1, 1, 0, 0), line(2, 0, 0, 0), line(3, 0, 0, 0)], good).is_empty()
        );
        let silent = problems(&[line(1, 0, 0, 0), line(2, 0, 0, 0), "|mark moved".into()], good);
        assert!(silent.contains("stopped reporting after: moved"), "{silent}");
        let two = [line(1, 0, 0, 0), line(2, 0, 0, 0)];
        assert!(problems(&two, "the reader ended with 137\n").contains("status 137"));
        assert!(!problems(&two, "").is_empty());
        let bad = problems(&["|reader {\"reads\":1}".into(), line(2, 0, 0, 0)], good);
        assert!(bad.contains("missing field"), "{bad}");
    }
}
