//! The vDSO of a process: where it is, and where its functions are.

use crate::clock::Api;
use clocksmith_raw::vdso_elf;
use std::ops::Range;
use std::sync::Arc;

/// A function of the vDSO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Offset from the image's begin.
    pub offset: u64,
    /// Its length, as its symbol states it.
    pub size: u64,
    /// Its name.
    pub name: String,
    /// The call that it serves; `None` if it does not read a clock.
    pub api: Option<Api>,
}

/// The vDSO of one process.
#[derive(Clone, Debug)]
pub struct Vdso {
    /// Addresses.
    pub range: Range<u64>,
    /// Its bytes.
    pub image: Arc<[u8]>,
    /// Its functions, by offset.
    pub functions: Vec<Function>,
}

impl Vdso {
    /// Reads an image. An image without known symbols has no functions.
    #[must_use]
    pub fn new(range: Range<u64>, image: &[u8]) -> Self {
        Self { range, image: image.into(), functions: functions(image) }
    }

    /// The function around an address of the process: the last one that begins before it. Code that
    /// the compiler put outside of any function's symbol belongs to its neighbour.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<&Function> {
        if !self.range.contains(&address) {
            return None;
        }
        let offset = address - self.range.start;
        let after = self.functions.partition_point(|function| function.offset <= offset);
        self.functions.get(after.checked_sub(1)?)
    }

    /// The function whose symbol covers an address of the process.
    #[must_use]
    pub fn exact_function(&self, address: u64) -> Option<&Function> {
        let function = self.function(address)?;
        (address - self.range.start - function.offset < function.size).then_some(function)
    }

    /// Entry addresses in the process of the functions that read a clock.
    #[must_use]
    pub fn entries(&self) -> Vec<(Api, u64)> {
        let mut entries = Vec::new();
        for function in &self.functions {
            if let Some(api) = function.api
                && !entries.iter().any(|(known, _)| *known == api)
            {
                entries.push((api, self.range.start.saturating_add(function.offset)));
            }
        }
        entries
    }

    /// The function that begins at an address.
    #[must_use]
    pub fn entry(&self, address: u64) -> Option<Api> {
        let function = self.function(address)?;
        (self.range.start + function.offset == address).then_some(function.api)?
    }
}

fn functions(image: &[u8]) -> Vec<Function> {
    let exports = vdso_elf::exports(image).unwrap_or_default();
    let mut functions: Vec<Function> = exports
        .iter()
        .filter(|export| export.is_function)
        .map(|export| Function {
            offset: export.offset,
            size: export.size,
            api: Api::of_vdso_symbol(export.name),
            name: export.name.to_owned(),
        })
        .collect();
    // Of two names for one place, the one with prefix sorts first.
    functions.sort_by(|a, b| (a.offset, &a.name).cmp(&(b.offset, &b.name)));
    functions.dedup_by_key(|function| function.offset);
    functions
}

/// The bytes of this process's own vDSO: the same in every 64-bit process of the kernel.
#[must_use]
pub fn own_image() -> Option<Vec<u8>> {
    let text = super::guard::text("/proc/self/maps", u64::MAX)?;
    let maps = super::maps::parse(&text);
    let mapping = maps.iter().find(|mapping| mapping.name == "[vdso]")?;
    let length = usize::try_from(mapping.range.end - mapping.range.start).ok()?;
    let mut image = vec![0; length];
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut image, mapping.range.start).ok()?;
    Some(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_one() {
        let image = own_image().unwrap();
        let vdso = Vdso::new(0x10000..0x10000 + image.len() as u64, &image);
        let entries = vdso.entries();
        assert!(entries.len() >= 2, "{entries:?}");
        for (api, address) in entries {
            assert_eq!(vdso.entry(address), Some(api));
            assert_eq!(vdso.entry(address + 1), None);
            assert_eq!(vdso.function(address + 1).unwrap().api, Some(api));
        }
        assert!(vdso.function(0).is_none());
    }

    #[test]
    fn vdso_of_bad_image_has_no_functions() {
        assert!(Vdso::new(0..4096, &[0; 4096]).functions.is_empty());
        assert!(Vdso::new(0..4, b"\x7fELF").functions.is_empty());
    }
}
