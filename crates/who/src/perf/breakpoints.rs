//! Breakpoints on the functions of the vDSO, armed for moments.
//!
//! Each hit costs the target about ten microseconds, so they are armed for a few hundred microseconds
//! a few times a second. All of a thread's breakpoints are one group and are switched only by their
//! leader, so that all are armed for the same time: counts of functions that were armed for different
//! times cannot be compared.

use super::event;
use super::ring::Ring;
use crate::record::{self, Record, Sample};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Pages of data: room for more hits than fit into a moment.
const PAGES: usize = 32;
/// Bytes of the user stack that a hit carries.
const STACK: u32 = 2048;
/// Breakpoints that fit into the processor's registers, minus one, which is left for other programs.
const MOST: usize = 3;

/// A thread's breakpoints.
#[derive(Debug)]
struct Group {
    ring: Ring,
    _others: Vec<OwnedFd>,
    used: u64,
}

/// Breakpoints of several threads.
#[derive(Debug, Default)]
pub struct Breakpoints {
    groups: HashMap<i32, Group>,
    /// Armed until they are collected, each for a few hits.
    few: Vec<Ring>,
    rounds: u64,
    buffer: Vec<u8>,
    armed: Duration,
    moments: u32,
    /// The last reason why a thread has none.
    refused: Option<io::Error>,
}

impl Breakpoints {
    /// Threads that keep their breakpoints between moments.
    const KEPT: usize = 64;
    /// Hits of one function, at some ten microseconds each, between two moments.
    const FEW: u16 = 32;

    /// Arms the breakpoints of these threads (each with its vDSO's entry addresses) for a moment, and passes the hits
    /// to `each`.
    pub fn moment(
        &mut self,
        threads: &[(i32, Vec<u64>)],
        how_long: Duration,
        mut each: impl FnMut(Sample),
    ) {
        self.rounds += 1;
        for (tid, entries) in threads {
            if !self.groups.contains_key(tid) {
                match Self::open_most(*tid, entries, self.rounds) {
                    Ok(group) => {
                        self.groups.insert(*tid, group);
                    }
                    Err(error) => self.refuse(error),
                }
            }
        }
        let mut armed: Vec<&mut Group> = Vec::new();
        for (tid, group) in &mut self.groups {
            if threads.iter().any(|(wanted, _)| wanted == tid) {
                group.used = self.rounds;
                armed.push(group);
            }
        }
        if armed.is_empty() {
            return;
        }
        let begun = Instant::now();
        for group in &armed {
            let _ = event::switch(group.ring.event(), true);
        }
        std::thread::sleep(how_long);
        for group in &armed {
            let _ = event::switch(group.ring.event(), false);
        }
        self.armed += begun.elapsed();
        self.moments += 1;
        for group in armed {
            group.ring.drain(&mut self.buffer, |kind, misc, body| {
                if let Some(Record::Sample(sample)) = record::parse(kind, misc, body) {
                    each(sample);
                }
            });
        }
        let (rounds, many) = (self.rounds, self.groups.len() > Self::KEPT);
        self.groups.retain(|_, group| rounds - group.used < if many { 1 } else { 25 });
    }

    /// Arms the breakpoints of a thread until [`Breakpoints::collect`], each for 32 hits at most:
    /// the kernel disarms it then. For threads that read seldom.
    pub fn arm_few(&mut self, tid: i32, entries: &[u64]) {
        // Both would not fit into the processor's registers.
        self.groups.remove(&tid);
        for entry in entries.iter().take(MOST) {
            let armed = event::open(&mut event::breakpoint(*entry, STACK, true), tid, -1, None)
                .and_then(|fd| Ring::new(fd, PAGES))
                .and_then(|ring| {
                    event::arm(ring.event(), Self::FEW)?;
                    Ok(ring)
                });
            match armed {
                Ok(ring) => self.few.push(ring),
                Err(error) => self.refuse(error),
            }
        }
    }

    /// Disarms the breakpoints of [`Breakpoints::arm_few`], and passes the hits to `each`.
    pub fn collect(&mut self, mut each: impl FnMut(Sample)) {
        for mut ring in std::mem::take(&mut self.few) {
            let _ = event::switch(ring.event(), false);
            ring.drain(&mut self.buffer, |kind, misc, body| {
                if let Some(Record::Sample(sample)) = record::parse(kind, misc, body) {
                    each(sample);
                }
            });
        }
    }

    /// Opens as many of a thread's breakpoints as the processor has registers for: all of them,
    /// otherwise only the one of the first function. The other functions' breakpoints do not show
    /// which clock is read.
    fn open_most(tid: i32, entries: &[u64], round: u64) -> io::Result<Group> {
        match Self::open(tid, entries, round) {
            Err(error) if taken(&error) && entries.len() > 1 => {
                Self::open(tid, entries.get(..1).unwrap_or_default(), round)
            }
            group => group,
        }
    }

    fn open(tid: i32, entries: &[u64], round: u64) -> io::Result<Group> {
        let mut leader: Option<Ring> = None;
        let mut others = Vec::new();
        for entry in entries.iter().take(MOST) {
            let mut attr = event::breakpoint(*entry, STACK, leader.is_none());
            let fd = event::open(&mut attr, tid, -1, leader.as_ref().map(Ring::event))?;
            match &leader {
                None => leader = Some(Ring::new(fd, PAGES)?),
                Some(leader) => {
                    event::redirect(std::os::fd::AsFd::as_fd(&fd), leader.event())?;
                    others.push(fd);
                }
            }
        }
        let ring = leader.ok_or_else(|| io::Error::other("the vDSO has no functions"))?;
        Ok(Group { ring, _others: others, used: round })
    }

    /// Returns whether moments with breakpoints should have hit reads of programs that ran for `ran_ns` of `seconds`, of
    /// which reads took their share: reads of 5 us, as by the slowest clocksources.
    #[must_use]
    pub fn should_have_hit(&self, read_ns: u64, ran_ns: u64, seconds: f64) -> bool {
        should_have_hit(read_ns, self.armed, seconds)
            && should_have_run(ran_ns, self.moments, seconds)
    }

    /// The moments in which breakpoints were armed.
    #[must_use]
    pub fn moments(&self) -> u32 {
        self.moments
    }

    /// How long breakpoints were armed, all moments together.
    #[must_use]
    pub fn armed(&self) -> Duration {
        self.armed
    }

    /// Records a refusal. That of a thread that has ended does not replace another one.
    fn refuse(&mut self, error: io::Error) {
        if self.refused.is_none() || !thread_ended(&error) {
            self.refused = Some(error);
        }
    }

    /// Why some thread has none: `ESRCH` if all such threads had ended, `EBUSY` or `ENOSPC` if a debugger holds the
    /// registers.
    #[must_use]
    pub fn refused(&self) -> Option<&io::Error> {
        self.refused.as_ref()
    }
}

/// Returns whether the error means that the thread has ended.
#[must_use]
pub fn thread_ended(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// Returns whether the error means that no register is left: `ENOSPC` (`reserve_bp_slot` in
/// `kernel/events/hw_breakpoint.c`), or `EBUSY`.
fn taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EBUSY))
}

/// Reads that are expected before their absence is significant.
const EXPECTED: f64 = 20.0;
/// A slow read, in nanoseconds.
const SLOW: f64 = 5_000.0;

fn should_have_hit(read_ns: u64, armed: Duration, seconds: f64) -> bool {
    let reads = read_ns as f64 / SLOW;
    reads * armed.as_secs_f64() / seconds.max(1e-9) > EXPECTED
}

/// The probability below which it is not chance that no program ran in any of the moments.
const CHANCE: f64 = 1e-3;

/// Returns whether programs that ran for this time should have run in one of these moments: on a busy machine, a program
/// waits for a processor in most of them.
fn should_have_run(ran_ns: u64, moments: u32, seconds: f64) -> bool {
    let running = (ran_ns as f64 * 1e-9 / seconds.max(1e-9)).clamp(0.0, 1.0);
    (1.0 - running).powf(f64::from(moments)) < CHANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_means_something_after_many_reads_only() {
        let armed = Duration::from_millis(3);
        assert!(should_have_hit(1_500_000_000, Duration::from_millis(6), 2.0));
        assert!(!should_have_hit(10_000_000, armed, 2.0));
        assert!(!should_have_hit(1_500_000_000, Duration::ZERO, 2.0));
    }

    #[test]
    fn silence_of_programs_that_did_not_run_means_nothing() {
        // 15 moments in 3 seconds: alone on a processor, and one program of eight on it.
        assert!(should_have_run(2_900_000_000, 15, 3.0) && should_have_run(1_500_000_000, 15, 3.0));
        assert!(!should_have_run(400_000_000, 15, 3.0) && !should_have_run(2_900_000_000, 0, 3.0));
        assert!(should_have_run(400_000_000, 150, 3.0));
    }

    #[test]
    fn taken_is_what_the_kernel_says_of_registers() {
        assert!(taken(&io::Error::from_raw_os_error(libc::ENOSPC)));
        assert!(!taken(&io::Error::from_raw_os_error(libc::EACCES)));
    }
}
