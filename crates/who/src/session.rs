//! A recording session: events are opened, their records are taken while the programs run, and the
//! samples get names. An edge.

mod names;
mod take;
mod unseen;
mod waits;

use crate::aggregate::{Aggregate, Key, Tally};
use crate::perf::{Breakpoints, NoTracepoints, Refusal, Sampler, Scope, Tracepoints};
use crate::recording::Recording;
use crate::symbols::Symbols;
use crate::watched::jvm::Requests;
use crate::watched::{self, Files, Process};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The processes to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// These processes, with the processes that they have started and will start.
    Processes(Vec<u32>),
    /// A process that waits to become a command (see [`crate::spawn`]).
    Command(u32),
    /// The whole machine.
    Machine,
}

/// Counts the system calls that read clocks, from now on; a waiting command's from its beginning.
///
/// # Errors
/// See [`NoTracepoints`].
pub fn system_calls(target: &Target) -> Result<Tracepoints, NoTracepoints> {
    match target {
        Target::Machine => Tracepoints::start(&Scope::Everything, Vec::new),
        Target::Command(pid) => Tracepoints::start(&Scope::OnExec(id(*pid)), Vec::new),
        Target::Processes(pids) => Tracepoints::start(&Scope::Threads(Vec::new()), || {
            let shown = || pids.iter().copied().filter(|pid| watched::patient::shows(*pid));
            let children = shown().flat_map(watched::children);
            let mut all: Vec<u32> = shown().chain(children).collect();
            all.sort_unstable();
            all.dedup();
            let threads = |pid| watched::threads(pid).into_iter().map(move |tid| (pid, tid));
            all.into_iter().flat_map(threads).collect()
        }),
    }
}

/// The options of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Samples for each second of CPU time.
    pub frequency: u64,
    /// Bytes of the user stack that a sample carries, a multiple of 8.
    pub stack: u32,
    /// Whether breakpoints record clock ids.
    pub breakpoints: bool,
    /// Whether the processor's cycle counter triggers samples, if there is one.
    pub cycles: bool,
    /// Which Java virtual machines are requested to give the names of their code.
    pub attach: Requests,
}

impl Options {
    /// The options for one program, which cost less than 2 % of its speed.
    pub const PROGRAM: Self = Self {
        frequency: 397,
        stack: 2048,
        breakpoints: true,
        cycles: false,
        attach: Requests::Sure,
    };
    /// The options for the whole machine.
    pub const MACHINE: Self = Self {
        frequency: 199,
        stack: 1024,
        breakpoints: false,
        cycles: false,
        attach: Requests::Sure,
    };
}

/// Time between two moments with breakpoints, and how long they are armed.
const BETWEEN: Duration = Duration::from_millis(200);
const ARMED: Duration = Duration::from_micros(300);
/// Threads that are examined in one moment.
const THREADS: usize = 8;
/// The largest product of threads and processors for which each pair has its own event. Beyond that, `who` samples the
/// whole machine and discards the samples of other threads.
const EVENTS: usize = 4096;
/// Samples of interpreters that wait for the function that they show.
const UNRESOLVED: usize = 1 << 13;

/// A sample of an interpreter whose function is not known yet.
#[derive(Debug)]
enum Unresolved {
    Read(Key, Tally, (u64, u32)),
    /// A call, and its draw.
    Hit(crate::aggregate::HitKey, u32),
}

/// A running session.
#[derive(Debug)]
pub struct Session {
    sampler: Sampler,
    breakpoints: Option<Breakpoints>,
    /// `None`: all processes.
    wanted: Option<Vec<u32>>,
    processes: Vec<Process>,
    /// By process id; `None` if it cannot be looked at.
    current: HashMap<u32, Option<usize>>,
    /// The parent of each process.
    parents: HashMap<u32, u32>,
    /// Processes that have become other programs: the name, and where the vDSO is.
    executed: HashMap<u32, (String, Option<Range<u64>>)>,
    /// Processes that have ended: their ids may come again.
    ended: HashSet<u32>,
    files: Files,
    symbols: Symbols,
    sums: Aggregate,
    /// Bytes before instructions, by process and address.
    before: HashMap<(usize, u64), Option<[u8; 3]>>,
    unresolved: Vec<(watched::python::State, Unresolved)>,
    /// Moments so far, and the draws of each: one for each of its threads.
    moment: u32,
    draws: HashMap<(u32, u32), u32>,
    /// Samples of reads since the last moment, by thread.
    recent: HashMap<i32, (usize, u64)>,
    waits: waits::Waits,
    asked: HashMap<usize, (Instant, Duration)>,
    /// Maps of names that were read, by process.
    maps: HashMap<usize, watched::jvm::Written>,
    /// Java virtual machines that must not get a request.
    silent: HashSet<u32>,
    attach: Requests,
    gaps: Vec<String>,
    strangers: HashMap<u32, Tally>,
    lost: u64,
    begun: Instant,
    /// When sampling ended.
    ended_at: Option<Instant>,
    /// CPU time that the events had counted at the beginning.
    counted: u64,
    next_moment: Instant,
}

impl Session {
    /// Opens the events, and starts them; those of a waiting command start with the command.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn start(target: &Target, options: Options) -> Result<Self, Refusal> {
        let shown: Vec<u32> = match target {
            Target::Processes(pids) => {
                pids.iter().copied().filter(|pid| watched::patient::shows(*pid)).collect()
            }
            _ => Vec::new(),
        };
        let (mut scope, wanted) = match target {
            Target::Machine => (Scope::Everything, None),
            Target::Command(pid) => (Scope::OnExec(id(*pid)), None),
            Target::Processes(pids) => {
                if let ([], Some(silent)) = (shown.as_slice(), pids.first()) {
                    return Err(Refusal::Silent(*silent));
                }
                let mut all = shown.clone();
                all.extend(shown.iter().flat_map(|pid| watched::children(*pid)));
                all.sort_unstable();
                all.dedup();
                let tids: Vec<i32> = all.iter().flat_map(|pid| watched::threads(*pid)).collect();
                if tids.is_empty() {
                    return Err(Refusal::Gone(pids.first().map_or(0, |pid| id(*pid))));
                }
                (Scope::Threads(tids), Some(all))
            }
        };
        let mut followed = None;
        if let Scope::Threads(tids) = &scope
            && tids.len() * crate::perf::online_cpus().len() > EVENTS
        {
            scope = Scope::Everything;
            followed = wanted;
        }
        let sampler = Sampler::open(&scope, options.frequency, options.stack, options.cycles)?;
        let mut session = Self {
            sampler,
            breakpoints: options.breakpoints.then(Breakpoints::default),
            wanted: followed,
            processes: Vec::new(),
            current: HashMap::new(),
            parents: HashMap::new(),
            executed: HashMap::new(),
            ended: HashSet::new(),
            files: Files::default(),
            symbols: Symbols::default(),
            sums: Aggregate::default(),
            before: HashMap::new(),
            unresolved: Vec::new(),
            moment: 0,
            draws: HashMap::new(),
            recent: HashMap::new(),
            waits: waits::Waits::default(),
            asked: HashMap::new(),
            maps: HashMap::new(),
            silent: HashSet::new(),
            attach: options.attach,
            gaps: Vec::new(),
            strangers: HashMap::new(),
            lost: 0,
            begun: Instant::now(),
            ended_at: None,
            counted: 0,
            next_moment: Instant::now() + BETWEEN / 4,
        };
        session.gaps.extend(session.sampler.access().gap());
        if options.breakpoints {
            session.waits.watched = match target {
                Target::Machine => Vec::new(),
                Target::Command(pid) => vec![*pid],
                Target::Processes(_) => shown,
            };
        }
        if !matches!(target, Target::Command(_)) {
            session
                .sampler
                .switch(true)
                .map_err(|error| Refusal::Impossible { what: "the processes".to_owned(), error })?;
        }
        session.begun = Instant::now();
        Ok(session)
    }

    /// Watches for a while, or until `stop` returns `true`, and then ends sampling, on time even on a busy machine.
    /// Returns whether all watched processes have ended.
    pub fn record(&mut self, how_long: Duration, stop: impl FnMut() -> bool) -> bool {
        let deadline = self.sampler.switch_off_after(how_long);
        let over = self.watch(how_long, stop);
        self.ended_at = deadline.and_then(crate::perf::Deadline::end);
        self.stop();
        over
    }

    /// Watches for a while, or until `stop` returns `true`; returns whether all watched processes
    /// have ended.
    pub fn watch(&mut self, how_long: Duration, mut stop: impl FnMut() -> bool) -> bool {
        let end = Instant::now() + how_long;
        loop {
            let now = Instant::now();
            if now >= end || stop() {
                self.drain();
                return false;
            }
            let next = if self.breakpoints.is_some() { self.next_moment.min(end) } else { end };
            let pause = next
                .saturating_duration_since(now)
                .clamp(Duration::from_millis(1), Duration::from_millis(25));
            let ended = self.sampler.wait(pause);
            self.drain();
            self.look();
            if self.breakpoints.is_some() && Instant::now() >= self.next_moment {
                self.moment();
                // At random intervals, so that the moments do not coincide with periodic work of the program.
                let jitter = u64::from(self.begun.elapsed().subsec_nanos()) % 40_000_000;
                self.next_moment = Instant::now() + BETWEEN - Duration::from_millis(20)
                    + Duration::from_nanos(jitter);
            }
            self.ask_runtimes(false);
            if ended {
                return true;
            }
        }
    }

    /// Stops sampling; the samples are kept.
    pub fn stop(&mut self) {
        let _ = self.sampler.switch(false);
        self.ended_at.get_or_insert_with(Instant::now);
        self.drain();
        let mut few = Vec::new();
        if let Some(breakpoints) = &mut self.breakpoints {
            breakpoints.collect(|sample| few.push(sample));
        }
        for hit in few {
            self.take_doubtful(&hit);
        }
    }

    /// Discards the recording, so that the next one begins here; the data about the processes is
    /// kept.
    pub fn forget(&mut self) {
        self.sums = Aggregate::default();
        self.unresolved.clear();
        self.draws.clear();
        self.strangers.clear();
        self.waits.deadlines.clear();
        self.lost = 0;
        self.counted = self.sampler.cpu_time().unwrap_or(0);
        self.begun = Instant::now();
    }

    /// Arms the breakpoints for a moment, on the threads that read most.
    fn moment(&mut self) {
        let Some(mut breakpoints) = self.breakpoints.take() else { return };
        let mut threads: Vec<(i32, usize, u64)> =
            self.recent.drain().map(|(tid, (process, reads))| (tid, process, reads)).collect();
        threads.sort_by_key(|(_, _, reads)| std::cmp::Reverse(*reads));
        threads.truncate(THREADS);
        let threads: Vec<(i32, Vec<u64>)> = threads
            .into_iter()
            .filter_map(|(tid, process, _)| {
                let entries = self.processes.get(process)?.entries();
                (!entries.is_empty()).then_some((tid, entries))
            })
            .collect();
        let (mut hits, mut few) = (Vec::new(), Vec::new());
        self.moment = self.moment.wrapping_add(1);
        breakpoints.collect(|sample| few.push(sample));
        for hit in few {
            self.take_doubtful(&hit);
        }
        breakpoints.moment(&threads, ARMED, |sample| hits.push(sample));
        for hit in hits {
            self.take_hit(&hit);
        }
        for (tid, entries) in self.doubtful() {
            breakpoints.arm_few(tid, &entries);
        }
        self.choose_sleepers();
        self.breakpoints = Some(breakpoints);
    }

    /// The recording so far, with names.
    pub fn recording(&mut self) -> Recording {
        self.ask_runtimes(true);
        names::recording(self)
    }
}

fn id(pid: u32) -> i32 {
    i32::try_from(pid).unwrap_or(0)
}
