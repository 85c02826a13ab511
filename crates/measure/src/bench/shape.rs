//! The three loops in which a read is measured, and the same loops without the read.
//!
//! If reads follow each other, the processor overlaps one with the next, which hides most of the
//! cost that a program pays if it waits for the result. A program that does other work pays a cost
//! between these two. So there are three:
//!
//! - *throughput*: nothing but reads;
//! - *serialised*: a fence before and after each, as code that waits for the time sees it;
//! - *in work*: between [`ADDS`] additions, which keep the adders busy. The cost is the time beyond theirs.

use super::read::{Read, Visitor};
use super::row::Row;
use super::vdso::Vdso;
use std::hint::black_box;

/// Additions between two reads in the third loop.
pub const ADDS: u32 = 96;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Reads back to back.
    Throughput,
    /// A fence before and after each read.
    Serialised,
    /// Reads between additions.
    InWork,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Throughput, Self::Serialised, Self::InWork];
}

/// The loops around one read.
pub struct Loops {
    loops: [Box<dyn Fn(u32) + Send>; 3],
    value: Box<dyn Fn() -> Option<u64> + Send>,
}

impl Loops {
    /// The loops around the read of a row.
    ///
    /// # Errors
    /// Returns the reason if this read does not exist here.
    pub fn of(row: Row, vdso: &Vdso) -> Result<Self, String> {
        super::read::visit(row, vdso, Build)
    }

    /// The loops without a read: their cost is subtracted.
    #[must_use]
    pub fn empty() -> Self {
        Build.visit(Nothing)
    }

    /// Runs a loop that many times.
    pub fn run(&self, shape: Shape, times: u32) {
        (self.loops[shape as usize])(times);
    }

    /// Reads once.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        (self.value)()
    }

    /// Reads once, without looking at it.
    pub fn once(&self) {
        (self.loops[Shape::Throughput as usize])(1);
    }
}

struct Build;

impl Visitor for Build {
    type Out = Loops;

    fn visit<R: Read>(self, read: R) -> Loops {
        Loops {
            loops: [
                Box::new(move |times| throughput(read, times)),
                Box::new(move |times| serialised(read, times)),
                Box::new(move |times| in_work(read, times)),
            ],
            value: Box::new(move || read.value()),
        }
    }
}

#[derive(Clone, Copy)]
struct Nothing;

impl Read for Nothing {
    #[inline(always)]
    fn read(self) {
        black_box(());
    }

    fn value(self) -> Option<u64> {
        None
    }
}

#[inline(never)]
fn throughput<R: Read>(read: R, times: u32) {
    for _ in 0..times {
        read.read();
    }
}

#[inline(never)]
fn serialised<R: Read>(read: R, times: u32) {
    for _ in 0..times {
        fence();
        read.read();
        fence();
    }
}

#[inline(never)]
fn in_work<R: Read>(read: R, times: u32) {
    let mut sums = [0usize; 4];
    for _ in 0..times {
        add(&mut sums);
        read.read();
    }
    black_box(sums);
}

/// Waits until all earlier instructions are done.
#[inline(always)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has the instruction, and it touches no memory.
    unsafe {
        std::arch::asm!("lfence", options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction only waits.
    unsafe {
        std::arch::asm!("isb", options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// The fence of the second loop on this architecture.
#[must_use]
pub fn fence_name() -> &'static str {
    if cfg!(target_arch = "x86_64") {
        "lfence"
    } else if cfg!(target_arch = "aarch64") {
        "isb"
    } else {
        "memory fence"
    }
}

/// Does [`ADDS`] additions in four chains: about the work of a core in ten nanoseconds.
#[inline(always)]
fn add(sums: &mut [usize; 4]) {
    let [mut a, mut b, mut c, mut d] = *sums;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    // SAFETY: adds to registers that are named, and touches no memory.
    unsafe {
        std::arch::asm!(
            ".rept 24", "add {a}, 1", "add {b}, 1", "add {c}, 1", "add {d}, 1", ".endr",
            a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: adds to registers that are named, and touches no memory.
    unsafe {
        std::arch::asm!(
            ".rept 24",
            "add {a}, {a}, #1", "add {b}, {b}, #1", "add {c}, {c}, #1", "add {d}, {d}, #1",
            ".endr",
            a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
            options(nomem, nostack),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
    for _ in 0..ADDS / 4 {
        (a, b, c, d) =
            black_box((a.wrapping_add(1), b.wrapping_add(1), c.wrapping_add(1), d.wrapping_add(1)));
    }
    *sums = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::{ClockId, Via};

    #[test]
    fn there_are_as_many_additions_as_said() {
        let mut sums = [0, 1, 2, 3];
        add(&mut sums);
        let each = usize::try_from(ADDS / 4).unwrap();
        assert_eq!(sums, [each, each + 1, each + 2, each + 3]);
    }

    #[test]
    fn every_loop_reads_every_time() {
        use std::cell::Cell;
        thread_local!(static READS: Cell<u32> = const { Cell::new(0) });
        #[derive(Clone, Copy)]
        struct Counting;
        impl Read for Counting {
            fn read(self) {
                READS.with(|reads| reads.set(reads.get() + 1));
            }
            fn value(self) -> Option<u64> {
                Some(7)
            }
        }
        let loops = Build.visit(Counting);
        for (index, shape) in Shape::ALL.into_iter().enumerate() {
            loops.run(shape, 10);
            assert_eq!(READS.with(Cell::get), 10 * (u32::try_from(index).unwrap() + 1));
        }
        loops.once();
        assert_eq!((READS.with(Cell::get), loops.value()), (31, Some(7)));
        assert_eq!(Loops::empty().value(), None);
    }

    #[test]
    fn rows_have_loops() {
        let row = Row::clock(ClockId::Monotonic, Via::Libc);
        let loops = Loops::of(row, &Vdso::find()).unwrap();
        assert!(loops.value().unwrap() > 0);
    }
}
