//! `testbed shell` and `testbed exec`: guests for developers.

use super::run::prepare_one;
use crate::arch::Arch;
use crate::cache::Cache;
use crate::case::Machine;
use crate::initramfs::{self, Purpose, elf, fault::Fault};
use crate::kernel::catalogue::Catalogue;
use crate::kernel::store::Store;
use crate::paravirt::{Paravirt, emulator};
use crate::qemu::arguments::{Accel, Console, Plan};
use crate::qemu::launch;
use crate::qemu::process::{Guest, start_help};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The guest a developer wants.
pub struct Wanted {
    /// The directory of the case files, for the catalogue.
    pub cases: PathBuf,
    /// The kernel's name.
    pub kernel: String,
    /// Machine type; the architecture's own if not given.
    pub machine: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// A hypervisor's clock, in the emulator that offers it.
    pub paravirt: Option<Paravirt>,
    /// Processors.
    pub smp: String,
    /// Kernel parameters.
    pub cmdline: String,
    /// More QEMU arguments.
    pub qemu: Vec<String>,
    /// Emulation or virtualization.
    pub accel: Accel,
    /// A fault of the counter that the program of `exec` reads.
    pub fault: Option<Fault>,
    /// Seconds `exec` waits.
    pub deadline: Option<u64>,
}

/// Gives a person a shell in a guest.
pub fn shell(wanted: &Wanted, cache: &Cache) -> Result<()> {
    let place = tempfile::tempdir().context("making a directory for the guest's files")?;
    let (machine, kernel, initramfs) = prepare(wanted, cache, &Purpose::Shell, place.path())?;
    let plan = plan(wanted, &machine, &kernel, &initramfs, Console::Terminal);
    eprintln!("Ctrl-A X ends the emulator");
    let emulator = emulator_of(wanted, cache)?;
    let mut command = Command::new(emulator.as_deref().unwrap_or(machine.arch.qemu().as_ref()));
    command.args(plan.arguments());
    let mut emulator = launch::start(command).with_context(|| start_help(machine.arch))?;
    let status = emulator.wait().context("waiting for the emulator's end")?;
    if !status.success() {
        bail!("the emulator ended with {status}");
    }
    Ok(())
}

/// Runs a static program in a guest and prints its output. Returns its exit status.
pub fn exec(wanted: &Wanted, cache: &Cache, program: &Path, arguments: &[String]) -> Result<i32> {
    let bytes = static_program(program)?;
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| name != "busybox").unwrap_or_else(|| "program".into());
    let purpose = Purpose::Exec {
        program: bytes,
        name,
        arguments: arguments.to_vec(),
        fault: wanted.fault.clone(),
    };
    let place = tempfile::tempdir().context("making a directory for the guest's files")?;
    let (machine, kernel, initramfs) = prepare(wanted, cache, &purpose, place.path())?;
    let plan = plan(wanted, &machine, &kernel, &initramfs, Console::Piped);
    let deadline = wanted.deadline.unwrap_or_else(|| machine.arch.deadline_seconds());
    let emulator = emulator_of(wanted, cache)?;
    let guest = Guest::start_tapped(
        machine.arch,
        emulator.as_deref(),
        &plan.arguments(),
        place.path(),
        Box::new(|_| false),
    )?;
    let frames = guest.frames(Duration::from_secs(deadline))?;
    let said = frames.get("run").map(String::as_str).unwrap_or_default();
    let (output, status) = split_status(said);
    print!("{output}");
    status.context("the guest ended without saying the program's exit status")
}

/// The bytes of a program that can run in any guest.
pub(super) fn static_program(program: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(program)
        .with_context(|| format!("reading the program {}", program.display()))?;
    elf::check_static(&bytes)
        .with_context(|| format!("{} cannot run in a guest", program.display()))?;
    Ok(bytes)
}

/// The emulator besides the architecture's own, if the guest needs one.
fn emulator_of(wanted: &Wanted, cache: &Cache) -> Result<Option<PathBuf>> {
    wanted.paravirt.map(|_| emulator::get(cache)).transpose()
}

fn prepare(
    wanted: &Wanted,
    cache: &Cache,
    purpose: &Purpose,
    place: &Path,
) -> Result<(Machine, PathBuf, PathBuf)> {
    let catalogue = Catalogue::load(&wanted.cases)?;
    let Some(kernel) = catalogue.get(&wanted.kernel) else {
        bail!("no kernel is called `{}`; there are {:?}", wanted.kernel, catalogue.names());
    };
    let arch = kernel.arch;
    if wanted.paravirt.is_some() && arch != Arch::Amd64 {
        bail!("a hypervisor's clock needs an x86-64 guest, and {} is for {arch}", wanted.kernel);
    }
    let prepared = prepare_one(Store::new(cache, false).get(kernel)?, arch, cache)?;
    if wanted.fault.is_some() && (arch != Arch::Amd64 || prepared.probe.is_none()) {
        bail!("a fault needs an x86-64 guest, and a C compiler for the program that makes it");
    }
    let archive = initramfs::build(&prepared.busybox, prepared.probe.as_deref(), purpose);
    let initramfs = place.join("initramfs");
    std::fs::write(&initramfs, archive)
        .with_context(|| format!("writing {}", initramfs.display()))?;
    let mut qemu = wanted.paravirt.map(Paravirt::qemu).unwrap_or_default();
    qemu.extend(wanted.qemu.clone());
    let cpu = wanted.paravirt.map(Paravirt::cpu).or_else(|| wanted.cpu.clone());
    let machine = Machine {
        arch,
        machine: wanted.machine.clone().unwrap_or_else(|| arch.machine().into()),
        cpu: cpu.or_else(|| arch.cpu().map(String::from)),
        smp: wanted.smp.clone(),
        memory: kernel.memory,
        hpet: None,
        acpi: None,
        qemu,
        packed: false,
        steady: false,
    };
    Ok((machine, prepared.kernel.image, initramfs))
}

fn plan<'a>(
    wanted: &'a Wanted,
    machine: &'a Machine,
    kernel: &'a Path,
    initramfs: &'a Path,
    console: Console,
) -> Plan<'a> {
    Plan {
        machine,
        accel: wanted.accel,
        kernel,
        initramfs,
        cmdline: &wanted.cmdline,
        console,
        qmp: None,
        incoming: None,
    }
}

/// The guest's init ends the program's output with a line `exit status N`.
fn split_status(said: &str) -> (&str, Option<i32>) {
    let text = said.trim_end_matches('\n');
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    match text[start..].strip_prefix("exit status ").and_then(|status| status.parse().ok()) {
        Some(status) => (&text[..start], Some(status)),
        None => (said, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_exit_status() {
        assert_eq!(split_status("a\nb\nexit status 3\n"), ("a\nb\n", Some(3)));
        assert_eq!(split_status("exit status 0\n"), ("", Some(0)));
        assert_eq!(split_status("killed\n"), ("killed\n", None));
    }
}
