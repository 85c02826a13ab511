//! What programs say of a wall clock that is off, with their figures: package managers, services that check the time of a request,
//! servers that watch their own clock.

use super::hosts_differ::go_duration;
use super::remark::behind;
use super::{Remark, What, date_seconds};
use crate::{Source, units, utc};

/// The remark of a line, if it has one.
///
/// Sources: `pkgAcqMetaBase::VerifyVendor()` in apt's acquire-item.cc; the errors RequestTimeTooSkewed of S3 and
/// `InvalidSignatureException` of AWS' signatures; `ThreadPool.TimeChangeChecker` in Elasticsearch; `journal_file_append_entry()` and
/// `server_rotate_if_needed()` in systemd's journald; `IdWorker.nextId()` in Twitter's Snowflake and those that followed it;
/// `FailureDetector.interpret()` in Cassandra, `failure_detector` in Scylla; `UpdateTimestamp()` in PD's tso; `GetTimeWithError()` in
/// Kudu's `system_ntp.cc`; `check_time_correction()` in Erlang's `erl_time_sup.c`; `Clock.checkPhysicalClock()` in CockroachDB's hlc.
pub(super) fn of_line(line: &str, source: &Source) -> Option<Remark> {
    let (program, what) = None
        .or_else(|| apt(line))
        .or_else(|| signature(line))
        .or_else(|| went_back(line))
        .or_else(|| held_up(line))
        .or_else(|| loki(line))
        .or_else(|| others(line))?;
    Some(Remark { what, program, source: source.clone() })
}

type Said = (&'static str, What);

/// `Release file for URL is not valid yet (invalid for another 146d 6h 13min 6s)`, perhaps broken in front of `is`.
fn apt(line: &str) -> Option<Said> {
    let rest = behind(line, "(invalid for another ")?;
    let by_s = parts(rest.split(')').next()?)?;
    Some(("apt", What::BehindAtLeast { by_s }))
}

/// `146d 6h 13min 6s` in seconds.
fn parts(text: &str) -> Option<f64> {
    let mut sum = 0.0;
    let mut any = false;
    for word in text.split_ascii_whitespace() {
        sum += units::duration(word)?;
        any = true;
    }
    any.then_some(sum)
}

/// A service that refuses a request by the time that the request has.
fn signature(line: &str) -> Option<Said> {
    const S3: &str = "Amazon S3";
    if line.contains("RequestTimeTooSkewed") {
        let here = element(line, "RequestTime").and_then(moment);
        let there = element(line, "ServerTime").and_then(moment);
        let behind_s = here.zip(there).map(|(here, there)| there - here);
        return Some((S3, What::Refused { behind_s }));
    }
    // `Signature expired: T is now earlier than L (NOW - 5 min.)`, `Signature not yet current: T is still later than L (NOW + 5 min.)`
    for (words, than) in [
        ("Signature expired: ", " is now earlier than "),
        ("Signature not yet current: ", " is still later than "),
    ] {
        if let Some(rest) = behind(line, words)
            && let Some((of_request, rest)) = rest.split_once(than)
        {
            let now = behind(rest, "(").and_then(|rest| rest.split([' ', '+', '-']).next());
            let behind_s = moment(of_request).zip(now.and_then(moment)).map(|(t, now)| now - t);
            return Some(("AWS", What::Refused { behind_s }));
        }
    }
    None
}

/// The content of an element of XML.
fn element<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    behind(line, &format!("<{name}>"))?.split('<').next()
}

/// Seconds since 1970 of a time in one of the forms that AWS writes.
#[allow(clippy::cast_precision_loss)]
fn moment(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(seconds) = utc::seconds(text) {
        return Some(seconds as f64);
    }
    if text.ends_with(" GMT") || text.ends_with(" UTC") {
        return date_seconds(text).map(|(seconds, _)| seconds as f64);
    }
    // `20150604T232559Z`
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let digits = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !digits(date, 8) || !digits(time, 6) {
        return None;
    }
    let whole = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &date[..4],
        &date[4..6],
        &date[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    utc::seconds(&whole).map(|seconds| seconds as f64)
}

fn went_back(line: &str) -> Option<Said> {
    // `[459ms/459ms]`, in which a parser of terminal sequences mistakes `[459m` for a colour.
    if line.contains("absolute clock went backwards by ") {
        return Some(("Elasticsearch", What::WentBack));
    }
    // The monotonic one, in the same words, is of another boot.
    let journald = line.contains("journald")
        && (line.contains(": Time jumped backwards, rotating")
            || line.contains("Realtime clock jumped backwards relative to last journal entry"));
    if journald {
        return Some(("systemd-journald", What::WentBack));
    }
    let moves = ["lock moved backwards", "lock is moving backwards"];
    (moves.iter().any(|words| line.contains(words)) && line.contains("efusing to generate id"))
        .then_some(("Snowflake (a generator of ids)", What::WentBack))
}

/// A program that found more time between two looks than it had expected.
fn held_up(line: &str) -> Option<Said> {
    if let Some(rest) = behind(line, "timer thread slept for ") {
        // The first figure is rounded: `[1.3m/80947ms]`.
        let figures = rest.split(']').next().unwrap_or(rest).trim_start_matches('[');
        let by_s = figures.rsplit('/').find_map(units::duration);
        return rest
            .contains(" clock which is above")
            .then_some(("Elasticsearch", What::HeldUp { by_s }));
    }
    if let Some(rest) = behind(line, "Not marking nodes down due to local pause of ") {
        let figure = rest.split([' ', '>']).next()?;
        // Cassandra writes nanoseconds, Scylla milliseconds.
        let factor = if rest.contains("(milliseconds)") { 1e-3 } else { 1e-9 };
        let by_s = figure.parse::<f64>().ok().map(|by| by * factor);
        let program = if factor > 1e-6 { "Scylla" } else { "Cassandra" };
        return Some((program, What::HeldUp { by_s }));
    }
    // Folding@home compares its clock with the time of its own previous check (`skewTimer()` in Unit.cpp): `5 mins 57 secs`.
    if let Some(rest) = behind(line, "Detected clock skew (")
        && let Some((figures, _)) = rest.split_once(')')
    {
        let words: Vec<&str> = figures.split_ascii_whitespace().collect();
        let pair = |pair: &[&str]| {
            let figure: f64 = pair.first()?.parse().ok()?;
            Some(figure * units::seconds(pair.get(1)?)?)
        };
        let by_s = words.chunks(2).map(pair).sum::<Option<f64>>().filter(|by| *by > 0.0)?;
        return Some(("Folding@home", What::HeldUp { by_s: Some(by_s) }));
    }
    if let Some(rest) = behind(line, "clock offset: ")
        && rest.contains(", prev: ")
        && rest.contains(", now: ")
    {
        return Some(("PD", What::HeldUp { by_s: go_duration(rest) }));
    }
    None
}

/// Seconds by which the time of an entry is ahead of the line that refuses it, from which on the clocks of two hosts differ.
const AHEAD_S: f64 = 2.0;

/// Loki's message about an entry that is too new, or newer than its own line: `ts=2024-03-01T07:13:02.6Z ... has
/// timestamp too new: 2024-03-01 12:13:01.399 +0000 UTC`. Source: `validateEntry()` in Loki's distributor.
#[allow(clippy::cast_precision_loss)]
fn loki(line: &str) -> Option<Said> {
    let entry = behind(line, "has timestamp too new: ").or_else(|| {
        line.contains("'entry out of order'").then(|| behind(line, "entry with timestamp "))?
    })?;
    // `2024-03-01 12:13:01.399 +0000 UTC`
    let (date, rest) = entry.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let seconds = |date: &str, time: &str| {
        let whole = time.split('.').next()?;
        utc::seconds(&format!("{date}T{whole}Z")).map(|seconds| seconds as f64)
    };
    let entry = seconds(date, time).filter(|_| rest.starts_with("+0000"))?;
    let own = behind(line, " ts=")?.split(' ').next()?.strip_suffix('Z')?;
    let (date, time) = own.split_once('T')?;
    let by_s = entry - seconds(date, time)?;
    (by_s >= AHEAD_S).then_some(("Loki", What::EntryTooNew { by_s }))
}

/// PD's time stamp oracle: `["system time may be incorrect"] [last=2023/03/29 04:49:05.423 +00:00] [next=2023/03/29 04:49:05.266 +00:00]`.
/// Source: `SyncTimestamp()` in PD's tso.go.
fn pd(line: &str) -> Option<Said> {
    if !line.contains("system time may be incorrect") {
        return None;
    }
    let field = |name: &str| behind(line, name)?.split(']').next();
    let by_s = field("[last=").and_then(pd_moment).zip(field("[next=").and_then(pd_moment));
    let by_s = by_s.map(|(last, next)| last - next).filter(|by_s| *by_s > 0.0);
    Some(("PD", What::SavedAhead { by_s }))
}

/// Seconds of `2023/03/29 04:49:05.423 +00:00`, without its zone.
#[allow(clippy::cast_precision_loss)]
fn pd_moment(text: &str) -> Option<f64> {
    let mut words = text.split(' ');
    let date = words.next()?.replace('/', "-");
    let (time, fraction) = words.next()?.split_once('.')?;
    let seconds = utc::seconds(&format!("{date}T{time}Z"))? as f64;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some(seconds + fraction)
}

fn others(line: &str) -> Option<Said> {
    if let Some(said) = pd(line) {
        return Some(said);
    }
    if let Some(rest) = behind(line, "remote wall time is too far ahead (") {
        return Some(("CockroachDB", What::HostsDiffer { by_s: go_duration(rest), at_s: None }));
    }
    if line.contains("Clock considered unsynchronized")
        || line.contains("ntp_gettime() returned TIME_ERROR")
    {
        return Some(("Kudu", What::CalledUnsynchronised));
    }
    if line.contains("Monotonic time stepped backwards!") {
        return Some(("Erlang", What::MonotonicBack));
    }
    // The panics of Rust's Instant before 1.60, in the order of the versions.
    let of_instant = [
        "other was less than the current instant",
        "specified instant was later than self",
        "supplied instant is later than self",
    ];
    if of_instant.iter().any(|words| line.contains(words)) {
        return Some(("Rust's Instant", What::MonotonicBack));
    }
    if line.contains("[timeSync] One time synchronization: stepping time") {
        return Some(("VMware Tools (vmtoolsd)", What::Set));
    }
    if line.contains("Changed local time to ") {
        return Some(("systemd-timedated", What::Set));
    }
    line.contains("Clock change detected. Flushing caches.")
        .then_some(("systemd-resolved", What::Set))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn said(line: &str) -> Option<Said> {
        of_line(line, &Source("log:1".into())).map(|remark| (remark.program, remark.what))
    }

    #[test]
    fn refused_lists_and_requests_tell_how_far_the_clock_is_off() {
        let apt = "E: Release file for http://a/dists/b/InRelease is not valid yet (invalid for another 1d 2h 3min 4s). Updates";
        assert_eq!(said(apt), Some(("apt", What::BehindAtLeast { by_s: 93_784.0 })));
        let refused = |program, behind_s| Some((program, What::Refused { behind_s }));
        for (line, program, behind_s) in [
            (
                "<Code>RequestTimeTooSkewed</Code><RequestTime>Wed, 05 Aug 2015 02:17:06 GMT</RequestTime><ServerTime>2015-08-05T03:17:06Z</ServerTime>",
                "Amazon S3",
                Some(3600.0),
            ),
            (
                "RequestTimeTooSkewed <RequestTime>20150604T232559Z</RequestTime><ServerTime>2015-06-04T22:25:59Z</ServerTime>",
                "Amazon S3",
                Some(-3600.0),
            ),
            ("403 RequestTimeTooSkewed", "Amazon S3", None),
            (
                "Signature expired: 20150307T194740Z is now earlier than 20150307T195000Z (20150307T195500Z - 5 min.)",
                "AWS",
                Some(440.0),
            ),
            (
                "Signature not yet current: 20201002T065532Z is still later than 20201002T062118Z (20201002T061618Z + 5 min.)",
                "AWS",
                Some(-2354.0),
            ),
        ] {
            assert_eq!(said(line), refused(program, behind_s), "{line}");
        }
        assert_eq!(said("this certificate is not valid yet"), None);
    }

    #[test]
    fn of_pd_and_of_generators_of_ids() {
        let line = r#"[ERROR] [tso.go:210] ["system time may be incorrect"] [last=2023/03/29 04:49:05.423 +00:00] [next=2023/03/29 04:49:05.266 +00:00]"#;
        let by_s = match said(line) {
            Some(("PD", What::SavedAhead { by_s })) => by_s,
            _ => None,
        };
        assert!(by_s.is_some_and(|by_s| (by_s - 0.157).abs() < 1e-3), "{by_s:?}");
        assert_eq!(
            said("[\"system time may be incorrect\"]"),
            Some(("PD", What::SavedAhead { by_s: None }))
        );
        let ids = "ERROR:  clock is moving backwards, rejecting requests until 16 and refusing to generate id for 9";
        assert_eq!(said(ids).map(|(_, what)| what), Some(What::WentBack));
    }

    #[test]
    fn programs_that_watch_their_clock_are_told_apart() {
        let back = |program| Some((program, What::WentBack));
        let held = |program, by| Some((program, What::HeldUp { by_s: Some(by) }));
        assert_eq!(
            said(
                "10:11:12:WARNING:WU01:Detected clock skew (2 mins 5 secs), adjusting time estimates"
            ),
            held("Folding@home", 125.0)
        );
        assert_eq!(said("Detected clock skew (client=17, server=25)."), None);
        assert_eq!(
            said("absolute clock went backwards by [459ms/459ms] while timer thread was sleeping"),
            back("Elasticsearch")
        );
        assert_eq!(said("absolute clock went backwards by s/459ms] while"), back("Elasticsearch"));
        assert_eq!(
            said("systemd-journald[4]: Time jumped backwards, rotating."),
            back("systemd-journald")
        );
        assert_eq!(
            said(
                "systemd-journald[4]: a.journal: Monotonic clock jumped backwards relative to last journal entry, rotating."
            ),
            None
        );
        assert_eq!(
            said(
                "timer thread slept for [6.5s/6500ms] on absolute clock which is above the warn threshold of [5000ms]"
            ),
            held("Elasticsearch", 6.5)
        );
        assert_eq!(
            said("timer thread slept for [1.5m/91250ms] on absolute clock which is above the warn"),
            held("Elasticsearch", 91.25)
        );
        assert_eq!(
            said("timer thread slept for [6.2s/6250000000ns] on relative clock which is above"),
            held("Elasticsearch", 6.25)
        );
        for panicked in [
            "thread 'a' panicked at 'supplied instant is later than self', time.rs:1",
            "thread 'a' panicked at 'other was less than the current instant'",
        ] {
            assert_eq!(said(panicked), Some(("Rust's Instant", What::MonotonicBack)));
        }
        assert_eq!(
            said("Not marking nodes down due to local pause of 128306 > 5000 (milliseconds)"),
            held("Scylla", 128.306)
        );
        assert_eq!(
            said("Not marking nodes down due to local pause of 6000000000 > 5000000000"),
            held("Cassandra", 6.0)
        );
        assert_eq!(
            said("clock offset: 1.5s, prev: 2018 m=+40.0, now: 2018 m=+41.5"),
            held("PD", 1.5)
        );
        let differ = What::HostsDiffer { by_s: Some(97.5), at_s: None };
        assert_eq!(
            said("remote wall time is too far ahead (1m37.5s) to be trustworthy"),
            Some(("CockroachDB", differ))
        );
        assert_eq!(
            said("Monotonic time stepped backwards!"),
            Some(("Erlang", What::MonotonicBack))
        );
        assert_eq!(said("the clock offset: 3 of them"), None);
    }

    #[test]
    fn entries_of_the_future_are_compared_with_the_line_that_refuses_them() {
        let line = |own: &str, entry: &str| {
            format!(
                "level=error ts={own} caller=client.go:1 error=\"server returned 400: entry for stream '{{a=\\\"b\\\"}}' has timestamp too \
                 new: {entry} +0000 UTC\""
            )
        };
        let new = |by_s| Some(("Loki", What::EntryTooNew { by_s }));
        assert_eq!(
            said(&line("2026-03-01T07:13:02.668612574Z", "2026-03-01 12:13:01.399")),
            new(17_999.0)
        );
        let order = "level=warn ts=2026-03-01T07:13:02.6Z err=\"entry with timestamp 2026-03-01 07:14:00.7 +0000 UTC ignored, reason: \
                     'entry out of order' for stream\"";
        assert_eq!(said(order), new(58.0));
        assert_eq!(said(&order.replace("07:14:00", "07:12:00")), None);
    }

    proptest! {
        #[test]
        fn any_text(
            words in prop::sample::select(vec![
                "(invalid for another ", "Signature expired: ", "timer thread slept for ", "RequestTimeTooSkewed <RequestTime>",
                "Not marking nodes down due to local pause of ", "clock offset: ", "remote wall time is too far ahead (",
                " ts=2026-03-01T07:13:02Z has timestamp too new: ",
            ]),
            rest in "\\PC{0,60}",
        ) {
            let _ = said(&format!("{words}{rest}"));
        }
    }
}
