//! From sums to a recording: addresses get names.

use super::waits::Waits;
use super::{Session, unseen};
use crate::account::waits::{Seen as Wait, Waiting};
use crate::aggregate::{self, Aggregate, Key, Tally};
use crate::calibrate::OwnCosts;
use crate::recording::{Hit, Module, Moment, Recording, Seen, Stack};
use crate::symbols::{Frame, FrameKind, Place, Symbols};
use crate::watched::jvm::{self, Requests};
use crate::watched::maps::Mapping;
use crate::watched::patient;
use crate::watched::python::{LOOPS, Script};
use crate::watched::{Process, Runtime};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time before the first request for names to a runtime; each later request comes after twice
/// the time.
const FIRST: Duration = Duration::from_millis(700);

/// Addresses that distinguish calls.
const CALLERS: usize = 4;

impl Session {
    /// Requests from runtimes the names of code that they have made: now and then, because the code,
    /// or the process, may be gone at the end; and `at_once`.
    pub(super) fn ask_runtimes(&mut self, at_once: bool) {
        for (at, process) in self.processes.iter_mut().enumerate() {
            let (next, pause) = self.asked.entry(at).or_insert((Instant::now() + FIRST, FIRST));
            if !at_once && Instant::now() < *next {
                continue;
            }
            *pause *= 2;
            *next = Instant::now() + *pause;
            // Any program may write a map of the code that it makes: .NET, LuaJIT, PyPy, Julia, Python with -X perf.
            if !process.runtime.makes_code() && !process.has_code_without_file() {
                continue;
            }
            let known = self.maps.entry(at).or_default();
            match jvm::written_map(process.pid, known) {
                Ok(Some(map)) => process.perf_map.update(map),
                Ok(None) => {}
                Err(why) if !process.gaps.contains(&why) => process.gaps.push(why),
                Err(_) => {}
            }
            // A runtime that once returned no names gets no further request.
            if process.runtime != Runtime::Jvm || self.silent.contains(&process.pid) {
                continue;
            }
            if self.attach == Requests::No {
                self.silent.insert(process.pid);
                continue;
            }
            match jvm::ask(process, self.attach) {
                Ok(map) => process.perf_map.update(map),
                Err(why) => {
                    self.silent.insert(process.pid);
                    if process.perf_map.is_empty() {
                        process.gaps.push(why);
                    }
                }
            }
        }
    }
}

/// Names for stacks, each address of a process once.
struct Namer<'a> {
    symbols: &'a mut Symbols,
    processes: &'a [Process],
    known: HashMap<(usize, u64), Vec<Frame>>,
    python: Arc<str>,
}

impl Namer<'_> {
    fn frames(&mut self, at: usize, stack: &[u64], interpreted: Option<&Script>) -> Arc<[Frame]> {
        let Some(process) = self.processes.get(at) else { return Arc::new([]) };
        let mut frames = Vec::new();
        let mut placed = interpreted.is_none();
        for address in stack {
            let named = self
                .known
                .entry((at, *address))
                .or_insert_with(|| self.symbols.frames(process, *address));
            for frame in named.iter() {
                if !placed
                    && LOOPS.contains(&&*frame.name)
                    && let Some(name) = interpreted
                {
                    placed = true;
                    frames.push(interpreted_frame(name, &self.python));
                }
                frames.push(frame.clone());
            }
        }
        if !placed && let Some(name) = interpreted {
            frames.push(interpreted_frame(name, &self.python));
        }
        frames.into()
    }
}

impl Namer<'_> {
    /// Returns the innermost addresses outside the vDSO: they distinguish calls.
    fn callers(&self, at: usize, stack: &[u64]) -> Arc<[u64]> {
        let Some(process) = self.processes.get(at) else { return Arc::new([]) };
        let outside = |address: &&u64| !process.in_vdso(**address) && !process.in_ours(**address);
        stack.iter().filter(outside).take(CALLERS).copied().collect()
    }
}

fn interpreted_frame(script: &Script, module: &Arc<str>) -> Frame {
    Frame {
        name: Arc::clone(&script.name),
        module: Arc::clone(module),
        kind: FrameKind::Interpreted,
        place: Some(Place { file: Arc::clone(&script.file), line: script.line }),
    }
}

/// The files that stacks go through, each once.
fn modules(processes: &[Process], stacks: &[Stack]) -> Vec<Module> {
    let mut wanted: BTreeSet<(usize, &str)> = BTreeSet::new();
    for stack in stacks {
        wanted.extend(stack.frames.iter().map(|frame| (stack.process, &*frame.module)));
    }
    let mut modules: Vec<Module> = Vec::new();
    for (at, process) in processes.iter().enumerate() {
        let of_file = |mapping: &&Mapping| {
            mapping.executable && (mapping.is_file() || mapping.is_in_memory())
        };
        let code = process.maps.iter().filter(of_file);
        for mapping in code {
            let name = mapping.base_name();
            if wanted.contains(&(at, name)) && !modules.iter().any(|known| &*known.name == name) {
                let build_id = process.file(mapping.range.start).map(|(_, file, _)| &file.build_id);
                modules.push(Module {
                    name: name.into(),
                    path: mapping.name.clone(),
                    mapped: (mapping.range.start, mapping.range.end, mapping.offset),
                    build_id: build_id.cloned().unwrap_or_default(),
                });
            }
        }
    }
    modules
}

/// Returns the recording so far.
pub(super) fn recording(session: &mut Session) -> Recording {
    session.resolve();
    session.sums.settle();
    let mut namer = Namer {
        symbols: &mut session.symbols,
        processes: &session.processes,
        known: HashMap::new(),
        python: "[Python]".into(),
    };
    let stacks = stacks(&session.sums, &mut namer);
    let hits = hits(&session.sums, &mut namer);
    let waits = waits(&session.waits, &mut namer);
    let modules = modules(&session.processes, &stacks);
    let seconds = session
        .ended_at
        .unwrap_or_else(Instant::now)
        .saturating_duration_since(session.begun)
        .as_secs_f64();
    let gaps = gaps(session, &modules, &stacks, &hits, seconds);
    let counted = session.sampler.cpu_time().map(|now| now.saturating_sub(session.counted));
    let armed = session.breakpoints.as_ref().map_or(0.0, |them| them.armed().as_secs_f64());
    let mut recording = Recording {
        processes: processes(session),
        stacks,
        hits,
        moments: moments(&session.sums),
        kernel: kernel(&session.sums),
        all: session.sums.all,
        lost: session.lost,
        seconds,
        frequency: session.sampler.frequency(),
        kernel_seen: session.sampler.access().depth == crate::perf::Depth::Kernel,
        modules,
        waits,
        armed_ms: armed * 1e3,
        gaps,
    };
    if let Some(counted) = counted {
        recording.take_time(counted);
    }
    recording
}

/// The stacks that read a clock.
fn stacks(sums: &Aggregate, namer: &mut Namer<'_>) -> Vec<Stack> {
    let stack = |(key, tally): &(Key, Tally)| Stack {
        process: key.process,
        path: key.path,
        api: key.api,
        frames: namer.frames(key.process, &key.stack, key.interpreted.as_ref()),
        callers: namer.callers(key.process, &key.stack),
        tally: *tally,
    };
    sums.reads.iter().map(stack).collect()
}

/// The hits of breakpoints, which show the clocks.
fn hits(sums: &Aggregate, namer: &mut Namer<'_>) -> Vec<Hit> {
    sums.hits
        .iter()
        .map(|(key, draws)| Hit {
            process: key.process,
            api: key.api,
            clock: key.clock,
            frames: namer.frames(key.process, &key.stack, key.interpreted.as_ref()),
            callers: namer.callers(key.process, &key.stack),
            count: draws.iter().map(|(_, count)| count).sum(),
            draws: draws.clone(),
        })
        .collect()
}

/// The waits that a change of the wall clock disturbs.
fn waits(seen: &Waits, namer: &mut Namer<'_>) -> Vec<Waiting> {
    let mut waits: Vec<Waiting> = seen
        .deadlines
        .iter()
        .map(|((process, call, stack), looks)| Waiting {
            process: *process,
            call,
            frames: namer.frames(*process, stack, None),
            seen: Wait::WallDeadline { looks: *looks },
        })
        .collect();
    for thread in seen.falling() {
        let reader = thread.reader.as_ref().map(|stack| namer.frames(thread.process, stack, None));
        waits.push(Waiting {
            process: thread.process,
            call: thread.call,
            frames: namer.frames(thread.process, &thread.stack, None),
            seen: Wait::Remaining {
                falls: thread.falls,
                wall: thread.wall,
                others: thread.others,
                reader,
            },
        });
    }
    waits
}

/// The moments of reads, from the first one on, in the order of time.
fn moments(sums: &Aggregate) -> Vec<Moment> {
    let first = sums.moments.iter().map(|moment| moment.time).min().unwrap_or(0);
    let moment = |moment: &aggregate::Moment| Moment {
        time: moment.time - first,
        tid: moment.tid,
        stack: moment.read,
        ns: moment.ns,
    };
    let mut moments: Vec<Moment> = sums.moments.iter().map(moment).collect();
    moments.sort_by_key(|moment| moment.time);
    moments
}

/// The functions of the kernel that read clocks, those with most samples first.
fn kernel(sums: &Aggregate) -> Vec<(Arc<str>, u64)> {
    let mut kernel: Vec<(Arc<str>, u64)> =
        sums.kernel.iter().map(|(name, count)| (Arc::clone(name), *count)).collect();
    kernel.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    kernel
}

/// The processes that were sampled, and after them those that could not be looked into.
fn processes(session: &Session) -> Vec<Seen> {
    let mut own_costs = OwnCosts::default();
    let known = session.processes.iter().enumerate().map(|(at, process)| Seen {
        pid: process.pid,
        name: process.name.clone(),
        runtime: (!process.narrow).then_some(process.runtime),
        tally: tally(session, at),
        own: own_costs.of(process.ours.as_ref()),
    });
    let mut seen: Vec<Seen> = known.collect();
    seen.extend(session.strangers.iter().map(|(pid, tally)| Seen {
        pid: *pid,
        name: "?".to_owned(),
        runtime: None,
        tally: *tally,
        own: None,
    }));
    seen
}

/// The samples of the process at this place.
fn tally(session: &Session, at: usize) -> Tally {
    session.sums.processes.get(&at).copied().unwrap_or_default()
}

/// What the recording does not show, and why.
fn gaps(
    session: &Session,
    modules: &[Module],
    stacks: &[Stack],
    hits: &[Hit],
    seconds: f64,
) -> Vec<String> {
    let all = session.sums.all.ns;
    let mut gaps = session.gaps.clone();
    gaps.extend(patient::gap());
    gaps.extend(session.processes.iter().flat_map(|process| process.gaps.iter().cloned()));
    gaps.extend(unseen::unseen(&session.processes, stacks));
    gaps.extend(unseen::nameless(modules, stacks));
    gaps.extend(session.symbols.gaps().iter().cloned());
    gaps.extend(session.breakpoints.as_ref().and_then(|breakpoints| {
        unseen::clocks(breakpoints, stacks, hits, |at| tally(session, at).ns, seconds)
    }));
    let of = |which: fn(&Process) -> bool| {
        let processes = session.processes.iter().enumerate();
        processes.filter(move |(_, process)| which(process))
    };
    let ended: Vec<(&str, u64)> = of(|process| process.ended)
        .map(|(at, process)| (process.name.as_str(), tally(session, at).ns))
        .collect();
    gaps.extend(unseen::ended(&ended, all));
    let narrow: Vec<(u32, &str, u64)> = of(|process| process.narrow)
        .map(|(at, process)| (process.pid, process.name.as_str(), tally(session, at).ns))
        .collect();
    gaps.extend(unseen::narrow(&narrow, all));
    let strangers: Vec<u64> = session.strangers.values().map(|tally| tally.ns).collect();
    gaps.extend(unseen::strangers(&strangers, all));
    gaps
}
