//! Counts every read of a command, by the vDSO that counts. The tracer, another process, reports the reads of each
//! process when it ends: a line of JSON each, by a pipe.

use clocksmith_raw::layout::{GETTIMEOFDAY, OTHER, TIME};
use clocksmith_run::{Act, Baseline, Counted as Process, Launch, Totals};
use clocksmith_who::clock::{Api, ClockId};
use clocksmith_who::exact::{Count, Counted, Counter, Interval};
use clocksmith_who::spawn::Waiting;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long to wait for the tracer's last line after the command has ended.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for processes that the command has left.
const STRAGGLERS: Duration = Duration::from_millis(300);

/// A line of the tracer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The reads of a process: calls by kind, and intervals by class of cycles.
    Process { calls: Vec<u64>, intervals: Vec<u64>, rate: u64 },
    /// The command has ended: programs that were started, and those that were left alone.
    End { programs: u64, untouched: u64, uncounted: u64, reasons: Vec<String> },
    /// The command itself is not counted.
    Refused(String),
}

/// The counts of a command that runs.
pub(crate) struct Exact {
    lines: Receiver<Line>,
    refused: Option<String>,
}

/// Prepares a command as [`Waiting::new`] does, and has its reads counted.
pub(crate) fn waiting(command: &[OsString], aside: bool) -> io::Result<(Waiting, Exact)> {
    let refusal = match command.first() {
        Some(program) if clocksmith_run::available() => clocksmith_run::check(program).err(),
        _ => {
            let lines = channel().1;
            let refused = clocksmith_run::Failure::Unavailable.to_string();
            return Ok((Waiting::new(command, aside)?, Exact { lines, refused: Some(refused) }));
        }
    };
    if let Some(refusal) = refusal {
        let refused = Some(refusal.to_string());
        return Ok((Waiting::new(command, aside)?, Exact { lines: channel().1, refused }));
    }
    let baseline = Baseline::begin();
    let (reader, writer) = io::pipe()?;
    let waiting = Waiting::prepared(command, aside, move || attach(baseline, &writer))?;
    let (tell, lines) = channel();
    std::thread::Builder::new().name("counts".to_owned()).spawn(move || {
        let lines = BufReader::new(reader as PipeReader).lines();
        let lines = lines.map_while(Result::ok);
        for line in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
            if tell.send(line).is_err() {
                return;
            }
        }
    })?;
    Ok((waiting, Exact { lines, refused: None }))
}

/// Runs in the new process: requests to be traced. The pipe reports the result.
fn attach(baseline: Baseline, writer: &PipeWriter) {
    let Ok(copies) = (|| -> io::Result<_> {
        Ok((writer.try_clone()?, writer.try_clone()?, writer.try_clone()?))
    })() else {
        return;
    };
    let (processes, end, refusal) = copies;
    let launch = Launch::new(Act::Count, baseline).keep(&processes).keep(&end).keep(&refusal);
    let launch = launch
        .on_count(move |counted| tell(&processes, &process(counted)))
        .on_end(move |totals| tell(&end, &ended(totals)))
        .on_refusal(move |why| tell(&refusal, &Line::Refused(why.to_string())));
    if let Err(failure) = launch.attach() {
        tell(writer, &Line::Refused(failure.to_string()));
    }
}

fn tell(mut to: &PipeWriter, line: &Line) {
    if let Ok(mut bytes) = serde_json::to_vec(line) {
        bytes.push(b'\n');
        // The reader may have closed the pipe.
        let _ = to.write_all(&bytes);
    }
}

fn process(counted: &Process) -> Line {
    Line::Process {
        calls: counted.calls.to_vec(),
        intervals: counted.intervals.to_vec(),
        rate: counted.rate,
    }
}

fn ended(totals: &Totals) -> Line {
    Line::End {
        programs: totals.programs,
        untouched: totals.untouched,
        uncounted: totals.uncounted,
        reasons: totals.reasons.iter().map(|(file, why)| format!("{file}: {why}")).collect(),
    }
}

impl Counter for Exact {
    fn method(&self) -> String {
        "a vDSO that counts each call, in place of the kernel's".to_owned()
    }

    fn counts(&mut self) -> Result<Counted, String> {
        let mut sums = Sums::default();
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        let mut until = Instant::now() + PATIENCE;
        let complete = loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Line::Refused(why)) => return Err(why),
                Ok(line) => {
                    if matches!(line, Line::End { .. }) {
                        until = Instant::now() + STRAGGLERS;
                    }
                    sums.add(line);
                }
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
        };
        sums.counted(complete)
    }
}

/// The sums of all lines.
#[derive(Debug, Default)]
struct Sums {
    calls: Vec<u64>,
    intervals: Vec<Interval>,
    processes: u64,
    end: Option<(u64, u64, u64, Vec<String>)>,
}

impl Sums {
    fn add(&mut self, line: Line) {
        match line {
            Line::Process { calls, intervals, rate } => {
                self.processes += 1;
                self.calls.resize(self.calls.len().max(calls.len()), 0);
                for (sum, calls) in self.calls.iter_mut().zip(calls) {
                    *sum = sum.saturating_add(calls);
                }
                for (class, reads) in intervals.into_iter().enumerate().filter(|(_, n)| *n > 0) {
                    self.interval(class, reads, rate);
                }
            }
            Line::End { programs, untouched, uncounted, reasons } => {
                self.end = Some((programs, untouched, uncounted, reasons));
            }
            Line::Refused(_) => {}
        }
    }

    /// Adds a class of intervals: from 2^class cycles up to twice that. The measured rates of processes differ
    /// slightly, so a class keeps the bounds that it got first.
    fn interval(&mut self, class: usize, reads: u64, rate: u64) {
        let ns =
            |cycles: u128| u64::try_from((cycles * u128::from(rate)) >> 48).unwrap_or(u64::MAX);
        let cycles = 1u128 << class.min(63);
        let (from_ns, to_ns) = (ns(cycles), ns(cycles * 2));
        let near = |one: &&mut Interval| {
            one.from_ns.abs_diff(from_ns) <= from_ns / 4 && one.to_ns.abs_diff(to_ns) <= to_ns / 4
        };
        match self.intervals.iter_mut().find(near) {
            Some(known) => known.reads = known.reads.saturating_add(reads),
            None => self.intervals.push(Interval { from_ns, to_ns, reads }),
        }
    }

    fn counted(mut self, complete: bool) -> Result<Counted, String> {
        if self.processes == 0 {
            return Err(
                "no process of the command reported its counts; it may have ended before it ran, \
                        or have been killed together with its tracer"
                    .to_owned(),
            );
        }
        self.intervals.sort_by_key(|one| one.from_ns);
        let counts = self.calls.iter().enumerate().filter_map(|(kind, calls)| {
            let (api, clock) = kind_of(kind)?;
            Some(Count { api, clock, calls: *calls })
        });
        Ok(Counted {
            counts: counts.collect(),
            intervals: self.intervals,
            processes: self.processes,
            lost: lost(self.end, complete),
            ..Counted::default()
        })
    }
}

/// Returns the read that is counted at an index.
fn kind_of(kind: usize) -> Option<(Api, Option<ClockId>)> {
    match kind {
        GETTIMEOFDAY => Some((Api::Gettimeofday, None)),
        TIME => Some((Api::Time, None)),
        OTHER => Some((Api::ClockGettime, None)),
        kind if kind < OTHER => Some((Api::ClockGettime, Some(ClockId(i32::try_from(kind).ok()?)))),
        _ => None,
    }
}

/// Returns the reads that the counts do not include.
fn lost(end: Option<(u64, u64, u64, Vec<String>)>, complete: bool) -> Vec<String> {
    let mut lost = vec![
        "exact counts include calls through the vDSO, but neither system calls that a program makes \
         itself nor its own counter instructions"
            .to_owned(),
    ];
    let Some((programs, untouched, uncounted, reasons)) = end else {
        lost.push(
            "the end of the command was not reported: exact counts may be too small".to_owned(),
        );
        return lost;
    };
    let more = (programs + untouched).saturating_sub(1);
    if more > 0 {
        lost.push(format!(
            "{more} more program{} run by the command: what a process reads before it becomes another \
             program (exec) is not in the exact counts",
            if more == 1 { " was" } else { "s were" }
        ));
    }
    if untouched > 0 {
        lost.push(format!("{untouched} of them were not counted: {}", reasons.join("; ")));
    }
    if uncounted > 0 {
        lost.push(format!("the counts of {uncounted} processes could not be read when they ended"));
    }
    if !complete {
        lost.push(
            "processes that the command has started still run: their exact counts are not included"
                .to_owned(),
        );
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(calls: [u64; 16], class: usize, reads: u64, rate: u64) -> Line {
        let mut intervals = vec![0; 64];
        intervals[class] = reads;
        Line::Process { calls: calls.to_vec(), intervals, rate }
    }

    #[test]
    fn processes_are_added_up() {
        let (mut a, mut b) = ([0; 16], [0; 16]);
        (a[1], a[GETTIMEOFDAY], b[1], b[TIME], b[OTHER]) = (5, 2, 6, 3, 4);
        let mut sums = Sums::default();
        // One cycle is half a nanosecond; nearly so in the other process.
        sums.add(process(a, 10, 4, 1 << 47));
        sums.add(process(b, 10, 5, (1 << 47) + (1 << 40)));
        sums.add(Line::End { programs: 2, untouched: 0, uncounted: 0, reasons: Vec::new() });
        let counted = sums.counted(true).unwrap();
        let calls = |api, clock| {
            let row = counted.counts.iter().find(|row| (row.api, row.clock) == (api, clock));
            row.unwrap().calls
        };
        assert_eq!(calls(Api::ClockGettime, Some(ClockId::MONOTONIC)), 11);
        assert_eq!(calls(Api::ClockGettime, None), 4);
        assert_eq!((calls(Api::Gettimeofday, None), calls(Api::Time, None)), (2, 3));
        assert_eq!(counted.intervals, [Interval { from_ns: 512, to_ns: 1024, reads: 9 }]);
        assert!(counted.lost.iter().any(|text| text.starts_with("1 more program was")));
    }

    #[test]
    fn what_is_lost_is_said() {
        assert!(Sums::default().counted(true).is_err());
        let all = lost(Some((2, 1, 1, vec!["/bin/x: why".to_owned()])), false).join("\n");
        for text in ["2 more programs", "/bin/x: why", "1 processes", "still run"] {
            assert!(all.contains(text), "{text}: {all}");
        }
        assert_eq!(lost(Some((1, 0, 0, Vec::new())), true).len(), 1);
        assert!(lost(None, true)[1].contains("may be too small"));
    }
}
