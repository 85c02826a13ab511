//! Single lines about the wall clock: jumps, programs that set it, errors of other programs.

use super::difference::text;
use super::judge::View;
use super::programs::{
    behind_at_least, entry_too_new, files_of_the_future, held_up, monotonic_back, moved,
    not_yet_valid, refused, solicits,
};
use super::report::WallClockReport;
use super::tools::{packets, rtc_unread, rtc_unwritten, slewed};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::Event;
use clocksmith_facts::wall::{Remark, TimeSource, What};

/// Lines about a clock that was set from which on it is set again and again.
const OFTEN: usize = 5;
/// The command that settles whether the wall clock is right.
pub(super) const DATE: &str = "date -u here and on another machine";

impl View<'_> {
    /// The line in which the kernel reports that it inserted or skipped a leap second.
    pub(super) fn leap_second(&self) -> Option<(bool, Evidence)> {
        let log = self.facts.kernel_log()?;
        log.entries.iter().rev().find_map(|entry| match entry.event {
            Event::LeapSecond(inserted) => Some((inserted, Evidence::line(log, entry))),
            _ => None,
        })
    }

    /// Adds the lines as sentences, and the faults that they prove as causes.
    pub(super) fn remarks(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        if let Some((inserted, evidence)) = self.leap_second() {
            words.push(match inserted {
                true => "The kernel inserted a leap second: CLOCK_REALTIME went back by one second at midnight UTC, \
                         CLOCK_MONOTONIC did not. The last one was that of 2016-12-31; one with a later date was announced \
                         falsely by a time source."
                    .to_owned(),
                false => "The kernel left out a leap second: CLOCK_REALTIME jumped ahead by one second at midnight \
                          UTC. No such leap second has ever occurred: a time source announced it falsely."
                    .to_owned(),
            });
            if !inserted {
                let summary =
                    "a leap second was left out, which no time source should announce".to_owned();
                let id = CauseId::WallClockUnsynchronised;
                causes.push(cause(id, Severity::Info, Confidence::Medium, summary, vec![evidence]));
            }
        }
        self.start(words, causes);
        if self.facts.wall.rtc_local.value() == Some(&true) {
            words.push(
                "The real-time clock keeps local time, which Linux supports badly: it is set incorrectly when summer \
                 time begins or ends, and if another operating system also sets it (timedatectl set-local-rtc 0 \
                 changes it to UTC)."
                    .to_owned(),
            );
        }
        let Some((told, _)) = self.told else { return };
        words.extend(told.ptp.as_ref().and_then(super::ptp::port));
        let mut said: Vec<&Remark> = Vec::new();
        for remark in &told.remarks {
            let same = std::mem::discriminant(&remark.what);
            let is_same = |one: &Remark| match remark.what {
                What::HostsDiffer { .. }
                | What::BehindAtLeast { .. }
                | What::HeldUp { .. }
                | What::FilesOfTheFuture { .. }
                | What::Moved { .. }
                | What::Answered { .. }
                | What::EntryTooNew { .. } => std::mem::discriminant(&one.what) == same,
                // The line with the times contains more than the one without them.
                What::Refused { behind_s: None } => matches!(one.what, What::Refused { .. }),
                _ => one.what == remark.what,
            };
            if !said.iter().any(|one| is_same(one) && one.program == remark.program) {
                said.push(remark);
            }
        }
        for remark in said {
            let Some((summary, severity, sure)) = self.sentence(remark) else { continue };
            words.push(sentence(&summary));
            let evidence = Evidence::new(remark.source.0.clone(), short(&remark.what));
            // A remark without a severity does not show a fault of this clock.
            let (Some(severity), Some(sure)) = (severity, sure) else { continue };
            let id = CauseId::WallClockUnsynchronised;
            causes.push(cause(id, severity, sure, summary, vec![evidence]));
        }
        let asks = told.remarks_of(|what| {
            matches!(
                what,
                What::NotYetValid { .. }
                    | What::FilesOfTheFuture { .. }
                    | What::EntryTooNew { .. }
                    | What::BeforeAnyDate
                    | What::BehindAtLeast { .. }
                    | What::Refused { .. }
            )
        });
        if asks.count() > 0 {
            report.settles.push(settle("the right time", DATE));
        }
        if told.remarks_of(|what| matches!(what, What::HostsDiffer { .. })).count() > 0 {
            let how = "chronyc tracking (or timedatectl timesync-status) on each of the hosts";
            report.settles.push(settle("which clock is wrong", how));
        }
    }

    /// Reports a clock that was wrong from the start, if no correction already does.
    fn start(&self, words: &mut Vec<String>, causes: &mut Vec<Cause>) {
        let Some((why, evidence)) = self.wrong_from_the_start() else { return };
        if words.iter().any(|word| word.contains(&why)) {
            return;
        }
        let summary = format!("the wall clock was wrong when the machine started: {why}");
        words.push(sentence(&summary));
        if self.synchronised() != Some(true) {
            let id = CauseId::WallClockUnsynchronised;
            causes.push(cause(id, Severity::Info, Confidence::Medium, summary, vec![evidence]));
        }
    }

    /// The text for servers that found differences between the wall clocks of hosts, with the first and the last
    /// figure.
    fn hosts_differ(&self, program: &str) -> String {
        let points: Vec<(Option<f64>, f64)> = self.told.map_or_else(Vec::new, |(told, _)| {
            let of_program = told.remarks.iter().filter(|one| one.program == program);
            of_program
                .filter_map(|one| match one.what {
                    What::HostsDiffer { by_s, at_s } => Some((at_s, by_s?)),
                    _ => None,
                })
                .collect()
        });
        let by: Vec<f64> = points.iter().map(|(_, by)| *by).collect();
        let grows = super::growth::said(&points).unwrap_or_default();
        // Ceph compares each of its monitors with the first one: the figures belong to one moment.
        let most = by.iter().copied().max_by(f64::total_cmp).filter(|_| program == "Ceph");
        let figures = match (by.first(), by.last()) {
            (Some(_), Some(_)) if most.is_some() => {
                format!(" by up to {}", text(most.unwrap_or_default()))
            }
            (Some(first), Some(last)) if text(*first) != text(*last) => {
                format!(" by {}, later by {}", text(*first), text(*last))
            }
            (Some(first), _) => format!(" by {}", text(*first)),
            _ => String::new(),
        };
        // `HybridClock::NowWithError()` in hybrid_clock.cc compares with the greatest time that it has seen, its own included.
        let own = match program {
            "YugabyteDB" => {
                " It may be this host's own clock that was set back: a single node prints the same message in that \
                 case."
            }
            _ => "",
        };
        format!(
            "{program} found that the wall clocks of its hosts differ{figures}: one of them is not synchronised, was set \
             wrong, slept or was paused.{own}{grows} The line does not show which of them is wrong, and it is not \
             about a clocksource"
        )
    }

    /// Whether hwclock tried one device and no other: it tries the next one only if that does not exist (`open_rtc()` in
    /// util-linux' hwclock-rtc.c).
    fn tried_one_device(&self) -> bool {
        let Some((told, _)) = self.told else { return false };
        let mut tried = told.remarks.iter().filter_map(|one| match &one.what {
            What::RtcTried { device } => Some(device.as_str()),
            _ => None,
        });
        tried.next() == Some("/dev/rtc0") && tried.all(|device| device == "/dev/rtc0")
    }

    /// How often a program says the same.
    fn times(&self, program: &str, what: &What) -> usize {
        self.told.map_or(0, |(told, _)| {
            told.remarks.iter().filter(|one| one.program == program && one.what == *what).count()
        })
    }

    /// A remark in words; without a severity it is not a cause.
    fn sentence(&self, remark: &Remark) -> Option<(String, Option<Severity>, Option<Confidence>)> {
        let slept = self
            .facts
            .kernel_log()
            .is_some_and(|log| log.any(|event| matches!(event, Event::Suspend | Event::Resume)));
        let program = remark.program;
        let answered = self.told.is_some_and(|(told, _)| {
            told.answering > 0 || told.logged == Some(true) || told.follows == Some(true)
        });
        let info = (Some(Severity::Info), Some(Confidence::Low));
        let (words, (severity, sure)) = match &remark.what {
            What::Jumped { forward: true } if slept => (
                format!(
                    "{program} saw the wall clock jump ahead, and the kernel's log shows that the machine slept: chronyd \
                     starts over after it, so it follows no source until it has measured again"
                ),
                info,
            ),
            What::Jumped { forward: true } => (
                format!(
                    "{program} saw the wall clock jump ahead by more than ten seconds that it had \
                     not waited: the machine slept, this guest or the process did not run, or \
                     something else set the clock"
                ),
                info,
            ),
            What::Jumped { forward: false } => (
                format!(
                    "{program} saw the wall clock jump back by more than ten seconds: something else set it, such as date, \
                     another time daemon or a hypervisor's tools"
                ),
                info,
            ),
            What::NotSet => (
                format!(
                    "{program} tried to set the wall clock, and the kernel refused it: it lacks \
                     CAP_SYS_TIME or a seccomp profile forbids the call, as in a container, or the time was one that the kernel does not \
                     accept"
                ),
                (Some(Severity::Warning), Some(Confidence::High)),
            ),
            What::SetInVain => (
                format!(
                    "{program} says that it set the wall clock, and the date after it still shows the old time: the kernel did not take the \
                     time, or something set it back at once. `date -s` as root shows whether the clock can be set at all there"
                ),
                (Some(Severity::Warning), Some(Confidence::Medium)),
            ),
            What::NotPermitted if told_of(self, &What::WithinBounds) => (
                format!(
                    "{program} tried to steer the wall clock, and the kernel did not permit it, although CAP_SYS_TIME is in the \
                     bounding set of the process (prctl above): a seccomp profile forbids the call, as in a container with a newer C \
                     library than the profile knows, or the process gave the capability up. Its clock is the host's, so it is \
                     synchronised on the host, and no daemon is needed inside (chronyd -x runs there without setting the clock)"
                ),
                info,
            ),
            What::NotPermitted => (
                format!(
                    "{program} tried to steer the wall clock, and the kernel did not permit it: it \
                     lacks CAP_SYS_TIME, or a seccomp profile forbids the call. In a container that is usual: its clock is the host's, so \
                     it is synchronised on the host, and no daemon is needed inside (chronyd -x \
                     runs there without setting the clock)"
                ),
                info,
            ),
            What::NoReply if program == "ntpdate" && told_of(self, &What::ServerUnsynchronised) => {
                return None;
            }
            What::NoReply if answered => (
                format!(
                    "{program} had no reply from a time server in time, and another line says that a server answered"
                ),
                (None, None),
            ),
            What::NoReply => (
                format!(
                    "{program} asked a time server and had no reply in time, and no line says that one answered: UDP port 123 is \
                     blocked on the way, the server does not answer, or the network was not up yet"
                ),
                (Some(Severity::Warning), Some(Confidence::Medium)),
            ),
            What::ServerUnsynchronised => (
                format!(
                    "{program} asked a time server which answers that it is not synchronised itself \
                     (stratum 16 or 0, leap indicator 3): no client accepts its time. Its own \
                     daemon follows no source: see there (ntpq -pn, chronyc sources). An isolated \
                     server needs its own clock as a source (local in chrony.conf, orphan of ntpd)"
                ),
                info,
            ),
            What::Solicits => (solicits(self.told.filter(|_| !answered).map(|(told, _)| told))?, info),
            What::CalledUnsynchronised if self.synchronised() == Some(true) => (
                format!(
                    "{program} says that the kernel reported the wall clock as unsynchronised \
                     (TIME_ERROR), as it does for a few minutes after each start of ntpd; according \
                     to another line, a source is followed"
                ),
                (None, None),
            ),
            What::CalledUnsynchronised => (
                format!(
                    "{program} says that the kernel reports the wall clock as unsynchronised \
                     (TIME_ERROR). This is normal for a few minutes after each start of ntpd, \
                     until ntpd follows a source; if this does not change, no source is followed"
                ),
                info,
            ),
            What::WentBack => (
                format!(
                    "{program} saw the wall clock go back between two checks: something set it, \
                     such as a time daemon, date or a hypervisor's tools"
                ),
                info,
            ),
            What::Moved { forward, by_s } => (moved(program, *forward, *by_s, slept), info),
            What::HostsDiffer { .. } => (self.hosts_differ(program), info),
            What::TooFar { by_s } => (
                match by_s {
                    Some(by) => format!(
                        "{program} found the wall clock {} {} and ended, because that is more than it sets by itself (ntpd -g \
                         allows it once)",
                        text(*by),
                        if *by > 0.0 { "behind" } else { "ahead" }
                    ),
                    None => format!(
                        "{program} found the wall clock off by more than it corrects by itself, and \
                         ended (ntpd -g allows it once)"
                    ),
                },
                (Some(Severity::Warning), Some(Confidence::High)),
            ),
            What::Set if program == "Talos" => {
                (format!("{program} set the wall clock; its line does not show by how much"), (None, None))
            }
            What::Set if program.starts_with("VMware") => (
                format!(
                    "{program} set the wall clock to the host's at once; its line does not show by \
                     how much. If a time daemon also runs, two programs then steer the clock, and a host \
                     whose clock is wrong makes its guests' clocks wrong"
                ),
                (None, None),
            ),
            What::Set if self.times(program, &What::Set) >= OFTEN => (
                format!(
                    "{program} says {} times that something set the wall clock: two programs set it in turn, such as a time daemon \
                     and a hypervisor's tools (Azure and Hyper-V: hv_utils or the Linux agent; VMware Tools), or its rate is so wrong \
                     that one sets it again and again. `two-masters` and the daemons' logs show which",
                    self.times(program, &What::Set)
                ),
                info,
            ),
            What::Set => (
                format!("{program} says that something set the wall clock; its line does not show \
                         by how much"),
                (None, None),
            ),
            What::HostWentOn { by_s } if *by_s > 0.0 => (
                format!(
                    "{program} saw the host's clock advance by {} between two checks: this guest \
                     did not run for that long, because it was paused or its host slept; {program} \
                     then sets the guest's clock",
                    text(*by_s)
                ),
                info,
            ),
            What::HostWentOn { by_s } => (
                format!("{program} saw the host's clock go back by {}: it was set there", text(*by_s)),
                info,
            ),
            What::NotYetValid { by_s } => (not_yet_valid(*by_s), info),
            What::FilesOfTheFuture { .. } => (files_of_the_future(self.told.map(|(told, _)| told)), info),
            What::EntryTooNew { by_s } => (entry_too_new(program, *by_s), (None, None)),
            What::Late => (
                "HikariCP found that its thread ran more than 15 s late (\"Thread starvation or \
                 clock leap detected\"): threads did not run for the time that it shows, because of \
                 garbage collection, because of too little processor time or because the machine \
                 was paused. On Linux it measures with CLOCK_MONOTONIC, so a wall clock that was \
                 set is not the reason, and the line does not show which of the others is"
                    .to_owned(),
                (None, None),
            ),
            What::SetBack { by_s } => (
                format!(
                    "the dates of the log go back by {} between two lines, while the kernel's own \
                     stamps continue: something set the wall clock back, such as date, a time \
                     daemon or tools of the hypervisor that pass on a wrong time",
                    text(*by_s)
                ),
                info,
            ),
            What::NoAddress if answered => return None,
            What::NoAddress => (
                format!(
                    "{program} could not find the address of its time server (name resolution), and no line says that a server \
                     answered: the network or its name server was not up yet, or the name is wrong"
                ),
                (Some(Severity::Warning), Some(Confidence::Medium)),
            ),
            // The state says so.
            What::SynchronisedBefore => return None,
            What::NotRunning { .. } | What::Ended | What::AlertUnsynchronised if self.synchronised() == Some(true) => return None,
            What::Ended => (
                format!(
                    "{program} ran and ended with success, so it did not fail: something stopped it, such as a script that sets \
                     the clock once, another time daemon, or an administrator. Since then the wall clock drifts unless \
                     something else synchronises it"
                ),
                (Some(Severity::Warning), Some(Confidence::Medium)),
            ),
            What::NotRunning { condition } => {
                (not_running(program, condition.as_deref()), (Some(Severity::Warning), Some(Confidence::Medium)))
            }
            What::AlertUnsynchronised => (
                "Prometheus' alert (NodeClockNotSynchronising, HostClockNotSynchronising) says that the kernel \
                 reported the wall clock as unsynchronised for minutes, with an error bound at the limit of 16 s: \
                 no time daemon synchronises it"
                    .to_owned(),
                (Some(Severity::Warning), Some(Confidence::Medium)),
            ),
            What::AlertOff => (
                "Prometheus' alert (NodeClockSkewDetected, HostClockSkew) says that the kernel still has more than \
                 50 ms to correct, and that this does not decrease"
                    .to_owned(),
                (Some(Severity::Warning), Some(Confidence::Medium)),
            ),
            What::OtherThanMonotonic => (
                format!(
                    "{program} found that the clock that it steers jumped, or ran at a different \
                     rate, relative to CLOCK_MONOTONIC: the time stamps of a network card or its \
                     driver are wrong, another program sets the same clock, or a virtual machine \
                     did not run. The clocksource is only the reference here; it is not at fault"
                ),
                (None, None),
            ),
            What::RtcNoTick => (
                "hwclock waited for the next second of the real-time clock, and its interrupt did \
                 not come: the clock is emulated, or the HPET has taken over its interrupt. hwclock \
                 --directisa reads it without an interrupt. The system's clock and the clocksource \
                 are not affected"
                    .to_owned(),
                (None, None),
            ),
            What::RtcStandsStill => (rtc_stands_still().to_owned(), (None, None)),
            What::RtcUnread { lost } => (rtc_unread(*lost).to_owned(), (None, None)),
            What::Slewed { by_s, asked } => (slewed(*by_s, *asked), (None, None)),
            What::Packets { asked, answered, over_s } => packets(*asked, *answered, *over_s),
            What::Activity { unknown, .. } if *unknown > 0 => (
                format!(
                    "chronyd could not find the address of {unknown} of its sources (name resolution): the network or its name \
                     server was not up, or the names are wrong"
                ),
                (None, None),
            ),
            What::Activity { online: 0, offline, .. } if *offline > 0 => (
                format!(
                    "chronyd considers its {offline} sources offline and queries none of them, as \
                     without a network: chronyc online ends that"
                ),
                (Some(Severity::Warning), Some(Confidence::Medium)),
            ),
            What::Activity { .. } => return None,
            What::OffsetUnknown if self.synchronised() == Some(true) => return None,
            What::OffsetUnknown => (
                format!(
                    "{program} had no offset to evaluate, which is not an offset of zero: the time daemon follows no \
                     source, or did not answer the check"
                ),
                info,
            ),
            What::RtcUnwritten => (rtc_unwritten().to_owned(), (None, None)),
            What::RtcNone if told_of(self, &What::RtcBusy) => return None,
            What::RtcBusy => (
                "hwclock found the real-time clock in use: another program has it open, as chronyd \
                 does with rtcfile, and then hwclock is not needed. The system's clock is not \
                 affected"
                    .to_owned(),
                (None, None),
            ),
            What::RtcNone if self.tried_one_device() => (
                "hwclock tried only /dev/rtc0. If that device did not exist, it would try other names. So the \
                 device exists and could not be opened, because another program has it open (chronyd with \
                 rtcfile or rtcdevice; `sudo fuser -v /dev/rtc0` names it) or the user may not. The system's \
                 clock runs without it"
                    .to_owned(),
                (None, None),
            ),
            What::RtcNone => (
                "hwclock found no real-time clock that it can read: containers, many virtual \
                 machines and small boards have none, or the device may not be opened. The system's \
                 clock runs without it"
                    .to_owned(),
                (None, None),
            ),
            What::BehindAtLeast { by_s } => behind_at_least(program, *by_s),
            What::Refused { behind_s } => refused(program, *behind_s),
            What::SavedAhead { by_s } => (saved_ahead(*by_s), (None, None)),
            What::HeldUp { by_s } => (held_up(program, *by_s), (None, None)),
            What::WaitsForPtp if self.told.is_some_and(|(told, _)| told.phc.is_some()) => return None,
            What::WaitsForPtp => (
                format!(
                    "{program} waits for ptp4l and steers nothing meanwhile: ptp4l does not run, listens elsewhere, or follows no \
                     clock yet"
                ),
                info,
            ),
            What::LeapTableExpired => (
                "ts2phc accepts no time from its receiver, because its table of leap seconds has expired, so it does not steer the \
                 clock of the network card: renew leap-seconds.list (the package tzdata has it, or the option leapfile names it)"
                    .to_owned(),
                info,
            ),
            What::MonotonicBack => (monotonic_back(program), (None, None)),
            What::Answered { .. } => (answered_by(self.told.map(|(told, _)| told)), (None, None)),
            What::Recorded | What::BeforeAnyDate | What::WithinBounds | What::RtcTried { .. } => return None,
        };
        Some((words, severity, sure))
    }
}

/// An offset that may be far below a millisecond.
fn small(seconds: f64) -> String {
    if seconds < 1e-3 { format!("{:.0} us", seconds * 1e6) } else { text(seconds) }
}

/// The text for the offsets that a server's answers show.
fn answered_by(told: Option<&TimeSource>) -> String {
    let offsets =
        told.into_iter().flat_map(|told| &told.remarks).filter_map(|one| match one.what {
            What::Answered { by_s } => Some(by_s.abs()),
            _ => None,
        });
    let offsets: Vec<f64> = offsets.collect();
    let most = offsets.iter().copied().fold(0.0, f64::max);
    let last = offsets.last().copied().unwrap_or(0.0);
    format!(
        "ntpd has the answers of a server: by the last one the wall clock is {} off, by the largest {}. Whether the kernel calls it \
         synchronised is another matter: OpenNTPD sets no flag of the kernel before its log has `clock is now synced`",
        small(last),
        small(most)
    )
}

/// The text for PD's time stamp that is ahead of the clock.
fn saved_ahead(by_s: Option<f64>) -> String {
    let by = by_s.map_or_else(String::new, |by_s| format!(" by {}", text(by_s)));
    format!(
        "the time stamp that PD's former leader saved is ahead of this node's wall clock{by} (`last` and `next` of the line): the clocks of \
         the nodes differ by that much, or this node's was set back; PD waits until its clock has passed it"
    )
}

/// The text for a real-time clock whose time does not change.
fn rtc_stands_still() -> &'static str {
    "hwclock read the real-time clock again and again, and its time did not change for more than a second: its oscillator is stopped (an \
     empty battery, the stop bit of its chip, a faulty crystal), or its driver or device-tree overlay is for another chip, or it answers \
     too slowly. dmesg | grep rtc names the driver. A clock on I2C has no interrupt of the HPET, and --directisa does not reach it. The \
     system's clock and the clocksource are not affected"
}

/// The text for a time daemon that does not run, and the reason in its unit.
fn not_running(program: &str, condition: Option<&str>) -> String {
    match condition {
        Some(condition) if condition.contains("container") => format!(
            "{program} does not run, because its unit excludes containers ({condition}): the clock \
             of a container is its host's, and is synchronised there"
        ),
        Some(condition) if condition.contains("Virtualization") => format!(
            "{program} does not run, because its unit excludes virtual machines ({condition}): then \
             the tools of the hypervisor must set the wall clock, also after a pause, or another \
             time daemon must run"
        ),
        Some(condition) => {
            format!(
                "{program} does not run, because a condition of its unit was not met ({condition})"
            )
        }
        None => {
            format!(
                "{program} does not run: the wall clock drifts unless something else \
                     synchronises it"
            )
        }
    }
}

/// Whether a line contains this remark.
fn told_of(view: &View<'_>, what: &What) -> bool {
    view.told.is_some_and(|(told, _)| told.remarks_of(|one| one == what).count() > 0)
}

/// The meaning of the line, as evidence.
pub(super) fn short(what: &What) -> &'static str {
    match what {
        What::Jumped { forward: true } => "the wall clock jumped ahead",
        What::Jumped { forward: false } => "the wall clock jumped back",
        What::SetInVain => "set, and not kept",
        What::NotSet => "the clock could not be set",
        What::NotPermitted => "Operation not permitted",
        What::NoReply => "no reply from a time server",
        What::ServerUnsynchronised => "the time server is not synchronised",
        What::CalledUnsynchronised => "TIME_ERROR by the kernel",
        What::Solicits => "asks servers of a pool",
        What::WentBack => "the wall clock went back",
        What::Moved { .. } => "the wall clock moved",
        What::HostsDiffer { .. } => "the clocks of hosts differ",
        What::TooFar { .. } => "the clock is off by more than is corrected",
        What::Recorded => "set to a recorded time",
        What::Set => "the clock was set",
        What::HostWentOn { .. } => "the host's clock advanced",
        What::BeforeAnyDate => "a date that is too early",
        What::NotYetValid { .. } => "certificate is not yet valid",
        What::FilesOfTheFuture { .. } => "Clock skew detected",
        What::EntryTooNew { .. } => "an entry of the future",
        What::Answered { .. } => "a server's answer",
        What::WithinBounds => "CAP_SYS_TIME is in the bounding set",
        What::RtcTried { .. } => "a device that was tried",
        What::Late => "a thread ran late",
        What::SetBack { .. } => "the dates go back",
        What::RtcNoTick => "no tick of the real-time clock",
        What::RtcStandsStill => "the real-time clock stands still",
        What::RtcBusy => "the real-time clock is in use",
        What::RtcUnwritten => "the real-time clock was not set",
        What::RtcNone => "no real-time clock",
        What::NoAddress => "no address of a time server",
        What::AlertUnsynchronised => "an alert: the clock is not synchronised",
        What::AlertOff => "an alert: the clock is off",
        What::OtherThanMonotonic => "clockcheck: a clock jumped",
        What::NotRunning { .. } => "the time daemon does not run",
        What::Ended => "the time daemon was stopped",
        What::SynchronisedBefore => "synchronised before",
        What::RtcUnread { .. } => "no time from the real-time clock",
        What::Slewed { .. } => "adjust time server",
        What::Packets { .. } => "packets of NTP",
        What::Activity { .. } => "chronyc activity",
        What::OffsetUnknown => "no offset",
        What::BehindAtLeast { .. } => "not valid yet",
        What::Refused { .. } => "refused because of its time",
        What::SavedAhead { .. } => "a saved time stamp is ahead",
        What::HeldUp { .. } => "a program was held up",
        What::WaitsForPtp => "phc2sys waits for ptp4l",
        What::LeapTableExpired => "the table of leap seconds has expired",
        What::MonotonicBack => "the monotonic clock went back",
    }
}
