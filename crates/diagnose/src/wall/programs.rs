//! What programs run into because of a clock: lists and requests that are refused, programs that were held up.

use super::difference::text;
use crate::cause::{Confidence, Severity};
use clocksmith_facts::wall::{TimeSource, What};

type Weighed = (String, (Option<Severity>, Option<Confidence>));

/// Seconds below which a zone is not thought of.
const ZONE_S: f64 = 1800.0;

/// Whether a difference is within five minutes of whole hours.
fn is_near_hours(by_s: f64) -> bool {
    by_s.abs() > ZONE_S && (by_s.abs() % 3600.0 - 1800.0).abs() > 1500.0
}

/// Seconds below which two machines that share files are the reason, and not a clock that was set wrong.
const SHARED_S: f64 = 5.0;
/// Seconds, 60 years: a clock that starts at 1970 is behind by less.
const BROKEN_S: f64 = 60.0 * 365.25 * 86_400.0;

/// Files that make found in the future, by the greatest time that a line states.
pub(super) fn files_of_the_future(told: Option<&TimeSource>) -> String {
    let times = told.into_iter().flat_map(|told| &told.remarks).filter_map(|one| match one.what {
        What::FilesOfTheFuture { by_s } => by_s,
        _ => None,
    });
    let most = times.max_by(f64::total_cmp);
    let by = most.map_or_else(String::new, |by| format!(" by up to {}", text(by)));
    if most.is_some_and(|by| by > BROKEN_S) {
        return format!(
            "make found files that were changed in the future{by} (\"Clock skew detected\"): a machine that starts \
             without a date is behind by less, so the dates of these files are probably wrong (stat FILE; touch sets \
             them to now), and no clock is at fault; this is not about a clocksource"
        );
    }
    let more = match most {
        Some(by) if by < SHARED_S => {
            ". Such a small difference is usual between two machines that share the files, such as a host and \
             its guest: synchronise both"
        }
        Some(by) if is_near_hours(by) => {
            ". The offset is close to whole hours, so a time zone is probably wrong: the files were copied or unpacked \
             with local times, or a clock was set in another zone. touch sets the times of the files to now, once the \
             clock is correct"
        }
        _ => ". touch sets the times of the files to now, once the clock is correct",
    };
    format!(
        "make found files that were changed in the future{by} (\"Clock skew detected\"): the wall clock here is behind that of the \
         machine that wrote them, which may be a file server, or it was set back since; this is not about a clocksource{more}"
    )
}

/// A certificate whose validity begins later than this clock shows.
pub(super) fn not_yet_valid(by_s: Option<f64>) -> String {
    let by = by_s.map_or_else(String::new, |by| format!(" by at least {}", text(by)));
    let zone = match by_s {
        Some(by) if is_near_hours(by) => {
            ". The offset is close to whole hours, so a time zone is probably wrong: one of the two clocks was set at \
             a start from a real-time clock in local time (RTC in local TZ), or by hand in another zone"
        }
        _ => "",
    };
    format!(
        "TLS refused a certificate as not yet valid: the wall clock here is behind{by}, or that of the machine that made the \
         certificate was ahead then, and was set back since{zone}"
    )
}

/// A log store that refused an entry of the future.
pub(super) fn entry_too_new(program: &str, by_s: f64) -> String {
    let why = match is_near_hours(by_s) {
        true => {
            "so near whole hours the entry has local time that was read as UTC: give the reader of the log its time zone. Then no \
             clock is wrong"
        }
        false => {
            "the wall clock of the machine that wrote it is ahead, or that of the store is behind; date -u on both shows which"
        }
    };
    format!("{program} refused a log entry that is {} ahead of its own clock: {why}", text(by_s))
}

/// A package manager whose lists were made later than this clock shows.
pub(super) fn behind_at_least(program: &str, by_s: f64) -> Weighed {
    let words = format!(
        "{program} refused its lists of packages because they are dated {} after this clock: the \
         wall clock is behind by at least that much, or the machine that made the lists was ahead. \
         In a container the clock is that of the machine or of the virtual machine below it. The \
         lists and the clocksource are not at fault",
        text(by_s)
    );
    (words, (Some(Severity::Warning), Some(Confidence::Medium)))
}

/// A service that refused a request by the time in it.
pub(super) fn refused(program: &str, behind_s: Option<f64>) -> Weighed {
    let figures = match behind_s {
        Some(by) if by > 0.0 => format!(", which is {} behind that of the service", text(by)),
        Some(by) => format!(", which is {} ahead of that of the service", text(-by)),
        None => String::new(),
    };
    let zone = match behind_s {
        Some(by) if is_near_hours(by) => {
            " That is close to whole hours: probably the clock was set by hand in another time \
             zone."
        }
        _ => "",
    };
    let sent_late = match behind_s {
        Some(by) if by <= 0.0 => "",
        Some(_) => ", or the request was signed long before it was sent",
        // Without the two times either may be the reason.
        None => {
            ", or the request was sent more than 15 minutes after it was signed, as at the end of a long upload, in a retry or from a \
             queue. In that case small requests succeed, and the clock is not at fault; upload in parts, and sign each \
             part when it is sent"
        }
    };
    let words = format!(
        "{program} refused a request by the time in it{figures}: the wall clock of the machine that signed it is wrong{sent_late}. \
         Keys and the clocksource are not at fault.{zone}"
    );
    // The sentence is closed by who prints it.
    let words = words.trim_end_matches('.').to_owned();
    match behind_s {
        Some(_) => (words, (Some(Severity::Warning), Some(Confidence::Medium))),
        None => (words, (Some(Severity::Info), Some(Confidence::Low))),
    }
}

/// Servers of a pool that ntpd queries when it starts.
const ASKED_AT_START: usize = 6;

/// ntpd that queries server after server of a pool and follows none.
pub(super) fn solicits(told: Option<&TimeSource>) -> Option<String> {
    let asked = told?.remarks_of(|what| *what == What::Solicits).count();
    (asked >= ASKED_AT_START).then(|| {
        format!(
            "ntpd asked servers of a pool {asked} times, and no line says that one answered or is followed. In the first minutes that \
             is usual; an hour later it means that no answer comes: UDP port 123 is blocked on the way, or there is no network"
        )
    })
}

/// A program that saw its wall clock move; `slept`: the kernel's log shows that the machine slept.
pub(super) fn moved(
    program: &str,
    forward: Option<bool>,
    by_s: Option<f64>,
    slept: bool,
) -> String {
    let by = by_s.map_or_else(String::new, |by| format!(" by {}", text(by)));
    let zone = match by_s {
        Some(by) if is_near_hours(by) => {
            ". The offset is close to whole hours, so a real-time clock in local time or a wrong time zone is probable"
        }
        _ => "",
    };
    match forward {
        Some(false) => format!(
            "{program} saw the wall clock go back{by}: something set it, such as a time daemon that steps instead of \
             slewing, date, or a hypervisor's tools. A clock that is ahead again and again runs too fast. Let one daemon \
             correct it, early in the boot, before such programs start{zone}"
        ),
        Some(true) if slept => format!(
            "{program} saw the wall clock jump ahead{by}, and the kernel's log shows that the machine slept{zone}"
        ),
        Some(true) => format!(
            "{program} saw the wall clock jump ahead{by}: the machine slept, this guest was paused or its processors \
             did not run, or something set the clock{zone}"
        ),
        None => format!(
            "{program} saw the wall clock move{by} between two checks: something set it, or this machine was paused or \
             slept{zone}"
        ),
    }
}

/// A program that found more time between two looks than it had expected.
pub(super) fn held_up(program: &str, by_s: Option<f64>) -> String {
    let figure = by_s.map_or_else(|| "more time".to_owned(), text);
    format!(
        "{program} found {figure} between two reads of the clock that it makes in quick succession: \
         it got no processor time, its disk was slow, the machine was paused, or the wall clock was \
         set ahead. The line shows neither which of these it was nor that the wall clock is wrong"
    )
}

/// A run time that saw `CLOCK_MONOTONIC` go back.
pub(super) fn monotonic_back(program: &str) -> String {
    let own = match program {
        "Erlang" => "Erlang's own (Erlang/OTP before 24.3.4.17 had one)",
        _ => "in the program: it subtracted values of two clocks, or in the wrong order",
    };
    format!(
        "{program} saw the monotonic clock go back. No time daemon can do that: either the \
         clocksource of this machine went back (counters of processors that are not synchronised, a \
         fault of the hypervisor), which the kernel's log and clocksmith verify show, or the fault \
         is {own}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_future_are_of_a_zone_or_of_a_clock() {
        assert!(entry_too_new("Loki", 17_999.0).contains("time zone"));
        let clock = entry_too_new("Loki", 58.0);
        assert!(clock.contains("58.0 s ahead") && !clock.contains("time zone"), "{clock}");
    }

    #[test]
    fn certificates_of_the_future_say_by_how_much() {
        let hours = not_yet_valid(Some(28_746.0));
        assert!(hours.contains("by at least 8.0 h") && hours.contains("time zone"), "{hours}");
        assert!(!not_yet_valid(Some(3000.0)).contains("time zone"));
        assert!(not_yet_valid(None).contains("is behind, or"));
    }

    #[test]
    fn a_refusal_without_times_does_not_prove_a_wrong_clock() {
        let (words, (severity, sure)) = refused("Amazon S3", None);
        assert!(
            words.contains("long upload") && words.contains("small requests succeed"),
            "{words}"
        );
        assert_eq!((severity, sure), (Some(Severity::Info), Some(Confidence::Low)));
        let (words, (severity, _)) = refused("Amazon S3", Some(914.0));
        assert!(words.contains("15 min behind") && severity == Some(Severity::Warning), "{words}");
    }

    #[test]
    fn near_whole_hours_a_zone_is_thought_of() {
        for (by, zone) in
            [(3590.0, true), (-3583.0, true), (7215.0, true), (45.0, false), (5400.0, false)]
        {
            assert_eq!(refused("AWS", Some(by)).0.contains("time zone"), zone, "{by}");
        }
    }
}
