//! The guest's system, as far as the virtual machine's file shows it.

use serde::Serialize;

/// The guest's system. What is right for its clock depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Guest {
    /// Linux.
    Linux,
    /// Windows: its clock is Hyper-V's reference page.
    Windows,
    /// macOS.
    Macos,
    /// A BSD.
    Bsd,
    /// Another system that the file names.
    Other,
    /// The file does not say.
    #[default]
    Unknown,
}

/// The guest's system, and whether it is only inferred from a name: then it is shown, but changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) guest: Guest,
    pub(crate) guessed: bool,
}

impl Known {
    /// Returns a system that the file or the command line declares.
    pub(crate) fn declared(guest: Guest) -> Self {
        Self { guest, guessed: false }
    }

    /// Returns the declared system, or, if there is none, the one that names indicate.
    pub(crate) fn of<'a>(
        declared: Option<Guest>,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        match declared.filter(|guest| *guest != Guest::Unknown) {
            Some(guest) => Self::declared(guest),
            None => match Told::of(names) {
                Told::One(guest) => Self { guest, guessed: true },
                Told::Nothing | Told::Several => Self::default(),
            },
        }
    }

    /// Returns the system of a file with several machines: a system that is only inferred from the name of one holds for
    /// the file only if all have it. Of those that are declared, it is the first one.
    pub(crate) fn of_all(machines: &[Self]) -> Guest {
        let first = machines.iter().find(|it| it.guest != Guest::Unknown);
        let Some(first) = first else { return Guest::Unknown };
        let shared = machines.iter().all(|it| it.guest == first.guest);
        if shared || !machines.iter().any(|it| it.guessed) { first.guest } else { Guest::Unknown }
    }

    /// Returns this, or `other` if the system is unknown.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.guest == Guest::Unknown { other } else { self }
    }
}

/// The systems that several names indicate together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Nothing,
    One(Guest),
    /// Names of several systems: nothing is inferred.
    Several,
}

impl Told {
    /// Combines the names. A disk of Windows takes precedence over a name of macOS: scripts for one are copied for the
    /// other, including names.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all: Vec<Guest> = Vec::new();
        let mut disks: Vec<Guest> = Vec::new();
        for name in names {
            let of_name = systems(name);
            if is_disk(name) {
                disks.extend(&of_name);
            }
            all.extend(of_name);
        }
        let only = |of: &[Guest], guest: Guest| of.iter().all(|it| *it == guest);
        match all.first() {
            None => Self::Nothing,
            Some(first) if only(&all, *first) => Self::One(*first),
            Some(_) => {
                let of_both = |it: &Guest| matches!(it, Guest::Windows | Guest::Macos);
                let disk = !disks.is_empty() && only(&disks, Guest::Windows);
                if disk && all.iter().all(of_both) {
                    Self::One(Guest::Windows)
                } else {
                    Self::Several
                }
            }
        }
    }
}

/// Returns whether a name is that of a disk: of its file, or of a drive with one.
pub(crate) fn is_disk(name: &str) -> bool {
    const ENDINGS: [&str; 7] = ["iso", "img", "qcow2", "raw", "vmdk", "vdi", "vhdx"];
    let name = name.split(',').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// Returns the systems that the words of a name indicate.
fn systems(name: &str) -> Vec<Guest> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(Guest::of_words).collect()
}

/// A name of a file without its directories.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Returns whether a name is of a Windows before Vista, which has no reference TSC page of Hyper-V.
pub(crate) fn old_windows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let old = |word: &str| {
        let list = "95 98 98se 9x me nt nt3 nt4 2000 2k 2k3 2k3r2 2003 2003r2 xp xp32 xp64 31 311";
        let pack = word.strip_prefix("xpsp").or_else(|| word.strip_prefix("2ksp"));
        let pack = pack.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
        !word.is_empty() && (pack || list.split(' ').any(|one| one == word))
    };
    // A 3 alone may be any number: in Windows 3 a minor version follows.
    let three = |word: &str, next: &str| word == "3" && matches!(next, "0" | "1" | "11" | "x");
    let mut from = 0..words.len();
    from.any(|at| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        // `windows-server-2003`.
        let edition = usize::from(matches!(next, "server" | "net" | "advanced" | "professional"));
        let word = |n: usize| {
            let beyond = if n == 0 { 0 } else { edition };
            words.get(at + n + beyond).copied().unwrap_or_default()
        };
        let begins = ["windowsserver", "windows", "winserver", "win"];
        if let Some(rest) = begins.iter().find_map(|name| word(0).strip_prefix(name)) {
            let beside = old(rest) || three(rest, word(1));
            beside || rest.is_empty() && (old(word(1)) || three(word(1), word(2)))
        } else {
            // `w3` and `w31` may be numbers of anything.
            let rest = word(0).strip_prefix('w').unwrap_or_default();
            old(rest) && !matches!(rest, "31" | "311" | "me" | "nt")
        }
    })
}

/// Systems without a driver for a clock of a hypervisor.
const UNAWARE: &str = "msdos freedos pcdos drdos dos os2 ecomstation arcaos reactos haiku beos kolibrios menuetos templeos \
    minix minix3 serenity serenityos";

/// Returns whether a guest uses no clock of a hypervisor, so that it loses none if the hypervisor is hidden: macOS, a
/// Windows before Vista, DOS and similar systems. Names show which one it is.
pub(crate) fn unaware<'a>(guest: Guest, names: impl IntoIterator<Item = &'a str>) -> bool {
    let mut names = names.into_iter();
    match guest {
        Guest::Macos => true,
        Guest::Windows => names.any(old_windows),
        Guest::Other => names.any(|name| {
            let name = name.to_ascii_lowercase();
            let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
            words.any(|word| UNAWARE.split_whitespace().any(|system| begins(word, system)))
        }),
        Guest::Linux | Guest::Bsd | Guest::Unknown => false,
    }
}

/// Returns whether a word is the name of a system, possibly with a number: `freedos13`.
fn begins(word: &str, system: &str) -> bool {
    let rest = word.strip_prefix(system);
    rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether a name indicates a system other than Windows. `arch` alone is Arch Linux or a word for a processor:
/// it is enough for doubt, but does not indicate a system.
pub(crate) fn of_another_than_windows(name: &str) -> bool {
    let told = systems(name);
    let arch = || {
        name.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word.eq_ignore_ascii_case("arch"))
    };
    !told.contains(&Guest::Windows) && (!told.is_empty() || arch())
}

/// Returns whether the file name of a kernel is one that only Linux has: arch/x86/boot/Makefile, and the names in
/// distributions.
pub(crate) fn linux_kernel(name: &str) -> bool {
    let name = base(name).to_ascii_lowercase();
    ["vmlinu", "bzimage", "zimage", "linux"].iter().any(|begin| name.starts_with(begin))
        || name == "image"
}

/// Returns whether a kernel's command line has words of Linux, and more than one that other kernels
/// also know (Documentation/admin-guide/kernel-parameters.txt).
pub(crate) fn linux_words(line: &str) -> bool {
    const WHOLE: &str = "ro rw quiet splash nokaslr nomodeset rhgb notsc no-kvmclock nopv nosmp noapic nohpet nolapic single";
    const BEGIN: &str = "root= rootfstype= rootflags= rootwait init= rdinit= console=tty console=hvc console=ttyS earlyprintk= \
        earlycon= loglevel= clocksource= tsc= systemd. net.ifnames= biosdevname= ip=dhcp ip=: selinux= apparmor= \
        modprobe.blacklist= module_blacklist= cgroup_ panic=- cloud-init= ds=nocloud ks= inst.";
    // Xen's own line names its first guest.
    let xen = line.split_whitespace().any(|word| word.starts_with("dom0_"));
    !xen && line.split_whitespace().any(|word| {
        crate::words::listed(WHOLE, word)
            || BEGIN.split_whitespace().any(|begin| word.starts_with(begin))
    })
}

/// Returns whether a name indicates more than one system: `windows-and-linux.sh`.
pub(crate) fn several(name: &str) -> bool {
    let told = systems(name);
    told.iter().any(|other| Some(other) != told.first())
}

/// Words that indicate a system; a number may follow a word. The first line with a match applies:
/// DOS is also Microsoft's.
const WORDS: [(Guest, &str); 6] = [
    (Guest::Other, "msdos freedos pcdos drdos dos"),
    (Guest::Macos, "macos osx hackintosh bigsur opencore"),
    (
        Guest::Windows,
        "windows win winxp winme winnt winnt3 winnt4 winvista winserver windowsserver windowsxp windowsvista tiny10 \
            tiny11 x64fre x86fre w7 w8 w10 w11 w2k microsoft",
    ),
    (Guest::Bsd, "freebsd openbsd netbsd pfsense opnsense"),
    (
        Guest::Other,
        "truenas haiku reactos beos serenity serenityos redox redoxos plan9 9front minix minix3 illumos openindiana omnios \
            smartos solaris hurd qnx vxworks kolibrios menuetos templeos genode os2 ecomstation unikernel unikraft nanos \
            mirageos includeos rumprun",
    ),
    (
        Guest::Linux,
        "linux ubuntu debian fedora centos rhel redhat rocky alma almalinux archlinux suse opensuse sles alpine \
            gentoo nixos manjaro kali coreos cirros",
    ),
];

impl Guest {
    /// Returns the system that a name (of a machine, of a disk, of an operating system in a database) indicates.
    #[must_use]
    pub(crate) fn of_words(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let tells = |token: &str| {
            let is = |word: &&str| {
                let rest = token.strip_prefix(word);
                // `w10` is a Windows, `w1024` is a width.
                let numbered = word.ends_with(|c: char| c.is_ascii_digit());
                rest.is_some_and(|rest| match numbered {
                    // `w10x64kvm`.
                    true => {
                        rest.is_empty() || ["x64", "x86"].iter().any(|arch| rest.starts_with(arch))
                    }
                    false => rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit()),
                })
            };
            let found =
                WORDS.iter().find(|(_, words)| words.split_whitespace().any(|word| is(&word)));
            found.map(|(guest, _)| *guest)
        };
        // "edwin", "darwin" and "goodwin" are not Windows: only whole words match.
        let found: Vec<Self> =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(tells).collect();
        WORDS.iter().map(|(guest, _)| *guest).find(|guest| found.contains(guest))
    }

    /// Returns the system of a name, as `--guest` accepts it.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guest| guest.name() == name)
    }

    /// All systems.
    pub const ALL: [Self; 6] =
        [Self::Linux, Self::Windows, Self::Macos, Self::Bsd, Self::Other, Self::Unknown];

    /// The name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
            Self::Macos => "macos",
            Self::Bsd => "bsd",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_windows_is_told_by_whole_words() {
        for name in ["win2000.img", "winxp", "windows-xp-sp3", "w2k", "Win98SE.qcow2", "WindowsXP"]
        {
            assert!(old_windows(name), "{name}");
        }
        for name in [
            "windows2003-install",
            "Windows Server 2003",
            "winserver2003.iso",
            "http://microsoft.com/win/2k3r2",
            "winxpsp3",
            "WinXP64",
            "winnt4.0",
        ] {
            assert!(old_windows(name), "{name}");
        }
        for name in ["win10", "windows_server_2019", "win2k22", "windows 7", "xp", "w-2000", "win"]
        {
            assert!(!old_windows(name), "{name}");
        }
    }

    #[test]
    fn old_windows_is_not_a_three_of_something() {
        for name in ["win3.1", "windows-3.11", "win31", "Windows 3.1.img", "win 3.x"] {
            assert!(old_windows(name), "{name}");
        }
        for name in ["w3.sh", "boot-windows3.sh", "windows-3.sh", "win3.qcow2", "w31", "3", "w"] {
            assert!(!old_windows(name), "{name}");
        }
    }

    #[test]
    fn systems_without_a_clock_of_a_hypervisor() {
        for (guest, name, expected) in [
            (Guest::Other, "freedos.sh", true),
            (Guest::Other, "haiku-r1.iso", true),
            (Guest::Other, "FreeDOS13", true),
            (Guest::Other, "http://freedos.org/freedos/1.2", true),
            (Guest::Other, "redox", false),
            (Guest::Other, "doser", false),
            (Guest::Windows, "winxp.img", true),
            (Guest::Windows, "win10.img", false),
            (Guest::Macos, "a", true),
            (Guest::Linux, "dos", false),
            (Guest::Unknown, "haiku", false),
        ] {
            assert_eq!(unaware(guest, [name]), expected, "{guest:?} {name}");
        }
    }

    #[test]
    fn names_that_contradict_each_other_tell_nothing() {
        for (names, told) in [
            (&["vm1", "disk.img"][..], Told::Nothing),
            (
                &["win10", "windows.iso", "virtio-win-0.1.iso,media=cdrom"],
                Told::One(Guest::Windows),
            ),
            (&["ubuntu", "debian.iso"], Told::One(Guest::Linux)),
            (&["macos", "windows.iso"], Told::One(Guest::Windows)),
            (&["osx-boot.sh", "windows_hdd.img,format=qcow2"], Told::One(Guest::Windows)),
            (&["macos", "win10"], Told::Several),
            (&["win10", "OpenCore.qcow2"], Told::Several),
            (&["windows.iso", "OpenCore.qcow2"], Told::Several),
            (&["win10", "ubuntu.iso"], Told::Several),
            (&["windows-and-linux"], Told::Several),
        ] {
            assert_eq!(Told::of(names.iter().copied()), told, "{names:?}");
        }
        assert_eq!(Known::of(None, ["macos", "win10"]), Known::default());
        assert_eq!(Known::of(Some(Guest::Bsd), ["macos", "win10"]), Known::declared(Guest::Bsd));
        assert_eq!(Guest::of_words("w1024"), None);
    }

    #[test]
    fn names_tell() {
        assert_eq!(Guest::of_words("http://microsoft.com/win/10"), Some(Guest::Windows));
        assert_eq!(Guest::of_words("macOS_Catalina"), Some(Guest::Macos));
        assert_eq!(Guest::of_words("http://ubuntu.com/ubuntu/22.04"), Some(Guest::Linux));
        for name in [
            "QEMUGuest1",
            "edwin-db1",
            "/srv/edwin-vms/a",
            "darwin-builder",
            "monterey-db",
            "goodwin-web",
            "w10y.img",
        ] {
            assert_eq!(Guest::of_words(name), None, "{name}");
        }
        for name in [
            "win",
            "Win10",
            "win2k22",
            "my-win-11",
            "windows_server",
            "w11",
            "w10x64kvm.sh",
            "WindowsServer2022.qcow2",
            "20348.169.210806-2348.fe_release_svc_SERVER_EVAL_x64FRE_en-us.iso",
            "tiny11.iso",
        ] {
            assert_eq!(Guest::of_words(name), Some(Guest::Windows), "{name}");
        }
        for guest in Guest::ALL {
            assert_eq!(Guest::of_name(guest.name()), Some(guest));
        }
    }
}
