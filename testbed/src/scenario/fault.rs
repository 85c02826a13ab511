//! The reader reads a wrong counter: one that differs from processor to processor, runs too fast, or
//! jumps. Here the reader must see it; a scenario in which it sees nothing proves nothing otherwise.

use super::Story;
use super::journal::{Entry, Journal};
use super::place::Place;
use super::reader::{ENDED, Reader, Report, at};
use super::ticks::PATIENCE;
use crate::initramfs::fault::Fault;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// A fault, and the required observations in three seconds.
struct Part {
    name: &'static str,
    fault: &'static str,
    back_steps: bool,
    /// Nanoseconds between which the largest error must be.
    error: std::ops::RangeInclusive<u64>,
}

/// A cycle is between a fifth of a nanosecond and one nanosecond long.
const PARTS: &[Part] = &[
    // The tracer alone does no harm.
    Part { name: "none", fault: "rate=0", back_steps: false, error: 0..=0 },
    Part {
        name: "offset",
        fault: "offset-cpu1=100000000",
        back_steps: true,
        error: 10_000_000..=u64::MAX,
    },
    Part { name: "rate", fault: "rate=1000", back_steps: false, error: 100_000..=u64::MAX },
    Part {
        name: "jump",
        fault: "jump=100000000,after=1.5",
        back_steps: false,
        error: 10_000_000..=u64::MAX,
    },
];

/// The suffix of a part's name for the given reader.
const GIVEN: &str = ", the given reader";

/// Plays it.
pub fn play(place: &Place) -> Result<Story> {
    let mut story = Story::new("fault", place.kernel_name());
    let own = Reader { program: None, under_run: None, ..place.reader().clone() };
    let mut script = String::from("settle\n");
    for part in PARTS {
        script.push_str(&part.script(&own, "")?);
        if place.reader().program.is_some() {
            script.push_str(&part.script(place.reader(), GIVEN)?);
        }
    }
    let stage = place.stage("fault", &script)?;
    let (guest, _qmp) = stage.start("guest", None)?;
    let frames = guest.frames(2 * PATIENCE)?;
    let said = frames.get("run").context("the guest did not say what it saw")?;
    for part in PARTS {
        part.tell(&mut story, stage.journal(), said);
        if place.reader().program.is_some() {
            tell_given(&mut story, stage.journal(), part, said);
        }
    }
    Ok(story)
}

impl Part {
    fn fault(&self) -> Result<Fault> {
        self.fault.parse().map_err(anyhow::Error::msg)
    }

    fn script(&self, reader: &Reader, who: &str) -> Result<String> {
        Ok(format!(
            "echo 'part {name}{who}'; mark '{name}{who}'\nreader_start {} {}\nsleep 3\nreader_end\n",
            self.fault()?.command(),
            reader.command(),
            name = self.name,
        ))
    }

    /// Checks the observations of the testbed's own reader, which must show the fault.
    fn tell(&self, story: &mut Story, journal: &Journal, said: &str) {
        let name = self.name;
        let Some(value) = note(story, journal, self, "", said) else { return };
        let report: Report = match serde_json::from_value(value) {
            Ok(report) => report,
            Err(error) => return story.problems.push(format!("{name}: the report: {error}")),
        };
        story.check((report.back_steps > 0) == self.back_steps, || {
            format!("{name}: the clock went back {} times", report.back_steps)
        });
        story.check(self.error.contains(&report.largest_error_ns), || {
            format!("{name}: the largest error is {} ns", report.largest_error_ns)
        });
        story.check(report.kernel_back_steps == 0, || {
            format!("{name}: the system call's clock went back too, which no fault here can do")
        });
    }
}

/// Notes the observations of a given reader, which may be able to hide the fault.
fn tell_given(story: &mut Story, journal: &Journal, part: &Part, said: &str) {
    note(story, journal, part, GIVEN, said);
}

/// Notes the last report of a part, and returns it. Its absence and a bad end are problems.
fn note(story: &mut Story, journal: &Journal, part: &Part, who: &str, said: &str) -> Option<Value> {
    let name = format!("{}{who}", part.name);
    let mut said = said.split("part ").filter_map(|text| text.split_once('\n'));
    let text = said.find(|(heading, _)| *heading == name).map_or("", |(_, text)| text);
    let behind = |words: &str| {
        let (_, rest) = text.split_once(words)?;
        rest.split([' ', '\n']).next()?.parse::<u64>().ok()
    };
    let (answered, ended) = (behind("probe fault: answered "), behind(ENDED));
    story.check(ended == Some(0), || format!("{name}: the reader did not end well: {text}"));
    let report = last_report(&journal.entries(), &name);
    story.check(report.is_some(), || format!("{name}: the reader reported nothing: {text}"));
    story.check(who == GIVEN || answered > Some(0), || format!("{name}: no read was intercepted"));
    story.seen.push(json!({
        "what": name,
        "fault": part.fault,
        "answered": answered,
        "reader": report,
    }));
    story.readers.extend(report.clone().map(|report| at(report, &name)));
    report
}

fn last_report(entries: &[Entry], part: &str) -> Option<Value> {
    let start = entries.iter().position(|entry| *entry == Entry::Mark(part.into()))?;
    let reports = entries[start + 1..].iter().map_while(|entry| match entry {
        Entry::Report(report) => Some(report.clone()),
        Entry::Mark(_) => None,
    });
    reports.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(part: &Part, steps: u64, error: u64, said: &str) -> Story {
        let journal = Journal::default();
        journal.mark(part.name);
        journal.take(&format!(
            "|reader {{\"reads\":9,\"threads\":3,\"back_steps\":{steps},\"largest_back_step_ns\":7,\
             \"largest_error_ns\":{error},\"clock\":\"X\"}}"
        ));
        journal.mark("another");
        let mut story = Story::new("fault", "6.1");
        part.tell(&mut story, &journal, said);
        story
    }

    fn said(part: &Part) -> String {
        let name = part.name;
        format!(
            "part x\nthe reader ended with 1\npart {name}\nprobe fault: answered 5 reads of the counter\nthe reader ended with 0\n"
        )
    }

    #[test]
    fn fault_seen_is_not_a_problem_and_unseen_is() {
        let [none, offset, rate, jump] = PARTS else { unreachable!() };
        for (part, steps, error) in
            [(none, 0, 0), (offset, 3, 40_000_000), (rate, 0, 2_000_000), (jump, 0, 40_000_000)]
        {
            assert_eq!(told(part, steps, error, &said(part)).problems, Vec::<String>::new());
        }
        for (part, steps, error) in [(none, 1, 0), (none, 0, 1), (offset, 0, 40_000_000)] {
            assert_eq!(told(part, steps, error, &said(part)).problems.len(), 1, "{}", part.name);
        }
        assert_eq!(told(rate, 0, 0, &said(rate)).problems.len(), 1);
        assert_eq!(told(jump, 1, 0, &said(jump)).problems.len(), 2);
        assert_eq!(told(jump, 0, 40_000_000, &said(rate)).problems.len(), 2);
    }
}
