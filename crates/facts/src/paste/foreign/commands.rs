//! Commands at a prompt that list what users have named.

use super::evidence::Prompts;
use super::logs::{self, Prints};
use super::{labels, speakers};
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
    /// The command line also prints the kernel's log.
    log: bool,
    /// It prints the strings of a file, which may be a log.
    strings: bool,
}

/// What is of the output of a command that is not known to list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Other {
    /// Labelled readings: nothing is known of the command, and it may be the console of a guest.
    labels: bool,
    /// Lines with the kernel's stamp: the command does not print the kernel's log.
    stamps: bool,
    /// Labelled readings and names alone, beside better evidence: of a file that is only called like that of sysfs, or of
    /// a directory in which any user writes.
    names: bool,
    /// Even if the text has no better evidence.
    always: bool,
    /// The command prints files.
    files: bool,
}

impl Listing {
    /// The text of a user to all who are logged in (`wall`), or to one (`write`).
    pub(super) const BROADCAST: Self =
        Self::other(Other { labels: true, stamps: true, names: false, always: true, files: false });
    /// The content of a file that need not be the kernel's.
    pub(super) const FILE: Self =
        Self::other(Other { labels: false, stamps: true, names: true, always: false, files: true });

    const fn other(other: Other) -> Self {
        Self {
            mixed: false,
            framed: true,
            ends_in_prose: true,
            other: Some(other),
            log: false,
            strings: false,
        }
    }

    /// Whether lines with the kernel's stamp may be of the listing.
    pub(super) fn may_have_stamps(self) -> bool {
        self.other.is_none_or(|other| other.stamps)
    }

    /// Whether it may have the content of a file that is called like that of sysfs.
    pub(super) fn may_have_names(self) -> bool {
        self.other.is_some_and(|other| other.names)
    }

    /// Whether rows and headings of tables are looked for among the other lines: the command may print anything.
    pub(super) fn has_tables(self) -> bool {
        self.other.is_some_and(|other| !other.labels)
    }

    /// Whether a kernel may begin to boot in it, beside better evidence or not.
    pub(super) fn may_boot(self, beside: bool) -> bool {
        !(beside && self.other.is_some_and(|other| other.stamps && other.files))
    }

    /// Whether a line is of the listing. `beside`: the text has better evidence.
    pub(super) fn has(self, line: &str, beside: bool) -> bool {
        let stamped = || crate::log::strip_prefix(line).1;
        if let Some(other) = self.other {
            let labels = other.labels || other.names && beside;
            return labels && labels::has_one(line)
                || (beside || other.always) && other.stamps && stamped()
                || beside && other.names && is_names(line);
        }
        let reading = || is_names(line) || line.starts_with("/sys/devices/system/clocksource/");
        // The kernel prints on a console at any time; where names begin the lines, a name may look like its message.
        let of_kernel = (self.framed || self.mixed)
            && (self.log || !beside)
            && line.starts_with('[')
            && stamped()
            || self.strings && !beside && stamped();
        !(of_kernel || self.mixed && reading())
    }
}

/// Whether a line has nothing but names of clocksources.
fn is_names(line: &str) -> bool {
    !line.is_empty() && line.split_ascii_whitespace().all(names::is_known)
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

/// The listing that a command prints, if it prints one.
pub(super) fn listing(command: &str) -> Option<Listing> {
    let parts: Vec<&str> = command
        .split([';', '&'])
        .flat_map(|part| part.split("||"))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let found: Vec<&str> = parts.iter().filter_map(|part| lister(part)).collect();
    let prints = logs::of(command);
    if found.is_empty() {
        let labels = !speakers::may_speak(command, &BEFORE);
        let stamps = matches!(prints, Prints::Unknown | Prints::Others);
        let names = speakers::prints_files_of_any_user(command);
        let files = logs::prints_files(command);
        let other = Other { labels, stamps, names, always: false, files };
        return (labels || stamps).then_some(Listing::other(other));
    }
    Some(Listing {
        other: None,
        mixed: found.len() < parts.len(),
        framed: !parts.iter().any(|part| is_unframed(part)),
        ends_in_prose: !found.iter().any(|name| CONTENTS.contains(name)),
        log: prints == Prints::Log,
        strings: found == ["strings"],
    })
}

/// The command after a prompt, also after one that the text has shown.
pub(super) fn command<'a>(line: &'a str, prompts: &Prompts) -> Option<&'a str> {
    at_prompt(line).or_else(|| prompts.command(line))
}

/// The command after a prompt.
fn at_prompt(line: &str) -> Option<&str> {
    // `#` also begins comments and headings.
    let of_root = line.strip_prefix('#').map(str::trim).filter(|text| lister(text).is_some());
    if let Some(text) = of_root
        && is_of_root(text)
    {
        return Some(text);
    }
    if of_root.is_some() {
        return None;
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

    fn at_prompt(line: &str) -> Option<Option<Listing>> {
        super::at_prompt(line).map(listing)
    }

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
        assert!(!own.has("current_clocksource: hpet", true));
        let message = "[    1.900000] clocksource: Switched to clocksource hpet";
        assert!(own.has(message, true) && !own.has(message, false));
        assert!(at_prompt("$ cat /x").flatten().is_some_and(|it| it.has(message, true)));
        for line in ["$ systemctl restart x", "$ anything", "$ curl http://a.example"] {
            let unknown = at_prompt(line).flatten();
            let has = |line: &str| unknown.map(|it| it.has(line, true));
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
        assert!(both.is_some_and(|it| it.mixed && it.has("a", true) && !it.has("hpet", true)));
    }

    #[test]
    fn message_on_a_console_is_the_kernels_unless_a_name_may_look_like_it() {
        let line = "[    1.900000] clocksource: Switched to clocksource hpet";
        let has = |command: &str| at_prompt(command).flatten().map(|it| it.has(line, false));
        assert_eq!(has("# df"), Some(false));
        assert_eq!(has("# ls /tmp"), Some(true));
        // Beside better evidence it may be a name here too.
        let beside = |command: &str| at_prompt(command).flatten().map(|it| it.has(line, true));
        assert_eq!(beside("# df"), Some(true));
        assert_eq!(beside("$ df; dmesg"), Some(false));
    }
}
