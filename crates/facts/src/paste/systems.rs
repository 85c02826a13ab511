//! Texts of systems other than Linux: by the output of `uname`, by a command that only they have, or by their name in a text that
//! has no word of Linux.

use super::prompt;

/// First words of the output of `uname -a`, and the system.
const UNAME: [(&str, &str); 6] = [
    ("SunOS", "illumos or Solaris"),
    ("FreeBSD", "FreeBSD"),
    ("NetBSD", "NetBSD"),
    ("OpenBSD", "OpenBSD"),
    ("DragonFly", "DragonFly BSD"),
    ("Darwin", "macOS"),
];
/// Commands, with a blank behind them, that only one of these systems has.
const COMMANDS: [(&str, &str); 9] = [
    ("mdb -k", "illumos or Solaris"),
    ("svcadm ", "illumos or Solaris"),
    ("zoneadm ", "illumos or Solaris"),
    ("zlogin ", "illumos or Solaris"),
    ("sysctl kern.timecounter", "FreeBSD or a system derived from it"),
    ("sysctl kern.eventtimer", "FreeBSD or a system derived from it"),
    ("freebsd-update ", "FreeBSD"),
    ("pfctl ", "a BSD or macOS"),
    ("sw_vers", "macOS"),
];
/// Names of systems in small letters, as whole words.
const NAMES: [(&str, &str); 14] = [
    ("illumos", "illumos"),
    ("omnios", "illumos"),
    ("smartos", "illumos"),
    ("openindiana", "illumos"),
    ("solaris", "illumos or Solaris"),
    ("sunos", "illumos or Solaris"),
    ("freebsd", "FreeBSD"),
    ("opnsense", "FreeBSD"),
    ("pfsense", "FreeBSD"),
    ("netbsd", "NetBSD"),
    ("openbsd", "OpenBSD"),
    ("macos", "macOS"),
    ("os x", "macOS"),
    ("darwin", "macOS"),
];
/// Beginnings of words of Linux, of its distributions, of what runs on it and of its tools: with any of them a text may show a
/// machine with Linux, on or beside another system.
const LINUX: [&str; 62] = [
    "linux",
    "ubuntu",
    "debian",
    "mint",
    "centos",
    "fedora",
    "rhel",
    "red hat",
    "redhat",
    "rocky",
    "almalinux",
    "suse",
    "sles",
    "gentoo",
    "nixos",
    "alpine",
    "raspberry",
    "raspbian",
    "openwrt",
    "proxmox",
    "unraid",
    "truenas scale",
    "android",
    "qubes",
    "wsl",
    "docker",
    "podman",
    "container",
    "kubernetes",
    "k8s",
    "kubectl",
    "colima",
    "lima",
    "orbstack",
    "multipass",
    "minikube",
    "vagrant",
    "virtualbox",
    "vmware",
    "parallels",
    "utm",
    "qemu",
    "kvm",
    "hyper-v",
    "xen",
    "firecracker",
    "systemd",
    "timedatectl",
    "journalctl",
    "/sys/",
    "/proc/",
    "vdso",
    "clocksource",
    "clock source",
    "lscpu",
    "jiffies",
    "kernel:",
    "acpi_pm",
    "hwclock",
    "adjtimex",
    "el7",
    "virtual machine",
];

/// The system other than Linux that a text is of.
#[must_use]
pub fn other_system(lines: &[String]) -> Option<&'static str> {
    let of_output = |line: &String| {
        let line = line.trim();
        let mut words = line.split_ascii_whitespace();
        let (first, rest) = (words.next()?, words);
        let (_, name) = UNAME.iter().find(|(word, _)| *word == first)?;
        // Name, host and release: `SunOS omni 5.11 omnios-r151038 i86pc`.
        let release = rest
            .take(2)
            .any(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
        release.then_some(*name)
    };
    let of_command = |line: &String| {
        let command = prompt::read(line).map_or_else(
            || line.trim().trim_start_matches(['#', '$', '%', ' ']),
            |found| found.command,
        );
        let command = command.strip_prefix("sudo ").unwrap_or(command);
        COMMANDS.iter().find(|(begin, _)| command.starts_with(begin)).map(|(_, name)| *name)
    };
    let text = lines.join("\n").to_lowercase();
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let begins = |at: usize| !text[..at].chars().next_back().is_some_and(is_part);
    // A release may follow: `FreeBSD13`, `omniosce`.
    let has = |word: &str| text.match_indices(word).any(|(at, _)| begins(at));
    if LINUX.iter().any(|word| has(word)) {
        return None;
    }
    let named = || NAMES.iter().find(|(word, _)| has(word)).map(|(_, name)| *name);
    lines.iter().find_map(of_output).or_else(|| lines.iter().find_map(of_command)).or_else(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&'static str> {
        other_system(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    const TRACKING: &str = "# chronyc tracking\nStratum         : 3\nLeap status     : Normal\n";

    #[test]
    fn systems_are_known_by_uname_by_a_command_and_by_name() {
        for (text, name) in [
            ("# uname -a\nSunOS box 5.11 x i86pc i386 i86pc\n", "illumos or Solaris"),
            ("# mdb -kwe dosynctodr/z0\n", "illumos or Solaris"),
            ("On my FreeBSD 13 box:\n", "FreeBSD"),
            ("NetBSD 10 at home\n", "NetBSD"),
            ("I use macOS 14.\n", "macOS"),
        ] {
            assert_eq!(of(&format!("{text}{TRACKING}")), Some(name), "{text}");
        }
    }

    #[test]
    fn texts_with_a_word_of_linux_are_not_of_another_system() {
        for text in [
            "macOS with Docker Desktop:\n",
            "The guest has Linux, the host FreeBSD\n",
            "Ubuntu 22.04; the NTP server has OpenBSD\n",
            "my server\n",
            "FreeBSD guest on KVM: /sys/devices shows\n",
        ] {
            assert_eq!(of(&format!("{text}{TRACKING}")), None, "{text}");
        }
    }
}
