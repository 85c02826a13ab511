//! Who disciplines the clock: `chronyc tracking`, `timedatectl`, `adjtimex --print`.

use super::{Page, Reader};
use crate::Fact;
use crate::ntp::{NtpState, Timex};

pub(super) const CHRONY: Reader = Reader {
    name: "chronyc tracking",
    words: &[
        "Leap status",
        "Reference ID",
        "System time     :",
        "Stratum",
        "Last offset",
        "RMS offset",
        "Frequency  ",
        "Residual freq",
        "Skew  ",
        "Root delay",
        "Root dispersion",
        "Update interval",
        "Ref time",
    ],
    read: chrony,
};

pub(super) const TIMEDATECTL: Reader = Reader {
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
    ],
    read: timedatectl,
};

pub(super) const ADJTIMEX: Reader = Reader {
    name: "adjtimex",
    words: &["maxerror:", "esterror:", "time_constant:", "raw time:"],
    read: adjtimex,
};

fn chrony(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at);
    // `Name            : value`, with the colon in one column.
    if line.find(':') != Some(16) {
        return 0;
    }
    state(page, at, line);
    1
}

fn timedatectl(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if !line.contains(": ") {
        return 0;
    }
    state(page, at, line);
    1
}

fn state(page: &mut Page<'_>, at: usize, line: &str) {
    if let Ok(state) = NtpState::told(line) {
        page.told.ntp = Fact::known(state, page.source(at));
    }
}

fn adjtimex(page: &mut Page<'_>, at: usize) -> usize {
    // The names that the program prints, around the one that was found.
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
            "mode" | "modes" | "time_constant" | "precision" | "tolerance" | "return value" => {}
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
