//! Records, one by one.

use super::{Session, UNRESOLVED, Unresolved};
use crate::aggregate::{HitKey, Key, Tally};
use crate::classify::{Class, Path, View};
use crate::clock::{Api, ClockId};
use crate::record::{Record, Sample};
use crate::watched::{Process, Runtime};

/// Words of the stack in which an interpreter's function is looked for.
const WORDS: usize = 128;

impl Session {
    pub(super) fn drain(&mut self) {
        let mut records = Vec::new();
        self.sampler.drain(|record| records.push(record));
        for record in records {
            match record {
                Record::Sample(sample) => self.take(&sample),
                Record::Lost(count) => self.lost += count,
                Record::Fork { pid, parent, .. } if pid != parent => {
                    self.parents.insert(pid, parent);
                    // Its first samples may stand in another ring and have come before; only the id of
                    // one that had ended means another process now.
                    if self.ended.remove(&pid) {
                        self.current.remove(&pid);
                    }
                    if let Some(wanted) = &mut self.wanted
                        && wanted.contains(&parent)
                    {
                        wanted.push(pid);
                    }
                }
                Record::Exit { pid, tid } if pid == tid => {
                    self.ended.insert(pid);
                }
                Record::Exec { pid } => {
                    self.current.remove(&pid);
                    self.parents.remove(&pid);
                }
                _ => {}
            }
        }
    }

    /// The process of a sample, looked at when it is first seen.
    pub(super) fn process(&mut self, pid: u32) -> Option<usize> {
        if let Some(known) = self.current.get(&pid) {
            return *known;
        }
        let found = match Process::new(pid, &mut self.files) {
            Some(process) => {
                self.processes.push(process);
                Some(self.processes.len() - 1)
            }
            // A process that has already ended had its parent's memory, unless it became another
            // program, which is forgotten then.
            None => {
                let parent = self.parents.get(&pid)?;
                self.current.get(parent).copied().flatten()
            }
        };
        self.current.insert(pid, found);
        found
    }

    fn take(&mut self, sample: &Sample) {
        if self.wanted.as_ref().is_some_and(|wanted| !wanted.contains(&sample.pid))
            || sample.pid == 0
        {
            return;
        }
        let Some(at) = self.process(sample.pid) else {
            self.strangers.entry(sample.pid).or_default().add(sample.period);
            self.sums.all.add(sample.period);
            return;
        };
        self.sums.count(at, sample.period);
        let Some(registers) = sample.registers else { return };
        let ip = registers.ip;
        let Some(process) = self.processes.get_mut(at) else { return };
        process.refresh_for(ip, &mut self.files);
        // What counting takes is neither a read nor the program's.
        if process.in_counting(ip) {
            return;
        }
        let before = *self.before.entry((at, ip)).or_insert_with(|| process.code_before::<3>(ip));
        let kernel =
            (!sample.kernel.is_empty()).then(|| self.symbols.kernel().call(&sample.kernel));
        let view = View {
            kernel,
            in_vdso: process.in_vdso(ip),
            vdso_function: process.vdso_function(ip),
            before,
        };
        let top = sample.stack.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        let class = self.sums.class(at, view, ip, top);
        let (path, api) = match class {
            Class::Other => return,
            Class::Read(path, api) => (path, api),
            Class::Entry => (Path::Syscall, None),
        };
        let recent = self.recent.entry(i32::try_from(sample.tid).unwrap_or(0)).or_insert((at, 0));
        *recent = (at, recent.1 + 1);
        let stack = self.stack(at, sample);
        let key = Key { process: at, path, api, stack: stack.into(), interpreted: None };
        if class == Class::Entry {
            self.sums.pend(key, ip, top, sample.period);
            return;
        }
        if let Some(name) = sample.kernel.first().and_then(|leaf| self.symbols.kernel_frame(*leaf))
        {
            *self.sums.kernel.entry(name.name).or_default() += 1;
        }
        let tally = Tally { samples: 1, ns: sample.period };
        self.interpreted(at, sample, Unresolved::Read(key, tally, (sample.time, sample.tid)));
    }

    pub(super) fn stack(&mut self, at: usize, sample: &Sample) -> Vec<u64> {
        let Some(process) = self.processes.get_mut(at) else { return Vec::new() };
        // The process is asked while its unwinder works.
        let Some(mut unwinder) = process.unwinder.take() else { return Vec::new() };
        let mut stack = unwinder.stack(sample, process);
        if process.counting.is_some() {
            stack.retain(|address| !process.in_counting(*address));
        }
        process.unwinder = Some(unwinder);
        stack
    }

    /// A breakpoint was hit.
    pub(super) fn take_hit(&mut self, sample: &Sample) {
        let Some(at) = self.process(sample.pid) else { return };
        let Some(registers) = sample.registers else { return };
        let Some(api) =
            self.processes.get(at).and_then(|process| process.vdso.as_ref()?.entry(registers.ip))
        else {
            return;
        };
        let stack = self.stack(at, sample).into();
        // The argument is an int: the upper half of the register is anything.
        let clock = (api == Api::ClockGettime).then_some(ClockId(registers.di as i32));
        let key = HitKey { process: at, api, clock, stack, interpreted: None };
        self.interpreted(at, sample, Unresolved::Hit(key));
    }

    /// Adds a sample, with the function that an interpreter was in.
    fn interpreted(&mut self, at: usize, sample: &Sample, mut what: Unresolved) {
        let Some(process) = self.processes.get_mut(at) else { return };
        if process.runtime == Runtime::Python
            && let Some(mut python) = process.python.take()
        {
            let words = words(sample);
            let mut name = python.function(&words);
            if name.is_none() {
                // Memory that was mapped since the map was read holds functions as well.
                process.python = Some(python);
                process.refresh_older(&mut self.files);
                let Some(again) = process.python.take() else { return };
                python = again;
                python.learn(process, &words);
                name = python.function(&words);
            }
            process.python = Some(python);
            if name.is_none() && self.unresolved.len() < UNRESOLVED {
                self.unresolved.push((words, what));
                return;
            }
            match &mut what {
                Unresolved::Read(key, ..) => key.interpreted = name,
                Unresolved::Hit(key) => key.interpreted = name,
            }
        }
        self.add(what);
    }

    fn add(&mut self, what: Unresolved) {
        match what {
            Unresolved::Read(key, tally, at) => self.sums.read(key, tally, Some(at)),
            Unresolved::Hit(key) => *self.sums.hits.entry(key).or_default() += 1,
        }
    }

    /// Adds what waited for the names of functions that have become known since.
    pub(super) fn resolve(&mut self) {
        for (words, mut what) in std::mem::take(&mut self.unresolved) {
            let at = match &what {
                Unresolved::Read(key, ..) => key.process,
                Unresolved::Hit(key) => key.process,
            };
            let name = self
                .processes
                .get(at)
                .and_then(|process| process.python.as_ref()?.function(&words));
            match &mut what {
                Unresolved::Read(key, ..) => key.interpreted = name,
                Unresolved::Hit(key) => key.interpreted = name,
            }
            self.add(what);
        }
    }
}

/// The registers that callees keep, then the stack.
fn words(sample: &Sample) -> Vec<u64> {
    let kept = sample.registers.map(|registers| registers.kept).unwrap_or_default();
    let stack = sample
        .stack
        .chunks_exact(8)
        .take(WORDS)
        .filter_map(|chunk| Some(u64::from_le_bytes(*chunk.first_chunk::<8>()?)));
    kept.into_iter().chain(stack).collect()
}
