//! The vDSO that the kernel mapped into this process.

use crate::tree::from_io;
use crate::vdso::VdsoImage;
use crate::{Missing, Why};
use clocksmith_raw::{maps, vdso_elf};
use std::ops::Range;

/// A vDSO has a few pages; a larger mapping is not one.
const MAX_SIZE: usize = 1 << 20;

/// Whether there is a vDSO, and the names that it exports.
///
/// # Errors
/// Returns an error if the vDSO is mapped but its symbols cannot be read.
pub fn vdso() -> Result<VdsoImage, Missing> {
    const AT: &str = "AT_SYSINFO_EHDR";
    // SAFETY: getauxval() only reads the auxiliary vector that the kernel gave to this process.
    let address = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    let Ok(address) = usize::try_from(address) else {
        return Err(Missing::new(Why::Absent, AT));
    };
    if address == 0 {
        return Ok(VdsoImage { mapped: false, symbols: Vec::new() });
    }
    const MAPS: &str = "/proc/self/maps";
    // Names of files have any bytes.
    let maps = std::fs::read(MAPS).map_err(|error| from_io(&error, MAPS.to_owned()))?;
    let maps = String::from_utf8_lossy(&maps);
    let unreadable = |what: &str| Missing::new(Why::Unreadable(what.to_owned()), AT);
    let range = mapping(&maps, address).ok_or_else(|| unreadable("no readable mapping of it"))?;
    // SAFETY: the kernel lists this range as readable memory of this process. It is the vDSO's own
    // mapping, which nothing unmaps or writes to, so the bytes do not change.
    let image = unsafe { std::slice::from_raw_parts(address as *const u8, range.end - address) };
    Ok(VdsoImage { mapped: true, symbols: symbols(image).map_err(|error| unreadable(&error))? })
}

/// The readable mapping that contains the address.
fn mapping(maps: &str, address: usize) -> Option<Range<usize>> {
    let found = maps::around(maps, u64::try_from(address).ok()?).filter(|found| found.readable)?;
    let range = usize::try_from(found.range.start).ok()?..usize::try_from(found.range.end).ok()?;
    (range.len() <= MAX_SIZE).then_some(range)
}

/// The names of the functions that an ELF image exports, sorted.
fn symbols(image: &[u8]) -> Result<Vec<String>, String> {
    let exports = vdso_elf::exports(image).map_err(|error| error.to_string())?;
    let mut names: Vec<String> = exports.iter().map(|export| export.name.to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_one_that_reads_the_clock() {
        let image = vdso().unwrap();
        if image.mapped {
            let reads = |name: &String| name.contains("clock_gettime");
            assert!(image.symbols.iter().any(reads), "{:?}", image.symbols);
        }
    }

    #[test]
    fn mappings() {
        let maps = "1000-3000 r-xp 00000000 00:00 0 [vdso]\n4000-5000 ---p 0 00:00 0 \nx\n";
        assert_eq!(mapping(maps, 0x1000), Some(0x1000..0x3000));
        assert_eq!(mapping(maps, 0x3000), None);
        assert_eq!(mapping(maps, 0x4000), None);
    }
}
