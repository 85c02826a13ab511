//! The kernel's own vDSO in a program's memory: where its functions are, and a system call
//! instruction.

use clocksmith_raw::{layout, vdso_elf};
use object::{Object, ObjectSection};

/// The instruction, on x86-64.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// The most bytes of it that are read.
pub(crate) const LONGEST: usize = 64 << 10;

/// The functions found in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Original {
    /// Addresses in the program.
    pub(crate) functions: layout::Original,
    /// Address of a system call instruction.
    pub(crate) syscall: u64,
}

impl Original {
    /// Parses an image that is mapped at `base`. `None` if it is not a vDSO with a clock.
    pub(crate) fn parse(image: &[u8], base: u64) -> Option<Self> {
        let exports = vdso_elf::exports(image).ok()?;
        let file = object::File::parse(image).ok()?;
        let code = file.section_by_name(".text").and_then(|section| section.file_range())?;
        let (from, length) = (usize::try_from(code.0).ok()?, usize::try_from(code.1).ok()?);
        let text = image.get(from..from.checked_add(length)?.min(image.len()))?;
        let call = from.checked_add(text.windows(2).position(|bytes| bytes == SYSCALL)?)?;
        let address =
            |name| vdso_elf::function(&exports, name).map_or(0, |at| base.wrapping_add(at));
        let functions = layout::Original {
            clock_gettime: address("clock_gettime"),
            gettimeofday: address("gettimeofday"),
            time: address("time"),
            getcpu: address("getcpu"),
            clock_getres: address("clock_getres"),
            getrandom: address("getrandom"),
        };
        let syscall = base.wrapping_add(u64::try_from(call).ok()?);
        (functions.clock_gettime != 0).then_some(Self { functions, syscall })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vdso_of_this_process() {
        // SAFETY: reads the auxiliary vector.
        let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let Some(found) = clocksmith_raw::maps::parse(&maps).find(|map| map.name == "[vdso]")
        else {
            return;
        };
        assert_eq!(found.range.start, base);
        // SAFETY: the mapping is readable and stays.
        let image = unsafe {
            std::slice::from_raw_parts(base as *const u8, (found.range.end - base) as usize)
        };
        let found = Original::parse(image, base).unwrap();
        assert!(found.functions.clock_gettime > base && found.functions.time > base, "{found:x?}");
        assert_eq!(image[(found.syscall - base) as usize..][..2], [0x0f, 0x05]);
        // A truncated image is rejected, and does no harm.
        for length in [0, 1, 63, 64, 500, 1000, image.len() / 2, image.len() - 1] {
            let _ = Original::parse(&image[..length], base);
        }
        assert_eq!(Original::parse(&[0x7f; 4096], base), None);
    }
}
