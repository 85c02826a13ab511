//! Commands that print the kernel's log of another boot, or one in a file. Such a log has no moment:
//! it is not newer than a reading at a prompt above it, and it explains nothing of what the machine does now.
//!
//! `dmesg`, `journalctl` of this boot and the files of a running syslog show the log of the machine at the prompt. Not in
//! this module: logs and consoles of guests and of other machines (`others`).

use super::others::without_wrappers;
use crate::log::PACKED;

/// What such a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// The log of another boot, or of another system.
    Other,
    /// A log of which the command does not show the time: it may be of this boot.
    Undated,
}

/// Programs that print the files after them.
const PRINT: [&str; 14] = [
    "cat", "zcat", "bzcat", "xzcat", "zstdcat", "tac", "less", "zless", "more", "zmore", "bat",
    "nl", "view", "strings",
];
/// Those whose first word is not a file: a pattern, a program, a number.
const SEARCH: [&str; 14] = [
    "grep", "egrep", "fgrep", "zgrep", "zegrep", "bzgrep", "xzgrep", "zstdgrep", "rg", "awk",
    "sed", "head", "tail", "perl",
];
/// Options of `journalctl` that read the journal of another system, or of other files.
const OF_FILES: [&str; 6] = ["-D", "--directory", "-i", "--file", "--root", "--image"];
/// Where other systems are mounted.
const MOUNTED: [&str; 5] = ["/mnt/", "/media/", "/run/media/", "/target/", "/sysroot/"];
/// Names of files to which a running syslog appends.
const RUNNING: [&str; 7] =
    ["dmesg", "kern.log", "kernel.log", "messages", "syslog", "boot.log", "boot.msg"];
/// Ends of names of files that no program appends to, besides those of compressed logs.
const CLOSED: [&str; 3] = [".lz4", ".old", ".bak"];

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A file of the machine at the prompt, to which a program appends, or of the kernel.
    Here,
    Kept(Kept),
}

/// What a command prints of another boot, or of a file; `None` for any other command.
pub(super) fn kept(command: &str) -> Option<Kept> {
    let command = without_wrappers(command.trim());
    let mut words = command.split_ascii_whitespace();
    let program = words.next()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let words: Vec<&str> =
        words.take_while(|word| !matches!(*word, "|" | "||" | "&&" | ";")).collect();
    match program {
        "journalctl" => of_journal(&words),
        "dmesg" if words.iter().any(|word| matches!(*word, "-F" | "--file")) => Some(Kept::Undated),
        "docker" | "podman" | "nerdctl" | "crictl" if words.first() == Some(&"logs") => {
            Some(Kept::Undated)
        }
        "git" if matches!(words.first(), Some(&("show" | "log" | "diff" | "cat-file"))) => {
            Some(Kept::Undated)
        }
        "man" | "curl" | "wget" if !words.is_empty() => Some(Kept::Undated),
        _ if PRINT.contains(&program) || SEARCH.contains(&program) => {
            let any = PRINT.contains(&program);
            if any && command.contains("<<") {
                return Some(Kept::Undated);
            }
            of_files(&words, any)
        }
        _ => None,
    }
}

/// The files in the words after a program; `any`: every word is one.
fn of_files(words: &[&str], any: bool) -> Option<Kept> {
    let bare = |word: &&str| word.trim_matches(['\'', '"']).to_owned();
    let words = words.iter().filter(|word| !word.starts_with('-')).map(bare);
    let files = words.filter(|word| any || word.contains(['/', '.']));
    let places: Vec<Place> = files.map(|file| place(&file)).collect();
    if places.contains(&Place::Here) {
        return None;
    }
    let kept = |place: &Place| match place {
        Place::Kept(kept) => Some(*kept),
        Place::Here => None,
    };
    let other = places.iter().find(|place| **place == Place::Kept(Kept::Other));
    other.or(places.first()).and_then(kept)
}

fn place(path: &str) -> Place {
    let name = path.rsplit('/').next().unwrap_or(path);
    let begins = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
    if path.contains("/pstore") || path.starts_with("/var/crash") || name.contains("vmcore") {
        return Place::Kept(Kept::Other);
    }
    if begins(&MOUNTED) {
        return Place::Kept(Kept::Other);
    }
    if begins(&["/proc/", "/sys/", "/dev/"]) {
        return Place::Here;
    }
    if is_rotated(name) {
        // These are written once in a boot.
        let of_boot = name.starts_with("dmesg") && begins(&["/var/log/"]);
        return Place::Kept(if of_boot { Kept::Other } else { Kept::Undated });
    }
    if begins(&["/var/log/", "/var/adm/"]) || RUNNING.contains(&path) {
        return Place::Here;
    }
    Place::Kept(Kept::Undated)
}

/// Whether a file has the name of one that a program no longer appends to: `kern.log.1`, `messages-20261101`.
fn is_rotated(name: &str) -> bool {
    let numbered = name.rsplit_once('.').is_some_and(|(_, end)| {
        !end.is_empty() && end.len() <= 3 && end.bytes().all(|b| b.is_ascii_digit())
    });
    let dated = name.split_once("-20").is_some_and(|(_, end)| {
        end.len() >= 4 && end.bytes().take(4).all(|b| b.is_ascii_digit() || b == b'*')
    });
    numbered || dated || PACKED.iter().chain(&CLOSED).any(|end| name.ends_with(end))
}

/// The boot of which `journalctl` prints the journal.
fn of_journal(words: &[&str]) -> Option<Kept> {
    let of_files = |word: &&str| {
        let name = word.split_once('=').map_or(*word, |(name, _)| name);
        OF_FILES.contains(&name) || word.starts_with("-D/")
    };
    if words.iter().any(of_files) {
        return Some(Kept::Other);
    }
    words.iter().enumerate().find_map(|(at, word)| {
        let next = || words.get(at + 1).copied().unwrap_or_default();
        if let Some(value) = word.strip_prefix("--boot") {
            return boot(value.strip_prefix('=').unwrap_or_else(next));
        }
        // `-b`, `-b-1`, `-kb`, with letters of options that have no value.
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let (before, value) = letters.split_once('b')?;
        if !before.bytes().all(|b| b"kaefrqxlm".contains(&b)) {
            return None;
        }
        boot(if value.is_empty() { next() } else { value })
    })
}

/// A boot by its number, of which 0 is this one, or by its ID.
fn boot(value: &str) -> Option<Kept> {
    match value.parse::<i64>() {
        Ok(0) => None,
        Ok(_) if value.len() < 5 => Some(Kept::Other),
        _ => {
            let is_id = value.len() >= 4 && value.bytes().all(|b| b.is_ascii_hexdigit());
            is_id.then_some(Kept::Undated)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_other_boots_and_files_are_told_from_the_log_of_now() {
        for command in [
            "journalctl -k -b -1",
            "journalctl -b-2 -k | tail",
            "sudo journalctl --boot=-1",
            "journalctl -kb -1",
            "journalctl -b 1",
            "journalctl --boot -3 -o short",
            "journalctl -D /srv/journal -k",
            "journalctl --file=old.journal",
            "cat /mnt/var/log/dmesg",
            "grep -i tsc /media/disk/var/log/kern.log",
            "cat /sys/fs/pstore/dmesg-efi-1",
            "less /var/crash/2026/vmcore-dmesg.txt",
            "zcat /var/log/dmesg.2.gz",
        ] {
            assert_eq!(kept(command), Some(Kept::Other), "{command}");
        }
        for command in [
            "journalctl -k -b 3f2a9c",
            "tail -7 /var/log/kern.log.1",
            "zgrep -i 'tsc' /var/log/messages-20261101.gz",
            "cat old-dmesg",
            "less /root/case.txt",
            "grep tsc notes.txt",
            "docker logs logger",
            "git show HEAD:doc/x.txt",
            "man x",
            "curl -s https://paste.example.org/x",
            "cat <<E",
            "dmesg -F saved.txt",
        ] {
            assert_eq!(kept(command), Some(Kept::Undated), "{command}");
        }
        for command in [
            "dmesg | grep -i tsc",
            "journalctl -k",
            "journalctl -k -b",
            "journalctl -b 0",
            "journalctl -kb --no-pager",
            "journalctl -b -k",
            "journalctl -o short -k",
            "cat /var/log/dmesg",
            "cat kern.log",
            "grep -e 'a.b' /var/log/kern.log",
            "zgrep tsc /var/log/kern.log*",
            "cat /proc/kmsg",
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "git status",
            "docker ps",
            "grep tsc",
        ] {
            assert_eq!(kept(command), None, "{command}");
        }
    }
}
