//! Readings of the wall clock that a later command overtakes: it sets the clock, or stops what synchronises it.

use super::{Page, prompt};
use crate::{Fact, Source};

/// Units of time daemons.
const UNITS: [&str; 7] =
    ["chronyd", "chrony", "ntpd", "ntp", "ntpsec", "systemd-timesyncd", "openntpd"];
/// Words of a command that reads the state again.
const READS: [&str; 6] = ["chronyc", "ntpq", "timedatectl", "ntpstat", "adjtimex", "ntptime"];

/// Forgets that the clock was synchronised where a command below that reading ended the state.
pub(super) fn look(page: &mut Page<'_>) {
    let command = |number: usize| prompt::read(page.line(number)).map(|found| found.command);
    let Some(at) = (0..page.len()).rev().find(|at| command(*at).is_some_and(ends)) else { return };
    // The state was read again: the readings do not show in which order they apply.
    if (at + 1..page.len()).filter_map(command).any(reads) {
        return;
    }
    let is_above = |source: &Source| line_of(source).is_some_and(|line| line <= at);
    if let Fact::Known { value, source } = &page.told.ntp
        && value.synchronized
        && is_above(source)
    {
        page.told.ntp = Fact::default();
    }
    if let Fact::Known { value, .. } = &mut page.told.source {
        let places = &value.places;
        if value.follows == Some(true) && places.follows.as_ref().is_some_and(is_above) {
            value.follows = None;
        }
        if value.logged == Some(true) && places.logged.as_ref().is_some_and(is_above) {
            value.logged = None;
        }
    }
}

/// The number of a line in a source, from 1.
fn line_of(source: &Source) -> Option<usize> {
    source.0.rsplit_once(':')?.1.parse().ok()
}

fn words(command: &str) -> Vec<&str> {
    let words = command.split_ascii_whitespace();
    words.skip_while(|word| *word == "sudo" || word.starts_with("LC_")).collect()
}

fn reads(command: &str) -> bool {
    words(command).first().is_some_and(|word| READS.contains(word)) && !ends(command)
}

/// Whether a command sets the wall clock by hand, or stops a time daemon.
fn ends(command: &str) -> bool {
    let words = words(command);
    let is_unit = |word: &&str| UNITS.contains(&word.trim_end_matches(".service"));
    match words.as_slice() {
        ["date", rest @ ..] => rest.iter().any(|word| {
            matches!(*word, "-s" | "--set") || word.starts_with("--set=") || word.starts_with("-s")
        }),
        ["timedatectl", "set-time", ..] | ["hwclock", "-s" | "--hctosys", ..] => true,
        ["timedatectl", "set-ntp", value, ..] => matches!(*value, "false" | "no" | "0" | "off"),
        ["systemctl", "stop" | "disable" | "mask", rest @ ..] => rest.iter().any(is_unit),
        ["service", unit, "stop", ..] => is_unit(unit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;

    fn synchronised(text: &str) -> Option<bool> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let told = Pasted::read(&lines, "text").told;
        let by_kernel = told.ntp.value().map(|state| state.synchronized);
        by_kernel.or_else(|| told.source.value()?.follows)
    }

    const PEERS: &str = "root@sw:~# ntpq -p\n     remote           refid      st t when poll reach   delay   offset  jitter\n\
        ==============================================================================\n\
        *10.208.32.30    10.39.4.76       3 u    6   64  377    0.239   -0.403   0.650\n";
    const STATUS: &str = "$ timedatectl\n               Local time: Tue 2024-03-12 13:21:04 UTC\n           Universal time: Tue 2024-03-12 13:21:04 UTC\n                 \
        RTC time: Tue 2024-03-12 13:21:04\n                Time zone: Etc/UTC (UTC, +0000)\nSystem clock synchronized: yes\n              NTP service: active\n          RTC in local TZ: no\n";

    #[test]
    fn reading_is_overtaken_by_a_command_that_sets_the_clock_or_stops_the_daemon() {
        assert_eq!(synchronised(PEERS), Some(true));
        assert_eq!(synchronised(STATUS), Some(true));
        for command in [
            "root@sw:~# date -s \"Wed 25 Jan 2023 07:20:01 PM UTC\"\n",
            "root@sw:~# sudo systemctl stop chrony.service\n",
            "$ sudo timedatectl set-ntp false\n$ sudo timedatectl set-time \"2024-03-20 10:00:00\"\n",
            "$ sudo service ntp stop\n",
        ] {
            for reading in [PEERS, STATUS] {
                assert_eq!(synchronised(&format!("{reading}{command}")), None, "{command}");
            }
        }
    }

    #[test]
    fn other_commands_and_later_readings_leave_it() {
        for command in [
            "root@sw:~# date\n",
            "root@sw:~# date -u\n",
            "root@sw:~# systemctl stop nginx\n",
            "root@sw:~# timedatectl set-ntp true\n",
            "root@sw:~# systemctl restart chronyd\n",
        ] {
            assert_eq!(synchronised(&format!("{PEERS}{command}")), Some(true), "{command}");
            assert_eq!(synchronised(&format!("root@sw:~# date -s 10:00\n{PEERS}")), Some(true));
        }
        let again = format!("{PEERS}root@sw:~# date -s 10:00\n{PEERS}");
        assert_eq!(synchronised(&again), Some(true));
    }
}
