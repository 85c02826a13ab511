//! Symptoms: the output of other programs about the cost of reading the time, in pasted texts. Profiles, traces of
//! system calls, benchmarks, warnings of servers.
//!
//! Contents: one reader for each kind of output, and the registry (`READERS`). Each symptom is a value with
//! its source. Not in this module: the conclusions from a symptom (`clocksmith-diagnose`).

mod benchmarks;
mod callers;
mod clickhouse;
mod clockperf;
mod code;
mod counted;
mod domain;
mod flat;
mod folded;
pub mod functions;
mod loops;
mod perf;
mod pg_test_timing;
mod pprof;
mod redis;
mod samples;
mod strace;
mod strace_count;
mod vdsotest;

use crate::Source;
use crate::paste::Reader;
pub use counted::Counted;
pub use functions::Role;
use serde::Serialize;

/// The readers: one line for each kind.
pub(crate) const READERS: [Reader; 16] = [
    folded::READER,
    flat::READER,
    pprof::READER,
    pprof::LIST,
    perf::READER,
    samples::READER,
    strace_count::READER,
    strace::READER,
    pg_test_timing::READER,
    redis::READER,
    clickhouse::READER,
    clockperf::READER,
    vdsotest::READER,
    benchmarks::READER,
    loops::READER,
    domain::READER,
];

/// Maximum number of stored kernel functions that read the time for the kernel itself.
const READERS_OF_KERNEL: usize = 4;
/// Percent below which a share is omitted.
const LEAST: f64 = 0.05;

/// One symptom.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Symptom {
    /// The place of the first line.
    pub source: Source,
    /// The program that printed it, as it is listed.
    pub tool: &'static str,
    /// The clocksource that the text read or chose last before it, on the same machine.
    pub under: Option<String>,
    /// The content.
    pub seen: Seen,
}

/// The content of a symptom.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// Where a program or a machine spent its time.
    Profile(Profile),
    /// System calls that read a clock.
    Calls(Calls),
    /// The measured cost of a read.
    Cost(Cost),
    /// A benchmark saw an earlier time after a later one.
    Backwards,
    /// A server's warning about the clocksource, or that its check passed.
    Warning(Warning),
    /// The description of a virtual machine.
    Domain,
}

/// A profile, reduced to the functions that are involved in reading the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profile {
    /// The unit of its shares.
    pub counted: Counted,
    /// The functions, greatest share first.
    pub functions: Vec<Share>,
    /// Share of the stacks that contain a system call which reads a clock, in percent; `None` without stacks.
    pub in_system_calls: Option<f64>,
    /// Whether stacks lead from a function that programs call to the function in the kernel.
    pub called_by_programs: bool,
    /// Whether stacks lead from a function that programs call into the vDSO.
    pub through_vdso: bool,
    /// Whether stacks lead from a function of the vDSO on into the kernel by a system call: it could not answer by itself.
    pub vdso_fell_back: bool,
    /// The clocksources whose functions the kernel's timekeeping calls, as the stacks show it, with the function.
    pub in_stacks: Vec<(&'static str, String)>,
    /// Functions of the kernel that read the time for the kernel itself, as the stacks show it, in the order of the text.
    pub kernel_readers: Vec<String>,
}

/// A function's share of a profile: its own, or, for a function whose callees do the work, the share with its callees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Its name in the profile.
    pub name: String,
    /// Its part in reading the time.
    pub role: Role,
    /// Percent.
    pub percent: f64,
}

/// System calls that read a clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Calls {
    /// `clock_gettime`, `gettimeofday` or `time`.
    pub call: String,
    /// The clock ids with their numbers of calls, most calls first; empty if the trace does not show them.
    pub clocks: Vec<(String, u64)>,
    /// Number of calls.
    pub count: u64,
    /// Mean microseconds of one call, including the cost of the trace, where measured.
    pub us: Option<f64>,
    /// Percent of the time in system calls, of a table with times.
    pub percent: Option<f64>,
    /// Whether a table counts all calls of a run.
    #[serde(skip)]
    pub of_table: bool,
    /// Calls that failed, of a table.
    pub failed: u64,
    /// Calls of a function of the C library (ltrace), which may enter the kernel or not.
    pub of_library: bool,
}

/// The measured cost of a read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// The clock or the call that was read.
    pub clock: String,
    /// Nanoseconds a read.
    pub ns: f64,
    /// Nanoseconds of the same read by a system call, where the program measured it.
    pub syscall_ns: Option<f64>,
    /// Whether the counter was read by an instruction of the program, without the kernel or the vDSO.
    pub by_instruction: bool,
}

/// A server's warning about the clocksource.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Warning {
    /// The server.
    pub product: &'static str,
    /// The rule of the warning.
    pub rule: Rule,
    /// The clocksource in use, as the server read it from sysfs.
    pub current: Option<String>,
    /// The available clocksources, as the server read them from sysfs.
    pub available: Vec<String>,
}

/// The rule of a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// More than a tenth of the CPU time of a loop of reads was spent in the kernel.
    #[default]
    KernelTime,
    /// The clocksource is not called tsc (ClickHouse before 22.10, and other servers).
    Name,
    /// The clocksource is not `tsc`, `kvm-clock` or `arch_sys_counter` (ClickHouse, `programs/server/Server.cpp`).
    NotFast,
    /// The clocksource is xen.
    Xen,
    /// The check by time passed.
    Passed,
}

impl Profile {
    /// The greatest share of a function with one of these roles.
    pub fn greatest(&self, of: impl Fn(Role) -> bool) -> Option<&Share> {
        self.functions
            .iter()
            .filter(|share| of(share.role))
            .max_by(|a, b| a.percent.total_cmp(&b.percent))
    }

    /// Adds a function's share: its own, and that with its callees if the profile has both.
    pub(crate) fn add(&mut self, name: &str, own: f64, with_children: Option<f64>) {
        // The entry into the kernel belongs to every system call.
        let Some(role) = functions::role(name).filter(|role| *role != Role::Entry) else { return };
        let name = functions::bare(name);
        let percent = match with_children {
            Some(all) if !functions::is_leaf(name) => all.max(own),
            _ => own,
        };
        if !(0.0..=100.5).contains(&percent) {
            return;
        }
        let room = self.functions.len() < 64;
        match self.functions.iter_mut().find(|share| share.name == name) {
            Some(known) => known.percent = known.percent.max(percent),
            None if room => {
                let name = name.chars().take(80).collect();
                self.functions.push(Share { name, role, percent });
            }
            None => {}
        }
    }

    /// The clocksource in use by the functions of the profile, whatever their share, and the function: one that only the clocksource calls
    /// (others are also read by the watchdog), or one that the kernel's timekeeping calls in a stack. `None` if they are of several.
    #[must_use]
    pub fn only_source(&self) -> Option<(&'static str, &str)> {
        let alone = self.functions.iter().filter_map(|share| match share.role {
            Role::Reads(name) if functions::is_of_a_guest(name) => {
                Some((name, share.name.as_str()))
            }
            _ => None,
        });
        let stacks = self.in_stacks.iter().map(|(name, function)| (*name, function.as_str()));
        let mut all = alone.chain(stacks);
        let first = all.next()?;
        all.all(|(name, _)| name == first.0).then_some(first)
    }

    /// Stores the clocksource of a function that the kernel's timekeeping calls.
    pub(crate) fn in_stack(&mut self, source: &'static str, function: &str) {
        if self.in_stacks.iter().all(|(name, _)| *name != source)
            && self.in_stacks.len() < READERS_OF_KERNEL
        {
            self.in_stacks.push((source, functions::bare(function).chars().take(80).collect()));
        }
    }

    /// Stores a function that reads the time for the kernel itself.
    pub(crate) fn read_by_kernel(&mut self, name: &str) {
        let name: String = functions::bare(name).chars().take(80).collect();
        if self.kernel_readers.len() < READERS_OF_KERNEL && !self.kernel_readers.contains(&name) {
            self.kernel_readers.push(name);
        }
    }

    /// The profile with its greatest share first; `None` if no function is involved in reading the time.
    pub(crate) fn finish(mut self) -> Option<Self> {
        self.functions.retain(|share| share.percent >= LEAST);
        self.functions.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        (!self.functions.is_empty() || self.in_system_calls.is_some_and(|share| share > 0.0))
            .then_some(self)
    }
}
