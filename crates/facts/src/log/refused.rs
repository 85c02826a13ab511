//! Commands whose output says that they did not write `current_clocksource`.

/// What a shell, `tee` or `sudo` prints if it could not write a file. The kernel refuses a name that is too long with
/// `Invalid argument` (`sysfs_get_uname`, kernel/time/clocksource.c, since 3.19); it takes any other name without an
/// error, also one that it does not know.
const WORDS: [&str; 13] = [
    "ermission denied",
    "Operation not permitted",
    "Read-only file system",
    "No such file",
    "Invalid argument",
    "write error",
    "nput/output error",
    "I/O error",
    "cannot create",
    "command not found",
    "not in the sudoers",
    "Keine Berechtigung",
    "Permission non accordée",
];

/// Whether the line below a command says that the file was not written.
pub(super) fn is_refusal(below: &str) -> bool {
    let is_record = super::strip_prefix(below).1;
    !is_record && WORDS.iter().any(|words| below.contains(words))
}
