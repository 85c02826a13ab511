//! Signals as something to be read: SIGTERM and SIGINT are a wish to end, SIGHUP to read the
//! configuration anew.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

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
        // SAFETY: signalfd has just returned this descriptor, and nobody else owns it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next signal that waits.
    pub fn waiting(&mut self) -> Option<Wish> {
        let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.fd, &mut record).ok()?;
        // The number of the signal is the record's first field.
        let number = record.get(..length)?.first_chunk::<4>()?;
        match i32::from_ne_bytes(*number) {
            libc::SIGHUP => Some(Wish::Reload),
            _ => Some(Wish::End),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
