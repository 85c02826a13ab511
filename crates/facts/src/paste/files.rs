//! The parts of a text that come from several files or several authors: headers of `head` and `tail`, the names of a
//! mail's attachments, the authors of an issue, and the prefixes of `grep -r`.

/// Common names of logs.
const LOGS: [&str; 16] = [
    "dmesg",
    "kern",
    "syslog",
    "messages",
    "kernel",
    "boot",
    "journal",
    "journalctl",
    "console",
    "log",
    "kmsg",
    "last_kmsg",
    "system",
    "serial",
    "vmcore-dmesg",
    "dmesg.boot",
];
/// Directories in which a machine stores its logs.
const PLACES: [&str; 4] = ["/var/log/", "/var/crash/", "/tmp/", "/proc/"];
/// Maximum number of characters in the name of a file, or of an author.
const LONGEST: usize = 64;

/// The part of a file's name that distinguishes its machine or moment: `bad/` of `bad/dmesg.txt`, `dmesg-bad` of
/// `dmesg-bad.txt`. `None` for a common name of a log, even with the number or the date of a rotation.
pub(crate) fn label(path: &str) -> Option<&str> {
    let place = PLACES.iter().find_map(|place| path.strip_prefix(place));
    let path = place.or_else(|| path.strip_prefix("./")).unwrap_or(path).trim_start_matches('/');
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let mut stem = file;
    while let Some((rest, end)) = stem.rsplit_once(['.', '-', '_']) {
        let rotated = !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
        let kind = ["txt", "log", "gz", "xz", "zst", "bz2", "out", "old", "0"].contains(&end);
        if !(rotated || kind) || rest.is_empty() {
            break;
        }
        stem = rest;
    }
    let general = LOGS.iter().any(|name| stem.eq_ignore_ascii_case(name));
    let label = match (general, folder.is_empty()) {
        (true, true) => return None,
        (true, false) => folder,
        (false, _) => path.get(..path.len() - file.len() + stem.len())?,
    };
    (!label.is_empty() && label.len() <= LONGEST && !label.contains(' ')).then_some(label)
}

/// The file whose lines begin after a header.
pub(super) fn begins(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(path) = line.strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <==")) {
        return label(path);
    }
    attachment(line)
}

/// `Content-Type: text/plain; name="dmesg-bad.txt"`, also folded.
fn attachment(line: &str) -> Option<&str> {
    let header = ["content-type:", "content-disposition:", "name=", "filename="];
    let is_header =
        |name: &&str| line.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    if line.len() > 256 || !header.iter().any(is_header) {
        return None;
    }
    let at = line.find("name=")?;
    let value = line[at + 5..].split(';').next()?.trim().trim_matches('"');
    label(value)
}

/// The author whose part of an issue begins after a header: `joe · comment · 2024-01-01`, `@joe commented on Jan 1`.
pub(super) fn author(line: &str) -> Option<&str> {
    const BEHIND: [&str; 5] = [" on ", " at ", " in ", " yesterday", " last "];
    let line = line.trim().trim_start_matches(['#', '*', ' ', '@', '_']);
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let rest = rest.trim_start_matches(['*', '_']);
    // The heading of a message in a chat: `joe — Today at 10:32 AM`.
    if let Some(moment) = rest.strip_prefix(" \u{2014} ") {
        return is_time_at_end(moment).then_some(name);
    }
    if let Some(kind) = rest.strip_prefix(" \u{b7} ") {
        let kinds = ["comment", "description", "review"];
        return kinds.iter().any(|word| kind.starts_with(word)).then_some(name);
    }
    let behind = rest.strip_prefix(" commented")?.trim_end_matches([':', '*', '_', ' ']);
    let dated = behind.starts_with(' ')
        && (behind[1..].starts_with(|c: char| c.is_ascii_digit())
            || BEHIND.iter().any(|word| behind.starts_with(word.trim_end())));
    (behind.is_empty() || dated && behind.len() < LONGEST).then_some(name)
}

/// Whether a short text ends with a time of day.
fn is_time_at_end(text: &str) -> bool {
    let text = text.trim_end();
    let bare = ["AM", "PM"].iter().find_map(|half| text.strip_suffix(half)).unwrap_or(text);
    let time = bare.trim_end().rsplit(' ').next().unwrap_or_default();
    let is_number =
        |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    text.len() < LONGEST && time.split_once(':').is_some_and(|(h, m)| is_number(h) && is_number(m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_of_a_message_in_a_chat_names_its_author() {
        for line in [
            "joe \u{2014} Today at 10:32 AM",
            "joe \u{2014} 11/02/2026 9:05",
            "joe \u{2014} Heute um 10:32 Uhr",
        ] {
            let wanted = (!line.ends_with("Uhr")).then_some("joe");
            assert_eq!(author(line), wanted, "{line}");
        }
        assert_eq!(author("hpet \u{2014} it is slow"), None);
    }

    #[test]
    fn name_of_a_file_tells_machines_apart_unless_each_machine_has_it() {
        for path in [
            "dmesg",
            "/var/log/kern.log.1",
            "/var/log/messages-20240101",
            "./dmesg.txt",
            "dmesg.0.gz",
        ] {
            assert_eq!(label(path), None, "{path}");
        }
        for (path, wanted) in [
            ("bad/dmesg.txt", "bad"),
            ("hostA/var/log/kern.log.1", "hostA/var/log"),
            ("/var/log/web1/messages", "web1"),
            ("dmesg-bad.txt", "dmesg-bad"),
            ("logs/web1.log", "logs/web1"),
        ] {
            assert_eq!(label(path), Some(wanted), "{path}");
        }
    }

    #[test]
    fn headers_of_files_and_authors_begin_parts() {
        for (line, wanted) in [
            ("==> bad/dmesg.txt <==", Some("bad")),
            ("==> /var/log/kern.log <==", None),
            ("Content-Type: text/plain; charset=UTF-8; name=\"dmesg-bad.txt\"", Some("dmesg-bad")),
            ("\tname=\"dmesg-good.txt\"", Some("dmesg-good")),
            ("Content-Type: text/plain; name=\"dmesg.txt\"", None),
            ("joe \u{b7} description \u{b7} 2024-01-01", Some("joe")),
            ("### @joe commented on Jan 1, 2024", Some("joe")),
            ("**joe** commented 3 days ago", Some("joe")),
            ("joe commented", Some("joe")),
            ("I commented it out", None),
            ("I commented the line out", None),
        ] {
            assert_eq!(begins(line).or_else(|| author(line)), wanted, "{line}");
        }
    }
}
