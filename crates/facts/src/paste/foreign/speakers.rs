//! Commands at a prompt that may print a labelled reading of the clocksource. Any other command that does so prints
//! names that users chose, and the list of those is never complete.

/// Commands that print files, run others, or report on the machine.
const SPEAKERS: [&str; 95] = [
    // Files.
    "cat",
    "zcat",
    "bat",
    "head",
    "tail",
    "more",
    "less",
    "zless",
    "zmore",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "cut",
    "column",
    "paste",
    "xxd",
    "hexdump",
    "od",
    "nl",
    "tac",
    "view",
    "vi",
    "vim",
    "nano",
    // Shells and their words.
    "echo",
    "printf",
    "for",
    "while",
    "if",
    "do",
    "{",
    "(",
    "source",
    ".",
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "su",
    "chroot",
    "nsenter",
    "busybox",
    "perl",
    "ruby",
    "node",
    "java",
    "go",
    "make",
    "cargo",
    "pwsh",
    // Other machines.
    "ssh",
    "mosh",
    "telnet",
    "pssh",
    "pdsh",
    "dsh",
    "clush",
    "parallel",
    "parallel-ssh",
    "ansible",
    "ansible-playbook",
    "salt",
    "salt-ssh",
    "fab",
    "bolt",
    "mco",
    "knife",
    "talosctl",
    "vagrant",
    "multipass",
    "adb",
    "gcloud",
    "aws",
    "az",
    // Reports on the machine.
    "dmesg",
    "sysctl",
    "lscpu",
    "hostnamectl",
    "inxi",
    "facter",
    "ohai",
    "sos",
    "xsos",
    "hwinfo",
    "lshw",
    "tuned-adm",
];
/// Parts of names of such commands: of interpreters with their version, of the user's own tools, of consoles.
const PARTS: [&str; 13] = [
    "clock", "time", "python", "tsc", "info", "report", "fetch", "console", "qemu", "minicom",
    "picocom", "bench", "check",
];
/// Ends of names of scripts.
const SCRIPTS: [&str; 4] = [".sh", ".py", ".pl", ".rb"];
/// Text in any part of a command that prints files or the output of other commands.
const READS: [&str; 9] =
    ["clocksource", "/sys", "/proc", "$(", "`", "xargs", "-exec", "<<", "console"];
/// Commands that run others in a container or on a node, with the subcommands for that.
const CONTAINERS: [&str; 9] =
    ["docker", "podman", "nerdctl", "crictl", "kubectl", "oc", "lxc", "machinectl", "virsh"];
const RUNS: [&str; 7] = ["exec", "run", "debug", "node-shell", "shell", "rsh", "attach"];

/// Whether a command may print a labelled reading; an empty one too, because anything may follow it. `skip` has the words
/// that are before a command.
pub(super) fn may_speak(command: &str, skip: &[&str]) -> bool {
    if prints_files_of_users(command, skip) {
        return false;
    }
    if command.is_empty() || READS.iter().any(|text| command.contains(text)) {
        return true;
    }
    command.split(['|', ';', '&']).any(|part| {
        let mut words = part
            .split_ascii_whitespace()
            .skip_while(|word| skip.contains(word) || word.starts_with('-') || word.contains('='));
        let Some(word) = words.next() else { return false };
        let name = word.rsplit('/').next().unwrap_or(word);
        let standard = word.starts_with("/usr/bin/") || word.starts_with("/bin/");
        // A program of the user's own: `./state`, `/opt/x/state`.
        let own = word.contains('/') && !standard && !word.contains("://");
        own || SPEAKERS.contains(&name)
            || SCRIPTS.iter().any(|end| name.ends_with(end))
            || PARTS.iter().any(|text| name.contains(text))
            || CONTAINERS.contains(&name) && words.any(|word| RUNS.contains(&word))
    })
}

/// Programs that print the files after them.
const PRINT: [&str; 19] = [
    "cat", "zcat", "bat", "head", "tail", "more", "less", "zless", "zmore", "grep", "egrep",
    "fgrep", "zgrep", "rg", "ag", "nl", "tac", "view", "strings",
];
/// Where other users, and programs that repeat what users send, write.
const OF_USERS: [&str; 6] = ["/home", "/var/log", "/var/www", "/var/spool", "/srv", "~"];
/// Parts of names of files that a report on the machine has.
const REPORTS: [&str; 3] = ["report", "sos", "clock"];

/// Whether a command prints files, all of which are in places where other users write; what they contain was perhaps not read
/// from this machine.
fn prints_files_of_users(command: &str, skip: &[&str]) -> bool {
    if command.contains([';', '&', '$', '`']) || command.contains("xargs") {
        return false;
    }
    let mut words = command
        .split('|')
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .skip_while(|word| skip.contains(word));
    if !words.next().is_some_and(|word| PRINT.contains(&word.rsplit('/').next().unwrap_or(word))) {
        return false;
    }
    let mut paths = words.filter(|word| word.starts_with(['/', '~'])).peekable();
    paths.peek().is_some()
        && paths.all(|path| {
            OF_USERS.iter().any(|place| path.starts_with(place))
                && !REPORTS.iter().any(|part| path.contains(part))
        })
}

/// Whether a command prints files in directories in which any user writes.
pub(super) fn prints_files_of_any_user(command: &str) -> bool {
    const PLACES: [&str; 5] = ["/tmp/", "/var/tmp/", "/dev/shm/", "/run/user/", "/proc/self/root/"];
    let mut words = command.split(|c: char| c.is_whitespace() || "'\"<=".contains(c));
    words.any(|word| PLACES.iter().any(|place| word.starts_with(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_read_or_report_may_print_a_label() {
        for command in [
            "",
            "cat /etc/x",
            "sudo cat x",
            "grep -r . /sys/devices/system/clocksource",
            "for h in a b; do ssh $h state; done",
            "./state",
            "state.sh -v",
            "clockinfo",
            "python3 -c 'print(1)'",
            "kubectl exec x -- state",
            "docker run -it x",
            "true; cat x",
            "ssh db1 state",
            "grep -rn clocksource /sys/devices /home",
            "cat /home/me/sosreport-db1/x",
            "cat /var/log/clockcheck.log",
            "cat x.txt",
        ] {
            assert!(may_speak(command, &["sudo"]), "{command}");
        }
        for command in [
            "env",
            "curl -sI http://eve.example.org",
            "kubectl get pods",
            "docker logs web",
            "mysql -e 'SHOW PROCESSLIST'",
            "/usr/bin/frobnicate",
            "unknown-program --all",
            "grep -rn clocksource /home",
            "sudo tail -2 /var/log/app/app.log",
            "cat ~eve/notes.txt | head",
        ] {
            assert!(!may_speak(command, &["sudo"]), "{command}");
        }
    }
}
