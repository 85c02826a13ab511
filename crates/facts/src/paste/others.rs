//! Commands that show the log or the console of a system that is not the one whose shell runs them.

use super::prompt;

/// How long such a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Its output ends at the next prompt, which is of the shell that ran it.
    Prompt,
    /// A session, in which the other system may print prompts too.
    Left,
}

/// What a command shows of another system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Other {
    /// The other system, if the command names it.
    pub(super) name: Option<String>,
    pub(super) until: Until,
}

/// Commands with a word that makes them show another system: its name follows that word.
const VERBS: [(&str, &str, Until); 25] = [
    ("xl", "console", Until::Left),
    ("xm", "console", Until::Left),
    ("lxc", "console", Until::Left),
    ("incus", "console", Until::Left),
    ("virsh", "console", Until::Left),
    ("qm", "terminal", Until::Left),
    ("virtctl", "console", Until::Left),
    ("ipmitool", "sol", Until::Left),
    ("kubectl", "logs", Until::Prompt),
    ("kubectl", "exec", Until::Prompt),
    ("kubectl", "debug", Until::Prompt),
    ("oc", "logs", Until::Prompt),
    ("oc", "exec", Until::Prompt),
    ("oc", "debug", Until::Prompt),
    ("openstack", "show", Until::Prompt),
    ("nova", "console-log", Until::Prompt),
    ("aws", "get-console-output", Until::Prompt),
    ("gcloud", "get-serial-port-output", Until::Prompt),
    ("gcloud", "ssh", Until::Prompt),
    ("az", "get-boot-log", Until::Prompt),
    ("adb", "shell", Until::Prompt),
    ("adb", "logcat", Until::Prompt),
    ("vagrant", "ssh", Until::Prompt),
    ("limactl", "shell", Until::Prompt),
    ("multipass", "exec", Until::Prompt),
];

/// Options with a value in the next word, which names no system.
const WITH_VALUES: [&str; 9] = [
    "-n",
    "--namespace",
    "-c",
    "--container",
    "--context",
    "-l",
    "--selector",
    "--tail",
    "--since",
];

/// Verbs after which the words that do not begin with `-` do not name a system.
const NAMELESS: [&str; 5] =
    ["sol", "shell", "logcat", "get-console-output", "get-serial-port-output"];

/// Programs that connect to a console.
const CONNECT: [&str; 10] =
    ["minicom", "picocom", "tio", "cu", "socat", "nc", "ncat", "netcat", "telnet", "conman"];

/// Programs that run a guest, whose console is theirs.
const RUN: [&str; 5] = ["qemu-kvm", "kvm", "firecracker", "cloud-hypervisor", "lkvm"];

/// Programs that print a file.
const PRINT: [&str; 15] = [
    "cat", "tail", "head", "less", "more", "grep", "egrep", "zcat", "zgrep", "zless", "bat",
    "strings", "awk", "sed", "tac",
];

/// Names of this machine.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What a command shows of another system; `None` for any other command. The console may also be the serial one of a
/// board.
pub(super) fn opened(command: &str) -> Option<Other> {
    let command = without_wrappers(command.trim());
    let mut words = command.split_ascii_whitespace();
    let program = words.next()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let words: Vec<&str> = words.take_while(|word| !matches!(*word, "|" | "||" | "&&")).collect();
    let shown = |name: Option<&str>, until| Some(Other { name: name.map(str::to_owned), until });
    if program == "ssh" {
        let host = prompt::remote(command)?.host?;
        return if HERE.contains(&host) { None } else { shown(Some(host), Until::Prompt) };
    }
    let verb = |wanted: &str| words.iter().position(|word| *word == wanted);
    let name = |after: usize| {
        let mut names = (after..words.len()).filter(|at| {
            !words[*at].starts_with('-') && !WITH_VALUES.contains(&words[at.saturating_sub(1)])
        });
        names.next().map(|at| words[at])
    };
    if program == "virsh" && verb("--console").is_some() {
        return verb("start").and_then(|at| shown(name(at + 1), Until::Left));
    }
    let known = VERBS.iter().filter(|(of, _, _)| *of == program);
    for (_, wanted, until) in known {
        if let Some(at) = verb(wanted) {
            return shown(name(at + 1).filter(|_| !NAMELESS.contains(wanted)), *until);
        }
    }
    let options = words.is_empty() || words.iter().any(|word| word.starts_with('-'));
    match program {
        "xl" | "xm" if words.first() == Some(&"create") && words.contains(&"-c") => {
            shown(None, Until::Left)
        }
        "screen" if words.first().is_some_and(|device| device.starts_with("/dev/tty")) => {
            shown(None, Until::Left)
        }
        // User Mode Linux: a kernel that is a program.
        "linux" | "vmlinux" if words.iter().any(|word| word.starts_with("ubd")) => {
            shown(None, Until::Left)
        }
        "journalctl" => machine_of(&words).and_then(|name| shown(Some(name), Until::Prompt)),
        "virt-cat" | "virt-log" => {
            let at = verb("-d").or_else(|| verb("-a"))?;
            shown(words.get(at + 1).copied(), Until::Prompt)
        }
        _ if PRINT.contains(&program) => {
            let of_other = words.iter().any(|word| is_of_other(word));
            if of_other { shown(None, Until::Prompt) } else { None }
        }
        _ if CONNECT.contains(&program) => shown(None, Until::Left),
        _ if program.starts_with("qemu-system-") => shown(None, Until::Left),
        _ if RUN.contains(&program) && (options || words.first() == Some(&"run")) => {
            shown(None, Until::Left)
        }
        _ => None,
    }
}

/// The command after `sudo`, `time` and settings of variables.
pub(super) fn without_wrappers(mut command: &str) -> &str {
    const WRAPPERS: [&str; 6] = ["sudo", "doas", "time", "nohup", "env", "setsid"];
    loop {
        let (word, rest) = command.split_once(' ').unwrap_or((command, ""));
        let is_set = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        });
        if !is_set && !WRAPPERS.contains(&word) || rest.is_empty() {
            return command;
        }
        command = rest.trim_start();
        // `sudo -u root`, `sudo -E`.
        while let Some((option, rest)) = command.split_once(' ').filter(|(o, _)| o.starts_with('-'))
        {
            command = rest.trim_start();
            if option == "-u" {
                command = command.split_once(' ').map_or("", |(_, rest)| rest).trim_start();
            }
        }
    }
}

/// The guest whose journal is read: `journalctl -M web3`, `--machine=web3`.
fn machine_of<'a>(words: &[&'a str]) -> Option<&'a str> {
    let name = words.iter().enumerate().find_map(|(at, word)| {
        if matches!(*word, "-M" | "--machine") {
            return words.get(at + 1).copied();
        }
        let long = word.strip_prefix("--machine=");
        long.or_else(|| word.strip_prefix("-M").filter(|name| !name.is_empty()))
    })?;
    let name = name.rsplit_once('@').map_or(name, |(_, name)| name);
    (name != ".host" && !name.is_empty()).then_some(name)
}

/// Whether a path is that of the log which a hypervisor, or a server of consoles, keeps of another system.
fn is_of_other(path: &str) -> bool {
    const PLACES: [&str; 8] = [
        "/qemu/",
        "/lxd/",
        "/incus/",
        "/xen/",
        "/nova/instances/",
        "/conman",
        "/conserver",
        "/consoles/",
    ];
    let path = path.trim_matches(['\'', '"']).to_ascii_lowercase();
    if path.starts_with('-') || path.starts_with("/sys/") || path.starts_with("/proc/") {
        return false;
    }
    let file = path.rsplit('/').next().unwrap_or(&path);
    if file.starts_with("hypervisor") || file.starts_with("console-setup") {
        return false;
    }
    let is_log = file.contains(".log") || file.contains(".txt") || file.contains(".out");
    let of_a_guest = PLACES.iter().any(|place| path.contains(place))
        || ["console", "serial", "guest"].iter().any(|word| file.contains(word));
    is_log && of_a_guest || ["console", "serial"].contains(&file) && path.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_show_another_system_name_it() {
        for (command, name, until) in [
            ("ssh root@10.0.0.7 dmesg", Some("10.0.0.7"), Until::Prompt),
            ("LANG=C sudo -u me ssh -p 22 web3 'dmesg | tail'", Some("web3"), Until::Prompt),
            ("journalctl -M web3 -k", Some("web3"), Until::Prompt),
            ("journalctl --machine=root@web3 -b", Some("web3"), Until::Prompt),
            ("cat /var/log/libvirt/qemu/web3-console.log", None, Until::Prompt),
            ("sudo tail -n 40 /var/lib/lxd/logs/web3/console.log", None, Until::Prompt),
            ("grep -i clock ./web3-serial.log | head", None, Until::Prompt),
            ("kubectl logs launcher-web3 -c console", Some("launcher-web3"), Until::Prompt),
            ("kubectl logs -n kube-system web3", Some("web3"), Until::Prompt),
            ("openstack console log show web3", Some("web3"), Until::Prompt),
            ("adb shell dmesg", None, Until::Prompt),
            ("virt-cat -d web3 /var/log/dmesg", Some("web3"), Until::Prompt),
            ("socat - UNIX-CONNECT:/run/web3.sock", None, Until::Left),
            ("./linux ubda=root.img mem=512M", None, Until::Left),
            ("kvm -m 512 disk.img", None, Until::Left),
        ] {
            let wanted = Other { name: name.map(str::to_owned), until };
            assert_eq!(opened(command), Some(wanted), "{command}");
        }
        for command in [
            "ssh localhost dmesg",
            "ssh web3",
            "journalctl -k -b",
            "journalctl -M .host -k",
            "cat /var/log/kern.log",
            "cat /sys/class/tty/console/active",
            "grep clock /var/log/xen/hypervisor.log",
            "dmesg | grep console",
            "kvm guests boot like this",
            "docker exec web dmesg",
            "virsh list",
            "make linux",
        ] {
            assert_eq!(opened(command), None, "{command}");
        }
    }
}
