//! Sampling of threads and all that they start, or of the whole machine: one ring per processor.

use super::access::{Access, MACHINE, Refusal, owner, paranoid};
use super::event::{self, Beat, Depth, online_cpus};
use super::ring::Ring;
use crate::record::{self, Record};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The sampled threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// These threads, and the threads and processes that they start from now on.
    Threads(Vec<i32>),
    /// A process that waits to become a program: from then on, with all that it starts.
    OnExec(i32),
    /// The whole machine.
    Everything,
}

/// Pages of data in each ring: a fifth of a second of samples.
const PAGES: usize = 128;

/// The end of sampling, by a thread that waits for it.
#[derive(Debug)]
pub struct Deadline {
    early: Sender<()>,
    thread: JoinHandle<Instant>,
}

impl Deadline {
    /// Ends sampling now, if the time is not over yet, and returns the moment at which it ended. Must be called while
    /// the sampler exists.
    #[must_use]
    pub fn end(self) -> Option<Instant> {
        let _ = self.early.send(());
        self.thread.join().ok()
    }
}

/// Open events with their rings.
#[derive(Debug)]
pub struct Sampler {
    rings: Vec<Ring>,
    /// Events that write into another event's ring.
    others: Vec<OwnedFd>,
    access: Access,
    buffer: Vec<u8>,
    frequency: u64,
    /// Whether the events count the CPU time of the sampled threads.
    counts_time: bool,
}

impl Sampler {
    /// Opens the events without starting them: `frequency` samples a second of CPU time, with `stack` bytes of the user
    /// stack (a multiple of 8). With `cycles`, the processor's cycle counter triggers the samples, if there is one.
    ///
    /// # Errors
    /// See [`Refusal`]. If sampling the kernel is forbidden, only user space is sampled: see [`Sampler::access`].
    pub fn open(scope: &Scope, frequency: u64, stack: u32, cycles: bool) -> Result<Self, Refusal> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Refusal::Architecture);
        }
        let beats: &[Beat] =
            if cycles { &[Beat::Cycles, Beat::CpuClock] } else { &[Beat::CpuClock] };
        let mut last = io::Error::from_raw_os_error(libc::ESRCH);
        for depth in [Depth::Kernel, Depth::User] {
            for beat in beats {
                match Self::open_as(scope, *beat, depth, frequency, stack) {
                    Ok(sampler) => return Ok(sampler),
                    Err(error) => last = error,
                }
            }
            if !matches!(last.raw_os_error(), Some(libc::EACCES | libc::EPERM)) {
                break;
            }
        }
        let what = match scope {
            Scope::Everything => MACHINE.to_owned(),
            Scope::OnExec(_) => "the command".to_owned(),
            Scope::Threads(tids) => match tids.first() {
                Some(tid) if last.raw_os_error() == Some(libc::ESRCH) => {
                    return Err(Refusal::Gone(*tid));
                }
                Some(tid) => format!("process {tid}"),
                None => "no process".to_owned(),
            },
        };
        let pid = match scope {
            // The first one may have ended meanwhile.
            Scope::Threads(tids) => tids.iter().copied().find(|tid| owner(*tid).is_some()),
            _ => None,
        };
        Err(Refusal::new(&what, last, pid))
    }

    fn open_as(
        scope: &Scope,
        beat: Beat,
        depth: Depth,
        frequency: u64,
        stack: u32,
    ) -> io::Result<Self> {
        let (tids, on_exec, inherit): (&[i32], _, _) = match scope {
            Scope::Threads(tids) => (tids, false, true),
            Scope::OnExec(pid) => (std::slice::from_ref(pid), true, true),
            Scope::Everything => (&[-1], false, false),
        };
        let mut attr = event::sampling(beat, depth, frequency, stack, on_exec, inherit);
        let mut rings: Vec<Ring> = Vec::new();
        let mut others = Vec::new();
        for cpu in online_cpus() {
            let mut ring: Option<Ring> = None;
            for tid in tids {
                let fd = match event::open(&mut attr, *tid, cpu, None) {
                    Ok(fd) => fd,
                    // A thread that has just ended, a processor that has just gone.
                    Err(error)
                        if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV)) =>
                    {
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                match &ring {
                    Some(ring) => {
                        event::redirect(fd.as_fd(), ring.event())?;
                        others.push(fd);
                    }
                    None => ring = Some(Self::ring(fd)?),
                }
            }
            rings.extend(ring);
        }
        if rings.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let access = Access { depth, paranoid: paranoid() };
        // Events of a whole processor count its idle time, and those of cycles do not count time. If the kernel's part
        // is not sampled, the events still count its time.
        let counts_time =
            beat == Beat::CpuClock && depth == Depth::Kernel && *scope != Scope::Everything;
        Ok(Self { rings, others, access, buffer: Vec::new(), frequency, counts_time })
    }

    /// A ring as large as this user may have.
    fn ring(fd: OwnedFd) -> io::Result<Ring> {
        let mut pages = PAGES;
        loop {
            match Ring::new(fd.try_clone()?, pages) {
                Err(error) if error.raw_os_error() == Some(libc::EPERM) && pages > 8 => pages /= 2,
                other => return other,
            }
        }
    }

    /// The extent of sampling.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Samples for each second of CPU time.
    #[must_use]
    pub fn frequency(&self) -> u64 {
        self.frequency
    }

    /// The CPU time of the sampled threads so far, in nanoseconds, by the events' own counts: samples are fewer if
    /// threads are switched often, because each switch stops the timer of an event. `None` if it is not counted.
    #[must_use]
    pub fn cpu_time(&self) -> Option<u64> {
        if !self.counts_time {
            return None;
        }
        let rings = self.rings.iter().map(Ring::event);
        let counts = rings.chain(self.others.iter().map(AsFd::as_fd)).map(event::count);
        counts.sum::<io::Result<u64>>().ok()
    }

    /// Switches all events off when the time is over, from a separate thread: the thread that reads the records may be
    /// late on a busy machine. `None` if no further thread can be started.
    #[must_use]
    pub fn switch_off_after(&self, how_long: Duration) -> Option<Deadline> {
        let rings = self.rings.iter().map(Ring::event);
        let events: Vec<RawFd> = rings
            .chain(self.others.iter().map(AsFd::as_fd))
            .map(|event| event.as_raw_fd())
            .collect();
        let (early, ended) = channel();
        let wait = move || {
            let _ = ended.recv_timeout(how_long);
            let at = Instant::now();
            for event in events {
                // SAFETY: the descriptors are those of a sampler that its owner keeps until `Deadline::end`.
                let _ = event::switch(unsafe { BorrowedFd::borrow_raw(event) }, false);
            }
            at
        };
        let thread = std::thread::Builder::new().name("deadline".to_owned()).spawn(wait).ok()?;
        Some(Deadline { early, thread })
    }

    /// Starts or stops all events.
    ///
    /// # Errors
    /// Returns the error of `ioctl(2)`; no error is known for an open event.
    pub fn switch(&self, on: bool) -> io::Result<()> {
        let rings = self.rings.iter().map(Ring::event);
        for fd in rings.chain(self.others.iter().map(AsFd::as_fd)) {
            event::switch(fd, on)?;
        }
        Ok(())
    }

    /// Waits until a ring is about full, or the time is over. Returns whether the sampled threads have all ended.
    pub fn wait(&self, at_most: Duration) -> bool {
        let mut polls: Vec<libc::pollfd> = self
            .rings
            .iter()
            .map(|ring| libc::pollfd {
                fd: ring.event().as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        let milliseconds = i32::try_from(at_most.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the pointer and the length are those of a live array.
        let ready =
            unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, milliseconds) };
        // The kernel hangs up a ring whose events' threads have ended.
        let ended = ready > 0 && polls.iter().all(|poll| poll.revents & libc::POLLHUP != 0);
        if ready > 0 && polls.iter().any(|poll| poll.revents & libc::POLLHUP != 0) {
            // A ring that has hung up would make the next wait return at once.
            std::thread::sleep(at_most.min(Duration::from_millis(5)));
        }
        ended
    }

    /// Passes every available record to `each`.
    pub fn drain(&mut self, mut each: impl FnMut(Record)) {
        for ring in &mut self.rings {
            ring.drain(&mut self.buffer, |kind, misc, body| {
                if let Some(record) = record::parse(kind, misc, body) {
                    each(record);
                }
            });
        }
    }
}
