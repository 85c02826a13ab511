//! The kernel's own vDSO in a program's memory: where its functions are, and a system call
//! instruction.

use clocksmith_raw::layout;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader as _, Sym as _};
use object::{Endianness, elf};

/// The most that is read of it.
pub(crate) const LONGEST: usize = 64 << 10;

/// What was found in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Original {
    /// Addresses in the program.
    pub(crate) functions: layout::Original,
    /// Address of a system call instruction.
    pub(crate) syscall: u64,
}

impl Original {
    /// Looks into an image that lies at `base`. `None` if it is no vDSO with a clock.
    pub(crate) fn parse(image: &[u8], base: u64) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(image).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, image).ok()?;
        let mut text = None;
        let mut begin = 0;
        for segment in segments {
            if segment.p_type(endian) == elf::PT_LOAD {
                begin = segment.p_vaddr(endian).wrapping_sub(segment.p_offset(endian));
                if segment.p_flags(endian) & elf::PF_X == elf::PF_X {
                    let from = usize::try_from(segment.p_offset(endian)).ok()?;
                    let length = usize::try_from(segment.p_filesz(endian)).ok()?;
                    text = image.get(from..from.checked_add(length)?.min(image.len()));
                    let found = text?.windows(2).position(|bytes| bytes == [0x0f, 0x05])?;
                    text = text?.get(found..);
                }
            }
        }
        let text = text?;
        let syscall =
            base.wrapping_add(text.as_ptr().addr().checked_sub(image.as_ptr().addr())? as u64);
        let sections = header.sections(endian, image).ok()?;
        let symbols = sections.symbols(endian, image, elf::SHT_DYNSYM).ok()?;
        let address = |wanted: &str| {
            symbols
                .iter()
                .find(|symbol| {
                    symbol.st_value(endian) != 0
                        && symbol.name(endian, symbols.strings()).ok() == Some(wanted.as_bytes())
                })
                .map_or(0, |symbol| base.wrapping_add(symbol.st_value(endian)).wrapping_sub(begin))
        };
        let functions = layout::Original {
            clock_gettime: address("__vdso_clock_gettime"),
            gettimeofday: address("__vdso_gettimeofday"),
            time: address("__vdso_time"),
            getcpu: address("__vdso_getcpu"),
            clock_getres: address("__vdso_clock_getres"),
            getrandom: address("__vdso_getrandom"),
        };
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
        let Some(line) = maps.lines().find(|line| line.ends_with("[vdso]")) else { return };
        let (from, rest) = line.split_once('-').unwrap();
        let (to, _) = rest.split_once(' ').unwrap();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        assert_eq!(number(from), base);
        // SAFETY: the mapping is readable and stays.
        let image =
            unsafe { std::slice::from_raw_parts(base as *const u8, (number(to) - base) as usize) };
        let found = Original::parse(image, base).unwrap();
        assert!(found.functions.clock_gettime > base && found.functions.time > base, "{found:x?}");
        assert_eq!(image[(found.syscall - base) as usize..][..2], [0x0f, 0x05]);
        // What is not whole is not believed, and does no harm.
        for length in [0, 1, 63, 64, 500, 1000, image.len() / 2, image.len() - 1] {
            let _ = Original::parse(&image[..length], base);
        }
        assert_eq!(Original::parse(&[0x7f; 4096], base), None);
    }
}
