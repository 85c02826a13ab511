//! The command line of the program. One definition: help, man pages and completions come from it.

mod bench;
mod fleet;
pub(crate) mod vm;
mod watch;

use crate::build::VERSION;
pub(crate) use bench::Bench;
use clap::{Args as ClapArgs, Command, CommandFactory, Parser, Subcommand};
use clocksmith_change::boot::loader::Loader;
pub(crate) use fleet::Fleet;
use std::path::PathBuf;
use std::time::Duration;
use watch::{CHECK, WATCH};
pub(crate) use watch::{Check, CheckFormat, Watch};

/// Why is this the clock, what does a read cost, and can it be trusted?
#[derive(Parser, Debug)]
#[command(name = "clocksmith", version = VERSION, about, long_about = LONG, max_term_width = 80)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) why: Why,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// The definition without hidden verbs, for what people read and shells complete.
pub(crate) fn visible() -> Command {
    let all = Args::command();
    let verbs = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let mut program = Command::new("clocksmith")
        .version(env!("CARGO_PKG_VERSION"))
        .args(all.get_arguments().cloned())
        .subcommands(verbs);
    if let (Some(about), Some(long)) = (all.get_about(), all.get_long_about()) {
        program = program.about(about.clone()).long_about(long.clone());
    }
    program
}

const LONG: &str = "Explains which clocksource this machine (or another one, from its files or its \
kernel log) uses, why, what a read of the time costs, and what can be done about it.\n\nWithout a verb \
it does `why`. Exit codes: 0 done, 1 done and the answer is bad, 2 wrong usage or unusable input, 3 \
could not be determined.";

/// Options of every verb.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Common {
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Less: the answer only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// More: every fact, every rule
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// No colour, also on a terminal
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Read facts from a mirror of a machine's /proc and /sys (also a sosreport)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Why this clocksource is in use, what a read costs, what to do
    Why(WhyOf),
    /// What Linux would choose if something were different
    Predict(Predict),
    /// Explain a clocksource, a cause, a kernel parameter, a kernel function or a kernel message
    Explain(Explain),
    /// Whether the counter and the clocks can be trusted, by measurement
    #[command(long_about = VERIFY)]
    Verify(Verify),
    /// One line and an exit code for monitoring
    #[command(after_help = CHECK)]
    Check(Check),
    /// Stay, tell every change of the clocks with its reason, and publish metrics and a page
    #[command(after_help = WATCH)]
    Watch(Box<Watch>),
    /// Put everything that `why` needs into one file, to send to somebody
    Collect(Collect),
    /// Reports of many machines: groups, outliers, what one change would fix, SQL
    #[command(long_about = fleet::HELP)]
    Fleet(Fleet),
    /// What reading the time costs here, by every way there is
    Bench(Box<Bench>),
    /// Shows what would fix it; makes it so with --apply, takes it back with --undo
    #[command(long_about = FIX)]
    Fix(Box<Fix>),
    /// Virtual machines' files: what they do to the guest's clock, and how to mend them
    Vm(vm::Vm),
    /// Run a program with a fast clock, or as if its clock were slow
    #[command(long_about = RUN)]
    Run(Run),
    /// Which programs and functions read the clock, how often, and what that costs
    #[command(long_about = WHO)]
    Who(Who),
    /// What a shell completes: print the script for it
    Completions(Completions),
    /// The manual pages, as `man` reads them
    Man(ManPages),
    /// Puts a clocksource back when `bench --every-clocksource` goes away
    #[command(hide = true)]
    GuardClocksource(GuardClocksource),
}

/// `why`, with what it is asked about.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct WhyOf {
    /// What somebody pasted: kernel lines, shell transcripts, profiles, traces, or all of it; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["root", "bundle", "log"])]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) why: Why,
}

/// Options of `why`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Why {
    /// Read a kernel log, or any text that was pasted; `-` is standard input (plain, gzip, xz or zstd)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "bundle"])]
    pub(crate) log: Option<PathBuf>,
    /// Read a bundle that `collect` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub(crate) bundle: Option<PathBuf>,
    /// Do not measure the cost of a read
    #[arg(long)]
    pub(crate) no_measure: bool,
    /// Write one self-contained page to this file as well; `-` is standard output, and then no text
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// With --json: the machine's name, by which `fleet` knows it
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Option<String>,
}

/// Options of `predict`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Predict {
    /// Start from a bundle that `collect` wrote
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "log"])]
    pub(crate) bundle: Option<PathBuf>,
    /// Start from a kernel log alone; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub(crate) log: Option<PathBuf>,
    /// Start from nothing: every fact that is not set is assumed
    #[arg(long, conflicts_with_all = ["root", "log", "bundle"])]
    pub(crate) blank: bool,
    /// Another kernel version, such as 6.12 or a whole release string
    #[arg(long, value_name = "VERSION")]
    pub(crate) kernel: Option<String>,
    /// Another command line; a leading + adds words, a leading - takes words away
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub(crate) cmdline: Vec<String>,
    /// Another number of possible CPUs
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<u32>,
    /// Another hypervisor: none, kvm, xen, xen-pv, vmware, hyperv, virtualbox, tcg, bhyve
    #[arg(long, value_name = "NAME")]
    pub(crate) hypervisor: Option<String>,
    /// Set a fact of the model, such as hpet=no or invtsc=yes
    #[arg(long, value_name = "FACT=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Options of `explain`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Explain {
    /// A word, or a whole kernel message in quotes; without one, everything that can be explained is listed
    #[arg(allow_negative_numbers = true, value_name = "WORD|MESSAGE")]
    pub(crate) words: Vec<String>,
}

const VERIFY: &str = "Whether the counter and the clocks of this machine can be trusted, by \
measurement.\n\nEvery pair of processors compares its counters; one thread watches rate and jumps; \
all threads look for clocks that go back. It says how small a fault it would have seen. Needs no \
root. The result is kept (as root in /var/lib/clocksmith, else in $XDG_STATE_HOME/clocksmith), and \
`why` uses it for a day.\n\nExit codes: 0 trusted, 1 not trusted, 2 wrong usage, 3 could not be \
determined.";

/// The least confidence of a result.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Require {
    /// Anything that is trusted
    Low,
    /// A fault that matters to most programs would have been seen
    Medium,
    /// Nothing was left untested
    High,
}

/// Options of `verify`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Verify {
    /// How long it takes: 500ms, 5s, 2m, 1h (5s; with --soak until it is interrupted)
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse)]
    pub(crate) duration: Option<Duration>,
    /// Stay, and report every ten seconds; with --json one line each time
    #[arg(long)]
    pub(crate) soak: bool,
    /// Test these processors only, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Exit with 0 only if the confidence is at least this one; a lower one is 3
    #[arg(long, value_name = "CONFIDENCE", value_enum)]
    pub(crate) require: Option<Require>,
    /// Do not keep the result
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Also call the kernel's clocks with unknown ids and bad pointers, in child processes
    #[arg(long, conflicts_with = "soak")]
    pub(crate) abi: bool,
}

const FIX: &str = "Shows what would fix the clock of this machine: every step as a diff or a command, \
why, what it risks, and how it is undone. Nothing is changed without --apply.\n\n--apply makes the \
change, all of it or nothing; it verifies the counter first where the TSC is chosen, reads back what \
it wrote, and watches: if another clocksource comes into use, `verify` objects, reads are no faster, or \
a signal comes (Ctrl-C), everything is put back. If it is killed meanwhile, a second process puts the \
clocksource back, and the next --apply or --undo the rest. --undo takes back exactly what was done; --status says what is in force and whether it \
still holds.\n\nWith --root DIR it works on a system in a directory: files are changed there, commands \
are listed, to be run inside it.\n\nExit codes: 0 done or nothing to do, 1 refused, no longer in force, \
or not verified and put back, 2 wrong usage, 3 could not be determined.";

/// Options of `fix`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Fix {
    /// Make the change
    #[arg(long, conflicts_with_all = ["undo", "status", "format"])]
    pub(crate) apply: bool,
    /// Take back the last change
    #[arg(long, conflicts_with_all = ["status", "format"])]
    pub(crate) undo: bool,
    /// Say what is in force, and whether it still holds
    #[arg(long, conflicts_with = "format")]
    pub(crate) status: bool,
    /// Print it for those who manage many machines: ansible, cloud-init, tuned, ignition, butane,
    /// nixos, daemonset, systemd, tmpfiles
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<clocksmith_change::formats::Format>,
    /// Use this clocksource instead of the one that helps
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Add a word to the kernel command line of later boots
    #[arg(long, value_name = "WORD")]
    pub(crate) param: Vec<String>,
    /// Take a word off the kernel command line of later boots
    #[arg(long, value_name = "WORD")]
    pub(crate) remove_param: Vec<String>,
    /// What keeps the choice at later boots
    #[arg(long, value_enum, value_name = "WAY")]
    pub(crate) boot: Option<BootWay>,
    /// The boot loader that boots this machine, where more than one is found: grub, entries, unified, extlinux,
    /// zipl, cmdline-txt
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    pub(crate) loader: Option<BootLoader>,
    /// Until the next boot only; the same as --boot none
    #[arg(long, conflicts_with = "boot")]
    pub(crate) runtime_only: bool,
    /// How long the new clocksource is watched: 500ms, 30s, 5m
    #[arg(long, value_name = "TIME", default_value = "30s",
        value_parser = crate::verify::duration::parse)]
    pub(crate) watch: Option<Duration>,
    /// Accept that time may go backward: do what the evidence speaks against. It is recorded
    #[arg(long)]
    pub(crate) accept_time_may_go_backward: bool,
    /// Accept a counter that could not be verified. It is recorded
    #[arg(long)]
    pub(crate) accept_unverified_counter: bool,
    /// With --undo: all changes, not only the last one
    #[arg(long, requires = "undo")]
    pub(crate) all: bool,
    /// With --undo: also files that somebody else has changed since
    #[arg(long, requires = "undo")]
    pub(crate) force: bool,
}

/// A boot loader that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BootLoader(pub(crate) Loader);

impl clap::ValueEnum for BootLoader {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [BootLoader; 6] = {
            let mut all = [BootLoader(Loader::Grub); 6];
            let mut at = 0;
            while at < all.len() {
                all[at] = BootLoader(Loader::NAMED[at].1);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let (name, _) = Loader::NAMED.iter().find(|(_, it)| *it == self.0)?;
        Some(clap::builder::PossibleValue::new(*name))
    }
}

/// What keeps a choice at later boots.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BootWay {
    /// A unit that writes at boot
    Unit,
    /// The kernel command line
    Cmdline,
    /// Nothing
    None,
}

/// Options of `collect`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Collect {
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Only list what would go in
    #[arg(long)]
    pub(crate) list: bool,
    /// Name the host by a hash of its name and machine id, which is the same each time
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Do not measure what a read costs, which takes 0.3 s
    #[arg(long)]
    pub(crate) no_measure: bool,
}

const RUN: &str = "Runs a program, and its children, with a clock that needs no system call: static \
and Go programs and the JVM, too. Where the kernel's own clock is fast already the program is run as it \
is.\n\nWith --as it is the other way round: the program runs as if its clock were slow, which shows how \
much it would suffer on such a machine.\n\nThe program replaces this one: process id, terminal, \
signals and exit code are its own. With --json the document is on standard output and the program's own output on \
standard error. If it is not run: 2 wrong usage, 125 refused or failed, 126 the \
program cannot be run, 127 it is not found. What it may do with which rights, and what can go wrong: \
docs/run.md.";

/// Options of `run`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Run {
    /// How the program gets its clock
    #[arg(long, value_enum, default_value_t = crate::run::Via::Vdso)]
    pub(crate) via: crate::run::Via,
    /// What its clock is made of [default: the best that is proven here]
    #[arg(long, value_enum, conflicts_with = "as_if")]
    pub(crate) source: Option<crate::run::Source>,
    /// Faster, but times of different threads may be out of order by a microsecond
    #[arg(long, conflicts_with = "as_if")]
    pub(crate) relaxed: bool,
    /// A slow clock: hpet, acpi_pm, syscall, 20us (each read), +1us (more than it takes here)
    #[arg(long = "as", value_name = "CLOCK", value_parser = crate::run::slow::parse)]
    pub(crate) as_if: Option<crate::run::slow::Slow>,
    /// Leave the program alone once it has its clock: its children get none, debuggers can attach
    #[arg(long)]
    pub(crate) no_follow: bool,
    /// Run the program with the kernel's clock where it cannot get another one, and say so: for
    /// services, which must start
    #[arg(long)]
    pub(crate) or_plain: bool,
    /// The library of --via preload, if it is not beside this program
    #[arg(long, value_name = "FILE")]
    pub(crate) preload_file: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

const WHO: &str = "Which programs and functions read the clock, how often, by which way, what that \
costs, and what it would cost on a fast clock.\n\nBy samples of CPU time with stacks, and breakpoints on \
the vDSO that are armed for moments; nothing is injected or stopped, and nothing stays behind. Only --exact \
gives a COMMAND a vDSO that counts its calls, as `run` gives one. Calls in a \
second follow from CPU time and the cost of a call as measured on this machine. With a COMMAND it ends as \
the command ends, and the report goes to standard error; with --json the report is on standard output and \
the command's own output on standard error.\n\nExit codes: the command's own with COMMAND, else 0 done, 2 \
wrong usage or no such process, 3 nothing could be seen.";

/// Options of `who`.
#[derive(ClapArgs, Debug, Clone, Default)]
#[command(group = clap::ArgGroup::new("target").required(true).multiple(true)
    .args(["pid", "all", "name", "user", "cgroup", "container", "pod", "command"]))]
pub(crate) struct Who {
    /// Watch this process, its threads and what it starts; may be repeated
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Vec<u32>,
    /// Watch the whole machine, and rank its processes (root)
    #[arg(short, long, conflicts_with_all = ["pid", "command", "name", "user", "cgroup", "container", "pod"])]
    pub(crate) all: bool,
    /// Watch the processes of this name, or of a program of this name; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "command"])]
    pub(crate) name: Vec<String>,
    /// Watch the processes of this user: a name or an id; with other conditions only those that meet all
    #[arg(long, value_name = "USER", conflicts_with_all = ["pid", "command"])]
    pub(crate) user: Vec<String>,
    /// Watch a control group and what is below it, such as nginx.service
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["pid", "command"])]
    pub(crate) cgroup: Vec<String>,
    /// Watch a container: its id or the beginning of it, or its name (Docker, Podman, containerd, CRI-O,
    /// LXC, Incus, systemd-nspawn)
    #[arg(long, value_name = "CONTAINER", conflicts_with_all = ["pid", "command"])]
    pub(crate) container: Vec<String>,
    /// Watch a pod of this node: its id, NAME or NAMESPACE/NAME
    #[arg(long, value_name = "POD", conflicts_with_all = ["pid", "command"])]
    pub(crate) pod: Vec<String>,
    /// Watch this command until it ends; the options of who come before it
    #[arg(trailing_var_arg = true, value_name = "COMMAND", conflicts_with = "pid")]
    pub(crate) command: Vec<std::ffi::OsString>,
    /// How long: 500ms, 5s, 2m [default: 5s; with COMMAND until it ends]
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse)]
    pub(crate) duration: Option<Duration>,
    /// Samples for each second of CPU time [default: 397; with --all 199]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u64).range(10..=10_000))]
    pub(crate) frequency: Option<u64>,
    /// Sample the processor's cycles instead of CPU time, where it counts them
    #[arg(long)]
    pub(crate) cycles: bool,
    /// Arm no breakpoints; clock ids stay unknown
    #[arg(long)]
    pub(crate) no_breakpoints: bool,
    /// Ask no Java virtual machine for the names of its compiled functions
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Ask also those with other code than their JDK's (JNI, agents), which may use SIGQUIT, and
    /// end by it
    #[arg(long, conflicts_with = "no_attach")]
    pub(crate) attach: bool,
    /// Count every call of COMMAND through the vDSO, by clock (x86-64; no debugger can attach)
    #[arg(long, requires = "command", conflicts_with_all = ["pid", "all", "duration"])]
    pub(crate) exact: bool,
    /// Count every system call that reads a clock, by clock and thread (root); each takes 0.4 us
    /// longer then, and any other system call of the program 0.03 us
    #[arg(long, conflicts_with = "top")]
    pub(crate) syscalls: bool,
    /// The last seconds, on the terminal, refreshed every second; q ends it
    #[arg(long, conflicts_with_all = ["json", "command", "folded", "pprof", "firefox"])]
    pub(crate) top: bool,
    /// Write folded stacks, for flame graphs
    #[arg(long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,
    /// Write a profile for pprof
    #[arg(long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
    /// Write a profile for the Firefox Profiler
    #[arg(long, value_name = "FILE")]
    pub(crate) firefox: Option<PathBuf>,
}

/// Options of `completions`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct ManPages {
    /// Write all pages into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) out: Option<PathBuf>,
    /// The verb whose page is printed, such as why, or vm lint [default: the program's own]
    #[arg(value_name = "VERB")]
    pub(crate) verb: Vec<String>,
}

/// Options of the guardian.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct GuardClocksource {
    /// The kernel's clocksource files
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// What to put back
    pub(crate) original: String,
}
