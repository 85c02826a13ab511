//! The choice among several kernel logs.

use super::Reader;
use crate::log::KernelLog;
use crate::tree::Tree;
use crate::tree::decode::open_log;
use crate::{Fact, Facts, Missing, Why};
use memchr::memmem;
use std::io::Read;

/// The places of logs, best first: the ring buffer, then a sosreport's copies, then files.
const PLACES: [&str; 7] = [
    "dmesg",
    "sos_commands/kernel/dmesg",
    JOURNALS,
    "var/log/dmesg",
    "var/log/kern.log",
    "var/log/messages",
    "var/log/syslog",
];

/// A sosreport's directory of journal extracts.
const JOURNALS: &str = "sos_commands/logs";

const SUFFIXES: [&str; 4] = ["", ".gz", ".xz", ".zst"];

/// Bytes of a log that are searched for the beginning of a boot; in log files of many boots it can
/// be anywhere.
const SEARCHED: u64 = 64 << 20;

/// The first words that the kernel prints.
const BANNER: &[u8] = b"Linux version ";

/// Whether a path is one of the places of kernel logs.
pub(super) fn is_log(path: &str) -> bool {
    PLACES.iter().any(|place| {
        path.strip_prefix(place).is_some_and(|rest| {
            SUFFIXES.contains(&rest) || (*place == JOURNALS && rest.starts_with("/journalctl"))
        })
    })
}

/// The best kernel log: the first one that contains the beginning of this kernel's boot, otherwise
/// the first one that can be read.
pub(super) fn read(reader: &Reader<'_>, facts: &Facts) -> Fact<KernelLog> {
    let release = facts.kernel.value().map(|kernel| kernel.release.as_str());
    let mut first_gap: Option<Missing> = None;
    let mut fallback: Option<String> = None;
    for path in candidates(reader.tree) {
        match beginning(reader.tree, &path, release) {
            Ok(true) => return scan(reader.tree, &path),
            Ok(false) if fallback.is_none() => fallback = Some(path),
            Ok(false) => {}
            Err(missing) if worth_telling(first_gap.as_ref(), &missing) => {
                first_gap = Some(missing)
            }
            Err(_) => {}
        }
    }
    match fallback {
        Some(path) => scan(reader.tree, &path),
        None => Fact::Missing(first_gap.unwrap_or_else(Missing::not_asked)),
    }
}

/// The first reason is reported, unless a later one is about a file that exists and cannot be read.
fn worth_telling(first: Option<&Missing>, now: &Missing) -> bool {
    let tells = |why: &Why| matches!(why, Why::Permission | Why::Unreadable(_));
    first.is_none_or(|first| !tells(&first.why) && tells(&now.why))
}

fn candidates(tree: &dyn Tree) -> Vec<String> {
    let mut paths = Vec::new();
    for place in PLACES {
        if place == JOURNALS {
            let names = tree.list(JOURNALS).unwrap_or_default();
            let journals = names.into_iter().filter(|name| is_boot_journal(name));
            paths.extend(journals.map(|name| format!("{JOURNALS}/{name}")));
        } else {
            paths.extend(SUFFIXES.iter().map(|suffix| format!("{place}{suffix}")));
        }
    }
    paths
}

/// Whether a name is `journalctl_--no-pager_--catalog_--boot`, and not the previous boot (`..._--boot_-1`), nor the
/// list of boots.
fn is_boot_journal(name: &str) -> bool {
    let name = SUFFIXES.iter().fold(name, |name, suffix| name.strip_suffix(suffix).unwrap_or(name));
    name.starts_with("journalctl") && (name.ends_with("--boot") || name.ends_with("-b"))
}

/// Whether the log contains the beginning of a boot of the kernel `release` (of any kernel, if the release is
/// unknown). The ring buffer itself is always of this kernel.
fn beginning(tree: &dyn Tree, path: &str, release: Option<&str>) -> Result<bool, Missing> {
    let at = || tree.describe(path);
    let unreadable = |error: std::io::Error| Missing::new(Why::Unreadable(error.to_string()), at());
    let mut log = open_log(tree.open(path)?).map_err(unreadable)?.take(SEARCHED);
    let wanted = release.filter(|_| path != "dmesg").unwrap_or("");
    let wanted = [BANNER, wanted.as_bytes()].concat();
    let overlap = wanted.len() - 1;
    let mut buffer = vec![0u8; 256 * 1024];
    let (mut kept, mut empty) = (0, true);
    loop {
        match log.read(&mut buffer[kept..]) {
            Ok(0) if empty => {
                return Err(Missing::new(Why::Unreadable("it is empty".into()), at()));
            }
            Ok(0) => return Ok(false),
            Ok(count) => {
                empty = false;
                let end = kept + count;
                if memmem::find(&buffer[..end], &wanted).is_some() {
                    return Ok(true);
                }
                kept = end.min(overlap);
                buffer.copy_within(end - kept..end, 0);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
}

fn scan(tree: &dyn Tree, path: &str) -> Fact<KernelLog> {
    let source = tree.describe(path);
    // Lines of the ring buffer are cited by their usual name, other files by their path.
    let name = match path {
        "dmesg" if source.starts_with("journalctl") => "journalctl -k",
        "dmesg" => "dmesg",
        _ => source.as_str(),
    };
    let log = match tree.open(path) {
        Ok(reader) => open_log(reader).map_err(|error| error.to_string()),
        Err(missing) => return Fact::Missing(missing),
    };
    let scanned = log.and_then(|log| KernelLog::scan(log, name).map_err(|error| error.to_string()));
    match scanned {
        Ok(log) => Fact::known(log, source),
        Err(error) => Fact::Missing(Missing::new(Why::Unreadable(error), source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    #[test]
    fn this_boots_journal() {
        assert!(is_boot_journal("journalctl_--no-pager_--catalog_--boot"));
        assert!(is_boot_journal("journalctl_--no-pager_--boot.xz"));
        assert!(!is_boot_journal("journalctl_--no-pager_--boot_-1"));
        assert!(!is_boot_journal("journalctl_--list-boots"));
    }

    fn chosen(tree: &MemoryTree, release: Option<&str>) -> Option<String> {
        let reader = Reader { tree };
        let mut facts = Facts::empty(crate::Origin::Stated);
        if let Some(kernel) = release.and_then(crate::version::Kernel::parse) {
            facts.kernel = Fact::known(kernel, "test");
        }
        read(&reader, &facts).source().map(|source| source.0.clone())
    }

    #[test]
    fn a_log_with_the_boot_beats_one_without() {
        let tree = MemoryTree::new("")
            .with("dmesg", "[ 99.0] usb\n")
            .with("var/log/dmesg", "[ 0.0] Linux version 5.1.0-old (x)\n")
            .with("var/log/kern.log", "x".repeat(600_000) + "\nLinux version 6.1.0-new (x)\n");
        assert_eq!(chosen(&tree, Some("6.1.0-new")).as_deref(), Some("var/log/kern.log"));
        assert_eq!(chosen(&tree, Some("6.2.0-new")).as_deref(), Some("dmesg"));
        assert_eq!(chosen(&tree, None).as_deref(), Some("var/log/dmesg"));
        let whole = tree.with("dmesg", "[ 0.0] Linux version 9.9.9\n");
        assert_eq!(chosen(&whole, Some("6.1.0-new")).as_deref(), Some("dmesg"));
    }

    #[test]
    fn the_banner_is_found_across_buffer_borders() {
        for pad in 262_120..262_150 {
            let tree = MemoryTree::new("").with("dmesg", "x".repeat(pad) + "Linux version 1.2");
            assert_eq!(beginning(&tree, "dmesg", None), Ok(true), "{pad}");
        }
    }

    #[test]
    fn reasons() {
        let tree = MemoryTree::new("m:");
        assert_eq!(chosen(&tree, None), None);
        let reader = Reader { tree: &tree };
        let gap = read(&reader, &Facts::empty(crate::Origin::Stated));
        assert!(gap.reason().unwrap().how.as_ref().unwrap().contains("dmesg"));
        let mut tree = MemoryTree::new("m:").with("dmesg", "");
        tree.set_missing("var/log/kern.log", Missing::new(Why::Permission, "x"));
        let gap = read(&Reader { tree: &tree }, &Facts::empty(crate::Origin::Stated));
        assert!(matches!(gap.reason().unwrap().why, Why::Unreadable(_)));
    }
}
