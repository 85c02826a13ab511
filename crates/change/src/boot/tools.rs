//! Programs that make boot entries, and loaders whose configuration is not edited: one row each, with its setting and
//! the command to run afterwards. An edit of the files that these programs make would be lost, or have no effect.
//!
//! The programs that clocksmith runs are in their own files: `grubby` ([`super::bls`]), `rpm-ostree`, NixOS, Flatcar,
//! bootc and `transactional-update` ([`super::image`]), `update-grub` ([`super::grub`]), `update-extlinux` and
//! `u-boot-update` ([`super::extlinux`]), zipl ([`super::single`]). `kernel-install` takes `/etc/kernel/cmdline`, which
//! is edited with the entries.
//!
//! Sources: Proxmox VE Administration Guide, Host Bootloader (`system-booting.adoc`): `proxmox-boot-tool refresh` "is
//! necessary should you make changes to the kernel commandline"; the Manjaro and CachyOS wikis on sdboot-manage;
//! openSUSE wiki, Systemd-boot (sdbootutil); Pop!_OS, kernelstub(1); limine-entry-tool's README; the rEFInd
//! documentation, `refind_linux.conf`; flash-kernel(8); Armbian and DietPi documentation; Petitboot's `kboot.conf`;
//! ZFSBootMenu, `org.zfsbootmenu:commandline`; clr-boot-manager(1); Talos Linux, `extraKernelArgs`; GNU Guix manual,
//! `kernel-arguments`; Ubuntu Core, `system.kernel.cmdline-append`; mkinitcpio(8), dracut.conf(5), ukify(1).

use super::loader::Loader;
use super::{NoWay, file, hand};
use crate::system::System;
use crate::words::Change;
use std::path::{Path, PathBuf};

/// The mark by which a tool is recognised.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// A file that has something in it, or cannot be read.
    File(&'static str),
    /// Any file of a directory, with this suffix and this text.
    Below(&'static str, &'static str, &'static str),
    /// A program.
    Program(&'static str),
    /// `ID` of os-release.
    Os(&'static str),
}

/// The tool's role for the command line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// Makes the configuration of these loaders again; of all loaders if the list is empty.
    Makes(&'static [Loader]),
    /// Is a loader, or its configuration.
    Boots(Loader),
}

/// A tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) marks: &'static [Mark],
    pub(super) does: Does,
    /// The setting for the words.
    pub(super) setting: &'static str,
    /// The command that puts them into effect.
    pub(super) then: &'static str,
}

const UNIFIED: Does = Does::Makes(&[Loader::Unified]);
const ENTRIES: Does = Does::Makes(&[Loader::Entries, Loader::Unified]);

/// All of them. The first that matches is reported.
#[rustfmt::skip]
pub(super) const TOOLS: &[Tool] = &[
    Tool { name: "proxmox-boot-tool", marks: &[Mark::File("/etc/kernel/proxmox-boot-uuids")], does: Does::Makes(&[]), setting: "GRUB_CMDLINE_LINUX_DEFAULT of /etc/default/grub if GRUB boots the machine, or the one line of /etc/kernel/cmdline if systemd-boot does (efibootmgr -v shows which)", then: "proxmox-boot-tool refresh" },
    Tool { name: "Talos", marks: &[Mark::Os("talos")], does: Does::Makes(&[]), setting: "machine.install.extraKernelArgs, or customization.extraKernelArgs of the image's schematic", then: "talosctl upgrade" },
    Tool { name: "GNU Guix", marks: &[Mark::Os("guix")], does: Does::Makes(&[]), setting: "(kernel-arguments ...) of the operating-system in /etc/config.scm", then: "guix system reconfigure /etc/config.scm" },
    Tool { name: "Ubuntu Core", marks: &[Mark::Os("ubuntu-core")], does: Does::Makes(&[]), setting: "snap set system system.kernel.cmdline-append=\"...\"", then: "a reboot" },
    Tool { name: "clr-boot-manager", marks: &[Mark::Program("clr-boot-manager")], does: Does::Makes(&[]), setting: "a file of words in /etc/kernel/cmdline.d (cmdline-removal.d for those to remove)", then: "clr-boot-manager update" },
    Tool { name: "ZFSBootMenu", marks: &[Mark::Program("generate-zbm"), Mark::File("/etc/zfsbootmenu/config.yaml")], does: Does::Boots(Loader::Other), setting: "the property org.zfsbootmenu:commandline of the root dataset", then: "a reboot" },
    Tool { name: "sdboot-manage", marks: &[Mark::File("/etc/sdboot-manage.conf"), Mark::Program("sdboot-manage")], does: ENTRIES, setting: "LINUX_OPTIONS of /etc/sdboot-manage.conf", then: "sdboot-manage gen" },
    Tool { name: "sdbootutil", marks: &[Mark::Program("sdbootutil")], does: ENTRIES, setting: "the one line of /etc/kernel/cmdline", then: "sdbootutil update-all-entries" },
    Tool { name: "kernelstub", marks: &[Mark::File("/etc/kernelstub/configuration"), Mark::Program("kernelstub")], does: ENTRIES, setting: "kernelstub's options", then: "" },
    Tool { name: "limine-entry-tool", marks: &[Mark::File("/etc/default/limine"), Mark::Below("/etc/limine-entry-tool.d", ".conf", "KERNEL_CMDLINE"), Mark::Program("limine-entry-tool"), Mark::Program("limine-mkinitcpio")], does: Does::Boots(Loader::Limine), setting: "KERNEL_CMDLINE[default] of /etc/default/limine, or of a file in /etc/limine-entry-tool.d", then: "limine-update" },
    Tool { name: "Limine", marks: &[Mark::File("/boot/limine.conf"), Mark::File("/boot/limine/limine.conf"), Mark::File("/boot/EFI/limine/limine.conf"), Mark::File("/boot/efi/EFI/limine/limine.conf"), Mark::File("/efi/EFI/limine/limine.conf"), Mark::File("/boot/limine.cfg")], does: Does::Boots(Loader::Limine), setting: "cmdline: of every entry of limine.conf", then: "a reboot" },
    Tool { name: "rEFInd", marks: &[Mark::File("/boot/refind_linux.conf"), Mark::File("/boot/efi/EFI/refind/refind.conf"), Mark::File("/boot/EFI/refind/refind.conf"), Mark::File("/efi/EFI/refind/refind.conf")], does: Does::Boots(Loader::Refind), setting: "the second quoted text of every line of /boot/refind_linux.conf, and options of the entries of refind.conf", then: "a reboot" },
    Tool { name: "mkinitcpio", marks: &[Mark::Below("/etc/mkinitcpio.d", ".preset", "_uki=")], does: UNIFIED, setting: "/etc/kernel/cmdline, or a file in /etc/cmdline.d", then: "mkinitcpio -P" },
    Tool { name: "dracut", marks: &[Mark::Below("/etc/dracut.conf.d", ".conf", "kernel_cmdline="), Mark::Below("/etc/dracut.conf.d", ".conf", "uefi=")], does: UNIFIED, setting: "kernel_cmdline= of the file in /etc/dracut.conf.d", then: "dracut --force --regenerate-all" },
    Tool { name: "ukify", marks: &[Mark::File("/etc/kernel/uki.conf")], does: UNIFIED, setting: "Cmdline= of /etc/kernel/uki.conf, or /etc/kernel/cmdline", then: "kernel-install add-all" },
    Tool { name: "flash-kernel", marks: &[Mark::File("/etc/default/flash-kernel")], does: Does::Boots(Loader::Script), setting: "LINUX_KERNEL_CMDLINE of /etc/default/flash-kernel", then: "flash-kernel" },
    Tool { name: "Armbian's boot script", marks: &[Mark::File("/boot/armbianEnv.txt")], does: Does::Boots(Loader::Script), setting: "extraargs= of /boot/armbianEnv.txt", then: "a reboot" },
    Tool { name: "DietPi's boot script", marks: &[Mark::File("/boot/dietpiEnv.txt")], does: Does::Boots(Loader::Script), setting: "extraargs= of /boot/dietpiEnv.txt", then: "a reboot" },
    Tool { name: "U-Boot's uEnv.txt", marks: &[Mark::File("/boot/uEnv.txt")], does: Does::Boots(Loader::Script), setting: "the variable of /boot/uEnv.txt that its script adds to bootargs (cmdline=, extraargs= or optargs=)", then: "a reboot" },
    Tool { name: "Petitboot", marks: &[Mark::File("/etc/kboot.conf"), Mark::File("/boot/kboot.conf")], does: Does::Boots(Loader::Other), setting: "every entry of kboot.conf", then: "a reboot" },
    Tool { name: "LILO", marks: &[Mark::File("/etc/lilo.conf")], does: Does::Boots(Loader::Other), setting: "append= of every image of /etc/lilo.conf", then: "lilo" },
    Tool { name: "GRUB legacy", marks: &[Mark::File("/boot/grub/menu.lst")], does: Does::Boots(Loader::Other), setting: "every kernel line of /boot/grub/menu.lst", then: "a reboot" },
    Tool { name: "syslinux", marks: &[Mark::File("/boot/syslinux/syslinux.cfg"), Mark::File("/boot/syslinux.cfg")], does: Does::Boots(Loader::Other), setting: "APPEND of every entry of syslinux.cfg", then: "a reboot" },
];

impl Tool {
    /// Returns the file or program by which it is recognised here.
    pub(super) fn mark(&self, system: &System) -> Option<PathBuf> {
        let fits = |mark: &Mark| match mark {
            Mark::File(path) => {
                let says = system.text(path).is_some_and(|text| !text.trim().is_empty());
                (says || system.trouble(path).is_some()).then(|| PathBuf::from(path))
            }
            Mark::Below(directory, _, text) => {
                let trouble = system.troubles(directory).next().map(|(path, _)| path);
                let says = system.below(directory).find(|(_, has)| states(has, text));
                trouble.or(says.map(|(path, _)| path)).map(Path::to_owned)
            }
            Mark::Program(name) => system.has(name).then(|| PathBuf::from(name)),
            Mark::Os(id) => (system.os.id == *id).then(|| PathBuf::from("/etc/os-release")),
        };
        self.marks.iter().find_map(fits)
    }

    /// Instructions for the user.
    pub(super) fn by_hand(&self, change: &Change) -> String {
        if self.name == "kernelstub" {
            let mut lines = Vec::new();
            if !change.add.is_empty() {
                lines.push(format!("kernelstub --add-options \"{}\"", change.add.join(" ")));
            }
            if !change.remove.is_empty() {
                lines.push(format!("kernelstub --delete-options \"{}\"", change.remove.join(" ")));
            }
            return format!("By hand: {}", lines.join("; "));
        }
        format!("{}; then: {}", hand(self.setting, change), self.then)
    }

    fn refused(&self, by: &Path, change: &Change) -> NoWay {
        let name = self.name;
        let why = match self.does {
            Does::Makes(_) => format!(
                "{name} generates the boot configuration here, so an edit of it is lost, or takes \
                 effect only after the next run"
            ),
            Does::Boots(_) => {
                format!("{name} boots this machine, and its configuration is not edited here")
            }
        };
        file(by, format!("{why}. {}", self.by_hand(change)))
    }
}

/// Returns whether a line that is not a comment has the text.
fn states(text: &str, what: &str) -> bool {
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(what))
}

/// Refuses if a program makes the configuration of every loader.
pub(super) fn of_all(system: &System, change: &Change) -> Result<(), NoWay> {
    first(system, change, |does| matches!(does, Does::Makes([])))
}

/// Refuses if a program makes the files that this loader reads, or if its configuration is not edited.
pub(super) fn of(system: &System, loader: Loader, change: &Change) -> Result<(), NoWay> {
    first(system, change, |does| match does {
        // The content of an image is never edited: the user gets instructions instead.
        Does::Makes(which) => which.contains(&loader) && loader != Loader::Unified,
        Does::Boots(own) => own == loader,
    })
}

fn first(system: &System, change: &Change, which: impl Fn(Does) -> bool) -> Result<(), NoWay> {
    let mut tools = TOOLS.iter().filter(|tool| which(tool.does));
    match tools.find_map(|tool| Some((tool, tool.mark(system)?))) {
        Some((tool, by)) => Err(tool.refused(&by, change)),
        None => Ok(()),
    }
}

/// The tool that makes a unified kernel image here.
pub(super) fn of_images(system: &System) -> Option<&'static Tool> {
    let makes =
        |tool: &&Tool| matches!(tool.does, Does::Makes(which) if which.contains(&Loader::Unified));
    TOOLS.iter().filter(makes).find(|tool| tool.mark(system).is_some())
}

/// Files that must be read to know them.
pub(crate) fn files() -> impl Iterator<Item = &'static str> {
    marks().filter_map(|mark| if let Mark::File(path) = mark { Some(path) } else { None })
}

/// Directories of files that must be read to know them, each once.
pub(crate) fn directories() -> impl Iterator<Item = (&'static str, &'static str)> {
    marks().filter_map(|mark| match mark {
        Mark::Below(path, end, _) => Some((path, end)),
        _ => None,
    })
}

/// Programs that must be looked for to know them.
pub(crate) fn programs() -> impl Iterator<Item = &'static str> {
    marks().filter_map(|mark| if let Mark::Program(name) = mark { Some(name) } else { None })
}

fn marks() -> impl Iterator<Item = Mark> {
    TOOLS.iter().flat_map(|tool| tool.marks.iter().copied())
}
