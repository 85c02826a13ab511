//! Reads a [`System`] from a root directory.

use super::root::{Case, Root};
use super::{Marks, Os, System, Text, efi, longest};
use crate::boot::extlinux::U_BOOT_DIRECTORIES;
use crate::boot::single::FIRMWARE;
use crate::boot::tools;
use std::path::{Path, PathBuf};

/// Longest file, in bytes; the grub.cfg of a machine with many kernels has a few hundred kilobytes.
const LIMIT: u64 = 4 << 20;

/// Files whose text is read.
const FILES: &[&str] = &[
    "/proc/cmdline",
    "/etc/default/grub",
    "/boot/grub/grub.cfg",
    "/boot/grub2/grub.cfg",
    "/boot/grub2/grubenv",
    "/boot/grub/grubenv",
    "/usr/sbin/grub-mkconfig",
    "/usr/sbin/grub2-mkconfig",
    "/etc/kernel/cmdline",
    "/usr/lib/kernel/cmdline",
    "/etc/kernel/install.conf",
    "/etc/machine-id",
    "/etc/update-extlinux.conf",
    "/etc/default/u-boot",
    "/boot/extlinux.conf",
    "/boot/extlinux/extlinux.conf",
    "/etc/zipl.conf",
    "/boot/cmdline.txt",
    "/boot/config.txt",
    "/boot/autoboot.txt",
    "/boot/firmware/cmdline.txt",
    "/boot/firmware/config.txt",
    "/boot/firmware/autoboot.txt",
    "/etc/local.d/clocksmith.start",
    "/etc/systemd/system/clocksmith-clocksource.service",
];

/// The possible mount points of `$BOOT`: the extended boot loader partition, then the EFI system partition, according
/// to the Boot Loader Specification and bootctl(1).
pub(super) const BOOTS: [&str; 3] = ["/boot", "/efi", "/boot/efi"];

/// Directories of files that matter, with the ends of their names.
const DIRECTORIES: &[(&str, &str)] = &[
    ("/etc/default/grub.d", ".cfg"),
    ("/boot/loader/entries", ".conf"),
    ("/efi/loader/entries", ".conf"),
    ("/boot/efi/loader/entries", ".conf"),
    (U_BOOT_DIRECTORIES[0], ".conf"),
    (U_BOOT_DIRECTORIES[1], ".conf"),
];

/// Programs that own boot configuration.
const PROGRAMS: &[&str] = &[
    "update-grub",
    "grub-mkconfig",
    "grub2-mkconfig",
    "grubby",
    "kernel-install",
    "bootctl",
    "update-extlinux",
    "u-boot-update",
    "zipl",
    "rpm-ostree",
    "ostree",
    "bootc",
    "nixos-rebuild",
    "transactional-update",
    "systemctl",
    "rc-update",
];

/// Directories of programs.
const PATHS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The files from which a system is read.
pub(crate) fn settings_files() -> impl Iterator<Item = &'static str> {
    FILES.iter().copied().chain(tools::files())
}

/// Returns the directories whose files are read, with the suffixes of the names.
pub(crate) fn settings_directories() -> impl Iterator<Item = (&'static str, &'static str)> {
    DIRECTORIES.iter().copied().chain(tools::directories())
}

/// Reads the system below a root directory. A missing file is not an error: an empty directory is a
/// system without known properties.
#[must_use]
pub fn read(path: &Path) -> System {
    let root = Root(path);
    let live = path == Path::new("/");
    let mut system = System { live, ..System::default() };
    let text = |name: &str| {
        if let Some(why) = root.astray(name) {
            return Some(Text::Not(why));
        }
        Some(match root.read(name, LIMIT)?.map(String::from_utf8) {
            Ok(Ok(text)) => Text::Is(text),
            Ok(Err(_)) => Text::Not("it is not UTF-8 text".to_owned()),
            Err(error) => Text::Not(format!("it cannot be read: {error}")),
        })
    };
    // If a system is mounted below another one, the kernel's files there describe the boot of the other
    // one.
    let booted = live || !is_mounted(&root);
    let files = FILES.iter().copied().filter(|file| booted || *file != "/proc/cmdline");
    for file in files.chain(tools::files()) {
        if let Some(text) = text(file) {
            system.files.insert(PathBuf::from(file), text);
        }
    }
    for (directory, suffix) in DIRECTORIES.iter().copied().chain(tools::directories()) {
        // systemd-boot takes the suffix of an entry in any case.
        let entries = directory.ends_with("/loader/entries");
        let case = if entries { Case::Any } else { Case::Same };
        match root.names(directory, suffix, case) {
            Ok(names) => {
                for name in names {
                    let path = format!("{directory}/{name}");
                    if let Some(text) = text(&path) {
                        system.files.insert(PathBuf::from(path), text);
                    }
                }
            }
            Err(error) => {
                let text = Text::Not(format!("it cannot be read: {error}"));
                system.files.insert(PathBuf::from(directory), text);
            }
        }
    }
    system.same = same_directories(&root);
    system.longest = longest::read(&root, booted);
    for file in ["/etc/os-release", "/usr/lib/os-release"] {
        if let Some(Ok(bytes)) = root.read(file, LIMIT) {
            system.os = Os::parse(&String::from_utf8_lossy(&bytes));
            break;
        }
    }
    if booted {
        system.efi = efi::read(&root);
    }
    for program in PROGRAMS.iter().copied().chain(tools::programs()) {
        if PATHS.iter().any(|path| root.exists(&format!("{path}/{program}"))) {
            system.programs.insert(program.to_owned());
        }
    }
    for boot in BOOTS {
        let directory = format!("{boot}/EFI/Linux");
        let images = root.names(&directory, ".efi", Case::Any).unwrap_or_default().into_iter();
        system.unified.extend(images.map(|name| PathBuf::from(format!("{directory}/{name}"))));
    }
    let installed = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"];
    system.systemd = if live {
        root.exists("/run/systemd/system")
    } else {
        installed.iter().any(|path| root.exists(path))
    };
    system.openrc = !system.systemd && root.exists("/sbin/openrc");
    system.marks = Marks {
        ostree: root.exists("/run/ostree-booted") || root.exists("/ostree/deploy"),
        bootc: system.programs.contains("bootc") && root.exists("/usr/lib/bootc"),
        nixos: root.exists("/etc/NIXOS"),
    };
    system.read_only = ["/etc", "/boot", "/usr"]
        .into_iter()
        .filter(|directory| {
            let stat = root.real(directory).and_then(|real| rustix::fs::statvfs(real).ok());
            stat.is_some_and(|stat| stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
        })
        .map(PathBuf::from)
        .collect();
    system.firmware =
        [FIRMWARE, "/boot"].into_iter().filter(|it| is_fat(&root, it)).map(PathBuf::from).collect();
    system
}

/// Whether a file system of FAT is mounted at a directory: a partition that firmware can read.
fn is_fat(root: &Root<'_>, directory: &str) -> bool {
    const MSDOS: u64 = 0x4d44;
    let Some(path) = root.real(directory) else { return false };
    let kind = rustix::fs::statfs(&path);
    // `..` of a mounted directory is on the file system that it is mounted on.
    let device = |path: &Path| rustix::fs::stat(path).map(|stat| stat.st_dev).ok();
    kind.is_ok_and(|kind| u64::try_from(kind.f_type).is_ok_and(|kind| kind == MSDOS))
        && device(&path) != device(&path.join(".."))
}

/// Whether `/proc` of a root is the kernel's own, and not a copy of its files.
fn is_mounted(root: &Root<'_>) -> bool {
    const PROC: u64 = 0x9fa0;
    let kind = root.real("/proc").and_then(|path| rustix::fs::statfs(path).ok());
    kind.is_some_and(|kind| u64::try_from(kind.f_type).is_ok_and(|kind| kind == PROC))
}

/// Returns pairs of directories of boot entries that are the same directory: a file written in one is in the other.
fn same_directories(root: &Root<'_>) -> Vec<(PathBuf, PathBuf)> {
    use std::os::unix::fs::MetadataExt;
    let entries = DIRECTORIES.iter().filter(|(name, _)| name.ends_with("/loader/entries"));
    let known: Vec<(&str, (u64, u64))> = entries
        .filter_map(|(name, _)| {
            let stat = std::fs::metadata(root.real(name)?).ok()?;
            Some((*name, (stat.dev(), stat.ino())))
        })
        .collect();
    let mut same = Vec::new();
    for (at, (one, place)) in known.iter().enumerate() {
        let others = known.iter().skip(at + 1).filter(|(_, other)| other == place);
        same.extend(others.map(|(other, _)| (PathBuf::from(*one), PathBuf::from(*other))));
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_root_directory_is_read_and_an_empty_one_too() {
        let dir = tempfile::tempdir().unwrap();
        let system = read(dir.path());
        assert!(system.files.is_empty() && !system.live && !system.systemd);
        for (path, text) in [
            ("etc/os-release", "ID=debian\n"),
            ("etc/default/grub", "A=b\n"),
            ("etc/default/grub.d/x.cfg", "C=d\n"),
            ("etc/default/grub.d/x.cfg.dpkg-old", "C=d\n"),
            ("usr/sbin/update-grub", "#!/bin/sh\n"),
            ("usr/lib/systemd/systemd", ""),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::write(dir.path().join("etc/zipl.conf"), b"\xff\xfe").unwrap();
        let system = read(dir.path());
        assert!(system.os.is("debian") && system.systemd && system.has("update-grub"));
        assert_eq!(system.text("/etc/default/grub"), Some("A=b\n"));
        assert_eq!(system.below("/etc/default/grub.d").count(), 1);
        assert!(system.trouble("/etc/zipl.conf").unwrap().contains("UTF-8"));
    }
}
