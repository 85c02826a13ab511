//! The command line of `vm`.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use clocksmith_vm::{Guest, Kind, Severity};
use std::path::PathBuf;

/// Options of `vm`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Vm {
    #[command(subcommand)]
    pub(crate) verb: VmVerb,
}

/// What to do with the files.
#[derive(Subcommand, Debug, Clone)]
pub(crate) enum VmVerb {
    /// What these files do to the guest's clock
    #[command(long_about = lint())]
    Lint(Lint),
    /// Mend what can be mended: shows the changes, and makes them with --apply
    #[command(long_about = FIX)]
    Fix(Fix),
    /// Whether a guest can move to other hosts, and what its clock does there
    #[command(after_help = MIGRATE)]
    Migrate(Migrate),
}

fn lint() -> String {
    format!(
        "What these files do to the guest's clock: {}.\n\nExit codes: 0 nothing to warn of, 1 warnings or errors, \
         2 a file cannot be used (the others are reported all the same). `clocksmith explain ID` shows a rule.",
        Kind::files()
    )
}

const FIX: &str = "Mends what can be mended without knowing more than the file. Shows the changes; with \
--apply it makes them, in the file's own style, with everything else byte for byte as it was.\n\nWhat needs a \
decision is an option: --invtsc, --tsc-frequency. A domain that libvirt keeps itself (/etc/libvirt) is never \
written: `virsh define` does that.\n\nExit codes: 0 nothing is left to warn of, 1 something is left, 2 a file \
cannot be used.";

const MIGRATE: &str = "\
GUEST is a libvirt domain (virsh dumpxml), a QEMU command line, a machine of Proxmox VE or of KubeVirt, or a bundle that `clocksmith \
collect` wrote in the guest. HOST is the output of `virsh capabilities`, nodes of Kubernetes with \
KubeVirt's labels (kubectl get nodes -o json), `clocksmith why --json`, a bundle of a host, a mirror \
of its /proc and /sys, or a directory of such files.\n\nExit codes: 0 it can go to all of them, 1 not \
to all, 2 wrong usage, 3 not known.";

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::all().map(Kind::name))
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One document, as --json
    Json,
    /// Static Analysis Results Interchange Format, 2.1.0
    Sarif,
    /// Commands of GitHub's workflows, which show findings in the files
    Github,
    /// Reports of JUnit, one case for each file
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
    /// As the rules have it.
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
    /// The files; `-` is standard input, and of a directory every file whose kind is recognised
    #[arg(required_unless_present_any = ["list_rules", "connect"], value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Every domain of a libvirt, as virsh shows them: qemu:///system
    #[arg(long, value_name = "URI")]
    pub(crate) connect: Option<String>,
    /// How to print what is found
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    pub(crate) format: Format,
    /// Leave out what matters less; the exit code counts the rest
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = Least::Info)]
    pub(crate) min_severity: Least,
    /// Leave out a rule; also a comment of the file's format does: `# clocksmith: ignore ID why` (-v names what is left out)
    #[arg(long, value_name = "ID", value_parser = ids())]
    pub(crate) ignore: Vec<String>,
    /// List the rules
    #[arg(long)]
    pub(crate) list_rules: bool,
    /// What kind of files they are, where that is not recognised
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<String>,
    /// The guest's system, where the files do not declare it; a name of a machine or of a file is only a guess
    #[arg(long, value_name = "SYSTEM", value_parser = guests())]
    pub(crate) guest: Option<String>,
}

/// Options of `vm fix`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Fix {
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What kind of files they are, where that is not recognised
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<String>,
    /// The guest's system, where the files do not declare it; a name of a machine or of a file is only a guess
    #[arg(long, value_name = "SYSTEM", value_parser = guests())]
    pub(crate) guest: Option<String>,
    /// Write the files; what they were before is kept as FILE.clocksmith-before
    #[arg(long)]
    pub(crate) apply: bool,
    /// Keep no copy of what they were
    #[arg(long, requires = "apply")]
    pub(crate) no_backup: bool,
    /// Give the guest an invariant TSC; without a frequency it can neither migrate nor be saved
    #[arg(long)]
    pub(crate) invtsc: bool,
    /// Fix the frequency of the guest's TSC, in Hz
    #[arg(long, value_name = "HERTZ", value_parser = clap::value_parser!(u64).range(1_000_000..=100_000_000_000))]
    pub(crate) tsc_frequency: Option<u64>,
}

/// Options of `vm migrate`.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Migrate {
    /// The guest's configuration
    #[arg(value_name = "GUEST", required_unless_present_any = ["frequency", "fleet"])]
    pub(crate) guest: Option<PathBuf>,
    /// The hosts that it may go to
    #[arg(long, value_name = "HOST", num_args = 1.., required = true)]
    pub(crate) to: Vec<PathBuf>,
    /// A guest with this TSC frequency in Hz, instead of a file
    #[arg(long, value_name = "HZ", conflicts_with = "guest")]
    pub(crate) frequency: Option<String>,
    /// The guest of --frequency has invtsc
    #[arg(long, requires = "frequency")]
    pub(crate) invtsc: bool,
    /// Find the one frequency that serves these hosts best, and the groups that share one
    #[arg(long)]
    pub(crate) fleet: bool,
}
