//! The second process: it runs alongside the program and gives the image to every program that the
//! traced process becomes, and to its children. It is not a child of the program and holds none of
//! its files. Nothing depends on it: when it ends, the kernel lets all traced processes continue.

use crate::baseline::Baseline;
use crate::image::{Act, COUNTS, Image};
use crate::inject::{Injected, inject};
use crate::remote::{Remote, wait};
use crate::target::Refusal;
use clocksmith_raw::layout::{INTERVALS, KINDS};
use std::collections::HashMap;

/// The reads of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Its process id.
    pub pid: i32,
    /// Calls: by clock id, then as in [`clocksmith_raw::layout`].
    pub calls: [u64; KINDS],
    /// Intervals between reads of one thread: class `n` is from 2^n cycles up to 2^(n+1).
    pub intervals: [u64; INTERVALS],
    /// Nanoseconds per cycle, times 2^48.
    pub rate: u64,
}

/// The totals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Programs that got the image.
    pub programs: u64,
    /// Programs that did not, with the first reasons.
    pub untouched: u64,
    /// Processes that have ended and whose counts could not be read, with [`Act::Count`].
    pub uncounted: u64,
    /// Some of the programs that did not: the program's file and why.
    pub reasons: Vec<(String, Refusal)>,
}

/// The most reasons that are kept.
const REASONS: usize = 16;

/// The callbacks for the tracer's events.
pub(crate) struct Listeners {
    /// The requested program did not get the image.
    pub(crate) refused: Box<dyn Fn(&Refusal)>,
    /// The program has ended, or is no longer traced; the last call.
    pub(crate) ended: Box<dyn Fn(&Totals)>,
    /// A process has ended.
    pub(crate) counted: Box<dyn Fn(&Counted)>,
}

pub(crate) struct Tracer {
    pub(crate) program: libc::pid_t,
    pub(crate) follow: bool,
    pub(crate) act: Act,
    pub(crate) baseline: Baseline,
    pub(crate) listeners: Listeners,
}

/// The known state of the processes.
#[derive(Default)]
struct Known {
    totals: Totals,
    /// By process: the address of its counts, and the last counts that were read.
    counts: HashMap<libc::pid_t, (Option<u64>, Option<Counted>)>,
    rate: u64,
    baseline: Option<Baseline>,
    told: bool,
}

impl Tracer {
    pub(crate) fn options(&self) -> libc::c_int {
        let mut options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;
        if self.follow {
            options |=
                libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK | libc::PTRACE_O_TRACECLONE;
        }
        if self.act == Act::Count {
            options |= libc::PTRACE_O_TRACEEXIT;
        }
        options
    }

    /// Runs until no traced process is left.
    pub(crate) fn run(&self) {
        let mut known = Known::default();
        while let Some((pid, status)) = next() {
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                self.ended(pid, &mut known);
                continue;
            }
            if !libc::WIFSTOPPED(status) {
                continue;
            }
            // Requests to a process that has ended meanwhile fail, and are not needed.
            let remote = Remote(pid);
            let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
            match event {
                libc::PTRACE_EVENT_EXEC => {
                    self.exec(remote, &mut known);
                    if !self.follow && self.act != Act::Count {
                        let _ = remote.detach(0);
                        self.tell(&mut known);
                        return;
                    }
                    let _ = remote.resume(0);
                }
                libc::PTRACE_EVENT_EXIT => {
                    count(remote, &mut known);
                    let _ = remote.resume(0);
                }
                libc::PTRACE_EVENT_STOP => {
                    let stopped = matches!(
                        signal,
                        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU
                    );
                    let _ = if stopped { remote.listen() } else { remote.resume(0) };
                }
                0 if signal == libc::SIGTRAP | 0x80 => {
                    let _ = remote.resume(0);
                }
                0 => {
                    let _ = remote.resume(signal);
                }
                _ => {
                    let _ = remote.resume(0);
                }
            }
        }
        self.tell(&mut known);
    }

    /// A process runs another program.
    fn exec(&self, remote: Remote, known: &mut Known) {
        let baseline = known.baseline.get_or_insert(self.baseline);
        if let Some(rate) = baseline.better(known.rate) {
            known.rate = rate;
        }
        let image = Image { act: self.act, rate: known.rate };
        match inject(remote, &image) {
            Ok(Injected { counts }) => {
                known.totals.programs += 1;
                known.counts.insert(remote.0, (counts, None));
            }
            Err(refusal) => {
                known.totals.untouched += 1;
                if remote.0 == self.program && !known.told {
                    (self.listeners.refused)(&refusal);
                }
                if known.totals.reasons.len() < REASONS {
                    let file = std::fs::read_link(format!("/proc/{}/exe", remote.0));
                    let file = file.map_or_else(|_| "?".to_owned(), |f| f.display().to_string());
                    known.totals.reasons.push((file, refusal));
                }
                known.counts.insert(remote.0, (None, None));
            }
        }
    }

    fn ended(&self, pid: libc::pid_t, known: &mut Known) {
        match known.counts.remove(&pid) {
            Some((_, Some(counted))) => (self.listeners.counted)(&counted),
            Some((Some(_), None)) if self.act == Act::Count => known.totals.uncounted += 1,
            _ => {}
        }
        if pid == self.program {
            self.tell(known);
        }
    }

    fn tell(&self, known: &mut Known) {
        if !known.told {
            known.told = true;
            (self.listeners.ended)(&known.totals);
            // A reader of stderr waits for the program, not for the tracer.
            // SAFETY: descriptors of this process; no other code uses the first.
            unsafe {
                let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
                if null >= 0 {
                    libc::dup2(null, 2);
                    libc::close(null);
                }
            }
        }
    }
}

fn next() -> Option<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: writes one int.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        if pid > 0 {
            return Some((pid, status));
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

/// A thread is about to end; its process may continue, and its counts are read again when its last
/// thread ends.
fn count(remote: Remote, known: &mut Known) {
    let status = std::fs::read(format!("/proc/{}/status", remote.0)).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let process = status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:"))
        .and_then(|id| id.trim().parse().ok())
        .unwrap_or(remote.0);
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .and_then(|id| id.trim().parse::<libc::pid_t>().ok());
    // A child that has run no other program has its parent's pages at the same place.
    let place = match known.counts.get(&process) {
        Some((place, _)) => *place,
        None => parent.and_then(|parent| known.counts.get(&parent)).and_then(|(place, _)| *place),
    };
    let Some(address) = place else { return };
    let mut bytes = vec![0; COUNTS.0];
    if remote.read_exact(address, &mut bytes).is_err() {
        return;
    }
    let mut counted =
        Counted { pid: process, calls: [0; KINDS], intervals: [0; INTERVALS], rate: known.rate };
    for shard in bytes.chunks_exact(COUNTS.1) {
        let mut words =
            shard.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
        for place in counted.calls.iter_mut().chain(&mut counted.intervals) {
            *place += words.next().unwrap_or(0);
        }
    }
    known.counts.insert(process, (place, Some(counted)));
}

/// Waits until the requested process is traced and can be resumed; for the beginning.
pub(crate) fn seize(tracer: &Tracer) -> std::io::Result<()> {
    Remote(tracer.program).seize(tracer.options())
}

/// Waits for a process, for callers that must not know how to wait.
pub(crate) fn reap(pid: libc::pid_t) {
    let _ = wait(pid);
}
