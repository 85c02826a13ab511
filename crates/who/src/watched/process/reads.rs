//! Where a process reads clocks: in the kernel's vDSO, or in the one that this project gave it.

use super::Process;
use crate::clock::Api;
use crate::unwind::Tables;
use crate::watched::ours::{self, Ours, OwnClock, Settings};
use crate::watched::vdso::Vdso;
use clocksmith_raw::layout;

/// Bytes of this project's vDSO at most.
const OURS: usize = 1 << 20;

impl Process {
    /// Finds a vDSO of this project: code without a file, after settings that identify it.
    pub(super) fn find_ours(&mut self) {
        let candidates = self.maps.iter().filter(|mapping| {
            mapping.executable && !mapping.is_file() && !mapping.name.starts_with("[v")
        });
        let found = candidates.into_iter().find_map(|mapping| {
            let begin = ours::settings_of(mapping.range.start)?;
            let page = self.read(begin, size_of::<layout::Config>())?;
            Some((mapping.range.clone(), Settings::parse(&page)?))
        });
        let Some((range, settings)) = found else { return };
        let length = usize::try_from(range.end - range.start).unwrap_or(0).min(OURS);
        let Some(image) = self.read(range.start, length) else { return };
        if let (Some(tables), Some(unwinder)) = (Tables::read(&image), &mut self.unwinder) {
            unwinder.add(ours::MODULE, &tables, range.clone(), range.start);
        }
        self.ours = Some(Ours { vdso: Vdso::new(range, &image), settings });
    }

    /// Whether an address is in a vDSO that counts, and leaves the read to the kernel's.
    #[must_use]
    pub fn in_counting(&self, address: u64) -> bool {
        self.own_clock().is_none() && self.in_ours(address)
    }

    /// Whether an address is in a vDSO of this project.
    #[must_use]
    pub fn in_ours(&self, address: u64) -> bool {
        self.ours.as_ref().is_some_and(|ours| ours.vdso.range.contains(&address))
    }

    /// The clock that this project gave the program.
    #[must_use]
    pub fn own_clock(&self) -> Option<OwnClock> {
        self.ours.as_ref()?.clock()
    }

    /// Whether the time at an address is spent on a read of that clock: in its vDSO, or in the kernel's, to which it
    /// passes reads on.
    #[must_use]
    pub fn in_own_read(&self, address: u64) -> bool {
        let Some((ours, clock)) = self.ours.as_ref().zip(self.own_clock()) else { return false };
        if ours.vdso.range.contains(&address) {
            // The functions that read no clock go to the kernel's.
            let other = ours
                .vdso
                .exact_function(address)
                .is_some_and(|function| function.api.is_none_or(|api| !clock.serves(api, None)));
            return !other;
        }
        clock.passes_on() && self.vdso_function(address).is_some_and(|api| clock.serves(api, None))
    }

    /// The addresses at which the program's reads begin; the function with a parameter for the clock comes first.
    #[must_use]
    pub fn entries(&self) -> Vec<u64> {
        let ours = self.ours.as_ref().filter(|ours| ours.clock().is_some());
        let called = ours.map(|ours| &ours.vdso).or(self.vdso.as_ref());
        called.map_or_else(Vec::new, |vdso| {
            let mut entries = vdso.entries();
            entries.sort_by_key(|(api, _)| *api != Api::ClockGettime);
            entries.into_iter().map(|(_, address)| address).collect()
        })
    }

    /// The function that reads a clock and begins at an address.
    #[must_use]
    pub fn entry(&self, address: u64) -> Option<Api> {
        let ours = self.ours.as_ref().map(|ours| &ours.vdso);
        [ours, self.vdso.as_ref()].into_iter().flatten().find_map(|vdso| vdso.entry(address))
    }
}
