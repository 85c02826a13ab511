//! From files to a bootable image, without loop devices and without mounts: the file system is
//! made from the directory, and the boot loader is installed inside, by the system's own tools, in
//! a first boot for which the emulator loads the kernel.

use super::bootstrap;
use super::partition::{self, Kind, SECTOR};
use super::power::{Hardware, Line, Plan, Start};
use super::system::{CONSOLE, Loader, ROOT_UUID, System};
use super::wire::Wire;
use crate::arch::Arch;
use crate::qemu::process::Guest;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Bytes of a disk. Most of them are never written.
const DISK: u64 = 1536 * MIB;

/// Bytes of the firmware's partition, where there is one: room for three kernels.
const SYSTEM_PARTITION: u64 = 128 * MIB;

/// How long the first boot may take, and its one command.
const PATIENCE: Duration = Duration::from_secs(300);

/// Everything about building that the result depends on, besides packages; see [`recipe`].
const VERSION: u32 = 1;

/// A text that changes when an image built before would no longer be right.
pub fn recipe(system: System) -> String {
    format!(
        "{VERSION} {DISK} {SYSTEM_PARTITION} {system} {:?} {:?} {:?} {:?} {}",
        system.suites(),
        system.packages(),
        system.answers(),
        system.files(),
        system.finish()
    )
}

/// The result.
pub struct Built {
    /// The image's file.
    pub image: PathBuf,
    /// Its packages with their versions, one per line.
    pub packages: String,
}

/// Builds an image in `place`.
pub fn build(system: System, place: &Path) -> Result<Built> {
    let begin = Instant::now();
    let say = |what: &str| eprintln!("{system}: {:3} s, {what}", begin.elapsed().as_secs());
    let root = place.join("root");
    say("installing packages");
    bootstrap::install(system, &root, place)?;
    let packages = bootstrap::packages(&root)?;
    say("making the file system");
    let image = place.join("base.raw");
    assemble(system, &root, &image)?;
    say("first boot: installing the boot loader");
    first_boot(system, &root, &image, place)?;
    std::fs::remove_dir_all(&root)
        .with_context(|| format!("removing the image's directory {}", root.display()))?;
    say("done");
    Ok(Built { image, packages })
}

fn assemble(system: System, root: &Path, image: &Path) -> Result<()> {
    let what = || format!("writing the image {}", image.display());
    let mut file = File::create(image).with_context(what)?;
    file.set_len(DISK).with_context(what)?;
    let sectors = DISK / SECTOR;
    let extent = match system.loader() {
        Loader::Grub => partition::whole(sectors),
        Loader::SystemdBoot => partition::system_and_root(sectors, SYSTEM_PARTITION / SECTOR)[1],
    };
    let output = Command::new("mke2fs")
        .args(["-q", "-t", "ext4", "-L", "root", "-U", ROOT_UUID])
        // All tables are written now; a kernel that does it later disturbs the measurement.
        .arg("-E")
        .arg(format!("offset={},lazy_itable_init=0,lazy_journal_init=0", extent.start * SECTOR))
        .arg("-d")
        .args([root, image])
        .arg(format!("{}k", extent.count * SECTOR / 1024))
        // The features that the image's own release uses, and its boot loader can read.
        .env("MKE2FS_CONFIG", root.join("etc/mke2fs.conf"))
        .env("PATH", path_with_sbin())
        .output()
        .context("starting mke2fs, which makes the file system (Debian package e2fsprogs)")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("making a file system of {} failed ({}): {said}", root.display(), output.status);
    }
    match system.loader() {
        Loader::Grub => partition::write_dos(&mut file, extent),
        Loader::SystemdBoot => {
            let [own, root] = partition::system_and_root(sectors, SYSTEM_PARTITION / SECTOR);
            partition::write_guid(
                &mut file,
                sectors,
                &[(Kind::EfiSystem, own), (Kind::Linux, root)],
            )
        }
    }
    .with_context(what)
}

fn first_boot(system: System, root: &Path, image: &Path, place: &Path) -> Result<()> {
    let boot = root.join("boot");
    let (kernel, initrd) = (the_one(&boot, "vmlinuz-")?, the_one(&boot, "initrd.img-")?);
    let socket = place.join("agent");
    let plan = Plan {
        hardware: &Hardware { smp: "2".into(), ..Hardware::default() },
        start: Start::Direct {
            kernel: &kernel,
            initrd: &initrd,
            cmdline: &format!("root=UUID={ROOT_UUID} rw {CONSOLE}"),
        },
        disk: image,
        format: "raw",
        unsafe_cache: true,
        socket: &socket,
        line: Line::Piped,
    };
    let _guest = Guest::start(Arch::Amd64, &plan.arguments()?, place)?;
    let log = place.join("serial.log");
    let mut wire = Wire::connect(&socket, Duration::from_secs(10))
        .with_context(|| format!("connecting to the agent's line {}", socket.display()))?;
    wire.hello(PATIENCE)
        .with_context(|| format!("waiting for the agent in the first boot{}", end_of(&log)))?;
    let answer = wire
        .run(system.finish(), b"", PATIENCE)
        .with_context(|| format!("installing the boot loader{}", end_of(&log)))?;
    if answer.code != 0 {
        bail!(
            "installing the boot loader inside the image failed (status {}): {}{}",
            answer.code,
            answer.stdout(),
            answer.stderr()
        );
    }
    wire.send("systemctl --no-block poweroff", b"").context("ending the first boot")?;
    wire.gone(PATIENCE).with_context(|| format!("ending the first boot{}", end_of(&log)))
}

/// The end of a serial log, for messages.
pub(crate) fn end_of(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(8).collect();
    let lines: Vec<&str> = lines.into_iter().rev().collect();
    format!("; the serial line's last words:\n{}", lines.join("\n"))
}

fn the_one(directory: &Path, prefix: &str) -> Result<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("looking for the kernel in {}", directory.display()))?;
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix)))
        .with_context(|| {
            format!("the installed system has no {prefix}* in {}", directory.display())
        })
}

/// Users' search paths often lack the directories of administrators' tools.
fn path_with_sbin() -> std::ffi::OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_differ_between_systems_and_hold_their_files() {
        let [one, two] = [System::Debian12, System::Debian12SystemdBoot].map(recipe);
        assert_ne!(one, two);
        assert!(one.contains("grub-install") && one.contains("testbed-agent.service"));
    }

    #[test]
    fn the_end_of_a_log_leaves_out_empty_lines() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        std::fs::write(&log, "a\n\n\nb\n\n").unwrap();
        assert!(end_of(&log).ends_with(":\na\nb"));
    }
}
