//! Whose lines the output of a command has. Of any command it is not known; those of a few are the kernel's alone: a
//! command that prints the kernel's log, also through filters, and one that prints nothing of its own, so that a line
//! with the kernel's stamp came from the console. All others may print what a user wrote, and a list of them is never
//! complete.

use super::kernel_log;
use crate::paste::parts::{Command, pipelines};

/// What a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Prints {
    /// Nothing, or figures of the machine; or the console of a machine or its boot follows.
    Nothing,
    /// Of the command nothing is known.
    Unknown,
    /// The kernel's log.
    Log,
    /// A file that is not known as a log of the kernel, or the output of a user's own program.
    Others,
}

/// Directories of programs that the system has.
const OF_THE_SYSTEM: [&str; 6] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];
/// Words before a command, which run it as it is.
const BEFORE: [&str; 22] = [
    "sudo", "doas", "time", "nice", "ionice", "command", "exec", "nohup", "setsid", "stdbuf",
    "unbuffer", "do", "then", "else", "{", "(", "!", "env", "busybox", "toybox", "watch",
    "timeout",
];
/// Options of these with a value behind them.
const WITH_VALUES: [&str; 6] = ["-u", "-n", "-g", "--user", "--interval", "--adjustment"];

/// Commands that print the kernel's log.
const LOGS: [&str; 6] = ["dmesg", "logread", "klogd", "klog", "log", "crash"];
/// Commands after which the kernel prints on a console, or that print nothing of their own.
const QUIET: [&str; 67] = [
    // Consoles and boots.
    "xl",
    "xm",
    "minicom",
    "picocom",
    "tio",
    "kermit",
    "cu",
    "conserver",
    "ipmiconsole",
    "telnet",
    "mosh",
    "vagrant",
    "kexec",
    "reboot",
    "shutdown",
    "poweroff",
    "boot",
    "bootm",
    "bootz",
    "booti",
    "bootefi",
    "run",
    "load",
    "go",
    "uml",
    "linux",
    "vmrun",
    "vng",
    "virtme-run",
    // Without an output of their own.
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
    "for",
    "done",
    "}",
    ")",
    "exit",
    "init",
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
    "arch",
    "numactl",
    "mpstat",
];
/// Programs that print files, with whether their first word is a pattern or a program.
const READERS: [(&str, bool); 40] = [
    ("cat", false),
    ("zcat", false),
    ("gzcat", false),
    ("xzcat", false),
    ("bzcat", false),
    ("zstdcat", false),
    ("bat", false),
    ("tac", false),
    ("nl", false),
    ("head", false),
    ("tail", false),
    ("more", false),
    ("less", false),
    ("zless", false),
    ("zmore", false),
    ("xzless", false),
    ("view", false),
    ("vi", false),
    ("vim", false),
    ("nano", false),
    ("grep", true),
    ("egrep", true),
    ("fgrep", true),
    ("zgrep", true),
    ("zegrep", true),
    ("xzgrep", true),
    ("bzgrep", true),
    ("rg", true),
    ("ag", true),
    ("awk", true),
    ("gawk", true),
    ("sed", true),
    ("cut", false),
    ("sort", false),
    ("uniq", false),
    ("column", false),
    ("strings", false),
    ("tee", false),
    ("xxd", false),
    ("lnav", false),
];
/// Parts of names of files that have the kernel's lines.
const NAMES: [&str; 11] = [
    "dmesg", "kern", "messages", "syslog", "console", "serial", "tty", "kmsg", "journal", "vmcore",
    "boot",
];
/// Places of virtual files whose text users choose.
const CHOSEN: [&str; 14] = [
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
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/proc/self",
    "/proc/keys",
];
/// Subcommands after which the machine sleeps or begins again.
const OF_SYSTEMCTL: [&str; 6] =
    ["suspend", "hibernate", "hybrid-sleep", "reboot", "kexec", "poweroff"];

/// What a command line prints, with everything that it runs.
pub(super) fn of(line: &str) -> Prints {
    of_depth(line, 0)
}

fn of_depth(line: &str, depth: u8) -> Prints {
    let pipelines = pipelines(line);
    // The first command of a pipeline decides: the others filter.
    pipelines
        .iter()
        .filter_map(|commands| commands.first())
        .map(|command| of_command(command, depth))
        .max()
        .unwrap_or(Prints::Nothing)
}

/// Whether a command line begins with a program that prints files: no kernel begins to boot in a file.
pub(super) fn prints_files(line: &str) -> bool {
    pipelines(line).iter().filter_map(|commands| commands.first()).any(|command| {
        let command = bare(command);
        name(command.program()).is_some_and(|name| READERS.iter().any(|(known, _)| *known == name))
    })
}

/// The command itself: without `sudo` and similar words, their options, and variables.
pub(super) fn bare(command: &Command) -> Command {
    let mut words = command.words.iter().map(String::as_str).peekable();
    let mut first = true;
    while let Some(word) = words.peek().copied() {
        if BEFORE.contains(&word) {
            words.next();
            // `sudo -u bob`, `nice -n 5`, `timeout 5`.
            while let Some(option) = words.next_if(|word| word.starts_with('-')) {
                if WITH_VALUES.contains(&option) {
                    words.next();
                }
            }
            if word == "timeout" {
                words.next();
            }
            first = false;
            continue;
        }
        let is_variable = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        if !is_variable {
            break;
        }
        words.next();
    }
    let mut left: Vec<String> = words.map(str::to_owned).collect();
    // `watch 'dmesg | tail'`.
    if !first && left.len() == 1 && left[0].contains(' ') {
        left = left[0].split_ascii_whitespace().map(str::to_owned).collect();
    }
    Command { words: left, ..command.clone() }
}

/// The name of a program of the system; `None` for one in another directory.
fn name(program: &str) -> Option<&str> {
    if !program.contains('/') {
        return Some(program);
    }
    let name = OF_THE_SYSTEM.iter().find_map(|place| program.strip_prefix(place))?;
    (!name.contains('/')).then_some(name)
}

fn of_command(command: &Command, depth: u8) -> Prints {
    let command = &bare(command);
    let Some(name) = name(command.program()) else { return Prints::Others };
    let has = |wanted: &str| command.rest().any(|word| word == wanted);
    if name == "dmesg" {
        return kernel_log::of_dmesg(command);
    }
    if name == "journalctl" {
        return if kernel_log::is_of_the_kernel_alone(command) {
            Prints::Log
        } else {
            Prints::Others
        };
    }
    if LOGS.contains(&name) {
        return Prints::Log;
    }
    if let Some((_, has_pattern)) = READERS.iter().find(|(known, _)| *known == name) {
        return of_files(command, *has_pattern);
    }
    if let Some(inner) = inner(name, command).filter(|_| depth < 3) {
        return of_depth(&inner, depth + 1);
    }
    let is_sure = match name {
        "" => command.input.is_none(),
        // What they print is in the line itself.
        "echo" | "printf" => {
            command.is_written || !command.rest().any(|word| word.contains(['$', '`']))
        }
        "find" => {
            command.rest().take_while(|word| word.starts_with('/')).all(is_virtual)
                && command.rest().any(|word| word.starts_with('/'))
        }
        "systemctl" => command.rest().any(|word| OF_SYSTEMCTL.contains(&word)),
        "virsh" => ["console", "start", "create", "reboot", "reset"].iter().any(|word| has(word)),
        "ipmitool" => has("sol"),
        "screen" => command.rest().any(|word| word.starts_with("/dev/")),
        "make" => command.rest().any(|word| {
            ["run", "qemu", "boot", "vm", "console"].iter().any(|part| word.contains(part))
        }),
        "aws" | "az" | "gcloud" | "oci" | "openstack" | "nova" | "govc" => command
            .rest()
            .any(|word| ["console", "serial", "boot-log"].iter().any(|part| word.contains(part))),
        _ => QUIET.contains(&name) || is_emulator(name),
    };
    if is_sure { Prints::Nothing } else { Prints::Unknown }
}

fn is_emulator(name: &str) -> bool {
    ["qemu", "console", "kvm", "clocksource", "vmlinu", "firecracker", "crosvm", "cloud-hypervisor"]
        .iter()
        .any(|part| name.contains(part))
}

/// What a program prints that shows files: all of them have to be the kernel's.
fn of_files(command: &Command, has_pattern: bool) -> Prints {
    let named = command.rest().any(|word| word.starts_with("-e") || word.starts_with("--regexp"));
    let words: Vec<&str> = command
        .rest()
        .filter(|word| !word.starts_with('-'))
        .filter(|word| !word.bytes().all(|b| b.is_ascii_digit()))
        .skip(usize::from(has_pattern && !named))
        .chain(command.input.as_deref())
        .collect();
    if words.is_empty() && (command.is_written || command.words.len() == 1) {
        return Prints::Nothing;
    }
    // A word that is a value of an option looks like no file.
    let looks = |word: &&str| word.contains('/') || word.contains('.') || is_kernel_log(word);
    let files: Vec<&str> =
        if words.iter().any(looks) { words.into_iter().filter(looks).collect() } else { words };
    if !files.is_empty() && files.iter().all(|file| is_virtual(file) && !is_kernel_log(file)) {
        return Prints::Nothing;
    }
    let are_logs =
        !files.is_empty() && files.iter().all(|file| is_kernel_log(file) || is_virtual(file));
    if are_logs { Prints::Log } else { Prints::Others }
}

/// Whether a file is a log with the kernel's lines, as its name says.
pub(crate) fn is_kernel_log(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part))
}

/// Whether a file has only what the kernel or an administrator wrote.
pub(super) fn is_virtual(path: &str) -> bool {
    (path == "/sys" || path.starts_with("/sys/") || path.starts_with("/proc/"))
        && !path.contains("/../")
        && !CHOSEN.iter().any(|text| path.contains(text))
        && !path.strip_prefix("/proc/").is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_digit() || c == '*' || c == '$')
        })
}

/// The command that another one runs as its argument on this machine, or on another one: `sh -c`, `su -c`, `ssh`.
fn inner(name: &str, command: &Command) -> Option<String> {
    let words: Vec<&str> = command.rest().collect();
    let behind = |at: usize| words.get(at..).map(|words| words.join(" "));
    match name {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "su" => {
            let at = words.iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
            words.get(at + 1).map(|word| (*word).to_owned())
        }
        "ssh" => {
            // `ssh $h dmesg`.
            if let Some(host) = words.iter().position(|word| word.starts_with('$')) {
                return behind(host + 1);
            }
            let line = format!("ssh {}", words.join(" "));
            crate::paste::prompt::remote(&line)
                .map_or(Some(String::new()), |found| Some(found.command.to_owned()))
        }
        "adb" => {
            let at = words.iter().position(|word| *word == "shell")?;
            behind(at + 1)
        }
        // The command is one of the words, or the last one.
        "talosctl" | "ansible" | "salt" | "pdsh" | "pssh" | "clush" | "dsh" | "parallel-ssh" => {
            let at = words.iter().position(|word| {
                ["dmesg", "journalctl", "cat", "grep", "tail", "head", "sh", "sudo"]
                    .iter()
                    .any(|known| word.split(' ').next() == Some(known))
            })?;
            behind(at)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_print_the_kernels_log_are_told_from_others() {
        for command in [
            "dmesg",
            "sudo dmesg -T | grep -i tsc",
            "sudo -u bob dmesg -T",
            "LC_ALL=C /bin/dmesg 2>&1 | tail -n 3",
            "dmesg -F dmesg.txt",
            "journalctl -k -b",
            "journalctl -k -o cat",
            "journalctl -b -1 --no-pager | grep clocksource",
            "journalctl -D /mnt/var/log/journal -k",
            "cat /var/log/kern.log",
            "zgrep tsc /var/log/messages*",
            "tail -n 20 dmesg.txt",
            "less /var/log/boot.log",
            "cat /proc/kmsg",
            "sed -n 1,20p console.txt",
            "ssh kvm1 dmesg",
            "sh -c 'dmesg | grep tsc'",
            "su -c dmesg",
            "uname -r; dmesg | tail",
            "for h in a b; do ssh $h dmesg; done",
            "watch -n 1 'dmesg | tail'",
            "lsb_release -a; dmesg",
        ] {
            assert_eq!(of(command), Prints::Log, "{command}");
        }
        for command in [
            "virsh console web3",
            "minicom -D /dev/ttyUSB0",
            "screen /dev/ttyUSB0 115200",
            "qemu-system-x86_64 -kernel bzImage",
            "make run-qemu",
            "echo hpet > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "grep . /sys/devices/system/clocksource/clocksource0/*",
            "cat /proc/cmdline",
            "systemctl suspend",
            "uname -r; uptime",
            "ssh db2",
            "",
        ] {
            assert_eq!(of(command), Prints::Nothing, "{command}");
        }
    }

    #[test]
    fn output_of_another_command_is_not_the_kernels() {
        for command in [
            "cat /proc/net/unix",
            "tr '\\0' '\\n' < /proc/1234/environ",
            "cut -d: -f5 /etc/passwd",
            "psql -c \"select note from t\"",
            "nmap -sV 10.0.0.7",
            "openssl x509 -subject -in c.pem",
            "cat /var/log/app.log",
            "sudo -u bob /home/bob/x",
            "git log -1 --format=%s",
            "./anything",
            // Their words name the log, and they print another one.
            "./dmesg",
            "/tmp/dmesg",
            "~bob/bin/dmesg",
            "dmesg --file /tmp/x",
            "docker exec app dmesg",
            "podman exec app cat /proc/kmsg",
            "chroot /srv/bob dmesg",
            "cat /tmp/x # dmesg",
            "cat /tmp/x | grep dmesg",
            "cat /tmp/x; dmesg",
            "echo dmesg; cat /tmp/x",
            "printf dmesg; ./app",
            "echo $BOB",
            "bash -c 'cat /tmp/x' dmesg",
            "watch dmesg-app",
            "tee < /tmp/x",
            "grep -r clocksource /home",
            "journalctl -u app -o cat",
            "journalctl -o cat",
            "journalctl _UID=1000",
            "journalctl -t kernel",
            "journalctl SYSLOG_IDENTIFIER=kernel",
            "journalctl --facility=user",
            "journalctl --user",
            "journalctl --file /tmp/x.journal -k",
            "cat /sys/kernel/debug/tracing/trace",
            "cat /sys/../tmp/x",
            "virsh dumpxml web1",
            "make",
            "kdump",
            "abrt-cli list",
            "strings f | grep clocksource",
        ] {
            assert!(matches!(of(command), Prints::Others | Prints::Unknown), "{command}");
        }
    }
}
