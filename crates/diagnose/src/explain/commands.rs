//! The commands whose output is requested for a text without evidence: those of the time daemon that it names, and none that has just
//! failed in it.

use super::wall_words::{has, small};

/// Commands, and what a text says where each of them fails.
const FAILED: [(&str, &[&str]); 2] = [
    (
        TIMEDATECTL,
        &[
            "failed to query server",
            "failed to set ntp",
            "failed to connect to bus",
            "timedatectl: command not found",
            "timedatectl: not found",
            "has not been booted with systemd",
        ],
    ),
    (TRACKING, &["506 cannot talk to daemon", "chronyc: command not found", "chronyc: not found"]),
];

const TIMEDATECTL: &str = "timedatectl";
const TRACKING: &str = "chronyc tracking";
/// What shows the same where a command fails.
const STATUS: &str = "systemctl status chronyd systemd-timesyncd ntpd";
const DATE: &str = "date -u";

/// Names of time daemons, and the command that asks each; without any, that of chrony.
const DAEMONS: [(&str, &str); 6] = [
    ("chrony", TRACKING),
    ("chronyd", TRACKING),
    ("chronyc", TRACKING),
    ("timesyncd", "timedatectl timesync-status"),
    ("ntpd", "ntpq -pn"),
    ("ntpq", "ntpq -pn"),
];

/// The commands that show whether the clock of a text's machine is synchronised, as a list in words.
pub(super) fn of_text(text: &str) -> String {
    let small = small(text);
    let fails = |command: &str| {
        FAILED.iter().any(|(failed, says)| {
            command.starts_with(failed) && says.iter().any(|words| small.contains(words))
        })
    };
    let is_named = |name: &str| has(&small, name, false, |c| c.is_ascii_alphanumeric());
    let named: Vec<&str> =
        DAEMONS.iter().filter(|(name, _)| is_named(name)).map(|(_, command)| *command).collect();
    let asked = if named.is_empty() { vec![TRACKING] } else { named };
    let mut all: Vec<&str> = Vec::new();
    for command in std::iter::once(TIMEDATECTL).chain(asked) {
        if !fails(command) && !all.contains(&command) {
            all.push(command);
        }
    }
    if FAILED.iter().any(|(command, _)| fails(command)) {
        all.push(STATUS);
        if all.len() == 1 {
            all.push(DATE);
        }
    }
    let shown: Vec<String> = all.iter().map(|command| format!("`{command}`")).collect();
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::of_text;

    #[test]
    fn a_command_that_failed_is_not_asked_for() {
        let asked = of_text("timedatectl status\nFailed to query server: Connection timed out");
        assert!(!asked.contains("timedatectl") && asked.contains("systemctl status"), "{asked}");
        let asked = of_text("506 Cannot talk to daemon");
        assert!(!asked.contains("chronyc") && asked.contains("`timedatectl`"), "{asked}");
    }

    #[test]
    fn the_daemon_that_is_named_is_asked() {
        assert_eq!(of_text("the clock is wrong"), "`timedatectl` and `chronyc tracking`");
        assert_eq!(
            of_text("the servers of systemd-timesyncd"),
            "`timedatectl` and `timedatectl timesync-status`"
        );
        assert_eq!(of_text("ntpd drifts"), "`timedatectl` and `ntpq -pn`");
    }
}
