//! From sums to a recording: addresses get names.

use super::Session;
use crate::account::waits::{Seen as Wait, Waiting};
use crate::recording::{Hit, Moment, Recording, Seen, Stack};
use crate::symbols::{Frame, FrameKind, Symbols};
use crate::watched::{Process, Runtime, jvm, runtime};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After how long a runtime is asked for its names first; then after twice as long each time.
const FIRST: Duration = Duration::from_millis(700);

/// The interpreter's loop (CPython, all versions).
const LOOP: &str = "_PyEval_EvalFrameDefault";

impl Session {
    /// Asks runtimes for the names of code that they have made: now and then, since the code, or the
    /// process, may be gone at the end; and `at_once`.
    pub(super) fn ask_runtimes(&mut self, at_once: bool) {
        for (at, process) in self.processes.iter_mut().enumerate() {
            let (next, pause) = self.asked.entry(at).or_insert((Instant::now() + FIRST, FIRST));
            if !at_once && Instant::now() < *next {
                continue;
            }
            *pause *= 2;
            *next = Instant::now() + *pause;
            // Python writes a map with -X perf.
            if !process.runtime.makes_code() && process.runtime != Runtime::Python {
                continue;
            }
            let known = self.maps.entry(at).or_default();
            match jvm::written_map(process.pid, known) {
                Ok(Some(map)) => process.perf_map.update(map),
                Ok(None) => {}
                Err(why) if !process.gaps.contains(&why) => process.gaps.push(why),
                Err(_) => {}
            }
            // One that gave no names once is not asked again.
            if process.runtime != Runtime::Jvm || self.silent.contains(&process.pid) {
                continue;
            }
            if !self.attach {
                self.silent.insert(process.pid);
                continue;
            }
            match jvm::ask(process) {
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
    fn frames(&mut self, at: usize, stack: &[u64], interpreted: Option<&Arc<str>>) -> Arc<[Frame]> {
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
                    && &*frame.name == LOOP
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

fn interpreted_frame(name: &Arc<str>, module: &Arc<str>) -> Frame {
    Frame { name: Arc::clone(name), module: Arc::clone(module), kind: FrameKind::Interpreted }
}

/// Everything so far.
pub(super) fn recording(session: &mut Session) -> Recording {
    session.resolve();
    session.sums.settle();
    let mut namer = Namer {
        symbols: &mut session.symbols,
        processes: &session.processes,
        known: HashMap::new(),
        python: "[Python]".into(),
    };
    let sums = &session.sums;
    let stacks: Vec<Stack> = sums
        .reads
        .iter()
        .map(|(key, tally)| Stack {
            process: key.process,
            path: key.path,
            api: key.api,
            frames: namer.frames(key.process, &key.stack, key.interpreted.as_ref()),
            tally: *tally,
        })
        .collect();
    let hits: Vec<Hit> = sums
        .hits
        .iter()
        .map(|(key, count)| Hit {
            process: key.process,
            api: key.api,
            clock: key.clock,
            frames: namer.frames(key.process, &key.stack, key.interpreted.as_ref()),
            count: *count,
        })
        .collect();
    let mut waits: Vec<Waiting> = session
        .waits
        .deadlines
        .iter()
        .map(|((process, call, stack), looks)| Waiting {
            process: *process,
            call,
            frames: namer.frames(*process, stack, None),
            seen: Wait::WallDeadline { looks: *looks },
        })
        .collect();
    for thread in session.waits.falling() {
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
    let first = sums.moments.iter().map(|moment| moment.time).min().unwrap_or(0);
    let mut moments: Vec<Moment> = sums
        .moments
        .iter()
        .map(|moment| Moment {
            time: moment.time - first,
            tid: moment.tid,
            stack: moment.read,
            ns: moment.ns,
        })
        .collect();
    moments.sort_by_key(|moment| moment.time);
    let mut kernel: Vec<(Arc<str>, u64)> =
        sums.kernel.iter().map(|(name, count)| (Arc::clone(name), *count)).collect();
    kernel.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    let mut processes: Vec<Seen> = session
        .processes
        .iter()
        .enumerate()
        .map(|(at, process)| Seen {
            pid: process.pid,
            name: process.name.clone(),
            runtime: Some(process.runtime),
            tally: sums.processes.get(&at).copied().unwrap_or_default(),
        })
        .collect();
    processes.extend(session.strangers.iter().map(|(pid, tally)| Seen {
        pid: *pid,
        name: "?".to_owned(),
        runtime: None,
        tally: *tally,
    }));
    let mut gaps = session.gaps.clone();
    for process in &session.processes {
        // Whoever has written a map of its functions need not be told to.
        let named = process.runtime == Runtime::Python && !process.perf_map.is_empty();
        let unnamed = process.gaps.iter().filter(|gap| !(named && gap.contains(runtime::X_PERF)));
        gaps.extend(unnamed.cloned());
    }
    let breakpoints = session.breakpoints.as_ref();
    if let Some(error) = breakpoints.and_then(|breakpoints| breakpoints.refused())
        && hits.is_empty()
        && !stacks.is_empty()
    {
        gaps.push(format!(
            "which clocks are read is not known: breakpoints on the vDSO are refused ({error}); a debugger \
             may hold the processor's registers for them"
        ));
    }
    Recording {
        processes,
        stacks,
        hits,
        moments,
        kernel,
        all: sums.all,
        lost: session.lost,
        seconds: session.begun.elapsed().as_secs_f64(),
        frequency: session.sampler.frequency(),
        kernel_seen: session.sampler.access().depth == crate::perf::Depth::Kernel,
        waits,
        armed_ms: breakpoints.map_or(0.0, |breakpoints| breakpoints.armed().as_secs_f64() * 1e3),
        gaps,
    }
}
