//! Signals as something to be read: SIGTERM and SIGINT are a wish to end, SIGHUP to read the
//! configuration anew.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// End.
    End,
    /// Read the configuration anew.
    Reload,
}

/// Signals that wait.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// From now on these signals wait to be read, in this thread and in those that it starts.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the pointer is to a live set, which sigemptyset initialises before anything else uses
        // it; sigaddset changes it, and pthread_sigmask and signalfd only read it.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_NONBLOCK | libc::SFD_CLOEXEC)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just returned this descriptor, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        end_if_unread(fd.try_clone()?)?;
        Ok(Self { fd })
    }

    /// The next signal that waits.
    pub fn waiting(&mut self) -> Option<Wish> {
        match next(&self.fd)? {
            libc::SIGHUP => Some(Wish::Reload),
            _ => Some(Wish::End),
        }
    }
}

/// The number of the next signal that waits: the first field of the record.
fn next(fd: &OwnedFd) -> Option<i32> {
    let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(fd, &mut record).ok()?;
    Some(i32::from_ne_bytes(*record.get(..length)?.first_chunk::<4>()?))
}

/// How long a signal to end may wait: the thread that reads it can hang in a write to a pipe that is not read.
const UNREAD: Duration = Duration::from_secs(10);
const LOOKS: u32 = 5;

/// Ends the process if a signal to end is not read for [`UNREAD`].
fn end_if_unread(fd: OwnedFd) -> io::Result<()> {
    let wait = move || {
        let ready = |timeout: Option<&Timespec>| {
            poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout).is_ok_and(|count| count > 0)
        };
        loop {
            if !ready(None) {
                continue;
            }
            // Each look must find one: what came a moment ago is still to be read.
            let waits = (0..LOOKS).all(|_| {
                std::thread::sleep(UNREAD / LOOKS);
                ready(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
            });
            let Some(number) = waits.then(|| next(&fd)).flatten() else { continue };
            // SAFETY: both take plain numbers. The first sends a signal back to this process, where it waits again;
            // the second ends the process, and nothing of this program runs after it.
            unsafe {
                if number == libc::SIGHUP {
                    libc::kill(libc::getpid(), libc::SIGHUP);
                } else {
                    libc::_exit(128 + number)
                }
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map(|_| ())
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
