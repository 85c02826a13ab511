//! Starting emulators that do not outlive the testbed, even if it is killed.
//!
//! The kernel ends a child when its parent dies, if the child requested that. The parent in this
//! sense is the *thread* that started the child, so one thread that never ends starts them all.

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

/// A command, and where its child is waited for.
type Order = (Command, Sender<Result<Child>>);

static LAUNCHER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();

/// Starts a command whose process ends with this one.
pub fn start(mut command: Command) -> Result<Child> {
    end_with(&mut command, getpid());
    let (answer, child) = channel();
    let gone = || Error::other("the thread that starts emulators is gone");
    LAUNCHER
        .get_or_init(launcher)
        .lock()
        .map_err(|_| gone())?
        .send((command, answer))
        .map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

fn launcher() -> Mutex<Sender<Order>> {
    let (sender, orders) = channel::<Order>();
    std::thread::spawn(move || {
        for (mut command, answer) in orders {
            let _ = answer.send(command.spawn());
        }
    });
    Mutex::new(sender)
}

fn end_with(command: &mut Command, parent: Pid) {
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The death of a parent before the child's request is not noticed.
        if getppid() != Some(parent) {
            return Err(Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()));
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and nothing else: no
    // allocation, no lock, no memory that another thread could have left half written.
    unsafe { command.pre_exec(ask) };
}
