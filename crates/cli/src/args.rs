//! The command line of the program. One definition: help, man pages and completions come from it.

mod bench;
mod fleet;
pub(crate) mod help;
mod hint;
pub(crate) mod policy;
pub(crate) mod vm;
mod watch;

use crate::build::VERSION;
pub(crate) use bench::Bench;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use clocksmith_change::boot::loader::Loader;
use clocksmith_change::formats::Format;
use clocksmith_facts::{shell, visible};
pub(crate) use fleet::Fleet;
use std::path::PathBuf;
use std::time::Duration;
use watch::{CHECK, WATCH};
pub(crate) use watch::{Check, CheckFormat, Watch};

/// Why is this the clock, what does a read cost, and can it be trusted?
#[derive(Parser, Debug)]
#[command(name = "clocksmith", version = VERSION, about, long_about = LONG, max_term_width = 80,
    subcommand_help_heading = VERBS, subcommand_value_name = "VERB")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) why: Why,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// Reads the command line of this process.
///
/// # Errors
///
/// Returns an error if the command line is not understood, or if it requests help.
pub(crate) fn parse() -> Result<Args, clap::Error> {
    understood(help::command())
}

/// The message about a command line that is not understood, without any colours.
pub(crate) fn plain_error() -> Option<clap::builder::StyledStr> {
    understood(hint::plain(help::command())).err().map(|error| error.render())
}

fn understood(command: Command) -> Result<Args, clap::Error> {
    let matches = command.clone().try_get_matches();
    let args = matches.and_then(|matches| Args::from_arg_matches(&matches));
    args.map_err(|error| hint::improve(error, &command))
}

/// Returns the command line of this process as a user types it in a shell, for messages that repeat it; without
/// `--json`.
pub(crate) fn typed() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words = words.filter(|word| word != "--json");
    let words: Vec<String> = words.map(|word| shell::quote(&word)).collect();
    visible::line(&format!("clocksmith {}", words.join(" "))).into_owned()
}

/// The verb of a command line that may not be understood: the first word that is one.
pub(crate) fn verb_of(mut words: impl Iterator<Item = String>) -> Option<String> {
    let program = Args::command();
    words.find(|word| program.find_subcommand(word).is_some())
}

/// Returns the definition without hidden verbs, for the manual, the book and completions of shells.
pub(crate) fn visible() -> Command {
    let all = help::without_refused(Args::command());
    let verbs = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let mut program = Command::new("clocksmith")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_help_heading(VERBS)
        .subcommand_value_name("VERB")
        .args(all.get_arguments().cloned())
        .subcommands(verbs);
    if let (Some(about), Some(long)) = (all.get_about(), all.get_long_about()) {
        program = program.about(about.clone()).long_about(long.clone());
    }
    program
}

const LONG: &str = "Explains which clocksource this machine (or another one, from its files or its \
kernel log) uses, why, what a read of the time costs, and what can be done about it.\n\nWithout a verb \
it runs `why`.\n\nExit codes: 0 done, 1 done and a problem was found, 2 wrong usage or unusable input, 3 \
could not be determined.";

/// The heading of the list of verbs.
const VERBS: &str = "Verbs";

/// The heading of the options of every verb.
const GLOBAL: &str = "Global options";

/// Options of every verb.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Common {
    /// Print one JSON document instead of text
    #[arg(long, global = true, overrides_with = "json", help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print only the result
    #[arg(short, long, global = true, overrides_with = "quiet", help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Print every fact and every rule
    #[arg(short, long, global = true, overrides_with = "verbose", help_heading = GLOBAL)]
    pub(crate) verbose: bool,
    /// Do not use colour, even on a terminal
    #[arg(long, global = true, overrides_with = "no_color", help_heading = GLOBAL)]
    pub(crate) no_color: bool,
    /// Read another system under this directory: a mirror of its /proc and /sys, a sosreport, or a container's mounts
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Show why this clocksource is in use, its read cost, and remedies
    Why(WhyOf),
    /// Predict the clocksource that Linux chooses after a change
    Predict(Predict),
    /// Explain a clocksource, cause, parameter, function or message
    Explain(Explain),
    /// Measure whether the counter and the clocks can be trusted
    #[command(long_about = VERIFY)]
    Verify(Verify),
    /// Print one line and an exit code for monitoring
    #[command(after_help = CHECK, version = env!("CARGO_PKG_VERSION"))]
    Check(Check),
    /// Report each change of the clocks; serve metrics and a page
    #[command(after_help = WATCH)]
    Watch(Box<Watch>),
    /// Write a bundle that `why` reads on another machine
    Collect(Collect),
    /// Compare many machines: groups, outliers, fixes, SQL
    #[command(long_about = fleet::HELP)]
    Fleet(Fleet),
    /// Measure what reading the time costs, by every path
    Bench(Box<Bench>),
    /// Show the fix; make it with --apply, revert it with --undo
    #[command(long_about = FIX)]
    Fix(Box<Fix>),
    /// Check and fix the clock settings of virtual machines
    Vm(vm::Vm),
    /// Run a program with a fast clock, or as if its clock were slow
    #[command(long_about = RUN)]
    Run(Run),
    /// Show which programs and functions read the clock, and the cost
    #[command(long_about = WHO)]
    Who(Who),
    /// Print the completion script of a shell
    Completions(Completions),
    /// Print or write the manual pages
    Man(ManPages),
    /// Restore the clocksource if `bench --every-clocksource` is killed
    #[command(hide = true)]
    GuardClocksource(GuardClocksource),
}

/// `why`, with what it is asked about.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct WhyOf {
    /// Log or pasted text: kernel messages, shell sessions, profiles, traces; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["root", "bundle", "log"])]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) why: Why,
}

/// Options of `why`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Why {
    /// Read a kernel log or any pasted text (plain, gzip, xz or zstd); `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "bundle"])]
    pub(crate) log: Option<PathBuf>,
    /// Read a bundle that `collect` wrote; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub(crate) bundle: Option<PathBuf>,
    /// Do not measure the read cost
    #[arg(long)]
    pub(crate) no_measure: bool,
    /// Show what a vendor requires of this machine, with source and date, and whether it conforms; without a name,
    /// list the vendors
    #[arg(long, value_name = "VENDOR", num_args = 0..=1, default_missing_value = policy::LIST,
          value_parser = policy::of_why(), ignore_case = true, hide_possible_values = true)]
    pub(crate) policy: Option<policy::Policy>,
    /// Also write a self-contained HTML page; `-` writes it to standard output instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// With --json: set the host's name, by which `fleet` groups its reports
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Option<String>,
}

/// Options of `predict`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Predict {
    /// Start from a bundle that `collect` wrote; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "log"])]
    pub(crate) bundle: Option<PathBuf>,
    /// Start from a kernel log; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub(crate) log: Option<PathBuf>,
    /// Start without facts; assume a default for each one that is not set
    #[arg(long, conflicts_with_all = ["root", "log", "bundle"])]
    pub(crate) blank: bool,
    /// Set the kernel version, such as 6.12 or a full release string
    #[arg(long, value_name = "VERSION")]
    pub(crate) kernel: Option<String>,
    /// Set the command line; a leading + adds words, a leading - removes them
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub(crate) cmdline: Vec<String>,
    /// Set the number of possible CPUs
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<u32>,
    /// Set the hypervisor: none, kvm, xen, xen-pv, vmware, hyperv, virtualbox, tcg, bhyve
    #[arg(long, value_name = "NAME")]
    pub(crate) hypervisor: Option<String>,
    /// Set a fact of the model, such as hpet=no or invtsc=yes
    #[arg(long, value_name = "FACT=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Options of `explain`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Explain {
    /// Word, or a kernel message in quotes; without one, lists all words
    #[arg(allow_negative_numbers = true, value_name = "WORD|MESSAGE")]
    pub(crate) words: Vec<String>,
}

const VERIFY: &str = "Measures whether the counter and the clocks of this machine can be \
trusted.\n\nCompares the counters of every pair of CPUs, checks the clocks for rate errors and \
steps in one thread, and looks in all threads for clocks that go backwards. Prints the smallest \
fault that it would have found. Does not need root. Saves the result (root: /var/lib/clocksmith, \
other users: $XDG_STATE_HOME/clocksmith); `why` uses it for a day.\n\nExit codes: 0 trusted, 1 not \
trusted, 2 wrong usage, 3 could not be determined.";

/// The least confidence of a result.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Require {
    /// No fault was found; a small one may have been missed
    Low,
    /// A fault that matters to most programs would have been found
    Medium,
    /// Everything was tested
    High,
}

/// Options of `verify`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Verify {
    /// Measure for this long: 500ms, 5s, 2m, 1h [default: 5s; with --soak until interrupted]
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse)]
    pub(crate) duration: Option<Duration>,
    /// Continue until interrupted, with a report every ten seconds (with --json one line each)
    #[arg(long)]
    pub(crate) soak: bool,
    /// Test only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Exit with 0 only at this confidence or a higher one, otherwise with 3
    #[arg(long, value_name = "CONFIDENCE", value_enum)]
    pub(crate) require: Option<Require>,
    /// Do not save the result
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Also call the kernel's clocks with unknown ids and bad pointers, in child processes
    #[arg(long, conflicts_with = "soak")]
    pub(crate) abi: bool,
}

const FIX: &str = "Shows what would fix the clock of this machine: each step as a diff or a \
command, with its reason, its risk, and how it is reverted. Changes nothing without \
--apply.\n\n--apply makes the whole change or none of it. If it chooses the TSC, it verifies the \
counter first. It reads back what it wrote, and watches the new clocksource. It reverts everything \
if another clocksource comes into use, if `verify` finds a fault, if reads are not faster, or if a \
signal arrives (such as Ctrl-C). If it is killed, a second process restores the clocksource, and \
the next --apply or --undo reverts the rest.\n\n--undo reverts exactly that change. --status shows \
the changes in force, and whether they are still in effect.\n\nWith --root DIR it works on the \
system in that directory: it changes the files there, and lists the commands to run inside \
it.\n\nExit codes: 0 done or nothing to do, 1 refused, no longer in force, or not verified and \
reverted, 2 wrong usage, 3 could not be determined.";

/// The languages of `fix --format`, as values that shells complete.
fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// Options of `fix`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Fix {
    /// Make the change
    #[arg(long, conflicts_with_all = ["undo", "status", "format"])]
    pub(crate) apply: bool,
    /// Revert the last change
    #[arg(long, conflicts_with_all = ["status", "format"])]
    pub(crate) undo: bool,
    /// Show the changes in force, and whether they are still in effect
    #[arg(long, conflicts_with = "format")]
    pub(crate) status: bool,
    /// Print the change for a configuration manager: ansible, cloud-init, tuned, ignition, butane,
    /// nixos, daemonset, systemd, tmpfiles
    #[arg(long, value_name = "FORMAT", value_parser = formats(), hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Switch to this clocksource instead of the recommended one
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Add a word to the kernel command line of later boots
    #[arg(long, value_name = "WORD")]
    pub(crate) param: Vec<String>,
    /// Remove a word from the kernel command line of later boots
    #[arg(long, value_name = "WORD")]
    pub(crate) remove_param: Vec<String>,
    /// Choose what sets the clocksource at later boots
    #[arg(long, value_enum, value_name = "WAY")]
    pub(crate) boot: Option<BootWay>,
    /// Name the boot loader of this machine, where several are found: grub, entries, unified, extlinux,
    /// zipl, cmdline-txt
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    pub(crate) loader: Option<BootLoader>,
    /// Change only the running kernel; the same as --boot none
    #[arg(long, conflicts_with = "boot")]
    pub(crate) runtime_only: bool,
    /// Watch the new clocksource for this long: 500ms, 30s, 5m
    #[arg(long, value_name = "TIME", default_value = "30s",
        value_parser = crate::verify::duration::parse)]
    pub(crate) watch: Option<Duration>,
    /// Accept that time may go backward, and act against the evidence; the journal records it
    #[arg(long)]
    pub(crate) accept_time_may_go_backward: bool,
    /// Accept a counter that could not be verified; the journal records it
    #[arg(long)]
    pub(crate) accept_unverified_counter: bool,
    /// With --undo: revert all changes, not only the last one
    #[arg(long, requires = "undo")]
    pub(crate) all: bool,
    /// With --undo: also revert files that were edited since
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

/// The mechanism that sets the clocksource at later boots.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BootWay {
    /// A systemd unit that writes the clocksource at boot
    Unit,
    /// The kernel command line
    Cmdline,
    /// Nothing: the change ends with this boot
    None,
}

/// Options of `collect`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Collect {
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// List the files that a bundle contains; write no bundle
    #[arg(long)]
    pub(crate) list: bool,
    /// Replace the host's name with a hash of the name and the machine id, the same each time
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Do not measure the read cost (0.3 s)
    #[arg(long)]
    pub(crate) no_measure: bool,
}

const RUN: &str = "Runs a program and its children with a clock that needs no system call, \
including static programs, Go programs and the JVM. If the kernel's own clock is already fast, the program runs \
unchanged.\n\nWith --as, the program runs as if its clock were slow: this shows how much slower the program is \
with such a clock.\n\nThe program replaces clocksmith: it has its process id, terminal, signals and exit code. \
With --json the document goes to standard output, and the program's own output to standard error.\n\nExit codes \
if the program does not run: 2 wrong usage, 125 refused or failed, 126 the program cannot be run, 127 it is not \
found. docs/run.md lists the permissions that run needs, and its limits.";

/// Options of `run`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Run {
    /// Choose how the program gets its clock
    #[arg(long, value_enum, default_value_t = crate::run::Via::Vdso)]
    pub(crate) via: crate::run::Via,
    /// Choose the source of the clock [default: the best one that is proven here]
    #[arg(long, value_enum, conflicts_with = "as_if")]
    pub(crate) source: Option<crate::run::Source>,
    /// Read faster; times of different threads may be out of order by a microsecond
    #[arg(long, conflicts_with = "as_if")]
    pub(crate) relaxed: bool,
    /// Simulate a slow clock: hpet, acpi_pm, syscall, 20us (each read), +1us (added to each read)
    #[arg(long = "as", value_name = "CLOCK", value_parser = crate::run::slow::parse)]
    pub(crate) as_if: Option<crate::run::slow::Slow>,
    /// Release the program once it has its clock: its children keep the kernel's clock, and debuggers can
    /// attach
    #[arg(long)]
    pub(crate) no_follow: bool,
    /// Run the program with the kernel's clock if no faster one is possible, and report it; for
    /// services, which must start
    #[arg(long)]
    pub(crate) or_plain: bool,
    /// Use this library for --via preload, if it is not in the directory of clocksmith
    #[arg(long, value_name = "FILE")]
    pub(crate) preload_file: Option<PathBuf>,
    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

const WHO: &str = "Shows which programs and functions read the clock, how often, by which path, \
what that costs, and what it would cost on a fast clock.\n\nTakes samples of CPU time with stacks, \
and briefly sets breakpoints on the vDSO; it injects no code, stops no process and leaves nothing \
behind. Only --exact gives COMMAND a vDSO that counts its calls, as `run` does. The number of reads \
per second is computed from the CPU time and the read cost, which is measured on this \
machine.\n\nWith COMMAND, `who` ends when the command ends, and the report goes to standard error; \
with --json the report goes to standard output, and the command's own output to standard \
error.\n\nExit codes: with COMMAND the command's own, otherwise 0 done, 2 wrong usage or no such \
process, 3 nothing could be measured.";

/// Options of `who`.
#[derive(ClapArgs, Debug, Clone, Default)]
#[command(override_usage = "clocksmith who [OPTIONS] <--pid PID|--all|--name NAME|...|COMMAND>",
    group = clap::ArgGroup::new("target").required(true).multiple(true)
    .args(["pid", "all", "name", "user", "cgroup", "container", "pod", "command"]))]
pub(crate) struct Who {
    /// Watch this process, its threads and its children; may be repeated
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Vec<u32>,
    /// Watch the whole machine, and rank its processes (root)
    #[arg(short, long, conflicts_with_all = ["pid", "command", "name", "user", "cgroup", "container", "pod"])]
    pub(crate) all: bool,
    /// Watch the processes or programs of this name; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "command"])]
    pub(crate) name: Vec<String>,
    /// Watch the processes of this user (name or id); a process must meet all conditions
    #[arg(long, value_name = "USER", conflicts_with_all = ["pid", "command"])]
    pub(crate) user: Vec<String>,
    /// Watch a control group and those below it, such as nginx.service
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["pid", "command"])]
    pub(crate) cgroup: Vec<String>,
    /// Watch a container, by its id, the beginning of the id, or its name (Docker, Podman, containerd,
    /// CRI-O, LXC, Incus, systemd-nspawn)
    #[arg(long, value_name = "CONTAINER", conflicts_with_all = ["pid", "command"])]
    pub(crate) container: Vec<String>,
    /// Watch a pod of this node, by its id, NAME or NAMESPACE/NAME
    #[arg(long, value_name = "POD", conflicts_with_all = ["pid", "command"])]
    pub(crate) pod: Vec<String>,
    /// Command to run and watch until it ends; options of `who` come before it
    #[arg(trailing_var_arg = true, value_name = "COMMAND", conflicts_with = "pid")]
    pub(crate) command: Vec<std::ffi::OsString>,
    /// Watch for this long: 500ms, 5s, 2m [default: 5s; with COMMAND until it ends]
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse)]
    pub(crate) duration: Option<Duration>,
    /// Take this many samples per second of CPU time [default: 397; with --all 199]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u64).range(10..=10_000))]
    pub(crate) frequency: Option<u64>,
    /// Sample CPU cycles instead of CPU time, where the CPU counts them
    #[arg(long)]
    pub(crate) cycles: bool,
    /// Do not set breakpoints; the clock ids stay unknown
    #[arg(long)]
    pub(crate) no_breakpoints: bool,
    /// Do not ask Java virtual machines for the names of compiled functions
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Also ask Java virtual machines with foreign code (JNI, agents), which SIGQUIT may end
    #[arg(long, conflicts_with = "no_attach")]
    pub(crate) attach: bool,
    /// Count every call that COMMAND makes through the vDSO, by clock (x86-64; no debugger can
    /// attach)
    #[arg(long, requires = "command", conflicts_with_all = ["pid", "all", "duration"])]
    pub(crate) exact: bool,
    /// Count every system call that reads a clock, by clock and thread (root); adds 0.4 us to each,
    /// and 0.03 us to every other system call of the program
    #[arg(long, conflicts_with = "top")]
    pub(crate) syscalls: bool,
    /// Show the last few seconds on the terminal, refreshed every second; q quits
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
    /// Shell to complete for
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct ManPages {
    /// Write all pages into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) out: Option<PathBuf>,
    /// Verb whose page is printed, such as why, or vm lint [default: the program's own]
    #[arg(value_name = "VERB")]
    pub(crate) verb: Vec<String>,
}

/// Options of the guardian.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct GuardClocksource {
    /// The kernel's clocksource files
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The clocksource to restore
    pub(crate) original: String,
}
