//! The pages of lines of programs and daemons that are evidence about the wall clock: what `why` recognises, `explain` knows.

use super::wall_pages::{CERTIFICATE, DOVECOT, HOSTS, MAKESTEP, PANIC, REQUEST};
use clocksmith_facts::Source;
use clocksmith_facts::wall::{Remark, TimeSource, What};

/// The page of a line that one of the recognisers knows.
pub(super) fn page(line: &str) -> Option<&'static str> {
    let told = TimeSource::of_remark(line, &Source("line".to_owned()))?;
    if let Some(remark) = told.remarks.first() {
        return Some(of_remark(remark));
    }
    match told.daemon {
        "systemd-timesyncd" => Some("systemd-timesyncd"),
        "ptp4l" => Some("ptp4l"),
        "phc2sys" => Some("phc2sys"),
        _ => Some(super::WALL_CLOCK),
    }
}

fn of_remark(remark: &Remark) -> &'static str {
    match remark.what {
        What::HostsDiffer { .. } | What::SavedAhead { .. } => HOSTS,
        What::Moved { .. } | What::WentBack if remark.program == "Dovecot" => DOVECOT,
        What::Jumped { .. } => "Forward time jump detected!",
        What::TooFar { .. } => PANIC,
        What::NotYetValid { .. } => CERTIFICATE,
        What::Refused { .. } => REQUEST,
        What::Slewed { .. } => MAKESTEP,
        What::NoReply | What::Packets { .. } | What::NoAddress => "NTP reach 0",
        What::ServerUnsynchronised => "stratum",
        What::NotPermitted | What::WithinBounds => "CAP_SYS_TIME",
        What::MonotonicBack => "monotonic clock went back",
        What::RtcUnread { .. }
        | What::RtcUnwritten
        | What::RtcTried { .. }
        | What::RtcBusy
        | What::RtcNone
        | What::RtcNoTick
        | What::RtcStandsStill => "RTC",
        What::EntryTooNew { .. } => "timestamp too new",
        _ => super::WALL_CLOCK,
    }
}

#[cfg(test)]
mod tests {
    use super::super::explain;

    #[test]
    fn lines_that_are_evidence_are_known_with_their_figures() {
        for (line, title) in [
            ("ntpd[1432]: time reset -3.250001 s", "time reset +N s"),
            ("Mar  3 04:05:06 a ntpd[7]: time reset +0.5 s", "time reset +N s"),
            ("time reset +12 s", "time reset +N s"),
            (
                "Watchdog hpet read timed out. Readout sequence took: 61200ns",
                "Watchdog hpet read timed out. Readout sequence took: N ns",
            ),
            (
                "clocksource: Watchdog hpet read timed out. Readout sequence took: 61200ns",
                "Watchdog hpet read timed out. Readout sequence took: N ns",
            ),
            (
                "imap-login: Error: Time just moved backwards by 4 seconds.",
                "Time moved forwards by N seconds - adjusting timeouts.",
            ),
            ("Time moved backwards", "Time moved forwards by N seconds - adjusting timeouts."),
            (
                "mon.c clock skew 1.5s > max 0.05s",
                "the clock difference against peer ID is too high [N > 1s]",
            ),
            (
                "cluster [WRN] clock skew 0.41s > max 0.05s",
                "the clock difference against peer ID is too high [N > 1s]",
            ),
            (
                "09:00:00:WARNING:Detected clock skew (9 mins 1 secs), adjusting time estimates",
                "Detected clock skew (N), adjusting time estimates",
            ),
            ("kernel time sync status change 2041", "kernel time sync status change N"),
            ("0.0.0.0 0613 03 spike_detect +0.21 s", "kernel time sync status change N"),
            ("Selected source 192.0.2.7", "kernel time sync status change N"),
            ("ntpd[7]: no servers reachable", "NTP reach 0"),
            ("Packet count: 0", "systemd-timesyncd"),
            ("The certificate has not yet been activated", "certificate is not yet valid"),
            ("delay_tsc", "delay_tsc"),
            ("2026-02-03 04:05:06 INFO time jumped forward by 3 s", "wall clock"),
        ] {
            let found = explain(line);
            assert_eq!(found.first().map(|one| one.title.as_str()), Some(title), "{line}");
        }
        assert!(explain("no such line of any program").is_empty());
    }
}
