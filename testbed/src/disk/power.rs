//! The emulator's arguments for a guest that boots from its own disk.

use super::system::Loader;
use crate::qemu::arguments::Accel;
use anyhow::{Result, bail};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The name of the agent's port inside the guest.
const PORT: &str = "clocksmith.agent";

/// Where distributions put UEFI firmware for x86-64.
const FIRMWARE: &[&str] = &[
    "/usr/share/OVMF/OVMF_CODE_4M.fd",
    "/usr/share/OVMF/OVMF_CODE.fd",
    "/usr/share/edk2/x64/OVMF_CODE.4m.fd",
    "/usr/share/edk2/ovmf/OVMF_CODE.fd",
];

/// The hardware around a disk.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hardware {
    /// QEMU machine type with options.
    pub machine: String,
    /// QEMU processor model with flags.
    pub cpu: String,
    /// QEMU -smp value.
    pub smp: String,
    /// MiB of memory.
    pub memory: u32,
    /// Emulation or virtualization.
    pub accel: Accel,
    /// More arguments.
    pub qemu: Vec<String>,
}

impl Default for Hardware {
    /// One processor: its kernel takes tsc, so that every other clocksource is a change.
    fn default() -> Hardware {
        Hardware {
            machine: "pc".into(),
            cpu: "max".into(),
            smp: "1".into(),
            memory: 512,
            accel: Accel::Tcg,
            qemu: Vec::new(),
        }
    }
}

/// How the guest's kernel is started.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// By the boot loader on the disk.
    Loader(Loader),
    /// By the emulator, for a disk that has no boot loader yet.
    Direct {
        /// The kernel.
        kernel: &'a Path,
        /// The initial file system.
        initrd: &'a Path,
        /// The command line.
        cmdline: &'a str,
    },
}

/// The serial line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Line {
    /// To the emulator's standard output.
    Piped,
    /// To the terminal, both ways.
    Terminal,
}

/// One start of an emulator.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The hardware.
    pub hardware: &'a Hardware,
    /// The part that starts the kernel: the emulator or a boot loader.
    pub start: Start<'a>,
    /// The disk's file.
    pub disk: &'a Path,
    /// Its format: raw or qcow2.
    pub format: &'a str,
    /// Whether writes may be lost if this machine fails; for disks that are not finished yet.
    pub unsafe_cache: bool,
    /// The agent's socket.
    pub socket: &'a Path,
    /// The serial line.
    pub line: Line,
}

impl Plan<'_> {
    /// The arguments, without the program's name.
    pub fn arguments(&self) -> Result<Vec<OsString>> {
        let mut list: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: &dyn AsRef<OsStr>| {
            list.extend([name.into(), value.as_ref().to_os_string()]);
        };
        let hardware = self.hardware;
        let accel = match hardware.accel {
            Accel::Tcg => "tcg",
            Accel::Kvm => "kvm",
        };
        add("-accel", &accel);
        add("-M", &hardware.machine);
        add("-cpu", &hardware.cpu);
        add("-smp", &hardware.smp);
        add("-m", &hardware.memory.to_string());
        add("-display", &"none");
        let cache = if self.unsafe_cache { ",cache=unsafe" } else { "" };
        add(
            "-drive",
            &format!("if=virtio,format={}{cache},file={}", self.format, comma(self.disk)?),
        );
        add("-device", &"virtio-serial");
        let socket = comma(self.socket)?;
        add("-chardev", &format!("socket,id=agent,path={socket},server=on,wait=off"));
        add("-device", &format!("virtserialport,chardev=agent,name={PORT}"));
        match self.start {
            Start::Loader(Loader::Grub) => {}
            Start::Loader(Loader::SystemdBoot) => {
                let firmware = firmware()?;
                add(
                    "-drive",
                    &format!("if=pflash,format=raw,readonly=on,file={}", comma(&firmware)?),
                );
            }
            Start::Direct { kernel, initrd, cmdline } => {
                add("-kernel", &kernel);
                add("-initrd", &initrd);
                add("-append", &cmdline);
            }
        }
        match self.line {
            // A reset ends the emulator; the testbed starts another one.
            Line::Piped => {
                add("-serial", &"stdio");
                list.push("-no-reboot".into());
            }
            Line::Terminal => add("-serial", &"mon:stdio"),
        }
        // No floppy, no CD-ROM, no screen, no network: each costs the kernel's probing.
        list.push("-nodefaults".into());
        list.extend(hardware.qemu.iter().map(OsString::from));
        Ok(list)
    }
}

/// The UEFI firmware of this machine.
pub fn firmware() -> Result<PathBuf> {
    match FIRMWARE.iter().map(PathBuf::from).find(|path| path.exists()) {
        Some(path) => Ok(path),
        None => bail!("no UEFI firmware found at {FIRMWARE:?}; install the Debian package ovmf"),
    }
}

/// A path as a part of an option, where a comma is doubled.
fn comma(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(path) => Ok(path.replace(',', ",,")),
        None => {
            bail!("the path {} is not UTF-8, which the emulator's options need", path.display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(start: Start, format: &str) -> String {
        let plan = Plan {
            hardware: &Hardware { qemu: vec!["-rtc".into()], ..Hardware::default() },
            start,
            disk: Path::new("/d,1"),
            format,
            unsafe_cache: format == "raw",
            socket: Path::new("/s"),
            line: Line::Piped,
        };
        let words = plan.arguments().unwrap();
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn a_disk_starts_itself() {
        assert_eq!(
            text(Start::Loader(Loader::Grub), "qcow2"),
            "-accel tcg -M pc -cpu max -smp 1 -m 512 -display none -drive \
             if=virtio,format=qcow2,file=/d,,1 -device virtio-serial -chardev \
             socket,id=agent,path=/s,server=on,wait=off -device \
             virtserialport,chardev=agent,name=clocksmith.agent -serial stdio -no-reboot -nodefaults -rtc"
        );
    }

    #[test]
    fn an_unfinished_disk_is_started_from_outside() {
        let start =
            Start::Direct { kernel: Path::new("/k"), initrd: Path::new("/i"), cmdline: "ro" };
        let text = text(start, "raw");
        assert!(text.contains("-kernel /k -initrd /i -append ro"), "{text}");
        assert!(text.contains("format=raw,cache=unsafe"), "{text}");
    }
}
