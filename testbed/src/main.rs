//! The program `testbed`: arguments in, exit status out.

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};
use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::case::select::Subset;
use clocksmith_testbed::disk::power::Hardware;
use clocksmith_testbed::disk::{Setup, System};
use clocksmith_testbed::initramfs::fault::Fault;
use clocksmith_testbed::paravirt::{Paravirt, emulator};
use clocksmith_testbed::qemu::arguments::Accel;
use clocksmith_testbed::scenario::place::Programs;
use clocksmith_testbed::verb::run::{Outcome, Run};
use clocksmith_testbed::verb::{self, guest::Wanted};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Boots real kernels in QEMU and compares what they choose with what clocksmith predicts.
///
/// Exit status: 0 all agree, 1 something disagrees, 2 wrong usage or a missing piece, 3 a guest
/// did not come up.
#[derive(Parser)]
#[command(name = "testbed", version)]
struct Cli {
    /// Directory of the case files and kernels.toml [default: testbed/cases or cases]
    #[arg(long, global = true, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Directory for packages and kernels [default: the user's cache]
    #[arg(long, global = true, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Boot cases, record what the kernels chose, compare with the predictions
    Run {
        /// `ci`, `all`, or patterns over names such as `smp*@6.1,no-hpet`
        #[arg(long, default_value = "ci")]
        subset: Subset,
        /// The clocksmith program to run; without it nothing is compared
        #[arg(long, value_name = "PATH")]
        clocksmith: Option<PathBuf>,
        /// A static clocksmith program to run in x86-64 guests as well
        #[arg(long, value_name = "PATH")]
        guest_clocksmith: Option<PathBuf>,
        /// Where the records go
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Guests that run at the same time
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// tcg (software) or kvm (hardware)
        #[arg(long, default_value = "tcg")]
        accel: Accel,
        /// Look for newer kernel packages first
        #[arg(long)]
        refresh: bool,
    },
    /// Show the boots of a subset
    List {
        /// As for `run`
        #[arg(long, default_value = "all")]
        subset: Subset,
        /// One JSON document a line, with everything that is known about a boot
        #[arg(long)]
        json: bool,
    },
    /// Fetch and unpack the kernels of a subset
    Fetch {
        /// As for `run`
        #[arg(long, default_value = "all")]
        subset: Subset,
        /// Look for newer kernel packages
        #[arg(long)]
        refresh: bool,
    },
    /// Show kernel messages about clocks that no parser claims; status 1 if there are any
    Lines {
        /// Directories given to `run --out`, or kernel logs
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Print the agreement page of a directory of records
    Report {
        /// The directory given to `run --out`
        directory: PathBuf,
        /// Write it to this file, such as docs/agreement.md
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Play something that happens to clocks in a running guest, and print what was seen as JSON
    Scenario {
        #[command(flatten)]
        scenario: ScenarioArguments,
    },
    /// Print the path of the emulator with paravirtual clocks; build it, unless the cache has it
    Emulator {
        /// Build it from the archive's current source
        #[arg(long)]
        refresh: bool,
        /// Compilers that run at the same time
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// Seconds that the build may take; the next one continues where it ended
        #[arg(long, default_value_t = 3600)]
        limit: u64,
    },
    /// Installed systems with a boot loader and systemd, on disk images
    Disk {
        #[command(subcommand)]
        verb: DiskVerb,
    },
    /// Get a shell in a guest
    Shell {
        #[command(flatten)]
        guest: GuestArguments,
    },
    /// Run a static program in a guest
    Exec {
        #[command(flatten)]
        guest: GuestArguments,
        /// A fault of the counter that the program reads: offset-cpu1=CYCLES, rate=PPM or
        /// jump=CYCLES,after=SECONDS
        #[arg(long, value_name = "FAULT")]
        fault: Option<Fault>,
        /// Seconds the guest may take
        #[arg(long)]
        deadline: Option<u64>,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "PROGRAM")]
        words: Vec<String>,
    },
}

#[derive(Subcommand)]
enum DiskVerb {
    /// Build an image, unless the cache has it, and print its path; needs root
    Build {
        /// debian12 or debian12-systemd-boot
        #[arg(long, default_value_t)]
        system: System,
        /// Build it again, from the archive's current packages
        #[arg(long)]
        refresh: bool,
    },
    /// Get a shell in a booted system
    Shell {
        #[command(flatten)]
        disk: DiskArguments,
    },
    /// Run a static program in a booted system
    Exec {
        #[command(flatten)]
        disk: DiskArguments,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "PROGRAM")]
        words: Vec<String>,
    },
    /// Run the lines of a file in a booted system until one fails; `:reboot`, `:power-cut`,
    /// `:settle` and `:push FILE PATH` are for the testbed
    Run {
        #[command(flatten)]
        disk: DiskArguments,
        /// The file
        script: PathBuf,
    },
}

#[derive(Args)]
struct DiskArguments {
    /// debian12 or debian12-systemd-boot
    #[arg(long, default_value_t)]
    system: System,
    /// A file that keeps what changes on the disk; made if it is not there
    #[arg(long, value_name = "FILE")]
    overlay: Option<PathBuf>,
    /// QEMU machine type with options
    #[arg(long, default_value = "pc")]
    machine: String,
    /// QEMU processor model with flags
    #[arg(long, default_value = "max")]
    cpu: String,
    /// QEMU -smp value
    #[arg(long, default_value = "1")]
    smp: String,
    /// One more QEMU argument; may be repeated
    #[arg(long, allow_hyphen_values = true)]
    qemu: Vec<String>,
    /// Seconds a boot may take, and a command
    #[arg(long, default_value_t = 180)]
    deadline: u64,
    /// tcg or kvm
    #[arg(long, default_value = "tcg")]
    accel: Accel,
}

#[derive(Args)]
struct ScenarioArguments {
    /// switch, pause, snapshot, migrate, migrate-file, ntp, fault, several with commas between, or
    /// all
    name: String,
    /// The kernel's name in kernels.toml, several with commas between, or all
    #[arg(long, default_value = "6.1")]
    kernel: String,
    /// A static clocksmith program for the guests; `switch` needs it
    #[arg(long, value_name = "PATH")]
    guest_clocksmith: Option<PathBuf>,
    /// A static program that reads a clock across the event [default: the testbed's own]
    #[arg(long, value_name = "PATH")]
    reader: Option<PathBuf>,
    /// Threads of the reader
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    reader_threads: u32,
    /// Nanoseconds by which the reader's clock may be off CLOCK_MONOTONIC
    #[arg(long, value_name = "N", default_value_t = 0)]
    reader_error_ns: u64,
    /// Run the reader under `clocksmith run`, with this clocksource in use: tsc, hpet or acpi_pm
    #[arg(long, value_name = "CLOCKSOURCE", requires = "guest_clocksmith", value_parser = ["tsc", "hpet", "acpi_pm"])]
    under_run: Option<String>,
    /// A hypervisor's clock, as for `exec`; the scenarios are pause, snapshot and ntp
    #[arg(long, value_name = "CLOCK", conflicts_with = "under_run")]
    paravirt: Option<Paravirt>,
    /// tcg or kvm
    #[arg(long, default_value = "tcg")]
    accel: Accel,
    /// Write a page with all results to this file, such as docs/scenarios.md
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args)]
struct GuestArguments {
    /// The kernel's name in kernels.toml
    #[arg(long)]
    kernel: String,
    /// QEMU machine type with options
    #[arg(long)]
    machine: Option<String>,
    /// QEMU processor model with flags
    #[arg(long)]
    cpu: Option<String>,
    /// A hypervisor's clock: kvm, kvm-unstable, kvm-unannounced, kvm-invtsc, hyperv,
    /// hyperv-page-invalid, hyperv-msr or hyperv-invtsc; and ,refresh=MILLISECONDS to have its
    /// pages written again so often
    #[arg(long, value_name = "CLOCK", conflicts_with = "cpu")]
    paravirt: Option<Paravirt>,
    /// QEMU -smp value
    #[arg(long, default_value = "1")]
    smp: String,
    /// Kernel parameters
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    cmdline: String,
    /// One more QEMU argument; may be repeated
    #[arg(long, allow_hyphen_values = true)]
    qemu: Vec<String>,
    /// tcg or kvm
    #[arg(long, default_value = "tcg")]
    accel: Accel,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("testbed: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> Result<u8> {
    let cache = match cli.cache {
        Some(directory) => Cache::at(std::path::absolute(directory)?),
        None => Cache::standard()?,
    };
    let cases = case_directory(cli.cases)?;
    match cli.verb {
        Verb::Disk { verb } => disk(verb, &cache),
        Verb::Emulator { refresh, jobs, limit } => {
            let how = emulator::Build { refresh, jobs, limit: Duration::from_secs(limit) };
            println!("{}", emulator::build(&cache, &how)?.display());
            Ok(0)
        }
        Verb::Run { subset, clocksmith, guest_clocksmith, out, jobs, accel, refresh } => {
            let run =
                Run { cases, subset, clocksmith, guest_clocksmith, out, jobs, accel, refresh };
            Ok(match verb::run::run(&run, &cache)? {
                Outcome::Good => 0,
                Outcome::Disagreements => 1,
                Outcome::FailedBoots => 3,
            })
        }
        Verb::List { subset, json } => verb::list(&cases, &subset, json).map(|()| 0),
        Verb::Fetch { subset, refresh } => {
            verb::fetch(&cases, &cache, &subset, refresh).map(|()| 0)
        }
        Verb::Lines { paths } => verb::lines(&paths).map(|good| u8::from(!good)),
        Verb::Report { directory, output } => {
            verb::report(&cases, &directory, output.as_deref()).map(|()| 0)
        }
        Verb::Scenario { scenario } => {
            let programs = Programs {
                clocksmith: scenario.guest_clocksmith.as_deref(),
                reader: scenario.reader.as_deref(),
                reader_threads: scenario.reader_threads,
                reader_error_ns: scenario.reader_error_ns,
                under_run: scenario.under_run,
                paravirt: scenario.paravirt,
            };
            let wanted = verb::scenario::Wanted {
                names: &scenario.name,
                kernels: &scenario.kernel,
                accel: scenario.accel,
                programs,
                output: scenario.output.as_deref(),
            };
            verb::scenario::scenario(&wanted, &cases, &cache).map(|good| u8::from(!good))
        }
        Verb::Shell { guest } => {
            verb::guest::shell(&wanted(guest, cases, None, None), &cache).map(|()| 0)
        }
        Verb::Exec { guest, fault, deadline, words } => {
            let Some((program, arguments)) = words.split_first() else {
                bail!("no program to run; write it after `--`");
            };
            let wanted = wanted(guest, cases, fault, deadline);
            let status = verb::guest::exec(&wanted, &cache, program.as_ref(), arguments)?;
            Ok(u8::try_from(status).unwrap_or(1))
        }
    }
}

fn disk(verb: DiskVerb, cache: &Cache) -> Result<u8> {
    let status = |code: i32| u8::try_from(code).unwrap_or(1);
    match verb {
        DiskVerb::Build { system, refresh } => {
            verb::disk::build(cache, system, refresh).map(|()| 0)
        }
        DiskVerb::Shell { disk } => verb::disk::shell(cache, setup(disk)).map(|()| 0),
        DiskVerb::Exec { disk, words } => {
            let Some((program, arguments)) = words.split_first() else {
                bail!("no program to run; write it after `--`");
            };
            verb::disk::exec(cache, setup(disk), program.as_ref(), arguments).map(status)
        }
        DiskVerb::Run { disk, script } => verb::disk::run(cache, setup(disk), &script).map(status),
    }
}

fn setup(disk: DiskArguments) -> Setup {
    let DiskArguments { system, overlay, machine, cpu, smp, qemu, deadline, accel } = disk;
    let hardware = Hardware { machine, cpu, smp, accel, qemu, ..Hardware::default() };
    Setup { system, hardware, overlay, patience: Duration::from_secs(deadline) }
}

fn wanted(
    guest: GuestArguments,
    cases: PathBuf,
    fault: Option<Fault>,
    deadline: Option<u64>,
) -> Wanted {
    let GuestArguments { kernel, machine, cpu, paravirt, smp, cmdline, qemu, accel } = guest;
    Wanted { cases, kernel, machine, cpu, paravirt, smp, cmdline, qemu, accel, fault, deadline }
}

/// The case directory as seen from the workspace, from the crate, or as it was built.
fn case_directory(given: Option<PathBuf>) -> Result<PathBuf> {
    let places = ["testbed/cases", "cases", concat!(env!("CARGO_MANIFEST_DIR"), "/cases")];
    let found =
        || places.iter().map(PathBuf::from).find(|place| place.join("kernels.toml").exists());
    match given.or_else(found) {
        Some(directory) => Ok(directory),
        None => bail!("no case directory found; give one with --cases DIR"),
    }
}
