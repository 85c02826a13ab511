//! The kernel's limits for this user, and how to raise them.

use super::event::Depth;
use std::io;

/// The extent of sampling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Kernel and user space, or user space only.
    pub depth: Depth,
    /// `kernel.perf_event_paranoid`, if it can be read.
    pub paranoid: Option<i32>,
}

impl Access {
    /// Why the kernel's part is missing, and how to get it; `None` if nothing is missing.
    #[must_use]
    pub fn gap(&self) -> Option<String> {
        (self.depth == Depth::User).then(|| {
            let level = self.paranoid.map_or_else(
                || "for this user".to_owned(),
                |level| format!("for this user (kernel.perf_event_paranoid is {level})"),
            );
            format!(
                "the kernel's part of the time is not seen {level}: system calls are not counted. \
                 Run it as root, or give the program the capability: {SETCAP}; or for every user \
                 until the next boot: sudo sysctl kernel.perf_event_paranoid=1"
            )
        })
    }
}

/// The capabilities that are enough for everything but other users' programs in other namespaces.
const SETCAP: &str =
    "sudo setcap cap_perfmon,cap_sys_ptrace,cap_syslog+ep $(command -v clocksmith)";

/// Why no samples can be taken.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The kernel allows this user no events on these processes.
    #[error(
        "the kernel does not let this user take samples of {what} ({error}{}). Run it as root, or give \
         the program the capability: {SETCAP}{}",
        paranoid.map_or_else(String::new, |level| format!(", kernel.perf_event_paranoid is {level}")),
        denied(*other, *paranoid, what)
    )]
    Denied {
        /// The processes to sample.
        what: String,
        /// The kernel's error.
        error: io::Error,
        /// `kernel.perf_event_paranoid`.
        paranoid: Option<i32>,
        /// The user that the process belongs to, if it is not this program's.
        other: Option<u32>,
    },
    /// The kernel does not show the process.
    #[error(
        "process {0} does not answer: one of its threads holds a kernel lock, for example because it waits for a file system \
         that does not answer; watch others, by -p, --name or --user"
    )]
    Silent(u32),
    /// The process is gone.
    #[error("there is no process {0}{no_proc}: it may have ended; `ps` lists what runs", no_proc = no_proc())]
    Gone(i32),
    /// A kernel without performance events, a sandbox that forbids them, or too few descriptors.
    #[error(
        "samples of {what} cannot be taken: {error}. A container or a sandbox may forbid \
         perf_event_open(2): run it on the host; or raise the limit of open files: ulimit -n 65536"
    )]
    Impossible {
        /// The processes to sample.
        what: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// Sampling with registers is written for this architecture only.
    #[error("who reads registers of x86-64 programs; this machine is another architecture")]
    Architecture,
}

impl Refusal {
    pub(super) fn new(what: &str, error: io::Error, pid: Option<i32>) -> Self {
        let what = what.to_owned();
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => {
                let other = pid.and_then(owner).filter(|user| {
                    // SAFETY: only returns a number.
                    *user != unsafe { libc::geteuid() }
                });
                Self::Denied { what, error, paranoid: paranoid(), other }
            }
            _ => Self::Impossible { what, error },
        }
    }
}

/// Returns the alternative without more rights, if there is one.
fn denied(other: Option<u32>, paranoid: Option<i32>, what: &str) -> String {
    match (other, paranoid) {
        (Some(user), _) => {
            format!(". It belongs to another user (id {user}): that user can sample it, and root")
        }
        (None, Some(level)) if level > 2 => {
            ". Without either, users can sample their own programs where the level is 2 or less: sudo sysctl \
             kernel.perf_event_paranoid=2"
                .to_owned()
        }
        _ if what == MACHINE => ". Without either, watch your own programs: -p PID".to_owned(),
        _ => ". A program that changed its user or gained rights can be sampled by root only".to_owned(),
    }
}

/// The whole machine, in words.
pub(super) const MACHINE: &str = "the whole machine";

/// The user that a thread's process belongs to.
pub(super) fn owner(pid: i32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

/// `kernel.perf_event_paranoid`.
pub(super) fn paranoid() -> Option<i32> {
    clocksmith_facts::given::text("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// The addition to the message if processes cannot be seen at all.
fn no_proc() -> &'static str {
    if std::path::Path::new("/proc/self").exists() {
        ""
    } else {
        " in /proc, which is not mounted here"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_and_refusal_name_a_command() {
        let all = Access { depth: Depth::Kernel, paranoid: Some(2) };
        assert_eq!(all.gap(), None);
        let gap = Access { depth: Depth::User, ..all }.gap().unwrap();
        assert!(gap.contains("setcap cap_perfmon") && gap.contains("sysctl"), "{gap}");
        let error = io::Error::from_raw_os_error(libc::EACCES);
        let text = Refusal::new("process 1", error, None).to_string();
        assert!(text.contains("process 1") && text.contains("setcap"), "{text}");
        // The level is not the reason if it is low enough.
        let other = denied(Some(0), Some(2), "process 1");
        assert!(other.contains("another user (id 0)") && !other.contains("sysctl"), "{other}");
        assert!(denied(None, Some(4), "process 1").contains("perf_event_paranoid=2"));
        assert!(!denied(None, Some(2), MACHINE).contains("sysctl"));
    }
}
