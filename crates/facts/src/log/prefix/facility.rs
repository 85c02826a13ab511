//! The facility that a log prints beside a message. Only that of the kernel is the kernel's: a user chooses the name of
//! the program, and no other facility is refused to a user.

/// Facilities of syslog other than the kernel's (`facilitynames` in `syslog.h`).
pub(super) const NAMES: [&str; 21] = [
    "user", "daemon", "mail", "auth", "authpriv", "security", "syslog", "lpr", "news", "uucp",
    "cron", "ftp", "ntp", "local0", "local1", "local2", "local3", "local4", "local5", "local6",
    "local7",
];
/// Beginnings of the same in words, as RFC 5424 and log stores write them.
const WORDS: [&str; 11] = [
    "user-level",
    "user level",
    "system daemon",
    "mail system",
    "security/",
    "clock daemon",
    "local use",
    "log audit",
    "log alert",
    "network news",
    "line printer",
];
/// Columns before a message in which its facility is looked for.
const COLUMNS: usize = 16;

/// Whether a value of a field for the facility names one other than the kernel's.
fn is_other(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    let name = value.split_once('.').map_or(value.as_str(), |(name, _)| name);
    NAMES.contains(&name)
        || WORDS.iter().any(|word| value.starts_with(word))
        || value.parse::<u32>().is_ok_and(|number| number > 0)
}

/// The facility in `user.notice`.
pub(in crate::log) fn of_pair(word: &str) -> Option<&str> {
    let (name, level) = word.split_once('.')?;
    let known = name == "kern" || NAMES.contains(&name);
    (known && super::LEVELS.contains(&level)).then_some(name)
}

/// Whether the text before a message names a facility other than the kernel's: `user.notice`, `facility=user`,
/// `facility:user`.
pub(super) fn is_foreign(front: &str) -> bool {
    // Most fronts are a time stamp alone.
    if !front.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    let pair = |word: &str| of_pair(word.trim_end_matches(':')).is_some_and(|name| name != "kern");
    let field = || {
        let (_, after) = front.split_once("facility")?;
        let after = after.trim_start_matches(['"', ' ']).strip_prefix([':', '='])?;
        after.trim_start_matches(['"', ' ']).split([' ', '\t', '"', ',', ';', '|']).next()
    };
    front.contains('.') && front.split([' ', '\t', ',', '|', '"']).any(pair)
        || front.contains("facility") && field().is_some_and(is_other)
}

/// Whether a column before a message has a facility, and none has the kernel's.
pub(super) fn is_foreign_column(before: &[&str]) -> bool {
    let before = &before[..before.len().min(COLUMNS)];
    let own = |column: &&str| matches!(column.trim(), "kern" | "kernel");
    before.iter().any(|column| NAMES.contains(&column.trim())) && !before.iter().any(own)
}
