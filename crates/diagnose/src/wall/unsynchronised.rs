//! The reasons why the wall clock is not synchronised, according to the evidence.

use super::difference::{Difference, text};
use super::judge::{FIRST_S, NAMED_S, View};
use super::report::{WallClockReport, WallState};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::Source;
use clocksmith_facts::wall::{Role, TimeSource, What};

/// The line which shows that no source is followed; a line which shows that no source answers, or that the sources
/// disagree, is preferred.
fn place(told: &TimeSource) -> Option<&Source> {
    let places = &told.places;
    let silent = told.sources.is_some_and(|(_, answering)| answering == 0);
    let of_sources = places.sources.as_ref().filter(|_| silent || told.sources_disagree());
    let said = match told.follows {
        Some(_) => &places.follows,
        None => &places.logged,
    };
    of_sources.or(said.as_ref())
}

/// The text for systemd-timesyncd without a server.
fn asks_nobody(told: &TimeSource) -> String {
    let network = "it believes that the network is down, for example because systemd-networkd is not in use or does \
                   not manage the link (networkctl); a firewall is not the reason";
    match told.has_servers {
        true => format!(
            "systemd-timesyncd has asked none of its servers: it has only just started, or {network}"
        ),
        false => format!(
            "systemd-timesyncd has asked no server: none is configured (NTP= in timesyncd.conf), or {network}"
        ),
    }
}

/// Seconds up to which a real-time clock that is read to the second agrees.
const AGREES_S: i64 = 2;

/// The text for systemd-timesyncd with a server that has not answered.
const ASKS_ONE: &str = "systemd-timesyncd has a server and no answer from it (Packet count 0): UDP port 123 may be blocked, the server may be \
                        down, or the daemon has only just asked";

/// The text for sources that answer with different times.
fn disagreement(told: &TimeSource) -> String {
    let mut offsets = told.offered_s.clone();
    offsets.sort_by(f64::total_cmp);
    let apart = match (offsets.first(), offsets.last()) {
        (Some(least), Some(most)) if most - least > 0.0 => {
            format!(", the times that they report are up to {} apart", text(most - least))
        }
        _ => String::new(),
    };
    let daemon = told.daemon;
    let who = match (told.disagree, told.answering) {
        (0, _) => {
            return format!(
                "the sources of {daemon} answer and disagree: no majority of them reports the same \
                 time{apart}"
            );
        }
        (some, all) if some >= all => {
            format!("the sources of {daemon} answer, but it considers all of them wrong")
        }
        (1, all) => format!("{all} sources of {daemon} answer, but it considers one of them wrong"),
        (some, all) => {
            format!("{all} sources of {daemon} answer, but it considers {some} of them wrong")
        }
    };
    format!("{who}, because they disagree (falsetickers){apart}")
}

impl View<'_> {
    /// The daemon follows the clock that it keeps.
    pub(super) fn own_clock(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let Some((told, source)) = self.told else { return };
        report.state = WallState::Unknown;
        let daemon = if told.daemon.is_empty() { "the time daemon" } else { told.daemon };
        // Another table of the same text may have a source that answers.
        let most = told.offered_s.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let rest = match most.filter(|by| by.abs() >= NAMED_S) {
            Some(by) => format!(
                "; a source that answers, and that it does not follow yet, reports this clock {} {}",
                text(by),
                if by < 0.0 { "behind" } else { "ahead" }
            ),
            None => ", and whether the time is correct is not in this evidence".to_owned(),
        };
        let summary = format!(
            "{daemon} follows this machine's own clock (127.127.1.0 or 127.127.1.1) and no source of time: it \
             calls that synchronised, with figures of zero{rest}"
        );
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        let place = told.places.follows.as_ref().unwrap_or(source);
        let evidence = vec![Evidence::new(place.0.clone(), "its reference is its own clock")];
        let id = CauseId::WallClockUnsynchronised;
        causes.push(cause(id, Severity::Warning, Confidence::Medium, summary, evidence));
    }

    /// Whether an earlier output in the text was synchronised, and the real-time clock agrees with the last one.
    fn was_synchronised(&self) -> bool {
        let before = self.told.is_some_and(|(told, _)| {
            told.remarks_of(|what| *what == What::SynchronisedBefore).next().is_some()
        });
        let agrees = self.facts.wall.shown_rtc_ahead_s.value().is_some_and(|s| s.abs() <= AGREES_S);
        before && agrees
    }

    /// Nothing synchronises it, by the kernel's word or by a daemon's.
    pub(super) fn unsynchronised(
        &self,
        agrees: bool,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
        report: &mut WallClockReport,
    ) {
        let steering = self.names(|role| role == Role::Steers);
        let others = self.names(|role| matches!(role, Role::Sets | Role::Open));
        let young = self.facts.wall.clocks.value().is_some_and(|clocks| clocks.up_s() < FIRST_S);
        let wsl = self.facts.environment.wsl.value() == Some(&true);
        // The daemon that reports this, not one whose log contradicts it.
        let daemon = self
            .told
            .filter(|(told, _)| told.follows.or(told.logged) == Some(false))
            .map(|(told, _)| told.daemon)
            .filter(|name| !name.is_empty());
        let by_call = self.kernel.is_some_and(|(kernel, _)| kernel.status.is_some());
        let says = daemon.filter(|_| !by_call).unwrap_or("the kernel");
        let service = self.facts.wall.ntp_service.value().copied();
        let logged = self.told.and_then(|(told, _)| Some((told.logged?, told.daemon)));
        let who_says = format!("{says} says that the wall clock is not synchronised");
        let (why, severity, sure, how) = if !steering.is_empty() {
            let names = steering.join(", ");
            let silent =
                self.told.and_then(|(told, _)| told.sources).is_some_and(|(_, ok)| ok == 0);
            let nobody = self.told.map(|(told, _)| told).filter(|told| told.asks_nobody);
            let why = match (young, silent) {
                (false, _) if nobody.is_some() => nobody.map_or_else(String::new, asks_nobody),
                (true, _) => {
                    format!("{names} runs, and the machine was started less than ten minutes ago")
                }
                (_, true) => format!("{names} runs, and none of its sources answers"),
                _ => format!("{names} runs and does not synchronise it"),
            };
            let severity = if young { Severity::Info } else { Severity::Warning };
            (
                why,
                severity,
                Confidence::High,
                "chronyc sources; ntpq -pn; timedatectl timesync-status",
            )
        } else if let Some((told, _)) =
            self.told.filter(|(told, _)| told.follows.or(told.logged) == Some(false))
        {
            let why = match told.sources {
                _ if told.sources_disagree() => disagreement(told),
                Some((1, 0)) => format!("the only source of {} does not answer", told.daemon),
                Some((all, 0)) => format!("none of the {all} sources of {} answers", told.daemon),
                Some((all, ok)) => format!(
                    "{ok} of the {all} sources of {} answer, and it follows none of them",
                    told.daemon
                ),
                None if told.asks_nobody => asks_nobody(told),
                None if told.asks_one => ASKS_ONE.to_owned(),
                None => format!("{} follows no source", told.daemon),
            };
            let how = match told.sources_disagree() {
                false if told.asks_one || told.asks_nobody => {
                    "journalctl -u systemd-timesyncd; sudo tcpdump -n udp port 123"
                }
                false => "chronyc sources; ntpq -pn",
                true => "date -u here and on a machine whose time is correct",
            };
            (why, Severity::Warning, Confidence::High, how)
        } else if let Some((true, from)) = logged {
            report.state = WallState::Unknown;
            let why = format!(
                "according to its log, {from} follows a source: without rtcsync in its \
                 configuration chronyd does not inform the kernel"
            );
            (why, Severity::Info, Confidence::Medium, "chronyc tracking")
        } else if service != Some(false) && self.was_synchronised() {
            let why = "an earlier output in this text was synchronised, and the real-time clock agrees to 2 s: between the two the \
                       kernel dropped that state, as after a suspend or a step, until the daemon has asked its server again";
            (why.to_owned(), Severity::Info, Confidence::Medium, "timedatectl, some minutes later")
        } else if let Some(active) = service.filter(|_| !self.all_seen()) {
            let why = match active {
                true => {
                    "its NTP service is active, but has not synchronised it yet, or none of its \
                     servers answers"
                }
                false => {
                    "its NTP service is not active, so it drifts unless something else synchronises \
                     it"
                }
            };
            let how = match active {
                true => "timedatectl timesync-status; chronyc sources; ntpq -pn",
                false => "date -u here and on another machine",
            };
            (why.to_owned(), Severity::Warning, Confidence::Medium, how)
        } else if !self.all_seen() {
            let why = "a program may correct it: this evidence does not contain the processes of the host or of \
                       another namespace";
            (
                why.to_owned(),
                Severity::Info,
                Confidence::Medium,
                "timedatectl; chronyc tracking, on the host",
            )
        } else if !others.is_empty() || wsl {
            let names = if others.is_empty() { "Windows".to_owned() } else { others.join(", ") };
            let why = format!(
                "no time daemon runs; {names} may set it without informing the kernel, occasionally \
                 or all the time"
            );
            (why, Severity::Info, Confidence::Medium, "date -u here and on another machine")
        } else if self.in_guest {
            let why = "no time daemon runs; whether an agent of the hypervisor sets it is not in this evidence";
            (
                why.to_owned(),
                Severity::Info,
                Confidence::Medium,
                "date -u here and on another machine",
            )
        } else if matches!(self.facts.hypervisor.value(), Some(None)) {
            (
                "no time daemon runs: it drifts".to_owned(),
                Severity::Warning,
                Confidence::High,
                "timedatectl",
            )
        } else {
            ("no time daemon runs".to_owned(), Severity::Info, Confidence::Medium, "timedatectl")
        };
        let severity = if agrees { Severity::Info } else { severity };
        let also = match &self.difference {
            Difference::Agrees(other) => format!("; it agrees with {}", other.words),
            _ => String::new(),
        };
        let summary = format!("{who_says}: {why}{also}");
        words.push(sentence(&summary));
        report.settles.push(settle("what synchronises the wall clock", how));
        let mut evidence: Vec<Evidence> = self.kernel_evidence().into_iter().collect();
        if let Some((keepers, source)) =
            self.keepers.filter(|(keepers, _)| !keepers.seen.is_empty())
        {
            let seen: Vec<String> = keepers
                .seen
                .iter()
                .map(|keeper| format!("{} {}", keeper.name, keeper.role.name()))
                .collect();
            evidence.push(Evidence::new(source.0.clone(), seen.join(", ")));
        }
        if let Some((told, source)) = self.told {
            evidence.push(Evidence::new(place(told).unwrap_or(source).0.clone(), why));
        }
        causes.push(cause(CauseId::WallClockUnsynchronised, severity, sure, summary, evidence));
    }
}
