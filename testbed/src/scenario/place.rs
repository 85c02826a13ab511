//! A guest that runs a script, with a control socket.

use super::journal::Journal;
use super::reader::Reader;
use crate::arch::Arch;
use crate::cache::Cache;
use crate::case::Machine;
use crate::initramfs::{self, Purpose, elf};
use crate::kernel::catalogue::Catalogue;
use crate::kernel::store::Store;
use crate::paravirt::{Paravirt, emulator};
use crate::qemu::arguments::{Accel, Console, Plan};
use crate::qemu::process::Guest;
use crate::qemu::qmp::Qmp;
use crate::verb::{one::Prepared, run::prepare_one};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// No watchdog: on a busy host the emulated reference is late now and then, and a good TSC would be
/// condemned in the middle of something else.
const CMDLINE: &str = "tsc=reliable";

/// The disk image that snapshots are kept in, and how it is given to a guest.
const DISK: &str = "disk.qcow2";
const DRIVE: &str = "if=none,id=state,format=qcow2";

const INVARIANT_TSC: &str = "max,x-force-features=on,+invtsc";

/// Everything that the guests of a scenario need.
pub struct Place {
    directory: tempfile::TempDir,
    prepared: Prepared,
    name: String,
    accel: Accel,
    clocksmith: Option<Vec<u8>>,
    reader: Reader,
    paravirt: Option<(Paravirt, PathBuf)>,
}

/// The inputs of scenarios' guests besides a kernel.
pub struct Programs<'a> {
    /// A static clocksmith program.
    pub clocksmith: Option<&'a Path>,
    /// A static reader; the probe's own if there is none.
    pub reader: Option<&'a Path>,
    /// How many threads of the reader read.
    pub reader_threads: u32,
    /// How far the reader's clock may be from CLOCK_MONOTONIC, in nanoseconds.
    pub reader_error_ns: u64,
    /// Whether the reader runs under `clocksmith run`, and with which clocksource of the kernel.
    pub under_run: Option<String>,
    /// A hypervisor's clock instead of the TSC.
    pub paravirt: Option<Paravirt>,
}

impl Default for Programs<'_> {
    fn default() -> Self {
        Programs {
            clocksmith: None,
            reader: None,
            reader_threads: 3,
            reader_error_ns: 0,
            under_run: None,
            paravirt: None,
        }
    }
}

/// The files of one scenario's guests.
pub struct Stage<'a> {
    place: &'a Place,
    directory: PathBuf,
    initramfs: PathBuf,
    machine: Machine,
    journal: Journal,
}

impl Place {
    /// A place for guests of one x86-64 kernel.
    pub fn new(
        cases: &Path,
        cache: &Cache,
        kernel: &str,
        accel: Accel,
        programs: &Programs<'_>,
    ) -> Result<Place> {
        let catalogue = Catalogue::load(cases)?;
        let Some(entry) = catalogue.get(kernel) else {
            bail!("no kernel is called `{kernel}`; there are {:?}", catalogue.names());
        };
        if entry.arch != Arch::Amd64 {
            bail!("scenarios are about x86-64 guests, and {kernel} is for {}", entry.arch);
        }
        let prepared = prepare_one(Store::new(cache, false).get(entry)?, entry.arch, cache)?;
        if prepared.probe.is_none() {
            bail!("scenarios need the guests' static probe; install a C compiler");
        }
        let paravirt = match programs.paravirt {
            Some(clock) => Some((clock, emulator::get(cache)?)),
            None => None,
        };
        let clocksmith = programs.clocksmith.map(read_static).transpose()?;
        let reader = Reader {
            program: programs.reader.map(read_static).transpose()?,
            threads: programs.reader_threads,
            error_ns: programs.reader_error_ns,
            under_run: programs.under_run.clone(),
            clocksource: programs.paravirt.map_or("tsc", |clock| clock.kind.clocksource()),
        };
        let directory = tempfile::tempdir().context("making a directory for the guests' files")?;
        let name = kernel.into();
        Ok(Place { directory, prepared, name, accel, clocksmith, reader, paravirt })
    }

    /// The kernel's name in the catalogue.
    pub fn kernel_name(&self) -> &str {
        &self.name
    }

    /// The version of the kernel's package.
    pub fn kernel_version(&self) -> &str {
        &self.prepared.kernel.package.version
    }

    /// The reader that runs in the guests.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The hypervisor's clock of the guests.
    pub fn paravirt(&self) -> Option<Paravirt> {
        self.paravirt.as_ref().map(|(clock, _)| *clock)
    }

    /// Whether there is a clocksmith program for the guests.
    pub fn has_program(&self) -> bool {
        self.clocksmith.is_some()
    }

    /// Makes the files for guests that run a script; [`Reader::script`] documents the functions that it can use. Two
    /// processors with an invariant TSC or the hypervisor's clock, so that the threads of a reader run in parallel.
    pub fn stage(&self, name: &str, script: &str) -> Result<Stage<'_>> {
        let directory = self.directory.path().join(name);
        std::fs::create_dir_all(&directory).context("making a directory for the guest's files")?;
        let mut programs = Vec::new();
        for (name, program) in [("clocksmith", &self.clocksmith), ("reader", &self.reader.program)]
        {
            programs.extend(program.clone().map(|program| (name, program)));
        }
        let purpose = Purpose::Script { script: self.reader.script(script), programs };
        let Prepared { busybox, probe, .. } = &self.prepared;
        let initramfs = directory.join("initramfs");
        std::fs::write(&initramfs, initramfs::build(busybox, probe.as_deref(), &purpose))
            .with_context(|| format!("writing {}", initramfs.display()))?;
        let machine = Machine {
            arch: Arch::Amd64,
            machine: "pc".into(),
            cpu: Some(self.paravirt().map_or_else(|| INVARIANT_TSC.into(), Paravirt::cpu)),
            smp: "2".into(),
            memory: 256,
            hpet: None,
            acpi: None,
            qemu: self.paravirt().map(Paravirt::qemu).unwrap_or_default(),
            packed: false,
            steady: false,
        };
        let journal = Journal::default();
        Ok(Stage { place: self, directory, initramfs, machine, journal })
    }
}

impl Stage<'_> {
    /// Where the stage is.
    pub fn place(&self) -> &Place {
        self.place
    }

    /// The reports of the guests' reader.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// A file of the scenario.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Gives the guests a disk image that can hold snapshots.
    pub fn with_disk(&mut self) -> Result<()> {
        let disk = self.path(DISK);
        let mut create = Command::new("qemu-img");
        create.args(["create", "-q", "-f", "qcow2"]).arg(&disk).arg("64M");
        let status = create.status().context("starting qemu-img (Debian package qemu-utils)")?;
        if !status.success() {
            bail!("qemu-img ended with {status}");
        }
        let drive = format!("{DRIVE},file={}", disk.display());
        self.machine.qemu.extend(["-drive".into(), drive]);
        Ok(())
    }

    /// A copy of the disk image, under another name.
    pub fn copy_disk(&self, name: &str) -> Result<PathBuf> {
        let copy = self.path(name);
        std::fs::copy(self.path(DISK), &copy)
            .with_context(|| format!("copying the guest's disk to {}", copy.display()))?;
        Ok(copy)
    }

    /// Gives the next guests a disk image other than the one of [`Stage::with_disk`].
    pub fn use_disk(&mut self, disk: &Path) {
        let of_disk = |word: &&mut String| word.starts_with(DRIVE);
        if let Some(drive) = self.machine.qemu.iter_mut().find(of_disk) {
            *drive = format!("{DRIVE},file={}", disk.display());
        }
    }

    /// Starts a guest, or one that waits for a migration from an address.
    pub fn start(&self, name: &str, incoming: Option<String>) -> Result<(Guest, Qmp)> {
        self.start_with(name, incoming, &[])
    }

    /// The same, with more arguments of the emulator.
    pub fn start_with(
        &self,
        name: &str,
        incoming: Option<String>,
        more: &[String],
    ) -> Result<(Guest, Qmp)> {
        let files = self.path(name);
        std::fs::create_dir_all(&files).context("making a directory for the guest's files")?;
        let socket = files.join("qmp");
        let mut arguments = Plan {
            machine: &self.machine,
            accel: self.place.accel,
            kernel: &self.place.prepared.kernel.image,
            initramfs: &self.initramfs,
            cmdline: if self.place.paravirt.is_some() { "" } else { CMDLINE },
            console: Console::Piped,
            qmp: Some(socket.clone()),
            incoming,
        }
        .arguments();
        arguments.extend(more.iter().map(Into::into));
        let journal = self.journal.clone();
        let tap = Box::new(move |line: &str| journal.take(line));
        let emulator = self.place.paravirt.as_ref().map(|(_, program)| program.as_path());
        let guest = Guest::start_tapped(Arch::Amd64, emulator, &arguments, &files, tap)?;
        let qmp = Qmp::connect(&socket)?;
        Ok((guest, qmp))
    }
}

fn read_static(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path)
        .with_context(|| format!("reading the guests' program {}", path.display()))?;
    elf::check_static(&bytes)
        .with_context(|| format!("{} cannot run in a guest", path.display()))?;
    Ok(bytes)
}
