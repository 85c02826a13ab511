//! Commands at a prompt that list what users have named.

use super::{labels, logs, speakers};
use crate::names;
use crate::paste::prompt;

/// The output of such commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    /// Other commands run in the same line, and print readings or messages of the kernel.
    mixed: bool,
    /// The lines begin with a word that the command itself prints.
    framed: bool,
    /// A sentence after a blank line is of the text's author: the output has no contents of files or packets.
    pub(super) ends_in_prose: bool,
    /// Of a command that is not known to list names.
    other: Option<Other>,
}

/// What is of the output of a command that is not known to list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Other {
    /// Labelled readings: nothing is known of the command, and it may be the console of a guest.
    labels: bool,
    /// Lines with the kernel's stamp: the command does not print the kernel's log.
    stamps: bool,
}

impl Listing {
    /// The text of a user to all who are logged in (`wall`), or to one (`write`).
    pub(super) const BROADCAST: Self = Self {
        mixed: false,
        framed: false,
        ends_in_prose: false,
        other: Some(Other { labels: true, stamps: true }),
    };

    /// Whether rows and headings of tables are looked for among the other lines: the command may print anything.
    pub(super) fn has_tables(self) -> bool {
        self.other.is_some_and(|other| !other.labels)
    }

    /// Whether a line is of the listing.
    pub(super) fn has(self, line: &str) -> bool {
        let stamped = || crate::log::strip_prefix(line).1;
        if let Some(other) = self.other {
            return other.labels && labels::has_one(line) || other.stamps && stamped();
        }
        let reading = || {
            line.split_ascii_whitespace().all(names::is_known)
                || line.starts_with("/sys/devices/system/clocksource/")
        };
        // The kernel prints on a console at any time; where names begin the lines, a name may look like its message.
        let of_kernel = (self.framed || self.mixed) && line.starts_with('[') && stamped();
        !(of_kernel || self.mixed && reading())
    }
}

/// Commands that list names, processes, connections or files.
const LISTERS: [&str; 74] = [
    "ps",
    "pgrep",
    "pidof",
    "top",
    "htop",
    "atop",
    "pstree",
    "pidstat",
    "iotop",
    "ls",
    "ll",
    "dir",
    "vdir",
    "find",
    "locate",
    "tree",
    "du",
    "df",
    "mount",
    "findmnt",
    "lsblk",
    "blkid",
    "lsof",
    "fuser",
    "ss",
    "netstat",
    "tcpdump",
    "tshark",
    "ngrep",
    "who",
    "w",
    "last",
    "lastb",
    "lastlog",
    "users",
    "finger",
    "stat",
    "file",
    "tar",
    "unzip",
    "lsns",
    "systemd-cgls",
    "systemd-cgtop",
    "jobs",
    "screen",
    "tmux",
    "getfattr",
    "strings",
    "env",
    "printenv",
    "set",
    "export",
    "declare",
    "alias",
    "history",
    "crontab",
    "atq",
    "mail",
    "mailx",
    "mutt",
    "ausearch",
    "aureport",
    "coredumpctl",
    "lsusb",
    "usb-devices",
    "dig",
    "drill",
    "nslookup",
    "getent",
    "iptables",
    "nft",
    "nmcli",
    "getfacl",
    "redis-cli",
];
/// Those that print the contents of files or packets, or texts that persons wrote.
const CONTENTS: [&str; 7] = ["tcpdump", "tshark", "ngrep", "strings", "mail", "mailx", "mutt"];
/// Words with which a comment begins that is not a command of root: `# set the clock`.
const ALSO_WORDS: [&str; 6] = ["set", "export", "declare", "alias", "mail", "history"];
/// Commands with a subcommand that lists.
const WITH_SUBCOMMANDS: [(&str, &[&str]); 11] = [
    ("systemctl", &["status", "list-units", "list-timers", "show"]),
    ("loginctl", &["status", "session-status", "user-status", "list-sessions", "list-users"]),
    ("docker", &["ps", "top", "images", "inspect", "container", "logs"]),
    ("podman", &["ps", "top", "images", "inspect", "container", "logs"]),
    ("nerdctl", &["ps", "top", "images", "inspect", "container", "logs"]),
    ("crictl", &["ps", "pods", "images", "inspect", "logs"]),
    ("ip", &["link", "addr", "a", "netns"]),
    ("machinectl", &["list", "status"]),
    ("kubectl", &["logs", "get", "describe", "events"]),
    ("virsh", &["list", "desc", "metadata"]),
    ("git", &["log", "shortlog", "reflog", "branch", "tag", "status", "stash", "blame"]),
];
/// What prints the content of files that a command found.
const READS: [&str; 4] = ["-exec", "xargs", "$(", "`"];
/// Words before a command.
const BEFORE: [&str; 6] = ["sudo", "time", "nice", "command", "watch", "exec"];

/// Whether a line is a prompt; and the listing that its command prints, if it prints one.
pub(super) fn at_prompt(line: &str) -> Option<Option<Listing>> {
    let command = command(line)?;
    let parts: Vec<&str> = command
        .split([';', '&'])
        .flat_map(|part| part.split("||"))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let found: Vec<&str> = parts.iter().filter_map(|part| lister(part)).collect();
    if found.is_empty() {
        let labels = !speakers::may_speak(command, &BEFORE);
        let stamps = !logs::may_print(command, &BEFORE);
        return Some((labels || stamps).then_some(Listing {
            mixed: false,
            framed: true,
            ends_in_prose: true,
            other: Some(Other { labels, stamps }),
        }));
    }
    Some(Some(Listing {
        other: None,
        mixed: found.len() < parts.len(),
        framed: !parts.iter().any(|part| is_unframed(part)),
        ends_in_prose: !found.iter().any(|name| CONTENTS.contains(name)),
    }))
}

/// The command after a prompt.
fn command(line: &str) -> Option<&str> {
    // `#` also begins comments and headings.
    let of_root = line.strip_prefix('#').map(str::trim).filter(|text| lister(text).is_some());
    if let Some(text) = of_root {
        return is_of_root(text).then_some(text);
    }
    if let Some(found) = prompt::read(line) {
        return Some(found.command);
    }
    let rest = line.strip_prefix(['$', '%', '\u{276f}', '\u{279c}'])?;
    let text = rest.trim();
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '/');
    (begins && (rest.starts_with(' ') || lister(text).is_some())).then_some(text)
}

/// Whether a text after `#` is such a command, and not a comment or a heading (`# last lines of the log`): it has options
/// and paths, and no words.
fn is_of_root(text: &str) -> bool {
    const ALONE: [&str; 13] = [
        "ps", "ls", "ll", "df", "mount", "top", "w", "lsof", "lsblk", "findmnt", "netstat", "ss",
        "pstree",
    ];
    let command = text.split('|').next().unwrap_or_default();
    let mut words = command.split_ascii_whitespace().skip_while(|word| BEFORE.contains(word));
    let Some(name) = words.next() else { return false };
    if ALSO_WORDS.contains(&name) {
        return false;
    }
    let is_option =
        |word: &str| word.starts_with(['-', '/', '.', '~', '*', '\'', '"', '$', ';', '&']);
    let of_ps = |word: &str| name == "ps" && word.bytes().all(|b| b.is_ascii_lowercase());
    let follows = words.clone().next().is_some();
    lister(text).is_some()
        && (follows || ALONE.contains(&name))
        && words.next().is_none_or(|word| is_option(word) || of_ps(word) && word.len() <= 5)
}

/// The command of a pipeline that lists, if it does and nothing in the pipeline reads the files.
fn lister(pipeline: &str) -> Option<&'static str> {
    let mut words = pipeline
        .split_ascii_whitespace()
        .skip_while(|word| BEFORE.contains(word) || word.starts_with('-') || word.contains('='));
    let word = words.next()?;
    let name = word.rsplit('/').next().unwrap_or(word);
    let listed = LISTERS.iter().find(|known| **known == name).copied();
    // With a program, or a variable, they do something else.
    let does_more =
        matches!(name, "env" | "set" | "export" | "declare") && words.clone().next().is_some();
    if does_more {
        return None;
    }
    let found = listed.or_else(|| {
        let (known, all) = WITH_SUBCOMMANDS.iter().find(|(known, _)| *known == name)?;
        words.any(|word| all.contains(&word)).then_some(*known)
    })?;
    let reads = || READS.iter().any(|word| pipeline.contains(word));
    (!(matches!(found, "find" | "ls" | "locate") && reads())).then_some(found)
}

/// Whether the lines of an output begin with what a user chose.
fn is_unframed(command: &str) -> bool {
    let has = |letter: char| {
        command.split_ascii_whitespace().any(|word| word.starts_with('-') && word.contains(letter))
    };
    match lister(command) {
        Some("ps") => command.split_ascii_whitespace().skip(1).any(|word| word.contains('o')),
        Some("ls" | "dir") => !has('l'),
        Some("find") => command.contains("-printf"),
        Some("locate" | "tree" | "tar" | "strings" | "getfattr" | "jobs" | "tmux") => true,
        Some("env" | "printenv" | "set" | "export" | "declare" | "alias" | "crontab") => true,
        Some("git" | "mail" | "mailx" | "mutt" | "dig" | "drill" | "virsh") => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_list_are_told_from_those_that_read() {
        for line in [
            "$ ps aux",
            "# ps -ef | grep clock",
            "# ps aux",
            "# df",
            "# find / -name x",
            "root@db1:~# sudo /usr/bin/pgrep -a .",
            "[root@db1 ~]# LANG=C ls -l /tmp",
            "user@db1:~$ systemctl --user status",
            "$ docker ps",
            "$ find / -name current_clocksource",
            "% mount | grep x",
        ] {
            assert!(
                at_prompt(line).is_some_and(|found| found.is_some_and(|it| !it.mixed)),
                "{line}"
            );
        }
        for line in [
            "$ cat dmesg.txt",
            "root@db1:~# dmesg",
            "root@db1:~# ",
            "$ find /sys -name 'current*' -exec cat {} +",
            "$ find /sys -name 'current*' | xargs cat",
            "$ clocksource-state",
        ] {
            assert_eq!(at_prompt(line), Some(None), "{line}");
        }
        let own = at_prompt("$ ./anything").flatten().unwrap();
        assert!(!own.has("current_clocksource: hpet"));
        assert!(own.has("[    1.900000] clocksource: Switched to clocksource hpet"));
        assert_eq!(at_prompt("$ cat /x").flatten(), Some(own));
        for line in ["$ systemctl restart x", "$ anything", "$ curl http://a.example"] {
            let unknown = at_prompt(line).flatten();
            let has = |line: &str| unknown.map(|it| it.has(line));
            assert_eq!(has("current_clocksource: hpet"), Some(true), "{line}");
            assert_eq!(has("clocksource: Switched to clocksource hpet"), Some(false), "{line}");
        }
        for line in [
            "# Processes",
            "# a comment",
            "# last lines of the log",
            "# file x",
            "# find the clock",
            "# last",
            "ps aux",
            "",
            "#1 SMP",
            "$5 a day",
            "1 ps",
        ] {
            assert_eq!(at_prompt(line), None, "{line}");
        }
        let both = at_prompt("$ ps aux; cat /sys/x").flatten();
        assert!(both.is_some_and(|it| it.mixed && it.has("a") && !it.has("hpet")));
    }

    #[test]
    fn message_on_a_console_is_the_kernels_unless_a_name_may_look_like_it() {
        let line = "[    1.900000] clocksource: Switched to clocksource hpet";
        let has = |command: &str| at_prompt(command).flatten().map(|it| it.has(line));
        assert_eq!(has("# df"), Some(false));
        assert_eq!(has("# ls /tmp"), Some(true));
    }
}
