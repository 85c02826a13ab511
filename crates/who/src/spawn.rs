//! A command that waits until it is being watched, and then runs as if the user had started it.

use clocksmith_measure::program::by_the_kernel_alone;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread::JoinHandle;

/// The exit code of a process that never became the command.
const NOT_STARTED: i32 = 127;

/// A process that has not yet become the command.
#[derive(Debug)]
pub struct Waiting {
    pid: u32,
    go: PipeWriter,
    starter: JoinHandle<io::Result<Child>>,
}

impl Waiting {
    /// Prepares a command: a process exists, and waits. It ends if this program ends first. With
    /// `aside` its standard output goes where this program's standard error goes.
    ///
    /// # Errors
    /// Returns an error if no process could be created.
    pub fn new(command: &[OsString], aside: bool) -> io::Result<Self> {
        Self::prepared(command, aside, || ())
    }

    /// Does the same, but runs `first` in the new process before the watcher sees this process, so that processes
    /// started by `first` are not watched.
    ///
    /// # Errors
    /// See [`Waiting::new`].
    ///
    /// `first` runs between `fork` and `execve`: it must not wait for a lock or a thread of this process.
    pub fn prepared(
        command: &[OsString],
        aside: bool,
        mut first: impl FnMut() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
        let mut starting = Command::new(program);
        starting.args(arguments);
        if aside {
            starting.stdout(io::stderr().as_fd().try_clone_to_owned()?);
        }
        let (mut told, tell) = io::pipe()?;
        let (wait, go) = io::pipe()?;
        let ours = go.as_raw_fd();
        let prepare = move || {
            // The new process has a copy of the write end of the pipe. That end must close when this program
            // ends, so the copy is closed.
            // SAFETY: closes a descriptor of the new process that is used nowhere else in it.
            unsafe { libc::close(ours) };
            first();
            prepare(&tell, &wait)
        };
        // SAFETY: the closure uses descriptors of pipes only, which is allowed after a fork; `first` is
        // up to the caller.
        unsafe { starting.pre_exec(prepare) };
        // Last: where it applies, it becomes the command.
        by_the_kernel_alone(&mut starting);
        // The standard library waits for the command to begin, so another thread waits for the
        // standard library.
        let starter = std::thread::Builder::new().name("starter".to_owned()).spawn(move || {
            let child = starting.spawn();
            // The closure holds the child's ends of the pipes open: without them a failure before the
            // handshake is an end of file, not a wait.
            drop(starting);
            child
        })?;
        let mut pid = [0; 4];
        match told.read_exact(&mut pid) {
            Ok(()) => Ok(Self { pid: u32::from_ne_bytes(pid), go, starter }),
            Err(error) => match starter.join() {
                Ok(Err(error)) => Err(error),
                _ => Err(error),
            },
        }
    }

    /// Its id, which stays when it becomes the command.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets the process become the command.
    ///
    /// # Errors
    /// Returns the error of `execve(2)` if the command could not be started.
    pub fn go(self) -> io::Result<Running> {
        let Self { mut go, starter, .. } = self;
        go.write_all(&[1])?;
        drop(go);
        let child = starter.join().map_err(|_| {
            io::Error::other(
                "the process that starts the \
                                                                 command has failed",
            )
        })??;
        Ok(Running { child })
    }
}

/// In the new process: sends the process id, and waits for one byte.
fn prepare(mut tell: &PipeWriter, mut wait: &PipeReader) -> io::Result<()> {
    tell.write_all(&std::process::id().to_ne_bytes())?;
    if wait.read_exact(&mut [0]).is_err() {
        // The watcher has ended, and with it the reader of an error.
        // SAFETY: ends this process, without handlers of its parent.
        unsafe { libc::_exit(NOT_STARTED) };
    }
    Ok(())
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

impl Running {
    /// Whether it has ended, and how.
    ///
    /// # Errors
    /// Returns the error of `waitpid(2)`.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Sends SIGTERM to it.
    pub fn terminate(&self) {
        // Its id is its own until it is waited for.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Waits for the end of the command.
    ///
    /// # Errors
    /// Returns the error of `waitpid(2)`.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &[&str]) -> Vec<OsString> {
        command.iter().map(OsString::from).collect()
    }

    #[test]
    fn it_waits_and_then_runs() {
        let waiting = Waiting::new(&words(&["sh", "-c", "exit 7"]), false).unwrap();
        let name = std::fs::read_to_string(format!("/proc/{}/comm", waiting.pid())).unwrap();
        assert_ne!(name.trim(), "sh");
        let pid = waiting.pid();
        let mut running = waiting.go().unwrap();
        assert_eq!(running.child.id(), pid);
        assert_eq!(running.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn a_command_that_is_not_there() {
        let waiting = Waiting::new(&words(&["/nonexistent/command"]), false).unwrap();
        assert_eq!(waiting.go().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(Waiting::new(&[], false).is_err());
    }

    #[test]
    fn file_that_is_not_text_is_not_passed_to_a_shell() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (path, made) = (dir.path().join("program"), dir.path().join("made"));
        std::fs::write(&path, format!("\u{7f}ELF\n: >{}\n", made.display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = loop {
            let waiting = Waiting::new(&words(&[path.to_str().unwrap()]), false).unwrap();
            let error = waiting.go().unwrap_err();
            // A child that another test has just forked holds the file open for writing until its own `execve`.
            if error.kind() != io::ErrorKind::ExecutableFileBusy {
                break error;
            }
        };
        assert_eq!(error.raw_os_error(), Some(libc::ENOEXEC));
        assert!(!made.exists());
    }

    #[test]
    fn left_alone_it_ends() {
        let waiting = Waiting::new(&words(&["true"]), false).unwrap();
        let Waiting { go, starter, .. } = waiting;
        drop(go);
        // Without a message: the standard library of the new process would report its own failure to report.
        let status = starter.join().unwrap().unwrap().wait().unwrap();
        assert_eq!(status.code(), Some(NOT_STARTED));
    }
}
