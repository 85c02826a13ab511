//! Commands at a prompt that may print lines of the kernel's log, or print nothing that users chose. A line with the
//! kernel's stamp below any other command is of that command's output: a name, a banner, a row of a table.

/// Commands that print the kernel's log, or that begin a console or a boot, on which the kernel prints. Also commands that
/// print nothing of their own, so that the kernel's line came from the console, and those that print figures of the
/// machine.
const NAMES: [&str; 84] = [
    "dmesg",
    "journalctl",
    "klogd",
    "logread",
    "klog",
    "crash",
    "log",
    "printk",
    "abrt-cli",
    "kdump",
    // Consoles and boots.
    "virsh",
    "xl",
    "xm",
    "minicom",
    "picocom",
    "cu",
    "conserver",
    "ipmiconsole",
    "telnet",
    "ssh",
    "mosh",
    "pssh",
    "pdsh",
    "clush",
    "ansible",
    "salt",
    "adb",
    "talosctl",
    "vagrant",
    "kexec",
    "reboot",
    "shutdown",
    "poweroff",
    "boot",
    "bootm",
    "bootz",
    "booti",
    "run",
    "load",
    "go",
    "uml",
    "linux",
    "vmrun",
    "vng",
    "virtme-run",
    "make",
    // Without an output of their own.
    "echo",
    "printf",
    "tee",
    "modprobe",
    "insmod",
    "rmmod",
    "rtcwake",
    "pm-suspend",
    "sleep",
    "sync",
    "cd",
    "true",
    "cpupower",
    "swapoff",
    "swapon",
    "chrt",
    "taskset",
    "stress",
    "stress-ng",
    // Figures of the machine.
    "uname",
    "uptime",
    "date",
    "lscpu",
    "nproc",
    "sysctl",
    "free",
    "vmstat",
    "hwclock",
    "rdmsr",
    "turbostat",
    "cpuid",
    "clocksmith",
    "clocksource-switch",
    "arch",
    "hostid",
    "id",
    "numactl",
    "mpstat",
];
/// Parts of words that name such a log, a console or an emulator.
const PARTS: [&str; 17] = [
    "dmesg",
    "kern.log",
    "kernel",
    "messages",
    "syslog",
    "console",
    "serial",
    "tty",
    "boot",
    "kmsg",
    "journal",
    "qemu",
    "netconsole",
    "vmcore",
    "clock",
    "tsc",
    "vmlinu",
];
/// Programs that print files.
const READERS: [&str; 29] = [
    "cat", "head", "tail", "more", "less", "grep", "egrep", "fgrep", "awk", "sed", "cut", "sort",
    "uniq", "wc", "nl", "xxd", "od", "column", "tr", "for", "bat", "tac", "xzcat", "bzcat",
    "xzgrep", "bzgrep", "zstdcat", "find", "xargs",
];
/// Subcommands after which the machine sleeps or begins again.
const OF_SYSTEMCTL: [&str; 6] =
    ["suspend", "hibernate", "hybrid-sleep", "reboot", "kexec", "poweroff"];
/// Files of `/proc` and `/sys` with names that users chose.
const CHOSEN: [&str; 12] = [
    "/proc/net",
    "/environ",
    "/comm",
    "/maps",
    "/status",
    "/mounts",
    "/mountinfo",
    "/sys/fs/cgroup",
    "/sys/bus/usb",
    "/sys/class",
    "/proc/self",
    "/proc/keys",
];

/// Whether lines with the kernel's stamp below a command may be the kernel's. `skip` has the words that are before a
/// command.
pub(super) fn may_print(command: &str, skip: &[&str]) -> bool {
    if command.is_empty() {
        return true;
    }
    // A file of another user, or a program that another one runs, says nothing of this log.
    command.split(['|', ';', '&', '(', '`']).any(|part| {
        let mut words = part
            .split_ascii_whitespace()
            .map(|word| word.trim_matches(['\'', '"', '{', '}', '$', ')', '\\']))
            .skip_while(|word| skip.contains(word) || word.starts_with('-') || word.contains('='));
        let Some(word) = words.next() else { return false };
        let name = word.rsplit('/').next().unwrap_or(word);
        let rest: Vec<&str> = words.collect();
        let names_a_log = |word: &&str| PARTS.iter().any(|text| word.contains(text));
        if READERS.contains(&name) || name.starts_with('z') && READERS.contains(&&name[1..]) {
            // A pattern may name the clock, and a file has to name a log.
            let paths = || rest.iter().filter(|word| word.contains('/') || word.contains('.'));
            return paths().any(|word| names_a_log(word) || is_of_the_kernel(word))
                || rest.iter().any(|word| is_of_the_kernel(word) || word.starts_with("dmesg"));
        }
        NAMES.contains(&name)
            || names_a_log(&name)
            || name == "ipmitool" && rest.contains(&"sol")
            || name == "systemctl" && rest.iter().any(|word| OF_SYSTEMCTL.contains(word))
            || matches!(
                name,
                "docker" | "podman" | "kubectl" | "nerdctl" | "lxc" | "bash" | "sh" | "sudo" | "su"
            ) && rest.iter().any(names_a_log)
    })
}

/// Whether a file has only what the kernel or an administrator wrote.
fn is_of_the_kernel(path: &str) -> bool {
    (path == "/sys" || path.starts_with("/sys/") || path.starts_with("/proc/"))
        && !CHOSEN.iter().any(|text| path.contains(text))
        && !path.strip_prefix("/proc/").is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_digit() || c == '*' || c == '$')
        })
}

#[cfg(test)]
mod tests {
    use super::may_print;

    #[test]
    fn commands_that_print_the_kernels_log_are_told_from_others() {
        for command in [
            "dmesg",
            "sudo dmesg -T | grep -i tsc",
            "journalctl -k -b",
            "cat /var/log/kern.log",
            "zgrep tsc /var/log/messages*",
            "tail -n 20 dmesg.txt",
            "ssh kvm1 dmesg",
            "virsh console web3",
            "echo hpet > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "grep . /sys/devices/system/clocksource/clocksource0/*",
            "cat /proc/cmdline",
            "systemctl suspend",
            "uname -r; uptime",
            "docker exec x dmesg",
            "",
        ] {
            assert!(may_print(command, &["sudo"]), "{command}");
        }
        for command in [
            "cat /proc/net/unix",
            "tr '\\0' '\\n' < /proc/1234/environ",
            "cut -d: -f5 /etc/passwd",
            "psql -c \"select note from t\"",
            "nmap -sV 10.0.0.7",
            "openssl x509 -subject -in c.pem",
            "snmpwalk -v2c -c public sw1 sysDescr",
            "strace -p 4242",
            "cat /var/log/app.log",
            "sudo -u bob /home/bob/x",
            "sha256sum /tmp/a",
            "lldpctl",
            "hostnamectl",
            "git log -1 --format=%s",
            "./anything",
        ] {
            assert!(!may_print(command, &["sudo"]), "{command}");
        }
    }
}
