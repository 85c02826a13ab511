//! The functions that the kernel maps into every process, by their addresses: to call them without
//! the C library.

use clocksmith_raw::{maps, vdso_elf};
use std::ffi::{c_int, c_void};

/// `clock_gettime` of the vDSO.
pub type ClockGettime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
/// `gettimeofday` of the vDSO.
pub type Gettimeofday = unsafe extern "C" fn(*mut libc::timeval, *mut c_void) -> c_int;
/// `time` of the vDSO.
pub type Time = unsafe extern "C" fn(*mut libc::c_long) -> libc::c_long;

/// The functions that this kernel's vDSO has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vdso {
    /// `clock_gettime`.
    pub clock_gettime: Option<ClockGettime>,
    /// `gettimeofday`.
    pub gettimeofday: Option<Gettimeofday>,
    /// `time`.
    pub time: Option<Time>,
}

impl Vdso {
    /// Finds the functions in this process; none of them where there is no vDSO.
    #[must_use]
    pub fn find() -> Self {
        // SAFETY: reads the auxiliary vector, which was written before the program began.
        let address = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
        let Some(length) = mapped_length(address) else { return Self::default() };
        // SAFETY: the kernel maps the image at this address, of that length, readable, for the life of the process, and
        // it is never written.
        let image = unsafe { std::slice::from_raw_parts(address as *const u8, length) };
        let exports = vdso_elf::exports(image).unwrap_or_default();
        let at = |function| {
            let offset = usize::try_from(vdso_elf::function(&exports, function)?).ok()?;
            address.checked_add(offset).filter(|at| *at != 0 && offset < length)
        };
        // 32-bit processes also have `clock_gettime64`; the function with the C types is meant here, and those types
        // have 32 bits in the `libc` crate there.
        Self {
            // SAFETY: the address is that of the function of this name, whose C type this is.
            clock_gettime: at("clock_gettime")
                .map(|at| unsafe { std::mem::transmute::<usize, ClockGettime>(at) }),
            // SAFETY: as above.
            gettimeofday: at("gettimeofday")
                .map(|at| unsafe { std::mem::transmute::<usize, Gettimeofday>(at) }),
            // SAFETY: as above.
            time: at("time").map(|at| unsafe { std::mem::transmute::<usize, Time>(at) }),
        }
    }
}

/// Returns whether the vDSO of this process is not the kernel's: `clocksmith run` gives a program its own.
#[must_use]
pub fn is_replaced() -> bool {
    // SAFETY: reads the auxiliary vector, which was written before the program began.
    let address = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    is_other(&String::from_utf8_lossy(&maps), address)
}

fn is_other(maps: &str, address: u64) -> bool {
    address != 0 && maps::around(maps, address).is_some_and(|found| found.name != "[vdso]")
}

/// Returns the length of the mapping that begins at this address.
fn mapped_length(address: usize) -> Option<usize> {
    let begin = u64::try_from(address).ok().filter(|begin| *begin != 0)?;
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let found = maps::around(&maps, begin).filter(|found| found.range.start == begin)?;
    usize::try_from(found.range.end - begin).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_image_than_the_kernels_is_told_by_its_name() {
        let maps = "7f00001000-7f00003000 r-xp 00000000 00:00 0 \n\
                    7ffd1000-7ffd3000 r-xp 00000000 00:00 0                          [vdso]\n";
        assert!(is_other(maps, 0x7f_0000_1000) && !is_other(maps, 0x7ffd_1000));
        // Without a vDSO, and without a map.
        assert!(!is_other(maps, 0) && !is_other("", 0x7ffd_1000));
    }

    #[test]
    fn the_functions_of_this_process_tell_the_time() {
        let vdso = Vdso::find();
        let Some(clock_gettime) = vdso.clock_gettime else { return };
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: -1 };
        // SAFETY: the pointer is to a live, exclusively borrowed `timespec`.
        let result = unsafe { clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
        assert_eq!(result, 0);
        let mut again = libc::timespec { tv_sec: 0, tv_nsec: -1 };
        // SAFETY: as above.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut again) };
        let ns = |t: libc::timespec| i128::from(t.tv_sec) * 1_000_000_000 + i128::from(t.tv_nsec);
        assert!((0..1_000_000_000).contains(&(ns(again) - ns(time))));
    }
}
