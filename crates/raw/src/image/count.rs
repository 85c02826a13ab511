//! Exact counts of calls, by kind and by the time since the thread's previous one.

use super::config;
use crate::layout::{Counts, FSGSBASE, KINDS, SHARDS};
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

/// Counts one call.
#[inline(never)]
pub(crate) fn read(kind: usize) {
    let counts = config().counts as *mut Counts;
    if counts.is_null() {
        return;
    }
    let thread = thread();
    let index = (thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % SHARDS;
    let now = crate::counter::read();
    // SAFETY: the counts were mapped before the program began, and stay. Everything in them is
    // aligned, and accessed atomically from here on.
    unsafe {
        let shard = (&raw mut (*counts)[index]).cast::<u64>();
        let at = |number: usize| AtomicU64::from_ptr(shard.add(number));
        at(kind % KINDS).fetch_add(1, Ordering::Relaxed);
        let (last, previous) = (at(THREAD), at(PREVIOUS));
        let known = last.load(Ordering::Relaxed) == thread;
        let before = previous.load(Ordering::Relaxed);
        previous.store(now, Ordering::Relaxed);
        if known {
            let class = (now.wrapping_sub(before) | 1).ilog2() as usize;
            at(KINDS + class).fetch_add(1, Ordering::Relaxed);
        } else {
            last.store(thread, Ordering::Relaxed);
        }
    }
}

const THREAD: usize = KINDS + crate::layout::INTERVALS;
const PREVIOUS: usize = THREAD + 1;

/// A number that is the same for all calls of a thread, and seldom the same for two threads.
#[inline(always)]
fn thread() -> u64 {
    let name: u64;
    if config().flags & FSGSBASE != 0 {
        // SAFETY: the kernel allows it; it writes one register.
        unsafe {
            // `rdfsbase rax`, by its bytes: the assemblers do not agree how it is written.
            asm!(".byte 0xf3, 0x48, 0x0f, 0xae, 0xc0", out("rax") name,
                options(nomem, nostack, preserves_flags));
        }
        return name | 1;
    }
    // SAFETY: reads the stack pointer.
    unsafe {
        asm!("mov {}, rsp", out(reg) name, options(nomem, nostack, preserves_flags));
    }
    name >> 16 | 1
}
