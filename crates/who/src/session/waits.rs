//! Looks at sleeping threads: the calls that they wait in, and, if their time-outs shrink as time passes, the clocks
//! that they read meanwhile. A look does not stop the thread. Only a few of a thread's reads are observed,
//! because each observation costs the thread a few microseconds.

use super::Session;
use crate::account::waits::{FALLS, falls, is_wall, may_fall};
use crate::clock::ClockId;
use crate::record::{Registers, Sample};
use crate::watched;
use crate::watched::waits::{self, Blocked, End};
use std::collections::HashMap;
use std::time::Instant;

/// Threads that are examined until the next moment.
const LOOKED_AT: usize = 16;
/// Threads whose reads are watched until the next moment.
const WATCHED: usize = 2;
/// Reads of a thread that are enough to know its clocks.
const ENOUGH: u64 = 64;
/// Different places that are kept.
const PLACES: usize = 256;
/// Bytes of the stack, as breakpoints carry.
const STACK: usize = 2048;

/// The state of the waits.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// The processes to look at, besides those that samples have shown: empty if threads are not
    /// looked at.
    pub(super) watched: Vec<u32>,
    next: usize,
    now: Vec<(usize, u32, i32)>,
    threads: HashMap<i32, Thread>,
    /// Waits until a time of the wall clock, by process, call and stack.
    pub(super) deadlines: HashMap<(usize, &'static str, Box<[u64]>), u64>,
    /// Stacks by process, stack pointer and instruction.
    stacks: HashMap<(usize, u64, u64), Box<[u64]>>,
}

/// The state of one thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) process: usize,
    pub(super) call: &'static str,
    last: Option<(Instant, u64)>,
    pub(super) falls: u64,
    /// Where it waited when its time-out fell.
    pub(super) stack: Box<[u64]>,
    pub(super) wall: u64,
    pub(super) others: u64,
    /// Where it read the wall clock first.
    pub(super) reader: Option<Box<[u64]>>,
}

impl Waits {
    /// Threads whose time-outs fell.
    pub(super) fn falling(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values().filter(|thread| thread.falls >= FALLS)
    }
}

impl Session {
    /// Chooses the threads to look at from now on: all threads take turns.
    pub(super) fn choose_sleepers(&mut self) {
        let mut pids = self.waits.watched.clone();
        if pids.is_empty() {
            return;
        }
        pids.extend(self.processes.iter().map(|process| process.pid));
        pids.sort_unstable();
        pids.dedup();
        pids.retain(|pid| !self.ended.contains(pid));
        let threads: Vec<(u32, i32)> = pids
            .into_iter()
            .flat_map(|pid| watched::threads(pid).into_iter().map(move |tid| (pid, tid)))
            .collect();
        let many = threads.len().max(1);
        let from = self.waits.next % many;
        let chosen: Vec<(u32, i32)> =
            threads.iter().cycle().skip(from).take(many.min(LOOKED_AT)).copied().collect();
        self.waits.next = from + chosen.len();
        // The time until the next look is not a decrease of any time-out.
        self.waits.threads.values_mut().for_each(|thread| thread.last = None);
        self.waits.now = chosen
            .into_iter()
            .filter_map(|(pid, tid)| Some((self.process(pid)?, pid, tid)))
            .collect();
    }

    /// Looks at them once.
    pub(super) fn look(&mut self) {
        for at in 0..self.waits.now.len() {
            let Some((process, pid, tid)) = self.waits.now.get(at).copied() else { return };
            let Some(blocked) = waits::blocked(pid, tid) else { continue };
            let now = Instant::now();
            let Some(wait) = self.processes.get(process).and_then(|process| {
                blocked.wait(|at| Some((process.word(at)?, process.word(at.checked_add(8)?)?)))
            }) else {
                continue;
            };
            match wait.end {
                End::Until(clock) if clock == ClockId::REALTIME => {
                    let stack = self.sleeping_stack(process, tid, blocked);
                    if self.waits.deadlines.len() < PLACES {
                        *self.waits.deadlines.entry((process, wait.call, stack)).or_default() += 1;
                    }
                }
                End::After(_) if !may_fall(wait.call) => {}
                End::Until(_) => {}
                End::After(ns) => {
                    let thread = self.waits.threads.entry(tid).or_insert_with(|| Thread {
                        process,
                        call: wait.call,
                        last: None,
                        falls: 0,
                        stack: Box::default(),
                        wall: 0,
                        others: 0,
                        reader: None,
                    });
                    let before = thread.last.replace((now, ns));
                    if (thread.process, thread.call) != (process, wait.call) {
                        (thread.process, thread.call, thread.falls) = (process, wait.call, 0);
                        continue;
                    }
                    let fell = before.is_some_and(|(then, before)| {
                        let between = now.saturating_duration_since(then).as_nanos();
                        falls(before, ns, u64::try_from(between).unwrap_or(u64::MAX))
                    });
                    if fell {
                        thread.falls += 1;
                        if thread.falls == FALLS {
                            let stack = self.sleeping_stack(process, tid, blocked);
                            if let Some(thread) = self.waits.threads.get_mut(&tid) {
                                thread.stack = stack;
                            }
                        }
                    }
                }
            }
        }
    }

    /// The threads whose reads are worth a few traps, with the addresses of their vDSO's functions.
    pub(super) fn doubtful(&self) -> Vec<(i32, Vec<u64>)> {
        let mut doubtful: Vec<_> = self
            .waits
            .threads
            .iter()
            .filter(|(_, thread)| {
                thread.falls >= FALLS && thread.others == 0 && thread.wall < ENOUGH
            })
            .collect();
        doubtful.sort_by_key(|(tid, thread)| (thread.wall, **tid));
        doubtful
            .into_iter()
            .take(WATCHED)
            .filter_map(|(tid, thread)| {
                let entries = self.processes.get(thread.process)?.entries();
                (!entries.is_empty()).then_some((*tid, entries))
            })
            .collect()
    }

    /// A read of a thread whose time-outs fall.
    pub(super) fn take_doubtful(&mut self, sample: &Sample) {
        let Some(registers) = sample.registers else { return };
        let Ok(tid) = i32::try_from(sample.tid) else { return };
        let Some(process) = self.waits.threads.get(&tid).map(|thread| thread.process) else {
            return;
        };
        let Some(api) = self.processes.get(process).and_then(|process| process.entry(registers.ip))
        else {
            return;
        };
        let clock =
            (api == crate::clock::Api::ClockGettime).then_some(ClockId(registers.di as i32));
        let wall = is_wall(api, clock);
        let first = self.waits.threads.get(&tid).is_some_and(|thread| thread.reader.is_none());
        let stack = (wall && first).then(|| self.stack(process, sample).into_boxed_slice());
        let Some(thread) = self.waits.threads.get_mut(&tid) else { return };
        if wall {
            thread.wall += 1;
        } else {
            thread.others += 1;
        }
        thread.reader = thread.reader.take().or(stack);
    }

    /// Returns the functions that wait, found as those of a sample are, from the contents of memory.
    fn sleeping_stack(&mut self, process: usize, tid: i32, blocked: Blocked) -> Box<[u64]> {
        let key = (process, blocked.sp, blocked.ip);
        if let Some(known) = self.waits.stacks.get(&key) {
            return known.clone();
        }
        if self.waits.stacks.len() >= PLACES {
            return Box::default();
        }
        let Some(of) = self.processes.get(process) else { return Box::default() };
        // Near the stack's end there is less.
        let stack = [STACK, STACK / 4, STACK / 16]
            .into_iter()
            .find_map(|length| of.read(blocked.sp, length))
            .unwrap_or_default();
        let registers = Registers { sp: blocked.sp, ip: blocked.ip, ..Registers::default() };
        let sample = Sample {
            ip: blocked.ip,
            pid: of.pid,
            tid: u32::try_from(tid).unwrap_or(0),
            registers: Some(registers),
            stack,
            ..Sample::default()
        };
        let stack: Box<[u64]> = self.stack(process, &sample).into();
        self.waits.stacks.insert(key, stack.clone());
        stack
    }
}
