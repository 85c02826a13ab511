//! The child that reads a file, and its limits.

use super::answer::{parse, write};
use super::{At, Depth, HASTE};
use crate::symbols::{Names, names_of, own_names, path, symbolizer};
use crate::watched::NameSource;
use blazesym::symbolize::source::Elf;
use blazesym::symbolize::{Input, Symbolizer};
use clocksmith_measure::interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Bytes that one child may allocate, beyond this process's memory, if other users can write the file.
pub(super) const MEMORY: u64 = 72 << 20;
/// The same for other files: with the memory of `who` itself, the total is below 150 MB.
const OWN_MEMORY: u64 = 96 << 20;
/// Seconds of CPU time of one child: the symbol table alone is read in a small part of that.
const SECONDS: u64 = 2;
/// How often a request to end is checked, in nanoseconds.
const BEAT: i64 = 50_000_000;
/// Bytes of one reply at most.
const LONGEST: usize = 1 << 16;

/// Limits of one child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    memory: u64,
    seconds: u64,
}

impl Limits {
    /// For a file of which it is known whether no other user could have written it.
    pub(super) fn of(own: bool) -> Self {
        Self { memory: if own { OWN_MEMORY } else { MEMORY }, seconds: SECONDS }
    }
}

/// A process that reads one file.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) pid: libc::pid_t,
    socket: UnixStream,
    /// The child's memory at its start, in bytes.
    begun: u64,
    /// The memory that the child has allocated since, in bytes.
    pub(super) taken: u64,
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: a child of this process that was not waited for, so its number is its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

impl Child {
    pub(super) fn start(file: &File, depth: Depth, limits: Limits) -> Option<Self> {
        let (here, there) = UnixStream::pair().ok()?;
        here.set_nonblocking(true).ok()?;
        let data = data("self")?;
        // SAFETY: the child uses nothing of this process that another thread may hold, except memory, which the C
        // library makes usable; it ends by _exit or by a signal.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => {
                let work =
                    std::panic::AssertUnwindSafe(|| serve(file, depth, &there, data, limits));
                let _ = std::panic::catch_unwind(work);
                // SAFETY: ends the child, without running anything of its parent's.
                unsafe { libc::_exit(0) }
            }
            pid => Some(Self { pid, socket: here, begun: data, taken: 0 }),
        }
    }

    /// Returns the reply to a request; `None` if there is none in time.
    pub(super) fn ask(&mut self, at: At, end: Instant) -> Option<Option<Names>> {
        let mut question = [0; 17];
        question[..8].copy_from_slice(&at.offset.to_le_bytes());
        question[8..16].copy_from_slice(&at.address.unwrap_or(0).to_le_bytes());
        question[16] = u8::from(at.address.is_some());
        self.socket.write_all(&question).ok()?;
        let mut length = [0; 4];
        self.read(&mut length, end)?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let mut answer = vec![0; Some(length).filter(|length| *length <= LONGEST)?];
        self.read(&mut answer, end)?;
        self.taken = data(&self.pid.to_string())?.saturating_sub(self.begun);
        Some(parse(&answer))
    }

    fn read(&mut self, to: &mut [u8], end: Instant) -> Option<()> {
        let (mut filled, mut haste) = (0, None);
        while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.socket.read(rest) {
                Ok(0) => return None,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    // After a signal there is less time than was thought.
                    if interrupt::wished() {
                        haste = haste.or_else(|| Instant::now().checked_add(HASTE));
                    }
                    if Instant::now() >= haste.map_or(end, |haste| end.min(haste)) {
                        return None;
                    }
                    let beat = Timespec { tv_sec: 0, tv_nsec: BEAT };
                    let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&beat));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(())
    }
}

/// Returns the memory of a process that counts toward its limit, in bytes.
pub(super) fn data(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(5)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

/// Runs in the child: replies to requests until its parent ends.
fn serve(file: &File, depth: Depth, socket: &UnixStream, data: u64, limits: Limits) {
    alone(&[file.as_raw_fd(), socket.as_raw_fd()]);
    let limit = |what, most| {
        rustix::process::setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })
    };
    let set = [
        limit(Resource::Core, 0),
        limit(Resource::Data, data.saturating_add(limits.memory)),
        limit(Resource::Cpu, limits.seconds),
    ];
    if set.iter().any(Result::is_err) {
        return;
    }
    let names = NameSource::of_file(file).unwrap_or_default();
    let symbolizer = symbolizer();
    let mut socket = socket;
    let mut question = [0; 17];
    while socket.read_exact(&mut question).is_ok() {
        let word = |at: usize| {
            let bytes = question.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        let at = At { offset: word(0), address: (question[16] != 0).then(|| word(8)) };
        let debug = depth == Depth::All;
        let found = look_up(&symbolizer, file, &names, debug, at);
        let mut answer = write(found.as_deref());
        answer.truncate(LONGEST);
        let length = u32::try_from(answer.len()).unwrap_or(0).to_le_bytes();
        if socket.write_all(&length).and_then(|()| socket.write_all(&answer)).is_err() {
            return;
        }
    }
}

/// Leaves a process that has these files open, and that no signal of a terminal ends before its parent.
fn alone(keep: &[RawFd; 2]) {
    let (first, second) = (keep[0].min(keep[1]), keep[0].max(keep[1]));
    // SAFETY: system calls on numbers; this process has one thread, and uses no other file.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            if !keep.contains(&standard) {
                libc::dup2(null, standard);
            }
        }
        let mut from = 3;
        for kept in [first, second] {
            if kept > from {
                libc::syscall(libc::SYS_close_range, from, kept - 1, 0);
            }
            from = from.max(kept + 1);
        }
        libc::syscall(libc::SYS_close_range, from, libc::c_int::MAX, 0);
    }
}

pub(super) fn look_up(
    symbolizer: &Symbolizer,
    file: &File,
    names: &NameSource,
    debug: bool,
    at: At,
) -> Option<Names> {
    let other = names.other.as_ref().filter(|_| debug).zip(at.address);
    let other = other.and_then(|(other, address)| {
        let input = Input::VirtOffset(address);
        names_of(symbolizer, Elf::new(path(other)), input)
    });
    other.or_else(|| own_names(symbolizer, file, debug && names.debug, at.offset))
}

#[cfg(test)]
mod tests {
    use super::super::tests::own;
    use super::*;

    #[test]
    fn memory_that_a_file_takes_has_a_limit() {
        // This child allocates twice the limit while it replies.
        let (here, there) = UnixStream::pair().unwrap();
        let data = data("self").unwrap();
        let (_dir, file, _) = own();
        // SAFETY: as in `Child::start`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            alone(&[file.as_raw_fd(), there.as_raw_fd()]);
            let most = Some(data + MEMORY);
            let _ =
                rustix::process::setrlimit(Resource::Data, Rlimit { current: most, maximum: most });
            let length = usize::try_from(2 * MEMORY).unwrap();
            let taken = Vec::<u8>::new().try_reserve_exact(length).is_ok();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(taken)) };
        }
        drop(there);
        let mut status = 0;
        // SAFETY: a child of this test.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 0));
        drop(here);
    }
}
