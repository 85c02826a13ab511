//! The output of tools: `hwclock`, `ntpdate`, `tcpdump`.

use super::difference::text;
use crate::cause::{Confidence, Severity};

/// The number of requests without an answer, and the seconds between the first and the last, that show that none comes.
const ASKED: u32 = 3;
const ASKED_OVER_S: f64 = 10.0;

/// The text for a real-time clock that could not be read.
pub(super) fn rtc_unread(lost: Option<bool>) -> &'static str {
    match lost {
        Some(true) => {
            "the real-time clock has no valid time: it lost power, as with an empty battery, or was \
             never set. hwclock --systohc writes the system's time to it, once the system's time is \
             correct. The clocksource is not affected"
        }
        Some(false) => {
            "the real-time clock does not answer: its chip is missing, or its bus or its driver \
             fails. The clocksource is not affected"
        }
        None => {
            "the real-time clock gave no time: it lost power or was never set, or its chip does not \
             answer. The clocksource is not affected"
        }
    }
}

/// A real-time clock that was not set.
pub(super) fn rtc_unwritten() -> &'static str {
    "the real-time clock did not take the time that hwclock wrote to it: its driver cannot set it, \
     its range of years ends before that date, or it is not powered. The system's clock is not \
     affected until the next start, and the clocksource never is"
}

/// The findings and the action of ntpdate.
pub(super) fn slewed(by_s: f64, asked: bool) -> String {
    let way = if by_s > 0.0 { "behind" } else { "ahead of" };
    let by = text(by_s);
    if asked {
        return format!(
            "ntpdate only queried the server (-q): the wall clock was {by} {way} that server's, and \
             nothing was set"
        );
    }
    format!(
        "ntpdate found the wall clock {by} {way} a server's, and slews it (it steps the clock only if the offset is \
         half a second or more). It ran once and does not keep the clock synchronised"
    )
}

/// Requests to time servers in a capture, and their answers.
pub(super) fn packets(
    asked: u32,
    answered: u32,
    over_s: f64,
) -> (String, (Option<Severity>, Option<Confidence>)) {
    if answered > 0 {
        let words = "the capture has a time server's answer (tcpdump): UDP port 123 is open on the path. Whether the \
                     daemon takes that time is not in the capture; chronyc sources shows it";
        return (words.to_owned(), (None, None));
    }
    if asked >= ASKED && over_s >= ASKED_OVER_S {
        let words = format!(
            "{asked} requests to time servers went out within {}, and no answer came in (tcpdump): UDP port 123 is blocked on the \
             way, or the servers do not answer",
            text(over_s)
        );
        return (words, (Some(Severity::Warning), Some(Confidence::Medium)));
    }
    let words = "the capture (tcpdump) has a request to a time server and no answer, and is too short to prove that none comes";
    (words.to_owned(), (None, None))
}
