//! Records, one by one.

use super::{Session, UNRESOLVED, Unresolved};
use crate::aggregate::{HitKey, Key, Tally};
use crate::classify::{Class, Path, View};
use crate::clock::{Api, ClockId};
use crate::record::{Record, Sample};
use crate::watched::python::Script;
use crate::watched::{Process, Runtime};

impl Session {
    pub(super) fn drain(&mut self) {
        let mut records = Vec::new();
        self.sampler.drain(|record| records.push(record));
        // For a process that has already ended only these records remain, and its samples may come first, from another
        // ring.
        for record in &records {
            match record {
                Record::Fork { pid, parent, .. } if pid != parent => {
                    self.executed.remove(pid);
                }
                Record::Exec { pid, name } => {
                    self.executed.insert(*pid, (name.clone(), None));
                }
                Record::Vdso { pid, range } => {
                    if let Some((_, vdso)) = self.executed.get_mut(pid) {
                        *vdso = Some(range.clone());
                    }
                }
                _ => {}
            }
        }
        // Processes added from here on were read from `/proc` after the changes that these records report.
        let known = self.processes.len();
        for record in records {
            match record {
                Record::Sample(sample) => self.take(&sample),
                Record::Lost(count) => self.lost += count,
                Record::Fork { pid, parent, .. } if pid != parent => {
                    self.parents.insert(pid, parent);
                    // The first samples of the child may have come earlier from another ring. The id
                    // means another process now only if a process of that id had ended.
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
                Record::Exec { pid, .. } => {
                    // Samples of the new program may come earlier, from another ring.
                    let looked_at_since = |at: &Option<usize>| at.is_some_and(|at| at >= known);
                    if !self.current.get(&pid).is_some_and(looked_at_since) {
                        self.current.remove(&pid);
                    }
                    self.parents.remove(&pid);
                }
                _ => {}
            }
        }
    }

    /// Returns the process of a sample; examines it when it is first seen.
    pub(super) fn process(&mut self, pid: u32) -> Option<usize> {
        if let Some(known) = self.current.get(&pid) {
            return *known;
        }
        let found = match Process::new(pid, &mut self.files) {
            Some(process) => {
                self.processes.push(process);
                Some(self.processes.len() - 1)
            }
            // A process that has already ended had its parent's memory, unless it became another program: then it has
            // its own vDSO, and nothing else is known about it.
            None => match self.executed.get(&pid) {
                Some((name, Some(vdso))) => {
                    self.processes.push(Process::ended(pid, name, vdso.clone()));
                    Some(self.processes.len() - 1)
                }
                Some((_, None)) => None,
                None => {
                    let parent = self.parents.get(&pid)?;
                    self.current.get(parent).copied().flatten()
                }
            },
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
        if sample.narrow
            && let Some(process) = self.processes.get_mut(at)
        {
            process.narrow = true;
        }
        let Some(registers) = sample.registers else { return };
        let ip = registers.ip;
        let Some(process) = self.processes.get_mut(at) else { return };
        process.refresh_for(ip, &mut self.files);
        // The time of counting is neither a read nor the program's.
        if process.in_counting(ip) {
            return;
        }
        let before = *self.before.entry((at, ip)).or_insert_with(|| process.code_before::<3>(ip));
        let kernel =
            (!sample.kernel.is_empty()).then(|| self.symbols.kernel().call(&sample.kernel));
        let view = View {
            kernel,
            own: process.in_own_read(ip),
            in_vdso: process.in_vdso(ip),
            vdso_function: process.vdso_function(ip),
            before,
        };
        let top = sample.stack.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        let class = self.sums.class(at, view, ip, top);
        let (path, mut api) = match class {
            Class::Other => return,
            Class::Read(path, api) => (path, api),
            Class::Entry => (Path::Syscall, None),
        };
        let recent = self.recent.entry(i32::try_from(sample.tid).unwrap_or(0)).or_insert((at, 0));
        *recent = (at, recent.1 + 1);
        let stack = self.stack(at, sample);
        if path == Path::ClocksmithRun {
            let ours = self.processes.get(at).and_then(|process| process.ours.as_ref());
            api = ours.and_then(|ours| ours.api(&stack)).or(api);
        }
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
        // The process is queried while its unwinder works.
        let Some(mut unwinder) = process.unwinder.take() else { return Vec::new() };
        let mut stack = unwinder.stack(sample, process);
        let lost = unwinder.lost();
        process.unwinder = Some(unwinder);
        // A virtual machine makes pages executable as it compiles; the map still has them as they were.
        if lost.is_some_and(|address| process.refresh_for_caller(address, &mut self.files))
            && let Some(mut unwinder) = process.unwinder.take()
        {
            stack = unwinder.stack(sample, process);
            process.unwinder = Some(unwinder);
        }
        if process.ours.as_ref().is_some_and(|ours| ours.clock().is_none()) {
            stack.retain(|address| !process.in_counting(*address));
        }
        stack
    }

    /// A breakpoint was hit.
    pub(super) fn take_hit(&mut self, sample: &Sample) {
        let Some(at) = self.process(sample.pid) else { return };
        let Some(registers) = sample.registers else { return };
        let Some(api) = self.processes.get(at).and_then(|process| process.entry(registers.ip))
        else {
            return;
        };
        let stack = self.stack(at, sample).into();
        // The argument is an int: the upper half of the register may have any value.
        let clock = (api == Api::ClockGettime).then_some(ClockId(registers.di as i32));
        let key = HitKey { process: at, api, clock, stack, interpreted: None };
        let many = u32::try_from(self.draws.len()).unwrap_or(u32::MAX);
        let draw = *self.draws.entry((self.moment, sample.tid)).or_insert(many);
        self.interpreted(at, sample, Unresolved::Hit(key, draw));
    }

    /// Adds a sample, with the function that an interpreter was in.
    fn interpreted(&mut self, at: usize, sample: &Sample, what: Unresolved) {
        let Some(process) = self.processes.get_mut(at) else { return };
        if process.no_python.is_some() {
            // The interpreter's library may be mapped now.
            process.refresh_soon(&mut self.files);
        }
        if process.runtime == Runtime::Python
            && let Some(mut python) = process.python.take()
        {
            let frames =
                process.unwinder.as_ref().map(|unwinder| unwinder.registers(sample, process));
            let mut state = python.state(&frames.unwrap_or_default(), &sample.stack);
            let mut script = None;
            if let Some(state) = &mut state {
                python.learn(process, state);
                script = python.function(state);
                if script.is_none() {
                    // Memory that was mapped since the map was read holds functions as well.
                    process.python = Some(python);
                    process.refresh_older(&mut self.files);
                    let Some(again) = process.python.take() else { return };
                    python = again;
                }
            }
            process.python = Some(python);
            if script.is_none()
                && let Some(state) = state
                && self.unresolved.len() < UNRESOLVED
            {
                self.unresolved.push((state, what));
                return;
            }
            self.add(what.with(script));
            return;
        }
        self.add(what);
    }

    fn add(&mut self, what: Unresolved) {
        match what {
            Unresolved::Read(key, tally, at) => self.sums.read(key, tally, Some(at)),
            Unresolved::Hit(key, draw) => self.sums.hit(key, draw),
        }
    }

    /// Adds the samples that waited for names of functions, if these are known now.
    pub(super) fn resolve(&mut self) {
        for (state, what) in std::mem::take(&mut self.unresolved) {
            let at = match &what {
                Unresolved::Read(key, ..) => key.process,
                Unresolved::Hit(key, _) => key.process,
            };
            let python = self.processes.get_mut(at).and_then(|process| process.python.as_mut());
            let script = python.and_then(|python| python.function_at_last(&state));
            self.add(what.with(script));
        }
    }
}

impl Unresolved {
    /// The same with a function of a script.
    fn with(mut self, script: Option<Script>) -> Self {
        match &mut self {
            Self::Read(key, ..) => key.interpreted = script,
            Self::Hit(key, _) => key.interpreted = script,
        }
        self
    }
}
