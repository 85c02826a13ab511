//! Samples added up by their common properties, before anything has a name. Pure.

use crate::classify::{Class, KernelCall, Path, View, classify};
use crate::clock::{Api, ClockId};
use crate::watched::python::Script;
use std::collections::HashMap;
use std::sync::Arc;

/// The key by which samples of reads are added up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The process, by the caller's number.
    pub process: usize,
    /// The path of the read.
    pub path: Path,
    /// The function that reads.
    pub api: Option<Api>,
    /// The user stack, innermost first.
    pub stack: Box<[u64]>,
    /// The function that an interpreter was in.
    pub interpreted: Option<Script>,
}

/// The key by which breakpoint hits are added up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HitKey {
    /// The process, by the caller's number.
    pub process: usize,
    /// The function that was called.
    pub api: Api,
    /// For which clock; `None` if the function takes none.
    pub clock: Option<ClockId>,
    /// The user stack, innermost first.
    pub stack: Box<[u64]>,
    /// The function that an interpreter was in.
    pub interpreted: Option<Script>,
}

/// A number of samples, and the time that they represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Samples.
    pub samples: u64,
    /// Nanoseconds of CPU time.
    pub ns: u64,
}

impl Tally {
    /// Adds a sample.
    pub fn add(&mut self, ns: u64) {
        self.samples += 1;
        self.ns = self.ns.saturating_add(ns);
    }

    /// Adds another tally.
    pub fn join(&mut self, other: Self) {
        self.samples += other.samples;
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// Where a system call was made: process, instruction, and the word on top of the stack, which is the caller if a
/// library makes the calls.
type Site = (usize, u64, u64);

/// The kinds of a site's calls.
#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    clock: u64,
    other: u64,
    api: Option<Api>,
}

/// One sample of a read on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds of the kernel's clock.
    pub time: u64,
    /// Thread.
    pub tid: u32,
    /// The index of the read in [`Aggregate::reads`].
    pub read: usize,
    /// The nanoseconds of CPU time that it represents.
    pub ns: u64,
}

/// Moments that are kept.
const MOMENTS: usize = 1 << 20;
/// Different stacks that are kept; beyond, samples count with an empty stack.
const STACKS: usize = 1 << 17;

/// All that was added up.
#[derive(Debug, Default)]
pub struct Aggregate {
    index: HashMap<Key, usize>,
    /// Reads, each with its tally.
    pub reads: Vec<(Key, Tally)>,
    /// Breakpoint hits, by draw: those of one thread in one moment.
    pub hits: HashMap<HitKey, Vec<(u32, u64)>>,
    /// The time line.
    pub moments: Vec<Moment>,
    /// All samples, by process.
    pub processes: HashMap<usize, Tally>,
    /// Innermost kernel functions of reads.
    pub kernel: HashMap<Arc<str>, u64>,
    /// All samples.
    pub all: Tally,
    sites: HashMap<Site, Calls>,
    /// Samples in entry and exit code of calls made outside the vDSO, until their kind is known at the
    /// end.
    pending: HashMap<(Site, Key), Tally>,
}

impl Aggregate {
    /// Adds any sample of a process.
    pub fn count(&mut self, process: usize, ns: u64) {
        self.all.add(ns);
        self.processes.entry(process).or_default().add(ns);
    }

    /// Classifies a sample; `site` is where its system call was made.
    pub fn class(&mut self, process: usize, view: View, ip: u64, top: u64) -> Class {
        let class = classify(view);
        if !view.in_vdso && !view.own && view.kernel.is_some() {
            let calls = self.sites.entry((process, ip, top)).or_default();
            match view.kernel {
                Some(KernelCall::Clock(api)) => {
                    (calls.clock, calls.api) = (calls.clock + 1, Some(api))
                }
                Some(KernelCall::Other) => calls.other += 1,
                _ => {}
            }
        }
        class
    }

    /// Adds a read.
    pub fn read(&mut self, mut key: Key, tally: Tally, at: Option<(u64, u32)>) {
        if self.reads.len() >= STACKS && !self.index.contains_key(&key) {
            key.stack = Box::default();
        }
        let read = match self.index.get(&key) {
            Some(read) => *read,
            None => {
                self.index.insert(key.clone(), self.reads.len());
                self.reads.push((key, Tally::default()));
                self.reads.len() - 1
            }
        };
        if let Some((_, known)) = self.reads.get_mut(read) {
            known.join(tally);
        }
        if let Some((time, tid)) = at.filter(|_| self.moments.len() < MOMENTS) {
            self.moments.push(Moment { time, tid, read, ns: tally.ns });
        }
    }

    /// Adds a breakpoint hit.
    pub fn hit(&mut self, key: HitKey, draw: u32) {
        let draws = self.hits.entry(key).or_default();
        match draws.iter_mut().rev().find(|(known, _)| *known == draw) {
            Some((_, count)) => *count += 1,
            None => draws.push((draw, 1)),
        }
    }

    /// Adds a sample in entry or exit code.
    pub fn pend(&mut self, key: Key, ip: u64, top: u64, ns: u64) {
        let site = (key.process, ip, top);
        if self.pending.len() < STACKS || self.pending.contains_key(&(site, key.clone())) {
            self.pending.entry((site, key)).or_default().add(ns);
        }
    }

    /// Classifies the samples in entry and exit code: a site counts as a read of the clock if more of its other samples
    /// were reads than anything else.
    pub fn settle(&mut self) {
        for ((site, mut key), tally) in std::mem::take(&mut self.pending) {
            let calls = self.sites.get(&site).copied().unwrap_or_default();
            if calls.clock > calls.other {
                key.api = calls.api;
                self.read(key, tally, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: View = View {
        kernel: Some(KernelCall::None),
        own: false,
        in_vdso: false,
        vdso_function: None,
        before: Some([0, 0x0f, 0x05]),
    };

    fn key(ip: u64) -> Key {
        let stack = [ip].into();
        Key { process: 0, path: Path::Syscall, api: None, stack, interpreted: None }
    }

    #[test]
    fn entry_code_counts_as_calls_of_its_site() {
        let mut all = Aggregate::default();
        let clock = View { kernel: Some(KernelCall::Clock(Api::ClockGettime)), ..ENTRY };
        let other = View { kernel: Some(KernelCall::Other), ..ENTRY };
        for (ip, view) in [(1, clock), (2, other), (1, clock)] {
            all.class(0, view, ip, 9);
        }
        for ip in [1, 2, 3] {
            assert_eq!(all.class(0, ENTRY, ip, 9), Class::Entry);
            all.pend(key(ip), ip, 9, 10);
        }
        all.settle();
        assert_eq!(all.reads.len(), 1);
        assert_eq!(all.reads[0].0.api, Some(Api::ClockGettime));
        assert_eq!(all.reads[0].1, Tally { samples: 1, ns: 10 });
    }

    #[test]
    fn equal_reads_are_one() {
        let mut all = Aggregate::default();
        for time in 0..3 {
            all.read(key(1), Tally { samples: 1, ns: 5 }, Some((time, 7)));
        }
        assert_eq!(all.reads, [(key(1), Tally { samples: 3, ns: 15 })]);
        assert_eq!(all.moments.len(), 3);
    }
}
