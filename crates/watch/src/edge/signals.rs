//! Signals that can be read: SIGTERM and SIGINT request the end of the program, SIGHUP a reload of the configuration.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// End.
    End,
    /// Reload the configuration.
    Reload,
}

/// Pending signals. A thread reads them, so that a signal ends the process even while the main thread hangs in a system
/// call: on a file system that does not respond, or in a write to a pipe that is not read.
#[derive(Debug)]
pub struct Signals {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Readable while a wish waits.
    wakes: OwnedFd,
    end: AtomicBool,
    reload: AtomicBool,
}

/// How long the end may take after the first signal. A second signal ends the process at once.
const ORDERLY: Duration = Duration::from_secs(2);

impl Signals {
    /// From now on these signals wait to be read, in this thread and in those that it starts.
    ///
    /// # Errors
    /// Returns an error if the system has no descriptor left, or cannot start a thread.
    pub fn new() -> io::Result<Self> {
        let wakes = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the pointer is to a live set, which sigemptyset initialises before any other use of it; sigaddset
        // changes it, and pthread_sigmask and signalfd only read it. All bits zero are a `sigaction`.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                // Ctrl-C is not meant for a command in the background of a script.
                let mut now: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut now);
                if signal != libc::SIGINT || now.sa_sigaction != libc::SIG_IGN {
                    libc::sigaddset(set.as_mut_ptr(), signal);
                }
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_NONBLOCK | libc::SFD_CLOEXEC)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just returned this descriptor, and it has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let shared =
            Arc::new(Shared { wakes, end: AtomicBool::new(false), reload: AtomicBool::new(false) });
        let told = Arc::clone(&shared);
        let listen = move || listen(&fd, &told);
        std::thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
        Ok(Self { shared })
    }

    /// The next wish that waits.
    pub fn waiting(&mut self) -> Option<Wish> {
        // Before the flags are checked: a signal that arrives in between wakes again.
        let _ = rustix::io::read(&self.shared.wakes, &mut [0u8; 8]);
        if self.shared.end.swap(false, Ordering::AcqRel) {
            return Some(Wish::End);
        }
        self.shared.reload.swap(false, Ordering::AcqRel).then_some(Wish::Reload)
    }
}

/// Reads signals as long as the process lives.
fn listen(fd: &OwnedFd, shared: &Shared) {
    let mut first: Option<(Instant, i32)> = None;
    loop {
        let left = first.map(|(at, _)| ORDERLY.saturating_sub(at.elapsed()));
        if let (Some(left), Some((_, signal))) = (left, first)
            && left.is_zero()
        {
            end(signal);
        }
        let left = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let _ = poll(&mut [PollFd::new(fd, PollFlags::IN)], left.as_ref());
        let Some(signal) = next(fd) else { continue };
        match (signal, first) {
            (libc::SIGHUP, _) => shared.reload.store(true, Ordering::Release),
            (_, Some(_)) => end(signal),
            (_, None) => {
                first = Some((Instant::now(), signal));
                shared.end.store(true, Ordering::Release);
            }
        }
        let _ = rustix::io::write(&shared.wakes, &1u64.to_ne_bytes());
    }
}

/// The number of the next signal that waits: the first field of the record.
fn next(fd: &OwnedFd) -> Option<i32> {
    let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(fd, &mut record).ok()?;
    Some(i32::from_ne_bytes(*record.get(..length)?.first_chunk::<4>()?))
}

/// Ends the process by the signal itself, so that a service manager sees a requested stop and not a failure; the
/// process waits for nothing.
fn end(signal: i32) -> ! {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised before it is read; the other calls take plain numbers. Nothing of this program
    // runs after the last one, which is reached if the signal is ignored.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::_exit(128 + signal)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.wakes.as_fd()
    }
}
