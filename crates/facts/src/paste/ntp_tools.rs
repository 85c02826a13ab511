//! Tools of time daemons other than `chronyc tracking` and `ntpq -p`: `ntptime`, OpenNTPD's `ntpctl -s status`,
//! `chronyc activity`.

use super::{Page, Reader, discipline};
use crate::Fact;
use crate::ntp::NtpState;
use crate::wall::{Remark, TimeSource, What};

pub(super) const NTPTIME: Reader = Reader {
    name: "ntptime",
    words: &["ntp_gettime() returns code ", "ntp_adjtime() returns code "],
    read: ntptime,
};

pub(super) const OPENNTPD: Reader =
    Reader { name: "ntpctl", words: &[" peers valid, "], read: openntpd };

pub(super) const ACTIVITY: Reader =
    Reader { name: "chronyc activity", words: &[" sources online"], read: activity };

/// Lines of one output of ntptime.
const LINES: usize = 14;
/// `STA_UNSYNC` of `<sys/timex.h>`.
const UNSYNC: i64 = 0x40;

/// `ntptime` of the reference implementation: `status 0x40 (UNSYNC),`, `maximum error 16000000 us`.
fn ntptime(page: &mut Page<'_>, at: usize) -> usize {
    let mut state = NtpState::only(true);
    let (mut status, mut end) = (None, at + 1);
    let code = page.line(at).split_once(" returns code ").map_or("", |(_, code)| code);
    state.clock_state = code.split(' ').next().and_then(|code| code.parse().ok());
    for number in at + 1..page.len().min(at + LINES) {
        let line = page.line(number).trim();
        if line.is_empty() || page.is_prompt(number) {
            break;
        }
        for field in line.split(',').map(str::trim) {
            // `estimated error 16000000 us`: the figure after the name.
            let figure = |name: &str| -> Option<f64> {
                let rest = field.strip_prefix(name)?;
                rest.split_ascii_whitespace().next()?.parse().ok().filter(|f: &f64| f.is_finite())
            };
            #[allow(clippy::cast_possible_truncation)]
            let scaled = |name: &str, by: f64| figure(name).map(|f| (f * by).round() as i64);
            if let Some(rest) = field.strip_prefix("status 0x") {
                let digits = rest.split(' ').next().unwrap_or_default();
                status = i64::from_str_radix(digits, 16).ok();
            }
            state.maximum_error_us = scaled("maximum error ", 1.0).or(state.maximum_error_us);
            state.estimated_error_us = scaled("estimated error ", 1.0).or(state.estimated_error_us);
            state.offset_ns = scaled("offset ", 1e3).or(state.offset_ns);
            state.tai_s = scaled("TAI offset ", 1.0).or(state.tai_s);
            state.frequency_ppm = figure("frequency ").or(state.frequency_ppm);
        }
        end = number + 1;
    }
    let Some(status) = status else { return 0 };
    state.status = Some(status);
    state.synchronized = status & UNSYNC == 0;
    page.told.ntp = Fact::known(state, page.source(at));
    end - at
}

/// `4/4 peers valid, clock unsynced, clock offset is -18161.083ms` (`show_status_msg()` in OpenNTPD's ntpd.c).
fn openntpd(page: &mut Page<'_>, at: usize) -> usize {
    let Some((head, rest)) = page.line(at).split_once(" peers valid, ") else { return 0 };
    let valid = head.split_ascii_whitespace().next_back().and_then(|word| {
        let (valid, all) = word.split_once('/')?;
        all.parse::<u32>().ok().and_then(|_| valid.parse::<u32>().ok())
    });
    let logged = match (rest.contains("clock unsynced"), rest.contains("clock synced")) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    };
    let (Some(answering), Some(_)) = (valid, logged) else { return 0 };
    discipline::add(
        page,
        at,
        TimeSource { daemon: "ntpd", logged, answering, ..TimeSource::default() },
    );
    1
}

/// `1 sources online` to `8 sources with unknown address`.
fn activity(page: &mut Page<'_>, at: usize) -> usize {
    let count = |number: usize, words: &str| -> Option<u32> {
        page.line(number).trim().strip_suffix(words)?.parse().ok()
    };
    let online = count(at, " sources online");
    let (Some(online), Some(offline)) = (online, count(at + 1, " sources offline")) else {
        return 0;
    };
    let lines = at + 2..page.len().min(at + 5);
    let unknown = lines.clone().find_map(|number| count(number, " sources with unknown address"));
    let what = What::Activity { online, offline, unknown: unknown.unwrap_or(0) };
    let remark = Remark { what, program: "chronyd", source: page.source(at) };
    let rest = lines.filter(|number| page.line(*number).contains(" sources ")).count();
    let told = TimeSource { daemon: "chronyd", remarks: vec![remark], ..TimeSource::default() };
    discipline::add(page, at, told);
    2 + rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::Pasted;
    use super::*;

    fn read(text: &str) -> Pasted {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Pasted::read(&lines, "text")
    }

    #[test]
    fn ntptime_states_the_kernels_discipline() {
        let told = read(
            "ntp_gettime() returns code 5 (ERROR)\n  time d9c34c6a.d35e4000  Sat, Oct 10 2015  8:35:54.825, (.825657),\n  \
             maximum error 16000000 us, estimated error 16000000 us, TAI offset 37\nntp_adjtime() returns code 5 (ERROR)\n  \
             offset 1.500 us, frequency -2.250 ppm, interval 1 s,\n  status 0x40 (UNSYNC),\n",
        )
        .told;
        let state = told.ntp.value().unwrap();
        assert!(!state.synchronized);
        assert_eq!((state.maximum_error_us, state.tai_s), (Some(16_000_000), Some(37)));
        assert_eq!((state.offset_ns, state.frequency_ppm), (Some(1500), Some(-2.25)));
        assert!(!read("ntp_gettime() returns code 0 (OK)\n").told.ntp.is_known());
    }

    #[test]
    fn openntpd_says_whether_it_is_synchronised_and_the_last_line_counts() {
        let told = read(
            "4/4 peers valid, clock synced, stratum 3\n3/4 peers valid, clock unsynced, clock offset is -18161.083ms\n",
        )
        .told;
        let source = told.source.value().unwrap();
        assert_eq!((source.logged, source.answering), (Some(false), 4));
        assert!(!read("all peers valid, clock unsynced\n").told.source.is_known());
    }

    #[test]
    fn activity_counts_sources() {
        let told = read(
            "200 OK\n1 sources online\n0 sources offline\n0 sources doing burst (return to online)\n\
             0 sources doing burst (return to offline)\n8 sources with unknown address\n",
        )
        .told;
        let remarks = &told.source.value().unwrap().remarks;
        assert_eq!(remarks[0].what, What::Activity { online: 1, offline: 0, unknown: 8 });
    }
}
