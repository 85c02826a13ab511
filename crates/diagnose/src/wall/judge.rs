//! The judgement of the wall clock.

use super::apart::is_of_a_guest;
use super::contrary;
use super::difference::{Difference, Other, difference, is_of_zone, text};
use super::report::{KeeperReport, StepReport, WallClockReport, WallState};
use super::words::{capital, cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::hypervisor::names_guest;
use clocksmith_facts::log::Event;
use clocksmith_facts::ntp::NtpState;
use clocksmith_facts::wall::{Keeper, Keepers, Role, TimeSource, What};
use clocksmith_facts::{Fact, Facts, Source};

/// Seconds that a time daemon may take after a boot.
pub(super) const FIRST_S: f64 = 600.0;

/// Seconds from which on a difference to a real-time clock in a text is named: both are read by hand, one after the other.
const RTC_OFF_S: f64 = 120.0;

/// The report, and the causes that follow from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct JudgedWall {
    pub(crate) report: Option<WallClockReport>,
    pub(crate) causes: Vec<Cause>,
}

/// Judges the wall clock. Without any evidence of the wall clock there is no report.
///
/// `current`: the clocksource in use.
pub(crate) fn judge(facts: &Facts, current: Option<&str>) -> JudgedWall {
    let view = View::of(facts, current);
    if !view.says_anything() {
        return JudgedWall::default();
    }
    let mut causes = Vec::new();
    let mut report = view.figures();
    let mut words = Vec::new();
    view.state(&mut report, &mut words, &mut causes);
    view.shown_apart(&mut report, &mut words, &mut causes);
    view.remarks(&mut report, &mut words, &mut causes);
    view.masters(&mut report, &mut words, &mut causes);
    let causes = together(causes);
    // A likely cause is evidence of the same matter.
    let is_likely = |cause: &Cause| cause.confidence >= Confidence::Medium;
    if causes.iter().any(|cause| is_likely(cause) && cause.severity >= Severity::Warning) {
        words.retain(|word| word != NOT_SHOWN);
    }
    report.summary = words.join(" ");
    JudgedWall { report: Some(report), causes }
}

/// What is said of the state of the wall clock where nothing shows it.
const NOT_SHOWN: &str = "Whether the wall clock is synchronised is not in this evidence.";

/// Merges equal causes: the one with the highest confidence remains, with the evidence of the others.
fn together(causes: Vec<Cause>) -> Vec<Cause> {
    let mut all: Vec<Cause> = Vec::new();
    for mut cause in causes {
        let Some(known) = all.iter_mut().find(|known| known.id == cause.id) else {
            all.push(cause);
            continue;
        };
        if (cause.severity, cause.confidence) > (known.severity, known.confidence) {
            std::mem::swap(known, &mut cause);
        }
        for evidence in cause.evidence {
            if !known.evidence.contains(&evidence) {
                known.evidence.push(evidence);
            }
        }
    }
    all
}

/// An offset from which on it is reported, in seconds: ntpd slews offsets below 128 ms (`CLOCK_MAX` in
/// ntp_loopfilter.c) and continues to follow the source, and a synchronised clock is usually within a few milliseconds.
pub(super) const NAMED_S: f64 = 0.02;

/// The remaining offset to a source that the daemon follows.
fn offset(told: &TimeSource) -> Option<String> {
    let ahead = told.ahead_s.filter(|ahead| ahead.abs() >= NAMED_S)?;
    let way = if ahead < 0.0 { "slow" } else { "fast" };
    let by = text(ahead);
    Some(format!(
        ", and it is still {by} {way} of its source: it is being corrected, or its rate or the way to the source is not \
         steady"
    ))
}

/// The evidence of the wall clock.
pub(super) struct View<'a> {
    pub(super) facts: &'a Facts,
    /// The clocksource in use.
    pub(super) current: Option<&'a str>,
    pub(super) kernel: Option<(&'a NtpState, &'a Source)>,
    pub(super) told: Option<(&'a TimeSource, &'a Source)>,
    pub(super) keepers: Option<(&'a Keepers, &'a Source)>,
    pub(super) difference: Difference,
    /// The line in which the kernel reports that its guest was restored.
    pub(super) restored: Option<Evidence>,
    pub(super) in_guest: bool,
    pub(super) in_container: bool,
}

fn known<T>(fact: &Fact<T>) -> Option<(&T, &Source)> {
    match fact {
        Fact::Known { value, source } => Some((value, source)),
        Fact::Missing(_) => None,
    }
}

impl<'a> View<'a> {
    fn of(facts: &'a Facts, current: Option<&'a str>) -> Self {
        let in_guest = matches!(facts.hypervisor.value(), Some(Some(_)))
            || facts.dmi.value().is_some_and(|text| names_guest(text));
        let of_a_guest = is_of_a_guest(facts);
        let restored = facts.kernel_log().and_then(|log| {
            let mut entries = log.entries.iter().rev();
            let entry = entries.find(|entry| entry.event == Event::VmFork)?;
            Some(Evidence::line(log, entry))
        });
        Self {
            facts,
            current,
            kernel: known(&facts.ntp).filter(|_| !of_a_guest),
            told: known(&facts.wall.source).filter(|_| !of_a_guest),
            keepers: known(&facts.wall.keepers),
            difference: difference(facts, in_guest),
            restored,
            in_guest,
            in_container: matches!(facts.environment.container.value(), Some(Some(_))),
        }
    }

    fn says_anything(&self) -> bool {
        self.kernel.is_some()
            || self.told.is_some()
            || self.restored.is_some()
            || self.keepers.is_some_and(|(keepers, _)| !keepers.seen.is_empty())
            || self.difference != Difference::Unknown
            || self.facts.wall.tools.is_known()
            || self.facts.wall.apart.is_known()
            || self.facts.wall.rtc_local.value() == Some(&true)
            || self.rtc_off().is_some()
            || self.leap_second().is_some()
            || self.wrong_from_the_start().is_some()
    }

    /// The figures that were read, without conclusions.
    fn figures(&self) -> WallClockReport {
        let kernel = self.kernel.map(|(state, _)| state);
        let of_state = |field: fn(&NtpState) -> Option<i64>| kernel.and_then(field);
        let (behind_s, behind_of) = match &self.difference {
            Difference::Unknown => (None, None),
            Difference::Agrees(other)
            | Difference::Differs(other)
            | Difference::Apart(other)
            | Difference::PerhapsZone(other) => (Some(other.behind_s), Some(other.name.clone())),
        };
        // Only a complete log from the boot on can show that the guest was not restored.
        let whole = self.facts.kernel_log().is_some_and(|log| log.from_boot && log.omitted == 0);
        let tells = self.facts.wall.generation_id.value() == Some(&true);
        let steering = self.names(|role| role == Role::Steers);
        let told =
            self.told.map(|(told, _)| told.daemon.to_owned()).filter(|name| !name.is_empty());
        let all_seen = self.all_seen();
        WallClockReport {
            disciplined_by: match (steering.is_empty(), told) {
                (false, _) => Some(steering.join(", ")),
                (true, Some(told)) => Some(told),
                (true, None) if all_seen => Some("none".to_owned()),
                (true, None) => None,
            },
            keepers: self.keepers.map_or_else(Vec::new, |(keepers, source)| {
                let report = |keeper: &Keeper| KeeperReport {
                    name: keeper.name.clone(),
                    role: keeper.role.name().to_owned(),
                    source: source.0.clone(),
                };
                keepers.seen.iter().map(report).collect()
            }),
            all_seen,
            kernel_synchronised: kernel.map(|state| state.synchronized),
            maxerror_us: of_state(|state| state.maximum_error_us),
            esterror_us: of_state(|state| state.estimated_error_us),
            offset_ns: of_state(|state| state.offset_ns).or_else(|| {
                // The offset to be added, with the kernel's sign.
                #[allow(clippy::cast_possible_truncation)]
                self.told.and_then(|(told, _)| told.ahead_s).map(|ahead| (-ahead * 1e9) as i64)
            }),
            frequency_ppm: kernel
                .and_then(|state| state.frequency_ppm)
                .or_else(|| self.told.and_then(|(told, _)| told.frequency_ppm)),
            at_limit: kernel.is_some_and(NtpState::is_at_its_limit),
            last_step: self.told.and_then(|(told, _)| {
                let last = told.corrections.iter().rev().find(|one| one.set)?;
                let source = last.source.0.clone();
                Some(StepReport { by_ms: last.by_s * 1e3, at: None, source })
            }),
            tai_s: of_state(|state| state.tai_s),
            behind_s,
            behind_of,
            restored: match &self.restored {
                Some(_) => Some(true),
                None => (whole && tells).then_some(false),
            },
            ..WallClockReport::default()
        }
    }

    pub(super) fn names(&self, wanted: impl Fn(Role) -> bool) -> Vec<&'a str> {
        let seen = self.keepers.map_or(&[][..], |(keepers, _)| &keepers.seen);
        seen.iter()
            .filter(|keeper| wanted(keeper.role))
            .map(|keeper| keeper.name.as_str())
            .collect()
    }

    /// Whether every process of the kernel's machine was seen.
    pub(super) fn all_seen(&self) -> bool {
        !self.in_container && self.keepers.is_some_and(|(keepers, _)| keepers.all)
    }

    /// Whether the clock is synchronised, as the kernel reports, or else the daemon.
    pub(super) fn synchronised(&self) -> Option<bool> {
        // A source that is rejected again shows nothing.
        let logged = |told: &TimeSource| told.logged.filter(|_| told.in_turn().is_none());
        let told = self.told.and_then(|(told, _)| told.follows.or_else(|| logged(told)));
        self.kernel.map(|(state, _)| state.synchronized).or(told)
    }

    /// Whether a daemon's own tool could not reach it: the same command shows nothing new.
    fn is_out_of_reach(&self, program: &str) -> bool {
        self.told.is_some_and(|(told, _)| {
            let down = |what: &What| matches!(what, What::NotRunning { .. });
            told.remarks.iter().any(|one| one.program == program && down(&one.what))
        })
    }

    /// The commands that show the state of the wall clock, without one that failed in the evidence.
    fn asked_for(&self) -> &'static str {
        let asks = |name: &str| self.told.is_some_and(|(told, _)| told.daemon == name);
        if self.is_out_of_reach("chronyd") || self.is_out_of_reach("ntpd") {
            "timedatectl; systemctl status chronyd ntpd systemd-timesyncd"
        } else if asks("systemd-timesyncd") {
            "timedatectl; timedatectl timesync-status"
        } else {
            "timedatectl; chronyc tracking"
        }
    }

    fn state(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let synchronised = self.synchronised();
        report.state = match synchronised {
            Some(true) => WallState::Synchronised,
            Some(false) => WallState::Unsynchronised,
            None => WallState::Unknown,
        };
        match &self.difference {
            Difference::Differs(other) if other.behind_s > 0.0 => {
                self.stale(other, report, words, causes);
                return;
            }
            Difference::Differs(other) => {
                self.ahead(other, report, words, causes);
                return;
            }
            Difference::Apart(other) => {
                self.apart(other, report, words, causes);
                if synchronised != Some(false) {
                    return;
                }
            }
            _ => {}
        }
        if self.phc(report, words, causes) {
            return;
        }
        if let Some((told, source)) = self.told
            && let Some(found) = contrary::of_figures(told, source)
        {
            self.against(found, report, words, causes);
            return;
        }
        if self.far_apart(report, words, causes) || self.disputed(report, words, causes) {
            return;
        }
        if synchronised == Some(true) && self.told.is_some_and(|(told, _)| told.own_clock) {
            self.own_clock(report, words, causes);
            return;
        }
        let found = self.found_wrong(words, causes);
        if found && synchronised != Some(false) && self.kernel.is_none() {
            report.state = WallState::Unknown;
            report.settles.push(settle("state of the wall clock", "timedatectl; chronyc tracking"));
            return;
        }
        let agrees = matches!(self.difference, Difference::Agrees(_));
        if let (Some(line), false, false) = (&self.restored, agrees, synchronised == Some(true)) {
            self.perhaps_stale(line, report, words, causes);
            if self.kernel.is_none() {
                return;
            }
        }
        match (synchronised, self.kernel) {
            (Some(true), _) => {
                words.push(self.good());
                self.corrected(report, words, causes);
            }
            (Some(false), Some((kernel, _))) if kernel.stated_error_us().is_some() => {
                self.stated(kernel, report, words);
            }
            (Some(false), _) => self.unsynchronised(agrees, words, causes, report),
            (None, _) if words.is_empty() => {
                words.push(NOT_SHOWN.to_owned());
                report.settles.push(settle("state of the wall clock", self.asked_for()));
            }
            (None, _) => {}
        }
        if let (Difference::Unknown, Some(by)) = (&self.difference, self.rtc_off()) {
            let way = if by > 0.0 { "behind" } else { "ahead of" };
            words.push(format!(
                "The wall clock is {} {way} the real-time clock: in a guest that clock usually has the host's time, and on hardware it drifts \
                 by seconds a day.",
                text(by)
            ));
            report.settles.push(settle("the right time", "date -u here and on another machine"));
        }
        if let Difference::PerhapsZone(other) = &self.difference {
            let hours = text(other.behind_s);
            words.push(format!(
                "{} is {hours} off: it keeps local time, or one of the two is wrong.",
                capital(&other.words)
            ));
            report.settles.push(settle(
                "difference from the real-time clock",
                "date -u; sudo hwclock --show --utc",
            ));
        }
        if report.at_limit {
            let limit = match self
                .kernel
                .is_some_and(|(kernel, _)| kernel.is_at_the_limit_of_ticks())
            {
                true => "the length of its tick is at the kernel's limit (10 %)",
                false => {
                    "its frequency is at the kernel's limit (500 ppm), more than which ntpd and systemd-timesyncd do not \
                     correct; chronyd would also change the tick"
                }
            };
            words.push(sentence(&format!(
                "{limit}: the rate of the counter is wrong by at least as much, see tsc-miscalibrated"
            )));
        }
    }

    /// Seconds by which the wall clock is behind the real-time clock of a text, if that is more than two readings make, and less than
    /// what is judged as a fault, and no time zone explains it.
    fn rtc_off(&self) -> Option<f64> {
        if self.synchronised() == Some(true) {
            return None;
        }
        #[allow(clippy::cast_precision_loss)]
        let by = *self.facts.wall.shown_rtc_ahead_s.value()? as f64;
        (by.abs() >= RTC_OFF_S && !is_of_zone(by)).then_some(by)
    }

    /// The text for a synchronised clock.
    fn good(&self) -> String {
        let by = self.names(|role| role == Role::Steers).join(", ");
        let by = if by.is_empty() { String::new() } else { format!(" by {by}") };
        let error = self.kernel.and_then(|(kernel, _)| kernel.stated_error_us());
        let error = error.map_or_else(String::new, |us| {
            #[allow(clippy::cast_precision_loss)]
            let seconds = us as f64 / 1e6;
            format!(", off by at most {} according to the kernel's bound", text(seconds))
        });
        let rate = self.told.and_then(|(told, _)| contrary::vague_rate(told)).map_or_else(
            String::new,
            |ppm| {
                format!(
                    " Its rate is known only to within {ppm:.0} ppm, which is usual after the first \
                     measurement; later measurements are more precise."
                )
            },
        );
        let offset = self.told.and_then(|(told, _)| offset(told)).unwrap_or_default();
        format!("The wall clock is synchronised{by}{error}{offset}.{rate}")
    }

    /// The kernel's flag is "not synchronised", and a program recently set a bound of the error: chronyd without
    /// `rtcsync` does that (`set_sync_status()` in chrony's sys_timex.c).
    fn stated(&self, kernel: &NtpState, report: &mut WallClockReport, words: &mut Vec<String>) {
        report.state = WallState::Unknown;
        #[allow(clippy::cast_precision_loss)]
        let bound = text(kernel.stated_error_us().unwrap_or(0) as f64 / 1e6);
        words.push(format!(
            "The kernel reports the wall clock as unsynchronised, but a program recently set the error bound to \
             {bound}. chronyd without rtcsync does this although the clock is synchronised."
        ));
        report.settles.push(settle("whether it is synchronised", "chronyc tracking"));
    }

    /// The wall clock is behind a clock that continued to run.
    fn stale(
        &self,
        other: &Other,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let (words_of, by) = (&other.words, text(other.behind_s));
        let why = match &self.restored {
            Some(_) => {
                "this guest was restored from a snapshot, or is a copy, and nothing has set it since"
            }
            None => {
                "this guest was paused, saved, restored or moved, or its host slept, and nothing has set it since; or \
                 it was set by hand"
            }
        };
        let mut summary = format!("the wall clock is {by} behind {words_of}: {why}");
        let (severity, sure) = match (self.synchronised(), other.sure) {
            (Some(true), Confidence::High) => (Severity::Warning, Confidence::Medium),
            (Some(true), _) => (Severity::Info, Confidence::Low),
            (_, sure) => (Severity::Warning, sure),
        };
        if self.synchronised() == Some(true) {
            summary.push_str(
                "; the kernel still reports it as synchronised, so a time daemon has not noticed, or the other clock \
                 is wrong",
            );
        }
        if severity == Severity::Warning {
            report.state = WallState::Stale;
        }
        let mut evidence = vec![other.evidence.clone()];
        evidence.extend(self.restored.clone());
        evidence.extend(self.kernel_evidence());
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        causes.push(cause(CauseId::WallClockStaleAfterRestore, severity, sure, summary, evidence));
    }

    /// The wall clock is ahead of the host: it was set wrong, or the host was.
    fn ahead(
        &self,
        other: &Other,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let summary = format!(
            "the wall clock is {} ahead of {}: it was set wrong, or that clock is",
            text(other.behind_s),
            other.words
        );
        let synchronised = self.synchronised() == Some(true);
        let (severity, sure) = match synchronised {
            true => (Severity::Info, Confidence::Low),
            false => (Severity::Warning, other.sure.min(Confidence::Medium)),
        };
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        let mut evidence = vec![other.evidence.clone()];
        evidence.extend(self.kernel_evidence());
        causes.push(cause(CauseId::WallClockUnsynchronised, severity, sure, summary, evidence));
    }

    /// The guest was restored, and the evidence has no other clock to compare with.
    fn perhaps_stale(
        &self,
        line: &Evidence,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let summary = "this guest was restored from a snapshot, or is a copy: its wall clock \
                       continued from the time of the snapshot until something set it, and this \
                       evidence does not show whether something did"
            .to_owned();
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        causes.push(cause(
            CauseId::WallClockStaleAfterRestore,
            Severity::Info,
            Confidence::Low,
            summary,
            vec![line.clone()],
        ));
    }

    pub(super) fn kernel_evidence(&self) -> Option<Evidence> {
        let (kernel, source) = self.kernel?;
        let state = match (kernel.synchronized, kernel.status) {
            (true, _) => "synchronised",
            (false, Some(_)) => "STA_UNSYNC",
            (false, None) => "not synchronised",
        };
        let error =
            kernel.maximum_error_us.map_or_else(String::new, |us| format!(", maxerror {us} us"));
        Some(Evidence::new(source.0.clone(), format!("{state}{error}")))
    }
}
