//! Shell transcripts around a log: a reading of sysfs behind the command that made it.

use super::event::Event;
use super::parse::is_name;

/// Whether a line is a shell prompt with a command: `$ cat ...`, `# cat ...`, `root@host:~# ...`.
pub(super) fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    let command = match line.strip_prefix(['$', '#']) {
        Some(rest) => rest.trim_start(),
        None => {
            let Some(at) = line.find(['$', '#']) else { return false };
            if !line[..at].contains('@') {
                return false;
            }
            return true;
        }
    };
    const COMMANDS: [&str; 11] = [
        "cat ",
        "echo ",
        "dmesg",
        "sudo ",
        "grep ",
        "head ",
        "journalctl",
        "uname",
        "more ",
        "bpftrace ",
        "tee ",
    ];
    COMMANDS.iter().any(|name| command.starts_with(name))
}

/// A reading whose value stands on the next line: `cat .../current_clocksource` and then `hpet`.
pub(super) fn reading<'a>(
    raw: &str,
    next: impl FnOnce() -> Option<(std::borrow::Cow<'a, str>, usize)>,
) -> Option<(Event, usize)> {
    let at = raw.find("_clocksource")?;
    let head = &raw[..at];
    let current = head.ends_with("current");
    if !current && !head.ends_with("available") {
        return None;
    }
    let tail = raw[at + 12..].trim();
    let command = head.contains("cat ") || head.contains("more ") || head.contains("head ");
    let label = head.trim_start().starts_with('/') && (tail.is_empty() || tail == ":");
    if !(command && tail.is_empty() || label) {
        return None;
    }
    let (line, end) = next()?;
    let names: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let plausible = !names.is_empty()
        && names.len() <= 16
        && names.iter().all(|name| is_name(name) && name.as_bytes()[0].is_ascii_alphabetic());
    if !plausible || (current && names.len() != 1) {
        return None;
    }
    let event = match names.into_iter().next() {
        Some(name) if current => Event::ReadCurrent(name),
        Some(_) => Event::ReadAvailable(line.split_whitespace().map(str::to_owned).collect()),
        None => return None,
    };
    Some((event, end))
}
