//! The counter, read in order.

/// Reads the counter of this processor after everything before it in program order, as the kernel
/// does (`rdtsc_ordered()`, `arch_timer_read_cntvct_el0()`). Only where
/// [`crate::reads::counter_allowed`] says yes; 0 where there is no counter.
#[inline]
pub(crate) fn read_ordered() -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    {
        let (low, high): (u32, u32);
        // SAFETY: lfence has no operands; rdtsc writes eax and edx and nothing else. Without `nomem`
        // the compiler keeps both between the loads and stores around them. The kernel makes lfence
        // wait for what is before it on every processor where it does not by itself.
        unsafe {
            core::arch::asm!("lfence", "rdtsc", out("eax") low, out("edx") high,
                options(nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: Linux lets user space read the register, or emulates the read. isb orders it behind
        // what came before; the load from the stack, at an address that depends on the value, orders
        // what comes after behind it.
        unsafe {
            core::arch::asm!(
                "isb",
                "mrs {value}, cntvct_el0",
                "eor {scratch}, {value}, {value}",
                "add {scratch}, sp, {scratch}",
                "ldr xzr, [{scratch}]",
                value = out(reg) value, scratch = out(reg) _,
                options(nostack, preserves_flags, readonly));
        }
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
    {
        0
    }
}

/// Whether a read of the counter is answered although the kernel makes it fault: somebody who traces
/// this process (an emulator, a debugger) may stand in for it. A child tries it, since a read that
/// nobody answers is deadly.
pub(crate) fn is_answered() -> bool {
    // SAFETY: between fork and exit the child only makes system calls and reads the counter, which is
    // allowed there whatever other threads do.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes plain numbers. The death of this child is no crash that anybody should keep.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
        std::hint::black_box(read_ordered());
        // SAFETY: ends the child at once, without running anything of its parent's.
        unsafe { libc::_exit(0) };
    }
    if child < 0 {
        return false;
    }
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live int of our own; the child is ours and waited for only here.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_nobody_answers_is_found_out() {
        let allowed = crate::reads::counter_allowed().is_ok();
        assert!(is_answered() || !allowed);
        #[cfg(target_arch = "x86_64")]
        {
            const PR_SET_TSC: libc::c_int = 26;
            const PR_TSC_SIGSEGV: libc::c_int = 2;
            let answer = std::thread::spawn(|| {
                // SAFETY: changes only whether this thread may read the counter; it does not.
                let set = unsafe { libc::prctl(PR_SET_TSC, PR_TSC_SIGSEGV) };
                set != 0 || !is_answered()
            });
            assert!(answer.join().unwrap());
        }
    }
}
