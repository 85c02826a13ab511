//! Exact counts of system calls that read clocks, from events on the kernel's tracepoints that only count and write
//! nothing. A filter in the kernel distinguishes the clocks, so each call costs the program a count, not a sample.
//!
//! All events of a thread are in one group and are switched by its leader, so they count the same calls.

use super::event;
use super::{Scope, online_cpus};
use crate::clock::{Api, ClockId};
use crate::exact::{Count, Counted, Counter, ThreadCalls};
use perf_event_open_sys::bindings as b;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Clocks with a separate count; all others are counted together.
const CLOCKS: [ClockId; 9] = [
    ClockId::REALTIME,
    ClockId::MONOTONIC,
    ClockId::PROCESS_CPUTIME,
    ClockId::THREAD_CPUTIME,
    ClockId::MONOTONIC_RAW,
    ClockId::REALTIME_COARSE,
    ClockId::MONOTONIC_COARSE,
    ClockId::BOOTTIME,
    ClockId::TAI,
];

/// Where tracefs is mounted: its own place since 4.1, and the older one.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// How often threads are listed before those that start and end meanwhile are ignored.
const LISTINGS: u32 = 8;

/// Why system calls cannot be counted, and how to allow it.
#[derive(Debug, thiserror::Error)]
pub enum NoTracepoints {
    /// tracefs is not mounted.
    #[error(
        "system calls are not counted: the kernel's tracepoints are not available, because tracefs \
         is not mounted: sudo mount -t tracefs nodev /sys/kernel/tracing"
    )]
    NotMounted,
    /// This user may not use it.
    #[error(
        "system calls are not counted: only root may look at the kernel's tracepoints ({place}: {error}): \
         run it with sudo"
    )]
    Forbidden {
        /// The file or directory that could not be read.
        place: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// The kernel was built without them.
    #[error(
        "system calls are not counted: this kernel has no tracepoints for them (it was built without \
         CONFIG_FTRACE_SYSCALLS)"
    )]
    NotBuilt,
    /// Opening the events failed.
    #[error("system calls are not counted: {what}: {error}. {}", help(error))]
    Refused {
        /// The attempted operation.
        what: String,
        /// The kernel's error.
        error: io::Error,
    },
}

/// How to allow it.
fn help(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            "A thread takes 13 open files: raise their limit (ulimit -Hn 65536; ulimit -n 65536), or watch the whole \
             machine with --all"
        }
        Some(libc::EACCES | libc::EPERM) => "Run it as root, on the host and not in a container",
        _ => "Run it on the host: a container or a sandbox may forbid perf_event_open(2)",
    }
}

/// Allows this process as many open files as it may allow itself.
fn more_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a live value of the right type.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// The numbers of the tracepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    clock_gettime: u64,
    gettimeofday: u64,
    /// x86 has the call, newer architectures have not.
    time: Option<u64>,
    clock_getres: Option<u64>,
}

impl Numbers {
    fn find(places: &[&str]) -> Result<Self, NoTracepoints> {
        let mut last = NoTracepoints::NotMounted;
        for place in places {
            match Self::read(Path::new(place)) {
                Ok(numbers) => return Ok(numbers),
                // The more specific error is kept: an absent directory does not explain the error of the other one.
                Err(NoTracepoints::NotMounted) => {}
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    fn read(place: &Path) -> Result<Self, NoTracepoints> {
        let number = |name: &str| -> Result<Option<u64>, NoTracepoints> {
            let path = place.join(format!("events/syscalls/sys_enter_{name}/id"));
            match clocksmith_facts::given::text(&path) {
                Ok(text) => Ok(text.trim().parse().ok()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(NoTracepoints::Forbidden { place: path, error }),
            }
        };
        let (Some(clock_gettime), Some(gettimeofday)) =
            (number("clock_gettime")?, number("gettimeofday")?)
        else {
            let mounted = place.join("events").is_dir();
            return Err(if mounted { NoTracepoints::NotBuilt } else { NoTracepoints::NotMounted });
        };
        let (time, clock_getres) = (number("time")?, number("clock_getres")?);
        Ok(Self { clock_gettime, gettimeofday, time, clock_getres })
    }
}

/// The calls that an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// `clock_gettime` for any clock.
    AnyClock,
    Clock(ClockId),
    Gettimeofday,
    Time,
    Resolution,
}

/// The counts of one thread and of all that it starts, or of one processor.
#[derive(Debug)]
struct Group {
    /// `None`: everything on a processor.
    thread: Option<(u32, i32)>,
    name: String,
    /// The first one leads.
    events: Vec<(What, File)>,
}

/// Counts that run.
#[derive(Debug)]
pub struct Tracepoints {
    groups: Vec<Group>,
    begun: Instant,
    /// Until it was stopped.
    ran: Option<Duration>,
    lost: Vec<String>,
}

impl Tracepoints {
    /// Starts to count; with [`Scope::OnExec`] the process does, when it becomes a program.
    ///
    /// # Errors
    /// See [`NoTracepoints`].
    pub fn start(scope: &Scope, list: impl Fn() -> Vec<(u32, i32)>) -> Result<Self, NoTracepoints> {
        let numbers = Numbers::find(&PLACES)?;
        let (mut groups, mut lost) = (Vec::new(), Vec::new());
        match scope {
            Scope::Everything => {
                for cpu in online_cpus() {
                    groups.extend(Group::open(numbers, None, cpu, false)?);
                }
            }
            Scope::OnExec(pid) => {
                let thread = Some((u32::try_from(*pid).unwrap_or(0), *pid));
                groups.extend(Group::open(numbers, thread, -1, true)?);
            }
            Scope::Threads(_) => {
                // Nothing is started here that would inherit it.
                more_files();
                // A thread that begins meanwhile is counted with the one that started it, if that has its events
                // already; so everything is repeated until no thread has begun meanwhile.
                let mut threads = list();
                for _ in 0..LISTINGS {
                    groups.clear();
                    for thread in &threads {
                        groups.extend(Group::open(numbers, Some(*thread), -1, false)?);
                    }
                    let now = list();
                    let new = now.iter().any(|thread| !threads.contains(thread));
                    threads = now;
                    if !new {
                        lost.clear();
                        break;
                    }
                    lost = vec![
                        "threads began while counting began: some of their system calls may be \
                         counted twice, or not at all"
                            .to_owned(),
                    ];
                }
            }
        }
        let counts = Self { groups, begun: Instant::now(), ran: None, lost };
        if !matches!(scope, Scope::OnExec(_)) {
            counts.switch(true).map_err(|error| NoTracepoints::Refused {
                what: "starting to count".to_owned(),
                error,
            })?;
        }
        Ok(counts)
    }

    fn switch(&self, on: bool) -> io::Result<()> {
        for group in &self.groups {
            if let Some((_, leader)) = group.events.first() {
                event::switch(leader.as_fd(), on)?;
            }
        }
        Ok(())
    }

    /// Stops counting; the counts stay.
    pub fn stop(&mut self) {
        if self.ran.is_none() {
            let _ = self.switch(false);
            self.ran = Some(self.begun.elapsed());
        }
    }
}

impl Group {
    /// Opens the events, stopped; `None` if the thread has ended.
    fn open(
        numbers: Numbers,
        thread: Option<(u32, i32)>,
        cpu: i32,
        on_exec: bool,
    ) -> Result<Option<Self>, NoTracepoints> {
        let mut wanted = vec![(What::AnyClock, Some(numbers.clock_gettime))];
        wanted.extend(CLOCKS.map(|clock| (What::Clock(clock), Some(numbers.clock_gettime))));
        wanted.extend([
            (What::Gettimeofday, Some(numbers.gettimeofday)),
            (What::Time, numbers.time),
            (What::Resolution, numbers.clock_getres),
        ]);
        let mut events: Vec<(What, File)> = Vec::new();
        let tid = thread.map_or(-1, |(_, tid)| tid);
        for (what, number) in wanted {
            let Some(number) = number else { continue };
            let leader = events.first().map(|(_, leader)| leader.as_fd());
            let mut attr = tracepoint(number, thread.is_some(), leader.is_none(), on_exec);
            let opened = event::open(&mut attr, tid, cpu, leader).and_then(|fd| {
                if let What::Clock(clock) = what {
                    event::filter(fd.as_fd(), &format!("which_clock == {}", clock.0))?;
                }
                Ok(fd)
            });
            match opened {
                Ok(fd) => events.push((what, File::from(fd))),
                Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV)) => {
                    return Ok(None);
                }
                Err(error) => {
                    let of = match thread {
                        Some((_, tid)) => format!("of thread {tid}"),
                        None => format!("on processor {cpu}"),
                    };
                    return Err(NoTracepoints::Refused {
                        what: format!("counting those {of}"),
                        error,
                    });
                }
            }
        }
        let name = thread.and_then(|(pid, tid)| {
            crate::watched::guard::text(&format!("/proc/{pid}/task/{tid}/comm"), 1 << 10)
        });
        let name = name.unwrap_or_default().trim().to_owned();
        Ok(Some(Self { thread, name, events }))
    }

    fn counts(&self) -> io::Result<(Vec<Count>, u64)> {
        let (mut counts, mut any, mut told, mut resolutions) = (Vec::new(), 0u64, 0u64, 0);
        for (what, event) in &self.events {
            let calls = calls(event)?;
            let count = |api, clock| Count { api, clock, calls };
            match what {
                What::AnyClock => any = calls,
                What::Clock(clock) => {
                    told = told.saturating_add(calls);
                    counts.push(count(Api::ClockGettime, Some(*clock)));
                }
                What::Gettimeofday => counts.push(count(Api::Gettimeofday, None)),
                What::Time => counts.push(count(Api::Time, None)),
                What::Resolution => resolutions = calls,
            }
        }
        let others = any.saturating_sub(told);
        counts.push(Count { api: Api::ClockGettime, clock: None, calls: others });
        Ok((counts, resolutions))
    }
}

/// The count of an event with all that it was inherited by.
fn calls(mut event: &File) -> io::Result<u64> {
    let mut words = [0; 24];
    event.read_exact(&mut words)?;
    let word = |at: usize| {
        let bytes = words.get(at * 8..).and_then(|rest| rest.first_chunk::<8>());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    let (value, enabled, running) = (word(0), word(1), word(2));
    // Such events need no hardware that they would have to share.
    if running < enabled {
        return Err(io::Error::other("the kernel did not count all the time"));
    }
    Ok(value)
}

fn tracepoint(number: u64, inherit: bool, leader: bool, on_exec: bool) -> b::perf_event_attr {
    let mut attr = b::perf_event_attr {
        size: u32::try_from(size_of::<b::perf_event_attr>()).unwrap_or(0),
        type_: b::PERF_TYPE_TRACEPOINT,
        config: number,
        read_format: u64::from(
            b::PERF_FORMAT_TOTAL_TIME_ENABLED | b::PERF_FORMAT_TOTAL_TIME_RUNNING,
        ),
        ..Default::default()
    };
    attr.set_disabled(u64::from(leader));
    attr.set_enable_on_exec(u64::from(leader && on_exec));
    attr.set_inherit(u64::from(inherit));
    attr
}

impl Counter for Tracepoints {
    fn method(&self) -> String {
        "the kernel's tracepoints of these system calls".to_owned()
    }

    fn counts(&mut self) -> Result<Counted, String> {
        self.stop();
        let mut counted = Counted { lost: self.lost.clone(), ..Counted::default() };
        counted.seconds = self.ran.map(|ran| ran.as_secs_f64());
        for group in &self.groups {
            let (counts, resolutions) = group
                .counts()
                .map_err(|error| format!("the counts of system calls cannot be read: {error}"))?;
            counted.resolutions = counted.resolutions.saturating_add(resolutions);
            for one in &counts {
                counted.add(*one);
            }
            if let Some((pid, tid)) = group.thread {
                let name = group.name.clone();
                counted.threads.push(ThreadCalls { pid, tid, name, counts });
            }
        }
        let mut pids: Vec<u32> = counted.threads.iter().map(|thread| thread.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        counted.processes = pids.len() as u64;
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tracefs with these tracepoints.
    fn tracefs(names: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("events")).unwrap();
        for (name, id) in names {
            let event = dir.path().join(format!("events/syscalls/sys_enter_{name}"));
            std::fs::create_dir_all(&event).unwrap();
            std::fs::write(event.join("id"), id).unwrap();
        }
        dir
    }

    #[test]
    fn find_missing_tracepoints_gives_reason() {
        let find = |places: &[&Path]| {
            let places: Vec<&str> = places.iter().map(|place| place.to_str().unwrap()).collect();
            Numbers::find(&places)
        };
        let empty = tempfile::tempdir().unwrap();
        let bare = tracefs(&[]);
        let full = tracefs(&[("clock_gettime", "480\n"), ("gettimeofday", "7\n"), ("time", "9\n")]);
        assert!(matches!(find(&[empty.path()]), Err(NoTracepoints::NotMounted)));
        assert!(matches!(find(&[bare.path(), empty.path()]), Err(NoTracepoints::NotBuilt)));
        let numbers = find(&[empty.path(), full.path()]).unwrap();
        assert_eq!(
            (numbers.clock_gettime, numbers.time, numbers.clock_getres),
            (480, Some(9), None)
        );
        let broken = tracefs(&[("clock_gettime", "what\n"), ("gettimeofday", "7\n")]);
        assert!(matches!(find(&[broken.path()]), Err(NoTracepoints::NotBuilt)));
        assert!(NoTracepoints::NotMounted.to_string().contains("mount -t tracefs"));
    }
}
