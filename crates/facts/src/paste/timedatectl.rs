//! `timedatectl`: its lines, one of them alone, or all of them in one line.

use super::{Page, Reader, discipline};
use crate::Fact;
use crate::utc::days_since_1970;

pub(super) const READER: Reader = Reader {
    name: "timedatectl",
    words: &[
        "synchronized:",
        "NTP service:",
        "RTC in local TZ:",
        "Universal time:",
        "Local time:",
        "RTC time:",
        "Time zone:",
        "NTP enabled:",
        "Network time on:",
        "systemd-timesyncd.service active:",
        READS_LOCAL,
    ],
    read,
};

/// The warning below the fields.
const READS_LOCAL: &str = "The system is configured to read the RTC time in the local time zone";

const FIELDS: [&str; 12] = [
    "Local time",
    "Universal time",
    "RTC time",
    "Time zone",
    "Timezone",
    "System clock synchronized",
    "NTP synchronized",
    "NTP service",
    "NTP enabled",
    "Network time on",
    "RTC in local TZ",
    "systemd-timesyncd.service active",
];

/// Fields that one line has at least if it is the whole output.
const IN_ONE_LINE: usize = 4;

/// The field of a line.
fn field(line: &str) -> Option<&str> {
    let (name, value) = line.trim().split_once(':')?;
    (FIELDS.contains(&name) && value.starts_with(' ')).then_some(name)
}

/// The fields of an output that a form, a table or a mailer put into one line, each with its value.
fn spread(line: &str) -> Vec<String> {
    let mut places: Vec<usize> =
        FIELDS.iter().filter_map(|name| line.find(&format!("{name}: "))).collect();
    places.sort_unstable();
    places.dedup();
    if places.len() < IN_ONE_LINE {
        return Vec::new();
    }
    places.push(line.len());
    let value = |ends: &[usize]| {
        let text = line[ends[0]..ends[1]].split(['`', '|', '<']).next().unwrap_or_default();
        text.trim().to_owned()
    };
    places.windows(2).map(value).collect()
}

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if line.contains(READS_LOCAL) {
        page.told.rtc_local = Fact::known(true, page.source(at));
        return 1;
    }
    let fields = spread(line);
    if !fields.is_empty() {
        for (number, field) in fields.iter().enumerate() {
            one(page, at, field, fields.get(number + 1).map_or("", String::as_str), 0);
        }
        return 1;
    }
    // The state is often quoted by itself.
    let value = line.split_once(": ").map_or("", |(_, value)| value.trim());
    let alone = match field(line) {
        Some("System clock synchronized" | "NTP synchronized" | "NTP enabled") => {
            matches!(value, "yes" | "no")
        }
        Some("NTP service") => matches!(value, "active" | "inactive" | "n/a"),
        Some("systemd-timesyncd.service active" | "Network time on") => {
            matches!(value, "yes" | "no")
        }
        _ => false,
    };
    if !alone && !page.is_output(at, "timedatectl", field) {
        return 0;
    }
    one(page, at, line, page.line(at + 1).trim(), 1);
    1
}

/// A field, and the one after it, `below` lines further down.
fn one(page: &mut Page<'_>, at: usize, line: &str, next: &str, below: usize) {
    discipline::state(page, at, line);
    let services = [
        "NTP service: ",
        "Network time on: ",
        "NTP enabled: ",
        "systemd-timesyncd.service active: ",
    ];
    let service = match services.iter().find_map(|name| line.strip_prefix(name)).map(str::trim) {
        Some("active" | "yes") => Some(true),
        Some("inactive" | "no") => Some(false),
        _ => None,
    };
    if let Some(active) = service {
        page.told.ntp_service = Fact::known(active, page.source(at));
    }
    if let Some(local) = line.strip_prefix("RTC in local TZ: ").map(str::trim)
        && matches!(local, "yes" | "no")
    {
        page.told.rtc_local = Fact::known(local == "yes", page.source(at));
    }
    // The RTC's line follows the universal time's.
    if let (Some(universal), Some(rtc)) =
        (line.strip_prefix("Universal time:"), next.strip_prefix("RTC time:"))
        && let (Some(universal), Some(rtc)) = (seconds(universal), seconds(rtc))
    {
        page.told.rtc_ahead_s = Fact::known(rtc - universal, page.source(at + below));
    }
}

/// Seconds since 1970 of a date and a time as timedatectl writes them: `Mon 2026-06-01 10:00:03 UTC`.
fn seconds(text: &str) -> Option<i64> {
    let mut words = text.split_ascii_whitespace().skip_while(|word| !word.contains('-'));
    let (date, time) = (words.next()?, words.next()?);
    let three = |text: &str, by: char| -> Option<[i64; 3]> {
        let mut parts = text.split(by).map(|part| part.parse::<i64>().ok());
        let found = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(found)
    };
    let ([year, month, day], [hour, minute, second]) = (three(date, '-')?, three(time, ':')?);
    let sane = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    let days = days_since_1970(year, month, day);
    sane.then_some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::super::Pasted;
    use super::*;
    use proptest::prelude::*;

    fn told(text: &str) -> (Option<bool>, Option<i64>, Option<bool>, Option<bool>) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let told = Pasted::read(&lines, "text").told;
        (
            told.ntp.value().map(|state| state.synchronized),
            told.rtc_ahead_s.value().copied(),
            told.ntp_service.value().copied(),
            told.rtc_local.value().copied(),
        )
    }

    #[test]
    fn output_in_one_line_is_the_output() {
        let fields = [
            "Local time: Mon 2023-01-16 12:52:48 CET",
            "Universal time: Mon 2023-01-16 11:52:48 UTC",
            "RTC time: Mon 2023-01-16 11:51:27",
            "Time zone: Europe/Madrid (CET, +0100)",
            "System clock synchronized: no",
            "NTP service: inactive",
            "RTC in local TZ: no",
        ];
        let expected = (Some(false), Some(-81), Some(false), Some(false));
        for between in [" ", "<br/>", "  ", "\n   "] {
            assert_eq!(told(&fields.join(between)), expected, "{between}");
        }
        assert_eq!(told(&format!("my output: ``` {} ```\nx\n", fields.join(" "))), expected);
    }

    #[test]
    fn sentences_with_the_names_are_not() {
        for text in [
            "If `System clock synchronized: no` is shown, NTP service: must be started.\n",
            "Time zone: and Local time: are fields\n",
        ] {
            assert_eq!(told(text), (None, None, None, None), "{text}");
        }
        let warning =
            "Warning: The system is configured to read the RTC time in the local time zone.\n";
        assert_eq!(told(warning).3, Some(true));
    }

    proptest! {
        #[test]
        fn any_text(text in "(Local time: |RTC time: |NTP service: |Time zone: |\\PC){0,12}") {
            let _ = spread(&text);
            let _ = seconds(&text);
        }
    }
}
