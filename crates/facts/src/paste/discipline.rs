//! The discipline of the clock: `chronyc tracking` and `sources`, `ntpq -p`, `adjtimex --print`, logs of time daemons.

use super::{COMMAND_WITHIN, Page, Reader, has, prompt};
use crate::Fact;
use crate::ntp::{NtpState, Timex};
use crate::wall::{Remark, TRACKING, TimeSource, What};

pub(super) const CHRONY: Reader =
    Reader { name: "chronyc tracking", words: &TRACKING, read: chrony };

pub(super) const ADJTIMEX: Reader = Reader {
    name: "adjtimex",
    words: &["maxerror:", "esterror:", "time_constant:", "raw time:"],
    read: adjtimex,
};

pub(super) const TRACED: Reader =
    Reader { name: "adjtimex in a trace", words: &["adjtimex({", "clock_adjtime("], read: traced };

pub(super) const SOURCES: Reader =
    Reader { name: "chronyc sources", words: &["MS Name/IP address", "+/-"], read: sources };

pub(super) const PEERS: Reader =
    Reader { name: "ntpq -p", words: &["st t when poll reach", " u ", " l "], read: peers };

pub(super) const TIMESYNC: Reader = Reader {
    name: "timedatectl timesync-status",
    words: &["Packet count:", "Poll interval:", "Root distance:"],
    read: timesync,
};

pub(super) const TIMESYNC_PROPERTIES: Reader = Reader {
    name: "timedatectl show-timesync",
    words: &["PollIntervalMinUSec="],
    read: timesync_properties,
};

pub(super) const DAEMON_LOG: Reader = Reader {
    name: "log of a time daemon",
    words: &[
        "System clock wrong by ",
        "System clock was stepped by ",
        "Selected source ",
        "Detected falseticker ",
        "Can't synchronise: ",
        "step time server ",
        "adjust time server ",
        "no server suitable for synchronization found",
        "time reset ",
        "synchronisation lost",
        "synchronization lost",
        "synchronized to ",
        "time jump detected!",
        "Could not step system clock",
        "Failed to restore system clock: ",
        "System clock time unset or jumped backwards",
        "System time before build time",
        "System time advanced to ",
        "System time changed. Resyncing.",
        "Time has been changed",
        "Initial clock synchronization to ",
        "to time server ",
        " clock_step ",
        "time stepped by ",
        "time set ",
        "set local clock to ",
        "adjusting local clock by ",
        "setting time to ",
        "reply from ",
        "frequency error ",
        "exceeds sanity limit",
        " panic_stop ",
        "Contacted time server ",
        "Timed out waiting for reply from ",
        "kernel reports TIME_ERROR: ",
        "Soliciting pool server ",
        "Clock offset exceeds panic threshold",
        "Operation not permitted",
        "interval/delta/delay/jitter/drift ",
        "time.SyncController: ",
        ": Failed to resolve ",
        " phc offset ",
        " sys offset ",
        "clockcheck: clock jumped ",
        "PR_CAPBSET_READ, CAP_SYS_TIME)",
        "ptp4l[",
        "Waiting for ptp4l",
        "UTC time is past leap second table",
        "Sending NTP request to ",
        "System's initial offset : ",
        "adjtime state ",
        ", stratum 16,",
        ", stratum **16**,",
        "li=3 (0xc0)",
    ],
    read: daemon_log,
};

pub(super) const PROGRAMS: Reader = Reader {
    name: "messages of programs about the clock",
    words: &[
        "SystemTimeWarning",
        "is not yet valid",
        "certificate is not valid yet: NotBefore: ",
        "CertificateNotYetValidException",
        "Clock skew detected.",
        " s in the future",
        "read: Connection refused",
        "506 Cannot talk to daemon",
        "has timestamp too new: ",
        "'entry out of order'",
        "clock leap detected",
        "Radical host time change: ",
        "clock difference against peer ",
        "prober found high clock drift",
        "Too big clock skew is detected: ",
        "Reported time is too far out of sync",
        "clock skew detected on mon.",
        " clock skew ",
        "clock synchronization error: ",
        "is too great! UTC now: ",
        "fewer than half the known nodes",
        "system time jump backward",
        "to wait for clock tick timed out",
        "hwclock: ",
        "Trying to open: /dev/",
        "RTC_RD_TIME",
        "Failed to read RTC: ",
        ": no valid clock/calendar values available",
        "Offset unknown",
        "offset is out of range (nan)",
        "NodeClockNotSynchronising",
        "NodeClockSkewDetected",
        "HostClockNotSynchronising",
        "HostClockSkew",
        "(invalid for another ",
        "RequestTimeTooSkewed",
        "Signature expired: ",
        "Signature not yet current: ",
        "absolute clock went backwards by ",
        "umped backwards",
        "moved backwards",
        "ime moved ",
        "lock moved ",
        "ime jump",
        "lock jump",
        "lock just jumped",
        "ime went ",
        "lock went ",
        "lock has gone ",
        "time disparity of ",
        "lock stepped ",
        "lock shifted",
        "lock changed by ",
        "lock adjusted by ",
        "timer thread slept for ",
        "Detected clock skew (",
        "system time may be incorrect",
        "lock is moving backwards",
        "Not marking nodes down due to local pause of ",
        "clock offset: ",
        "remote wall time is too far ahead (",
        "Clock considered unsynchronized",
        "ntp_gettime() returned TIME_ERROR",
        "Monotonic time stepped backwards!",
        "later than self",
        "less than the current instant",
        "[timeSync] One time synchronization: stepping time",
        "Changed local time to ",
        "Clock change detected. Flushing caches.",
    ],
    read: daemon_log,
};

/// The same for a line in the kernel's log, with its time stamp.
pub(super) fn stamped(page: &mut Page<'_>, at: usize) {
    let words = DAEMON_LOG.words.iter().chain(PROGRAMS.words);
    let (message, _) = crate::log::strip_prefix(page.line(at));
    if begins(message, words) {
        daemon_log(page, at);
    }
}

/// Whether one of some words in a message is a program's own: if the program names itself with its number (`chronyd[7]: ...`), the
/// whole message is; otherwise the message begins with the word, after a name at most. Any user may have written what
/// the kernel quotes elsewhere (`usb 1-1: Product: System clock wrong by 1 seconds`).
fn begins<'a>(message: &str, mut words: impl Iterator<Item = &'a &'a str>) -> bool {
    let bare = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    };
    let (name, rest) = message.split_once(": ").unwrap_or(("", message));
    // phc2sys shows a time and no process number.
    let numbered = name.strip_suffix(']').and_then(|name| name.split_once('[')).is_some_and(
        |(name, number)| bare(name) && number.bytes().all(|b| b.is_ascii_digit() || b == b'.'),
    );
    let rest = bare(name).then_some(rest);
    words.any(|word| {
        numbered && has(message, word)
            || message.starts_with(word.trim_start())
            || rest.is_some_and(|rest| rest.starts_with(word.trim_start_matches([':', ' '])))
    })
}

/// Lines after a daemon's in which `date` may show what became of the time that it set.
const AFTER: usize = 12;
/// The least step whose failure such a date shows, in seconds, and what a zone moves a date by.
const LEAST_S: f64 = 30.0;
const ZONE_S: f64 = 900.0;

/// What BusyBox's ntpd set in vain: `setting time to DATE (offset N)`, and a date afterwards that is off by that offset.
fn in_vain(page: &Page<'_>, at: usize, line: &str, told: &mut TimeSource) {
    let Some((_, set)) = line.split_once("setting time to ") else { return };
    let Some(by_s) = told.corrections.first().filter(|one| one.set).map(|one| one.by_s) else {
        return;
    };
    let is_zone = (by_s - (by_s / ZONE_S).round() * ZONE_S).abs() < LEAST_S;
    let later = (at + 1..page.len().min(at + 1 + AFTER))
        .map(|number| page.line(number))
        .find(|line| !line.contains("ntpd") && crate::log::date_in(line).is_some());
    let dates = crate::log::date_in(set).zip(later.and_then(crate::log::date_in));
    let Some((set, later)) = dates.filter(|_| by_s.abs() >= LEAST_S && !is_zone) else { return };
    if (later - set + by_s).abs() < by_s.abs() / 5.0 {
        told.corrections.iter_mut().for_each(|one| one.set = false);
        told.remarks.push(Remark {
            what: What::SetInVain,
            program: "ntpd",
            source: page.source(at),
        });
    }
}

fn daemon_log(page: &mut Page<'_>, at: usize) -> usize {
    // A mailer may have wrapped the figure of ntpdate, a console in its last column that of apt.
    let cut = page.line(at).trim_end().ends_with(" offset");
    let lines = 1 + usize::from(cut);
    let line = if cut { page.joined(at, lines) } else { page.line(at).to_owned() };
    let Some(mut told) = TimeSource::of_log(&line, &page.source(at)) else { return 0 };
    if !super::writers::says_itself(page.line(at), &told) {
        return 0;
    }
    in_vain(page, at, &line, &mut told);
    // ntpdate -q prints the same words and sets nothing.
    let asks = |number: usize| page.line(number).contains("ntpdate -q");
    if told.corrections.iter().any(|one| one.program == "ntpdate")
        && (at.saturating_sub(QUERY)..at).any(asks)
    {
        told.corrections.iter_mut().for_each(|one| one.set = false);
    }
    if page.line(at).contains("ntpdate") && (at.saturating_sub(QUERY)..at).any(asks) {
        for remark in &mut told.remarks {
            if let What::Slewed { asked, .. } = &mut remark.what {
                *asked = true;
            }
        }
    }
    add(page, at, told);
    lines
}

/// Lines that a query prints before its result, one for each address of the server.
const QUERY: usize = 8;

/// The field of a line of `chronyc tracking`.
fn tracking_field(line: &str) -> Option<&str> {
    let (name, value) = bare(line).split_once(':')?;
    let name = name.trim_end();
    (TRACKING.contains(&name) && value.starts_with([' ', '\t'])).then_some(name)
}

/// A line without blanks and quotation marks around it.
fn bare(line: &str) -> &str {
    line.trim().trim_matches(['"', '\'', '`', '|']).trim()
}

fn chrony(page: &mut Page<'_>, at: usize) -> usize {
    let line = bare(page.line(at));
    // `Name            : value`, with the colon in one column; without it, next to another field of the same output.
    let in_column = line.find(':') == Some(16);
    if !in_column && !page.is_output(at, "chronyc", tracking_field) || is_of_another(page, at) {
        return 0;
    }
    if let Some(told) = line.split_once(':').and_then(|(n, v)| TimeSource::of_tracking(n, v)) {
        add(page, at, told);
    }
    state(page, at, line);
    1
}

/// Adds the statements of a daemon about its source to those of the earlier lines.
pub(super) fn add(page: &mut Page<'_>, at: usize, told: TimeSource) {
    let source = page.source(at);
    let told = told.at(&source);
    match &mut page.told.source {
        Fact::Known { value, .. } => value.add(told),
        missing @ Fact::Missing(_) => *missing = Fact::known(told, source),
    }
}

/// A table after its heading and possibly a rule, or the rows alone.
fn table(
    page: &mut Page<'_>,
    at: usize,
    is_row: fn(&str) -> bool,
    read: fn(&mut dyn Iterator<Item = &str>) -> Option<(TimeSource, usize)>,
) -> usize {
    let alone = is_row(page.line(at));
    let from = if alone {
        at
    } else if page.line(at).contains("poll") || page.line(at).contains("Poll") {
        // Where a page took the rule for the mark of a heading, an empty line is left of it.
        let below = page.line(at + 1).trim_start();
        let is_rule = below.starts_with("====") || below.is_empty() && is_row(page.line(at + 2));
        at + 1 + usize::from(is_rule)
    } else {
        return 0;
    };
    let mut rows = (from..page.len().min(from + ROWS)).map(|number| page.line(number));
    match read(&mut rows) {
        Some((told, rows)) => {
            // The rows are the evidence, and not their heading.
            add(page, from, if alone { told.of_a_part() } else { told });
            from - at + rows
        }
        None => from - at,
    }
}

/// Maximum number of rows that are read.
const ROWS: usize = 256;

fn sources(page: &mut Page<'_>, at: usize) -> usize {
    table(page, at, TimeSource::is_row_of_sources, |rows| TimeSource::of_sources(rows))
}

/// Whether the command above an output asked the daemon of another machine: `ntpq -p db2`, `chronyc -h db2 tracking`.
pub(super) fn is_of_another(page: &Page<'_>, at: usize) -> bool {
    let above = (at.saturating_sub(COMMAND_WITHIN)..at).rev();
    let command = above
        .filter_map(|number| prompt::own(page.line(number)))
        .find(|found| !found.command.is_empty());
    command.is_some_and(|found| asks_another(found.command))
}

fn asks_another(command: &str) -> bool {
    let mut words =
        command.split(['|', ';', '&']).next().unwrap_or(command).split_ascii_whitespace();
    let program = words.find(|word| *word != "sudo").unwrap_or_default();
    let is_here = |host: &str| {
        host == "localhost"
            || host == "::1"
            || host.starts_with("127.")
            || host.starts_with('/')
            || host.starts_with('$')
    };
    match program.rsplit('/').next().unwrap_or(program) {
        "ntpq" | "ntpdc" => {
            let mut value = false;
            words.any(|word| {
                // Of `-c "rv 0"` the value has two words.
                let is_value = std::mem::replace(
                    &mut value,
                    word == "-c" || word.starts_with('"') && !word.ends_with('"'),
                );
                let is_host =
                    !is_value && !word.starts_with('-') && !word.contains(['"', '\'', '>', '<']);
                is_host && !is_here(word)
            })
        }
        "chronyc" => {
            words.any(|word| word == "-h") && {
                let host = command
                    .split_once(" -h ")
                    .and_then(|(_, rest)| rest.split_ascii_whitespace().next());
                host.is_some_and(|host| !is_here(host.split(',').next().unwrap_or(host)))
            }
        }
        _ => false,
    }
}

fn peers(page: &mut Page<'_>, at: usize) -> usize {
    if is_of_another(page, at) {
        return 0;
    }
    table(page, at, TimeSource::is_row_of_peers, |rows| TimeSource::of_peers(rows))
}

/// The field of a line of `timedatectl timesync-status`.
fn timesync_field(line: &str) -> Option<&str> {
    const FIELDS: [&str; 10] = [
        "Server",
        "Poll interval",
        "Leap",
        "Stratum",
        "Reference",
        "Precision",
        "Root distance",
        "Offset",
        "Jitter",
        "Packet count",
    ];
    let (name, _) = line.trim().split_once(": ")?;
    FIELDS.contains(&name).then_some(name)
}

/// The lines around the current one: `Server:` to `Jitter:`.
fn timesync(page: &mut Page<'_>, at: usize) -> usize {
    if !page.is_output(at, "timesync-status", timesync_field) {
        return 0;
    }
    let mut end = at;
    // Any text may begin with the word, so that it does not begin an output.
    let above =
        at.checked_sub(1).filter(|above| timesync_field(page.line(*above)) == Some("Server"));
    for number in above.unwrap_or(at)..page.len().min(at + 16) {
        let Some((name, value)) = page.line(number).split_once(": ") else { break };
        if let Some(told) = TimeSource::of_timesync(name, value) {
            add(page, number, told);
        }
        end = number + 1;
    }
    end - at
}

/// Lines of properties before and after the one that is looked at.
const PROPERTIES: usize = 12;

/// The block of properties around the current line.
fn timesync_properties(page: &mut Page<'_>, at: usize) -> usize {
    let is_one = |line: &str| {
        let name = line.trim().split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let is_of_block = |number: &usize| is_one(page.line(*number)) && !page.is_prompt(*number);
    let first = (at.saturating_sub(PROPERTIES)..at).rev().take_while(is_of_block).last();
    let last = page.len().min(at + PROPERTIES);
    let end = (at..last).take_while(is_of_block).last().map_or(at, |last| last + 1);
    let lines: Vec<&str> = (first.unwrap_or(at)..end).map(|number| page.line(number)).collect();
    let Some(told) = TimeSource::of_properties(&lines) else { return 0 };
    add(page, at, told);
    end - at
}

/// Whether the prompts of a text name more than one host.
fn shows_two_hosts(page: &Page<'_>) -> bool {
    let mut hosts = page.lines().iter().filter_map(|line| prompt::read(line)?.host);
    let first = hosts.next();
    hosts.any(|host| Some(host) != first)
}

/// Stores whether the clock is synchronised, if a line states it. The last output counts, and that an earlier one differed.
pub(super) fn state(page: &mut Page<'_>, at: usize, line: &str) {
    if let Ok(state) = NtpState::told(line) {
        let was = page.told.ntp.value().is_some_and(|before| before.synchronized);
        // The outputs of two hosts are not a sequence.
        if was && !state.synchronized && !shows_two_hosts(page) {
            let what = What::SynchronisedBefore;
            let remark = Remark { what, program: "timedatectl", source: page.source(at) };
            add(page, at, TimeSource { remarks: vec![remark], ..TimeSource::default() });
        }
        page.told.ntp = Fact::known(state, page.source(at));
    }
}

/// Status bits by their names, of `<sys/timex.h>`.
const BITS: [(&str, i64); 6] = [
    ("STA_PLL", 0x1),
    ("STA_PPSFREQ", 0x2),
    ("STA_INS", 0x10),
    ("STA_DEL", 0x20),
    ("STA_UNSYNC", 0x40),
    ("STA_NANO", 0x2000),
];
/// Lines over which a trace of one call is written.
const CALL: usize = 20;

/// `adjtimex({modes=..., offset=-3518, freq=32768000, status=STA_UNSYNC, ...}) = 5 (TIME_ERROR)`, perhaps over several lines: the
/// kernel writes its state back, and strace prints that.
fn traced(page: &mut Page<'_>, at: usize) -> usize {
    let Some(end) = (at..page.len().min(at + CALL)).find(|n| page.line(*n).contains("}) = "))
    else {
        return 0;
    };
    let text: Vec<&str> = (at..=end).map(|number| page.line(number).trim()).collect();
    let text = text.join(" ");
    let Some((fields, result)) = text.split_once("}) = ") else { return 0 };
    let mut timex = Timex::default();
    let mut found = 0;
    for (name, value) in fields.split([',', '{', '}']).filter_map(|field| field.split_once('=')) {
        let number = value.trim().parse::<i64>().ok();
        match (name.trim(), number) {
            ("freq", Some(value)) => (timex.freq, found) = (value, found + 1),
            ("offset", Some(value)) => timex.offset = value,
            ("tick", Some(value)) => timex.tick = value,
            ("esterror", Some(value)) => timex.esterror = value,
            ("maxerror", Some(value)) => timex.maxerror = value,
            ("constant", Some(value)) => timex.constant = Some(value),
            ("tai", Some(value)) => timex.tai = Some(value),
            ("status", Some(value)) => (timex.status, found) = (value, found + 1),
            ("status", None) => {
                let bit = |name: &str| BITS.iter().find(|(bit, _)| *bit == name.trim());
                timex.status = value.split('|').filter_map(bit).map(|(_, bit)| bit).sum();
                found += 1;
            }
            _ => {}
        }
    }
    if found < 2 {
        return 0;
    }
    timex.state = result.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
    page.told.ntp = Fact::known(NtpState::from(timex), page.source(at));
    end + 1 - at
}

fn adjtimex(page: &mut Page<'_>, at: usize) -> usize {
    // The names that the program prints, around the current one.
    let from = at.saturating_sub(4);
    let mut timex = Timex::default();
    let (mut status, mut end) = (false, at + 1);
    for number in from..page.len().min(at + 12) {
        let Some((name, value)) = page.line(number).split_once(':') else { break };
        let value: Option<i64> =
            value.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
        let Some(value) = value else { continue };
        match name.trim() {
            "status" => (timex.status, status) = (value, true),
            "frequency" => timex.freq = value,
            "offset" => timex.offset = value,
            "tick" => timex.tick = value,
            "esterror" => timex.esterror = value,
            "maxerror" => timex.maxerror = value,
            "time_constant" => timex.constant = Some(value),
            "return value" => timex.state = Some(value),
            "tai" | "TAI offset" => timex.tai = Some(value),
            "mode" | "modes" | "precision" | "tolerance" => {}
            _ => continue,
        }
        end = end.max(number + 1);
    }
    if !status {
        return 0;
    }
    page.told.ntp = Fact::known(NtpState::from(timex), page.source(at));
    end - at
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::paste::Pasted;

    #[test]
    fn traced_calls_show_the_state_of_the_kernel() {
        let state = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            Pasted::read(&lines, "text").told.ntp.value().copied()
        };
        let text = "strace -p 7 says:\n    adjtimex({modes=ADJ_OFFSET,\n    offset=-451879,\n    freq=32768000,\n    \
                    maxerror=16000000,\n    status=STA_UNSYNC,\n    time={1535711264, 1056},\n    tick=10000,\n    tai=0\n    }) = 5 \
                    (TIME_ERROR)\n";
        let seen = state(text).unwrap();
        assert!(!seen.synchronized && seen.is_at_its_limit());
        assert_eq!((seen.frequency_ppm, seen.clock_state), (Some(500.0), Some(5)));
        let one = "clock_adjtime(CLOCK_REALTIME, {modes=0, offset=0, freq=65536, status=STA_PLL|STA_NANO, tick=10000}) = 0 (TIME_OK)\n";
        let seen = state(one).unwrap();
        assert!(seen.synchronized && seen.frequency_ppm == Some(1.0));
        assert_eq!(state("adjtimex({modes=0 and more text\n"), None);
    }

    #[test]
    fn peers_below_a_rule_an_empty_line_or_nothing_are_read() {
        let head = "pi@x:~ $ ntpq -p\n  remote           refid      st t when poll reach   delay   offset  jitter\n";
        let row =
            " boxi.trexler.at .INIT.          16 u    -   64    0    0.000    0.000   0.000\n";
        for rule in ["==========================\n", "\n", ""] {
            let text = format!("{head}{rule}{row}{row}");
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let told = Pasted::read(&lines, "text").told;
            let source = told.source.value().unwrap();
            assert_eq!(source.sources, Some((2, 0)), "{rule:?}");
        }
    }
}
