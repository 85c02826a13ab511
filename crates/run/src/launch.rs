//! Makes the tracer, and becomes the program.

use crate::baseline::Baseline;
use crate::image::Act;
use crate::target::{self, Refusal};
use crate::tracer::{self, Counted, Listeners, Totals, Tracer};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Why a program was not run with another vDSO.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Not on this architecture.
    #[error("a replacement vDSO is available for Linux on x86-64 only")]
    Unavailable,
    /// Not for this program.
    #[error("this program is left alone: {0}")]
    Refused(#[from] Refusal),
    /// The tracer could not see the program.
    #[error(
        "/proc is missing, and the vDSO cannot be replaced without it: {0}; mount -t proc proc /proc"
    )]
    NoProc(#[source] io::Error),
    /// Tracing is not allowed here.
    #[error("this process cannot be traced: {0}")]
    Forbidden(String),
    /// The tracer could not be made.
    #[error("{0}: {1}")]
    Tracer(&'static str, #[source] io::Error),
    /// The program could not be run, because of the program itself.
    #[error("{0}")]
    NotRun(#[source] io::Error),
}

/// The settings with which a program is started.
pub struct Launch {
    /// The behaviour of its reads.
    pub act: Act,
    /// A reading of the counter, as early as possible.
    pub baseline: Baseline,
    /// Whether the programs that it runs also get the image. The program is then traced for its whole life,
    /// and no debugger can attach to it.
    pub follow: bool,
    listeners: Listeners,
    kept: Vec<RawFd>,
}

impl Launch {
    /// Starts without listeners, and follows children.
    #[must_use]
    pub fn new(act: Act, baseline: Baseline) -> Self {
        let listeners = Listeners {
            refused: Box::new(|_| ()),
            ended: Box::new(|_| ()),
            counted: Box::new(|_| ()),
        };
        Self { act, baseline, follow: true, listeners, kept: Vec::new() }
    }

    /// Called in the tracer's process when the program did not get the image after all.
    #[must_use]
    pub fn on_refusal(mut self, tell: impl Fn(&Refusal) + 'static) -> Self {
        self.listeners.refused = Box::new(tell);
        self
    }

    /// Called in the tracer's process when the program has ended, just before its parent is
    /// notified; its children may continue. Standard error is then still open, and is closed afterwards.
    #[must_use]
    pub fn on_end(mut self, tell: impl Fn(&Totals) + 'static) -> Self {
        self.listeners.ended = Box::new(tell);
        self
    }

    /// Called in the tracer's process for each process that ends, with [`Act::Count`].
    #[must_use]
    pub fn on_count(mut self, tell: impl Fn(&Counted) + 'static) -> Self {
        self.listeners.counted = Box::new(tell);
        self
    }

    /// Keeps a file open in the tracer, which closes all others: one that a listener owns.
    #[must_use]
    pub fn keep(mut self, file: &impl AsRawFd) -> Self {
        self.kept.push(file.as_raw_fd());
        self
    }

    /// Becomes the program. Returns only if that fails.
    ///
    /// The process must have one thread only.
    #[must_use]
    pub fn exec(self, command: &mut Command) -> Failure {
        if !crate::available() {
            return Failure::Unavailable;
        }
        if let Err(refusal) = target::check(command.get_program()) {
            return refusal.into();
        }
        match self.prepare() {
            Ok(()) => Failure::NotRun(command.exec()),
            Err(failure) => failure,
        }
    }

    /// Starts a tracer for this process: the program that it becomes by `execve` gets the image. For
    /// callers that need to do more between this call and `execve` than [`Launch::exec`] does;
    /// [`check`](crate::check) the program before.
    ///
    /// The process must have only one thread, as between `fork` and `execve`.
    ///
    /// # Errors
    /// Returns an error if no tracer follows the process; the process is then unchanged.
    pub fn attach(self) -> Result<(), Failure> {
        if !crate::available() {
            return Err(Failure::Unavailable);
        }
        self.prepare()
    }

    /// Until this process is traced.
    fn prepare(self) -> Result<(), Failure> {
        let pipe = || io::pipe().map_err(|error| Failure::Tracer("making a pipe", error));
        let ((mut from_tracer, to_program), (from_program, mut to_tracer)) = (pipe()?, pipe()?);
        let Launch { act, baseline, follow, listeners, kept } = self;
        // The tracer reads these files to identify the program. There a failure would be too late: the program would
        // already run, with the kernel's clock.
        for file in ["exe", "status"] {
            let path = format!("/proc/{}/{file}", std::process::id());
            std::fs::File::open(path).map_err(Failure::NoProc)?;
        }
        let Ok(program) = libc::pid_t::try_from(std::process::id()) else {
            return Err(Failure::Unavailable);
        };
        let tracer = Tracer { program, follow, act, baseline, listeners };
        // SAFETY: this process has one thread, by the contract of `exec`, so that the child may do
        // anything.
        match unsafe { libc::fork() } {
            -1 => return Err(Failure::Tracer("making a process", io::Error::last_os_error())),
            0 => {
                // The tracer is a grandchild: it is not a child of the program, and is out of the
                // reach of its terminal.
                // SAFETY: as above.
                let second = unsafe {
                    libc::setsid();
                    libc::fork()
                };
                if second == 0 {
                    drop((from_tracer, to_tracer));
                    be_tracer(&tracer, from_program.into(), to_program.into(), &kept);
                }
                // SAFETY: ends this process at once.
                unsafe { libc::_exit(0) }
            }
            child => tracer::reap(child),
        }
        drop((from_program, to_program));
        let failed = |error| Failure::Tracer("talking to the tracer", error);
        let mut number = [0; 4];
        from_tracer.read_exact(&mut number).map_err(failed)?;
        let tracer = u32::from_le_bytes(number);
        // If only a parent may trace (Yama, `ptrace_scope` 1), the tracer is named; elsewhere this
        // fails, and is not needed.
        // SAFETY: sets an attribute of this process.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, u64::from(tracer), 0, 0, 0) };
        to_tracer.write_all(&[1]).map_err(failed)?;
        from_tracer.read_exact(&mut number).map_err(failed)?;
        match i32::from_le_bytes(number) {
            0 => Ok(()),
            error => Err(Failure::Forbidden(why(error))),
        }
    }
}

fn be_tracer(tracer: &Tracer, from_program: OwnedFd, to_program: OwnedFd, kept: &[RawFd]) -> ! {
    let work = || -> io::Result<()> {
        let (mut from_program, mut to_program) =
            (std::fs::File::from(from_program), std::fs::File::from(to_program));
        // SAFETY: only returns a number.
        let own = unsafe { libc::getpid() };
        to_program.write_all(&own.to_le_bytes())?;
        from_program.read_exact(&mut [0])?;
        let seized = tracer::seize(tracer);
        let error = seized.as_ref().err().map_or(0, |error| error.raw_os_error().unwrap_or(-1));
        let mut keep = kept.to_vec();
        keep.push(to_program.as_raw_fd());
        let_go(&keep);
        // Closed by that.
        let _ = from_program.into_raw_fd();
        to_program.write_all(&error.to_le_bytes())?;
        seized
    };
    if work().is_ok() {
        tracer.run();
    }
    // SAFETY: ends this process; files and buffers of the program's own process are not affected.
    unsafe { libc::_exit(0) }
}

/// Keeps no file open whose end the program or its callers wait for, except standard error, for
/// messages.
fn let_go(keep: &[libc::c_int]) {
    // SAFETY: descriptors of this process, which has one thread. Those that values own are in
    // `keep`, or in a process that ends by `_exit`.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if null >= 0 {
            libc::dup2(null, 0);
            libc::dup2(null, 1);
        }
        let mut first = 3;
        let mut kept: Vec<libc::c_int> = keep.to_vec();
        kept.sort_unstable();
        for one in kept.into_iter().filter(|one| *one >= 3) {
            if one > first {
                libc::syscall(libc::SYS_close_range, first, one - 1, 0);
            }
            first = one + 1;
        }
        libc::syscall(libc::SYS_close_range, first, libc::c_int::MAX, 0);
        libc::chdir(c"/".as_ptr());
    }
}

/// Bytes of a text of the kernel at most.
const LONGEST: u64 = 16 << 10;

/// Why tracing was refused, and the remedy.
fn why(error: i32) -> String {
    let text = |path: &str| {
        let mut bytes = Vec::new();
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
        file.take(LONGEST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let status = text("/proc/self/status").unwrap_or_default();
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"))
        .map(str::trim)
        .filter(|pid| *pid != "0");
    let name = tracer.and_then(|pid| text(&format!("/proc/{pid}/comm")));
    let scope = text("/proc/sys/kernel/yama/ptrace_scope");
    match scope.as_deref().map(str::trim) {
        _ if name.as_deref().map(str::trim) == Some("clocksmith") => {
            "another clocksmith run traces it already, and gives its programs their clock: one of the two is \
             enough (--no-follow leaves the program to others)"
                .to_owned()
        }
        _ if tracer.is_some() => "a debugger or strace traces it already".to_owned(),
        Some("3") => {
            "this kernel forbids it until the next boot (kernel.yama.ptrace_scope is 3)".to_owned()
        }
        Some("2") => "only with CAP_SYS_PTRACE (kernel.yama.ptrace_scope is 2)".to_owned(),
        _ => format!(
            "{}; a container may need the capability SYS_PTRACE, or a seccomp profile that allows ptrace",
            io::Error::from_raw_os_error(error)
        ),
    }
}
