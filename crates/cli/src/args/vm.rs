//! The command line of `vm`.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use clocksmith_vm::{Guest, Kind, Severity};
use std::path::PathBuf;

/// Options of `vm`.
#[derive(ClapArgs, Debug, Clone)]
#[command(subcommand_help_heading = super::VERBS, subcommand_value_name = "VERB")]
pub(crate) struct Vm {
    #[command(subcommand)]
    pub(crate) verb: VmVerb,
}

/// What to do with the files.
#[derive(Subcommand, Debug, Clone)]
pub(crate) enum VmVerb {
    /// Check what these files do to the guest's clock
    #[command(long_about = lint())]
    Lint(Lint),
    /// Show the edits that fix the guest's clock; make them with --apply
    #[command(long_about = FIX)]
    Fix(Fix),
    /// Check whether a guest can move to other hosts, and its clock there
    // clap's own usage has the guest last, where --to takes it for a host.
    #[command(after_help = MIGRATE,
        override_usage = "clocksmith vm migrate [OPTIONS] [GUEST] --to <HOST>...")]
    Migrate(Migrate),
}

fn lint() -> String {
    format!(
        "Checks what these files do to the guest's clock: {}.\n\nExit codes: 0 no warnings, 1 warnings or errors, \
         2 a file cannot be used (the others are still reported). `clocksmith explain ID` shows a rule.",
        Kind::files()
    )
}

const FIX: &str = "Shows the edits that follow from the file alone. With --apply it makes them, in \
the file's own style, and leaves every other byte unchanged.\n\nAn edit that needs a decision has \
an option: --invtsc, --tsc-frequency. `vm fix` never writes a domain that libvirt manages itself \
(/etc/libvirt); use `virsh define` there.\n\nExit codes: 0 no warnings are left, 1 some are left, 2 \
a file cannot be used.";

const MIGRATE: &str = "GUEST is a libvirt domain (virsh dumpxml), a QEMU command line, a Proxmox VE \
or KubeVirt machine, or a bundle that `clocksmith collect` wrote in the guest. HOST is the output \
of `virsh capabilities`, Kubernetes nodes with KubeVirt's labels (kubectl get nodes -o json), \
`clocksmith why --json`, a bundle of a host, a mirror of its /proc and /sys, or a directory of such \
files.\n\nExit codes: 0 the guest can move to all hosts, 1 not to all, 2 wrong usage, 3 unknown.";

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::all().map(Kind::name))
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Text,
    /// One document, the same as --json
    Json,
    /// Static Analysis Results Interchange Format, 2.1.0
    Sarif,
    /// GitHub workflow commands, which show findings in the files
    Github,
    /// JUnit reports, one case for each file
    Junit,
}

/// The least severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Least {
    /// Everything
    Info,
    /// Warnings and errors
    Warn,
    /// Errors only
    Error,
}

impl Least {
    /// Returns the severity as the rules define it.
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::Info => Severity::Info,
            Self::Warn => Severity::Warn,
            Self::Error => Severity::Error,
        }
    }
}

fn ids() -> PossibleValuesParser {
    let values = clocksmith_vm::rules().map(|rule| PossibleValue::new(rule.id).hide(true));
    PossibleValuesParser::new(values)
}

fn guests() -> PossibleValuesParser {
    PossibleValuesParser::new(Guest::ALL.into_iter().map(Guest::name))
}

/// Options of `vm lint`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Lint {
    /// Files to check; `-` is standard input; in a directory, every file whose kind is recognised
    #[arg(required_unless_present_any = ["list_rules", "connect"], value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Check every domain of a libvirt connection, such as qemu:///system, with virsh
    #[arg(long, value_name = "URI")]
    pub(crate) connect: Option<String>,
    /// Choose the output format
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    pub(crate) format: Format,
    /// Omit findings below this severity; the exit code also ignores them
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = Least::Info)]
    pub(crate) min_severity: Least,
    /// Ignore a rule, as the comment `# clocksmith: ignore ID why` in a file does; -v lists both
    #[arg(long, value_name = "ID", value_parser = ids(), hide_possible_values = true)]
    pub(crate) ignore: Vec<String>,
    /// List the rules
    #[arg(long, visible_alias = "rules")]
    pub(crate) list_rules: bool,
    /// Set the kind of the files, if it is not recognised
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<String>,
    /// Set the guest's operating system, if the files do not declare it
    #[arg(long, value_name = "SYSTEM", value_parser = guests())]
    pub(crate) guest: Option<String>,
}

/// Options of `vm fix`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Fix {
    /// Files to fix; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Set the kind of the files, if it is not recognised
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<String>,
    /// Set the guest's operating system, if the files do not declare it
    #[arg(long, value_name = "SYSTEM", value_parser = guests())]
    pub(crate) guest: Option<String>,
    /// Write the files; the previous content is saved as FILE.clocksmith-before
    #[arg(long)]
    pub(crate) apply: bool,
    /// Do not save the previous content
    #[arg(long, requires = "apply")]
    pub(crate) no_backup: bool,
    /// Give the guest an invariant TSC; without a frequency it can neither migrate nor be saved
    #[arg(long)]
    pub(crate) invtsc: bool,
    /// Set a fixed frequency for the guest's TSC, in Hz
    #[arg(long, value_name = "HERTZ", value_parser = clap::value_parser!(u64).range(1_000_000..=100_000_000_000))]
    pub(crate) tsc_frequency: Option<u64>,
}

/// Options of `vm migrate`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Migrate {
    /// Configuration of the guest
    #[arg(value_name = "GUEST", required_unless_present_any = ["frequency", "fleet"])]
    pub(crate) guest: Option<PathBuf>,
    /// Hosts to which the guest may move
    #[arg(long, value_name = "HOST", num_args = 1.., required = true)]
    pub(crate) to: Vec<PathBuf>,
    /// Assume a guest with this TSC frequency, in Hz, instead of a file
    #[arg(long, value_name = "HZ", conflicts_with = "guest")]
    pub(crate) frequency: Option<String>,
    /// With --frequency: assume that the guest has invtsc
    #[arg(long, requires = "frequency")]
    pub(crate) invtsc: bool,
    /// Find the frequency that suits most of these hosts, and the groups that share one
    #[arg(long)]
    pub(crate) fleet: bool,
}
