//! Symptoms: what other programs say of the cost of reading the time, in what people paste. Profiles, traces of system
//! calls, benchmarks, warnings of servers.
//!
//! What lives here: one reader for each kind of output, and the registry (`READERS`). Each symptom is a value with
//! its source. What must not live here: what a symptom proves (`clocksmith-diagnose`).

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

/// The readers: one line a kind.
pub(crate) const READERS: [Reader; 14] = [
    folded::READER,
    flat::READER,
    pprof::READER,
    perf::READER,
    samples::READER,
    strace_count::READER,
    strace::READER,
    pg_test_timing::READER,
    redis::READER,
    clickhouse::READER,
    clockperf::READER,
    vdsotest::READER,
    loops::READER,
    domain::READER,
];

/// Functions of the kernel that read the time for itself that are kept.
const READERS_OF_KERNEL: usize = 4;
/// Percent below which a share is shown as none.
const LEAST: f64 = 0.05;

/// One symptom.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Symptom {
    /// Where it was read: the first line.
    pub source: Source,
    /// The program that said it, as it is listed.
    pub tool: &'static str,
    /// The clocksource that the text read or chose last before it, on the same machine.
    pub under: Option<String>,
    /// What it says.
    pub seen: Seen,
}

/// What a symptom says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// Where a program or a machine spent its time.
    Profile(Profile),
    /// System calls that read a clock.
    Calls(Calls),
    /// What a read cost.
    Cost(Cost),
    /// A benchmark saw an earlier time after a later one.
    Backwards,
    /// A server's warning about the clocksource, or that its check passed.
    Warning(Warning),
    /// The description of a virtual machine.
    Domain,
}

/// A profile, reduced to what has to do with the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profile {
    /// What its shares are shares of.
    pub counted: Counted,
    /// The functions, greatest share first.
    pub functions: Vec<Share>,
    /// Share of the stacks that hold a system call which reads a clock, in percent; `None` without stacks.
    pub in_system_calls: Option<f64>,
    /// Whether stacks lead from a function that programs call to the function in the kernel.
    pub called_by_programs: bool,
    /// Whether stacks lead from a function that programs call into the vDSO.
    pub through_vdso: bool,
    /// Whether stacks lead from a function of the vDSO on into the kernel by a system call: it could not answer by itself.
    pub vdso_fell_back: bool,
    /// Functions of the kernel that read the time for the kernel itself, as the stacks show it, in the order of the text.
    pub kernel_readers: Vec<String>,
}

/// A function's share of a profile: its own, or, of a function that others do the work for, with those that it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Its name as the profile has it.
    pub name: String,
    /// What it does with the time.
    pub role: Role,
    /// Percent.
    pub percent: f64,
}

/// System calls that read a clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Calls {
    /// `clock_gettime`, `gettimeofday` or `time`.
    pub call: String,
    /// The clock ids with their numbers of calls, most calls first; empty where the trace does not show them.
    pub clocks: Vec<(String, u64)>,
    /// Number of calls.
    pub count: u64,
    /// Microseconds a call (mean), with the cost of the trace, where it was measured.
    pub us: Option<f64>,
    /// Percent of the time in system calls, of a table.
    pub percent: Option<f64>,
    /// Calls that failed, of a table.
    pub failed: u64,
    /// Calls of a function of the C library (ltrace), which may enter the kernel or not.
    pub of_library: bool,
}

/// What a read cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// The clock or the call that was read.
    pub clock: String,
    /// Nanoseconds a read.
    pub ns: f64,
    /// Nanoseconds of the same read by a system call, where the program measured it.
    pub syscall_ns: Option<f64>,
    /// The counter was read by an instruction of the program, without the kernel or the vDSO.
    pub by_instruction: bool,
}

/// What a server says of the clocksource.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Warning {
    /// The server.
    pub product: &'static str,
    /// By which rule it warns.
    pub rule: Rule,
    /// The clocksource in use, as it read sysfs.
    pub current: Option<String>,
    /// The available clocksources, as it read sysfs.
    pub available: Vec<String>,
}

/// The rule behind a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// More than a tenth of the CPU time of a loop of reads was spent in the kernel.
    #[default]
    KernelTime,
    /// The clocksource is not called tsc (ClickHouse before 22.10, and other servers).
    Name,
    /// The clocksource is none of `tsc`, `kvm-clock` and `arch_sys_counter` (ClickHouse, `programs/server/Server.cpp`).
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

    /// Adds a function's share: its own, and that with the functions that it calls where the profile has both.
    pub(crate) fn add(&mut self, name: &str, own: f64, with_children: Option<f64>) {
        // The entry into the kernel is that of every system call.
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

    /// Notes what reads the time for the kernel itself.
    pub(crate) fn read_by_kernel(&mut self, name: &str) {
        let name: String = functions::bare(name).chars().take(80).collect();
        if self.kernel_readers.len() < READERS_OF_KERNEL && !self.kernel_readers.contains(&name) {
            self.kernel_readers.push(name);
        }
    }

    /// The same, greatest share first; `None` if nothing in it has to do with the time.
    pub(crate) fn finish(mut self) -> Option<Self> {
        self.functions.retain(|share| share.percent >= LEAST);
        self.functions.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        (!self.functions.is_empty() || self.in_system_calls.is_some_and(|share| share > 0.0))
            .then_some(self)
    }
}
