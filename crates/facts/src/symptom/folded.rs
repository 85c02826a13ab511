//! Folded stacks, as `stackcollapse-perf.pl`, bcc and async-profiler write them: `main;clock_gettime;read_hpet 382`.

use super::callers::{Called, Caller};
use super::{Profile, Role, Seen, functions};
use crate::paste::{Page, Reader};
use std::collections::BTreeMap;

pub(super) const READER: Reader = Reader { name: "folded stacks", words: &[";"], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if stack(page.line(at)).is_none() {
        return 0;
    }
    let mut sum = Sum::default();
    let mut end = at;
    let (mut stacks, mut number) = (0, at);
    while number < page.len() {
        let line = page.line(number);
        number += 1;
        if let Some((frames, count)) = stack(line) {
            // Root first: the name of the process, which its user chooses. A function that reads hardware calls no other.
            let inner = frames.split_once(';').filter(|(process, _)| {
                matches!(
                    functions::role(process),
                    Some(Role::Reads(_) | Role::Page | Role::Counter)
                )
            });
            sum.add(inner.map_or(frames, |(_, inner)| inner).split(';').rev(), count);
            stacks += 1;
            end = number;
        } else if !line.trim().is_empty() {
            break;
        }
    }
    // A single line may be anything.
    let lines = end - at;
    if let Some(profile) = sum.finish().filter(|_| stacks >= 2) {
        page.symptom(at, READER.name, Seen::Profile(profile));
        return lines;
    }
    if stacks >= 3 { lines } else { 0 }
}

fn stack(line: &str) -> Option<(&str, u64)> {
    let (frames, count) = line.trim().rsplit_once(' ')?;
    let count = count.parse().ok().filter(|count| *count > 0)?;
    let frames = frames.trim();
    (frames.contains(';') && !frames.contains(" = ") && !frames.ends_with(';'))
        .then_some((frames, count))
}

/// Stacks added up.
#[derive(Default)]
pub(super) struct Sum {
    total: u64,
    own: BTreeMap<String, u64>,
    in_calls: u64,
    called: bool,
    through_vdso: bool,
    vdso_fell_back: bool,
    kernel_readers: Vec<String>,
}

impl Sum {
    /// Adds a stack, leaf first.
    pub(super) fn add<'a>(&mut self, frames: impl Iterator<Item = &'a str>, count: u64) {
        self.total = self.total.saturating_add(count);
        let (mut in_call, mut by_program, mut leaf) = (false, false, true);
        let (mut in_vdso, mut in_library, mut caller) = (false, false, Caller::default());
        let (mut in_kernel, mut fell_back) = (false, false);
        for frame in frames.take(512) {
            let role = functions::role(frame);
            // A read of the time may end in the exit from the kernel or in an interrupt: the innermost read function
            // counts.
            if leaf
                && let Some(role) =
                    role.filter(|role| *role != Role::Entry && *role != Role::Library)
            {
                leaf = matches!(role, Role::Page | Role::Keeps | Role::Counter);
                let known = self.own.len() < 64 || self.own.contains_key(frame);
                if known
                    && matches!(
                        role,
                        Role::Reads(_) | Role::Page | Role::Counter | Role::Keeps | Role::Vdso
                    )
                {
                    let own = self.own.entry(frame.to_owned()).or_default();
                    *own = own.saturating_add(count);
                }
            }
            in_call |= role == Some(Role::SystemCall);
            by_program |= matches!(role, Some(Role::Library | Role::Vdso));
            in_vdso |= role == Some(Role::Vdso);
            fell_back |= in_kernel && role == Some(Role::Vdso);
            in_kernel |= role == Some(Role::Entry);
            in_library |= role == Some(Role::Library);
            caller.step(frame, role);
        }
        self.through_vdso |= in_vdso && in_library;
        self.vdso_fell_back |= fell_back;
        match caller.finish() {
            Called::ByProgram => self.called = true,
            Called::ByKernel(name)
                if self.kernel_readers.len() < 64 && !self.kernel_readers.contains(&name) =>
            {
                self.kernel_readers.push(name);
            }
            _ => {}
        }
        if in_call {
            self.in_calls = self.in_calls.saturating_add(count);
        }
        self.called |= in_call && by_program;
    }

    pub(super) fn finish(self) -> Option<Profile> {
        if self.total == 0 {
            return None;
        }
        let share = |count: u64| count as f64 * 100.0 / self.total as f64;
        let mut profile = Profile {
            in_system_calls: Some(share(self.in_calls)),
            called_by_programs: self.called,
            through_vdso: self.through_vdso,
            vdso_fell_back: self.vdso_fell_back,
            ..Profile::default()
        };
        for name in &self.kernel_readers {
            profile.read_by_kernel(name);
        }
        for (name, count) in &self.own {
            profile.add(name, share(*count), None);
        }
        profile.finish()
    }
}
