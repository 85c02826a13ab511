//! The programs whose lines in a system log are evidence, and what each line proves. Any user can write any
//! text into that log (`logger`), so a line is a statement of its own program only, not the output of a different one.

use super::{Reader, discipline};
use crate::log::writer;
use crate::wall::TimeSource;

/// Programs, and how the names begin under which their lines are logged.
const NAMES: [(&str, &[&str]); 12] = [
    ("chronyd", &["chrony"]),
    ("ntpd", &["ntpd", "openntpd"]),
    ("ntpdate", &["ntpdate"]),
    // A process name has 15 characters.
    ("systemd-timesyncd", &["systemd-timesyn"]),
    (TIME_WAIT, &["systemd-time-wa"]),
    ("systemd", &["systemd"]),
    ("ptp4l", &["ptp4l"]),
    ("phc2sys", &["phc2sys"]),
    ("Talos", &["talos", "machined"]),
    ("VBoxService", &["VBoxService", "vboxadd"]),
    ("Redis warning", &["redis", "valkey"]),
    ("warning of a server", &["clickhouse", "cassandra", "java", "elastic"]),
];

/// The unit that waits until the clock is synchronised.
const TIME_WAIT: &str = "systemd-time-wait-sync";

/// Whether a reader may take a line: no program of a system log wrote it, or the reader knows lines of that program.
pub(super) fn may_say(line: &str, reader: &Reader) -> bool {
    let Some(writer) = writer(line) else { return true };
    let daemons = [discipline::DAEMON_LOG.name, discipline::PROGRAMS.name];
    daemons.contains(&reader.name) || is(writer, reader.name)
}

/// Whether what a line says of the clock is said by the program itself that wrote it.
pub(super) fn says_itself(line: &str, told: &TimeSource) -> bool {
    let Some(writer) = writer(line) else { return true };
    let known = |program: &&str| NAMES.iter().any(|(name, _)| name == program);
    let corrections = told.corrections.iter().map(|one| one.program);
    let remarks = told.remarks.iter().map(|one| one.program);
    let daemon = Some(told.daemon).into_iter();
    let synchronised = told.logged.filter(|_| told.daemon.is_empty()).map(|_| TIME_WAIT);
    let ptp = told.ptp.as_ref().map(|_| "ptp4l").into_iter();
    let phc = told.phc.as_ref().map(|_| "phc2sys");
    corrections
        .chain(remarks)
        .chain(daemon)
        .chain(synchronised)
        .chain(ptp)
        .chain(phc)
        .filter(known)
        .all(|program| is(writer, program))
}

/// Whether a line is one of linuxptp's log: its programs print a stamp like the kernel's behind their names, whatever precedes them.
pub(super) fn is_of_linuxptp(line: &str) -> bool {
    let Some((name, after)) = line.split_once('[') else { return false };
    let name = name.trim_end().trim_end_matches(':');
    let is_named = ["ptp4l", "phc2sys", "ts2phc"].iter().any(|program| name.ends_with(program));
    is_named && after.starts_with(|c: char| c.is_ascii_digit())
}

fn is(writer: &str, program: &str) -> bool {
    let names = NAMES.iter().find(|(name, _)| *name == program).map(|(_, names)| *names);
    names.is_some_and(|names| names.iter().any(|name| writer.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;

    #[test]
    fn lines_of_linuxptp_are_no_lines_of_the_kernel() {
        let lines =
            ["ptp4l[42247.991]: port 1: announce timeout", "ptp4l[812]: [912.611] port 1: x"];
        let lines: Vec<String> = lines.map(str::to_owned).to_vec();
        let read = Pasted::read(&lines, "log").recognised();
        assert_eq!((read.kernel_lines, read.unread), (0, 0), "{read:?}");
        assert_eq!(read.kinds, ["log of a time daemon"]);
    }

    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    /// The headers of a program's line: traditional, without a host, of rsyslog, of `journalctl`, of RFC 5424.
    const HEADERS: [&str; 10] = [
        "Nov 22 10:05:00 db1 myapp[812]: ",
        "Nov 22 10:05:00 db1 myapp: ",
        "Nov 22 10:05:00 myapp[812]: ",
        "2025-11-22T10:05:00.123456+00:00 db1 myapp[812]: ",
        "2025-11-22T10:05:00+0000 db1 myapp[812]: ",
        "<13>1 2025-11-22T10:05:00.123456Z db1 myapp 812 - - ",
        // A time stamp after the program's name.
        "Nov 22 10:05:00 db1 myapp[812]: [ 5000.000001] ",
        "Nov 22 10:05:00 db1 /usr/bin/myapp[812]: ",
        "Nov 22 10:05:00 db1 kernel[812]: ",
        "Nov 22 10:05:00 db1 kernel[812]: [ 5000.000001] ",
    ];

    fn read(text: &str) -> Pasted {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Pasted::read(&lines, "text")
    }

    /// Whether anything is believed.
    fn believed(text: &str) -> bool {
        let found = read(text);
        let told = &found.told;
        told.current.is_known()
            || told.available.is_known()
            || told.ntp.is_known()
            || told.source.is_known()
            || !found.symptoms.is_empty()
    }

    #[test]
    fn what_a_program_writes_into_the_log_is_no_output_of_another() {
        let available = FILE.replace("current", "available");
        for said in [
            "current_clocksource=hpet".to_owned(),
            "current_clocksource: hpet".to_owned(),
            format!("{FILE}:hpet"),
            format!("{FILE} is hpet"),
            format!("$ cat {FILE}  # hpet"),
            format!("{available}:hpet acpi_pm"),
            "available_clocksource: hpet acpi_pm".to_owned(),
            "System clock wrong by 3600.123456 seconds".to_owned(),
            "chronyd[7]: System clock wrong by 3600.123456 seconds, adjustment started".to_owned(),
            "ntpd[7]: time reset +3600.1 s".to_owned(),
            "systemd[1]: Time has been changed".to_owned(),
            "# Slow system clocksource detected. Current clocksource: hpet. Available clocksources: \
             tsc hpet."
                .to_owned(),
        ] {
            for header in HEADERS {
                assert!(!believed(&format!("{header}{said}\n")), "{header}{said}");
                // A record with a line break.
                let width = " ".repeat(header.find("]: ").map_or(header.len(), |at| at + 3));
                let text = format!("{header}x\n{width}{said}\n");
                assert!(header.contains("- - ") || !believed(&text), "{text}");
            }
            assert!(!believed(&format!("    MESSAGE={said}\n")), "{said}");
        }
        // A message to the socket of the log may have no colon.
        for date in ["Nov 22 10:05:00", "2025-11-22T10:05:00.123456+00:00"] {
            assert!(!believed(&format!("{date} db1 myapp current_clocksource=hpet\n")), "{date}");
        }
        // Beside another date it is the output of a script.
        assert!(believed("2025-11-22 10:05:00 current_clocksource: hpet\n"));
        assert!(believed(&format!("Nov 22 10:05:00 db1 myapp[812]: x\n$ cat {FILE}\nhpet\n")));
    }

    #[test]
    fn a_daemon_is_believed_under_its_own_name() {
        for line in [
            "Nov 22 10:05:00 db1 chronyd[7]: System clock wrong by 3600.123456 seconds",
            "Nov 22 10:05:00 db1 /usr/sbin/chronyd[7]: System clock wrong by 3600.1 seconds",
            "[   12.000000] chronyd[7]: System clock wrong by 3600.123456 seconds",
            "2026-03-02T10:11:12Z System clock wrong by -31.500000 seconds (step)",
            "2026-03-02T10:11:12Z Can't synchronise: no majority",
            "2020-12-27T09:09:51Z Fatal error : adjtimex(0x8001) failed : Operation not permitted",
            "22 Nov 10:46:30 ntpdate[4830]: step time server 192.0.2.1 offset +92854.955337 sec",
            "Nov 22 10:05:00 db1 ntpd[7]: time reset -0.261271 s",
            "Nov 22 10:05:00 db1 systemd-timesyn[7]: Initial clock synchronization to Wed",
            "Nov 22 10:05:00 db1 systemd[1]: Time has been changed",
            "Nov 22 10:05:00 db1 ptp4l[812]: [912.611] clockcheck: clock jumped backward or x",
            // What any program may find.
            "Nov 22 10:05:00 db1 myapp[7]: x509: certificate has expired or is not yet valid: \
             current time 2021-01-01T00:00:00Z is before 2024-05-01T00:00:00Z",
        ] {
            assert!(read(line).told.source.is_known(), "{line}");
        }
        let warning = "12:M 22 Nov 2025 10:05:00.123 # Slow system clocksource detected. Current \
                       clocksource: hpet. Available clocksources: tsc hpet.";
        for header in ["", "Nov 22 10:05:00 db1 redis-server[12]: "] {
            assert!(read(&format!("{header}{warning}")).told.current.is_known(), "{header}");
        }
    }
}
