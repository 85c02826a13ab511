//! The one place that writes to standard output and standard error, and to files that the command line names ([`mod@file`]).
//!
//! Most printed text was written by others: names of processes, kernel logs, files of virtual machines, error messages
//! that quote them. Everything passes [`clocksmith_facts::visible`] here, at the last moment, so that no verb has to
//! remember it: characters that a terminal would act on are shown by name, and only the colours of
//! [`Ink::of_run`](clocksmith_facts::visible::Ink::of_run) are colours. `crates/cli/clippy.toml` and `main.rs` forbid
//! every other way.

use clocksmith_measure::interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

pub(crate) mod err;
pub(crate) mod file;
mod long;
pub(crate) mod out;
pub(crate) mod panic;
pub(crate) mod screen;

/// The bytes that a pipe accepts at once when it is writable (`PIPE_BUF` of pipe(7)).
const PIECE: usize = 4096;
/// How often a request to end is checked while a write waits, in nanoseconds.
const BEAT: i64 = 100_000_000;

/// Writes all of it. If the other end is not read, a signal that requests the end is an error, so that no write blocks
/// forever.
fn put(mut out: impl Write + AsFd, bytes: &[u8]) -> io::Result<()> {
    for piece in bytes.chunks(PIECE) {
        wait_for_a_reader(&out)?;
        out.write_all(piece)?;
        out.flush()?;
    }
    Ok(())
}

fn wait_for_a_reader(out: &impl AsFd) -> io::Result<()> {
    loop {
        let beat = Timespec { tv_sec: 0, tv_nsec: BEAT };
        match poll(&mut [PollFd::new(out, PollFlags::OUT)], Some(&beat)) {
            Ok(0) | Err(rustix::io::Errno::INTR) if interrupt::wished() => {
                return Err(io::Error::new(ErrorKind::TimedOut, Unread));
            }
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // The next write returns the error.
            Ok(_) | Err(_) => return Ok(()),
        }
    }
}

/// The output is not read, and a signal requests the end.
#[derive(Debug)]
pub(crate) struct Unread;

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no program reads it, and a signal requested the end")
    }
}

impl std::error::Error for Unread {}
