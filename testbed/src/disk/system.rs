//! The systems in images.

use std::fmt;
use std::str::FromStr;

/// One system, under the name that `--system` takes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum System {
    /// Debian 12 with GRUB, on a PC with a BIOS.
    #[default]
    Debian12,
    /// Debian 12 with systemd-boot, on a PC with UEFI firmware.
    Debian12SystemdBoot,
}

/// The boot loader.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Loader {
    /// GRUB for a BIOS: a DOS partition table, one partition.
    Grub,
    /// systemd-boot for UEFI: a GUID partition table, a system partition before the root one.
    SystemdBoot,
}

/// A file of a system that no package brings.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct File {
    /// Its path, without the leading slash.
    pub path: &'static str,
    /// Its content.
    pub content: Content,
}

/// The content at a path.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Content {
    /// A file with this text.
    Text(&'static str),
    /// A program.
    Program(&'static str),
    /// A symbolic link.
    Link(&'static str),
}

/// The root file system's UUID; fixed, since there is never more than one in a guest.
pub const ROOT_UUID: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/// Kernel parameters of every system.
pub const CONSOLE: &str = "console=ttyS0";

const COMMON_PACKAGES: &[&str] = &[
    "systemd",
    "systemd-sysv",
    "udev",
    "kmod",
    "initramfs-tools",
    "linux-image-cloud-amd64",
    "e2fsprogs",
    "zstd",
];

impl System {
    /// All of them.
    pub const ALL: &'static [System] = &[System::Debian12, System::Debian12SystemdBoot];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            System::Debian12 => "debian12",
            System::Debian12SystemdBoot => "debian12-systemd-boot",
        }
    }

    /// Its boot loader.
    pub fn loader(self) -> Loader {
        match self {
            System::Debian12 => Loader::Grub,
            System::Debian12SystemdBoot => Loader::SystemdBoot,
        }
    }

    /// The release to install.
    pub fn release(self) -> &'static str {
        "bookworm"
    }

    /// The archive's suites to install from.
    pub fn suites(self) -> Vec<String> {
        ["", "-updates", "-security"]
            .iter()
            .map(|part| format!("{}{part}", self.release()))
            .collect()
    }

    /// Packages besides the essential ones and the dependencies of these.
    pub fn packages(self) -> Vec<&'static str> {
        let own: &[&str] = match self.loader() {
            Loader::Grub => &["grub-pc"],
            Loader::SystemdBoot => &["systemd-boot", "dosfstools"],
        };
        COMMON_PACKAGES.iter().chain(own).copied().collect()
    }

    /// Answers to questions that packages ask on installation.
    pub fn answers(self) -> &'static str {
        match self.loader() {
            // There is no disk yet on which the boot loader could be installed.
            Loader::Grub => "grub-pc grub-pc/install_devices_empty boolean true",
            Loader::SystemdBoot => "",
        }
    }

    /// Files that no package brings.
    pub fn files(self) -> Vec<File> {
        let text = |path, text| File { path, content: Content::Text(text) };
        let link = |path, target| File { path, content: Content::Link(target) };
        let mut files = vec![
            File {
                path: "usr/local/lib/testbed/agent",
                content: Content::Program(include_str!("../../guest/disk/agent.sh")),
            },
            text(
                "etc/systemd/system/testbed-agent.service",
                include_str!("../../guest/disk/agent.service"),
            ),
            link(
                "etc/systemd/system/multi-user.target.wants/testbed-agent.service",
                "../testbed-agent.service",
            ),
            // A user at the serial line is root without a login.
            text(
                "etc/systemd/system/serial-getty@ttyS0.service.d/login.conf",
                "[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin root --noclear \
                 --keep-baud 115200,57600,38400,9600 %I $TERM\n",
            ),
            text(
                "etc/fstab",
                concat!(
                    "UUID=",
                    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
                    " / ext4 errors=remount-ro 0 1\n"
                ),
            ),
            // A small initial file system is unpacked in no time, also by an emulator.
            text("etc/initramfs-tools/conf.d/testbed", "MODULES=list\nCOMPRESS=zstd\n"),
            text("etc/initramfs-tools/modules", "virtio_pci\nvirtio_blk\next4\n"),
        ];
        // Services that are not needed here, and cost seconds under emulation.
        files.extend(
            [
                "etc/systemd/system/dpkg-db-backup.timer",
                "etc/systemd/system/e2scrub_all.timer",
                "etc/systemd/system/e2scrub_reap.service",
                "etc/systemd/system/fstrim.timer",
                "etc/systemd/system/getty@tty1.service",
                "etc/systemd/system/getty-static.service",
                "etc/systemd/system/systemd-pstore.service",
            ]
            .map(|unit| link(unit, "/dev/null")),
        );
        match self.loader() {
            Loader::Grub => files.push(text(
                "etc/default/grub.d/10-testbed.cfg",
                "GRUB_TIMEOUT=0\nGRUB_TERMINAL=serial\n\
                 GRUB_SERIAL_COMMAND=\"serial --unit=0 --speed=115200\"\n\
                 GRUB_CMDLINE_LINUX=\"console=ttyS0\"\n",
            )),
            Loader::SystemdBoot => files.push(text(
                "etc/kernel/cmdline",
                concat!(
                    "root=UUID=",
                    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
                    " ro console=ttyS0 quiet\n"
                ),
            )),
        }
        files
    }

    /// The script that installs the boot loader, run inside the system's first boot.
    pub fn finish(self) -> &'static str {
        match self.loader() {
            Loader::Grub => include_str!("../../guest/disk/finish-grub.sh"),
            Loader::SystemdBoot => include_str!("../../guest/disk/finish-systemd-boot.sh"),
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        System::ALL.iter().copied().find(|system| system.name() == text).ok_or_else(|| {
            let names: Vec<&str> = System::ALL.iter().map(|system| system.name()).collect();
            format!("no system is called `{text}`; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_systems() {
        for system in System::ALL {
            assert_eq!(system.name().parse(), Ok(*system));
        }
        assert!("plan9".parse::<System>().unwrap_err().contains("debian12-systemd-boot"));
    }

    #[test]
    fn settings_name_the_root_file_system_that_is_made() {
        for system in System::ALL {
            let files = system.files();
            let naming = files.iter().filter(
                |file| matches!(file.content, Content::Text(text) if text.contains("UUID=")),
            );
            for file in naming {
                let Content::Text(text) = file.content else { continue };
                assert!(text.contains(ROOT_UUID), "{}", file.path);
            }
        }
    }

    #[test]
    fn no_system_says_anything_about_clocks() {
        for system in System::ALL {
            assert!(!format!("{:?}", system.files()).contains("clocksource"));
        }
    }
}
