//! Log lines about the wall clock other than corrections: that it jumped, that it was set, that it was never correct,
//! and errors of programs caused by it.

use super::TimeSource;
use super::hosts_differ::hosts_differ;
use crate::{Source, utc};
use serde::Serialize;

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum What {
    /// chronyd: the clock moved by more than ten seconds more than chronyd had waited.
    Jumped {
        /// Whether it moved towards the future.
        forward: bool,
    },
    /// A daemon tried to set the clock, and the kernel refused.
    NotSet,
    /// A program tried to steer or set the clock, and the kernel did not permit it.
    NotPermitted,
    /// A daemon sent a request to a time server and received no answer in time.
    NoReply,
    /// A time server answered that it is not synchronised itself.
    ServerUnsynchronised,
    /// ntpd queries another server of a pool.
    Solicits,
    /// ntpd: the kernel reports the clock as unsynchronised.
    CalledUnsynchronised,
    /// A server saw the wall clock go back.
    WentBack,
    /// A program saw its wall clock move.
    Moved {
        /// Whether it moved towards the future; `None`: the line does not state it.
        forward: Option<bool>,
        /// By how many seconds; `None`: the line does not state it.
        by_s: Option<f64>,
    },
    /// A server found that the wall clocks of two hosts differ.
    HostsDiffer {
        /// Their difference in seconds; `None`: the line does not state it.
        by_s: Option<f64>,
        /// The date and the time of day of the line, as seconds that only differences of are meaningful.
        at_s: Option<f64>,
    },
    /// A daemon found an offset of the clock that is larger than it corrects automatically.
    TooFar {
        /// Seconds by which the clock was behind; negative: ahead. `None`: the line does not state it.
        by_s: Option<f64>,
    },
    /// systemd found the clock earlier than a time that it had recorded, and set it to that.
    Recorded,
    /// The clock was set; the line does not state by how much.
    Set,
    /// A daemon says that it set the clock, and the clock shows the old time afterwards.
    SetInVain,
    /// The tools of a hypervisor saw the host's clock advance between two checks.
    HostWentOn {
        /// Seconds; negative: back.
        by_s: f64,
    },
    /// A library found a date that is earlier than any possible one.
    BeforeAnyDate,
    /// TLS: a certificate that is not valid yet.
    NotYetValid {
        /// Seconds from the time of this clock to the beginning of its validity. `None`: the line does not have both.
        by_s: Option<f64>,
    },
    /// make: files with a modification time in the future.
    FilesOfTheFuture {
        /// By how many seconds; `None`: the line does not state it.
        by_s: Option<f64>,
    },
    /// The dates of a log went back, and the kernel's time stamps continued.
    SetBack {
        /// The step in seconds.
        by_s: f64,
    },
    /// hwclock: the real-time clock gives no tick in time.
    RtcNoTick,
    /// hwclock: the time of the real-time clock did not change while it was read again and again.
    RtcStandsStill,
    /// The real-time clock returned no time.
    RtcUnread {
        /// Whether it has no time, because it lost its power or was never set; `false`: its chip does not answer.
        /// `None`: the line does not state it.
        lost: Option<bool>,
    },
    /// The real-time clock did not take the time that was written to it.
    RtcUnwritten,
    /// OpenNTPD, and BusyBox's ntpd: a server's answer, and the offset that it shows.
    Answered {
        /// Seconds by which the clock was behind; negative: ahead.
        by_s: f64,
    },
    /// A trace: the kernel permits the process to gain `CAP_SYS_TIME`.
    WithinBounds,
    /// hwclock: a device that it tries to open.
    RtcTried {
        /// Its path.
        device: String,
    },
    /// Another program uses the real-time clock.
    RtcBusy,
    /// hwclock found no usable real-time clock.
    RtcNone,
    /// A daemon could not find the address of its time server.
    NoAddress,
    /// Prometheus: according to the kernel, the clock was not synchronised for minutes.
    AlertUnsynchronised,
    /// Prometheus: the clock has an offset that does not decrease.
    AlertOff,
    /// linuxptp: a clock moved differently from `CLOCK_MONOTONIC`.
    OtherThanMonotonic,
    /// ntpdate found an offset below its limit for a step.
    Slewed {
        /// Seconds by which the clock was behind; negative: ahead.
        by_s: f64,
        /// Whether ntpdate only queried the server.
        asked: bool,
    },
    /// Packets of NTP in a capture.
    Packets {
        /// Requests.
        asked: u32,
        /// Answers.
        answered: u32,
        /// Seconds from the first request to the last one.
        over_s: f64,
    },
    /// chronyd's sources by their state.
    Activity {
        /// chronyd polls them.
        online: u32,
        /// chronyd does not poll them.
        offline: u32,
        /// Their names were not found.
        unknown: u32,
    },
    /// A monitoring check had no offset to judge.
    OffsetUnknown,
    /// A time daemon does not run.
    NotRunning {
        /// The condition of its unit that was not met, if that is the reason.
        condition: Option<String>,
    },
    /// A time daemon was started and ended with success.
    Ended,
    /// An earlier output in the same text said that the clock was synchronised.
    SynchronisedBefore,
    /// A package manager has lists that are newer than this clock's time, by this many seconds.
    BehindAtLeast {
        /// How far the clock is behind at least.
        by_s: f64,
    },
    /// A service refused a request by the time in it.
    Refused {
        /// How far that time was behind the service's, in seconds; negative: ahead. `None`: the line does not state it.
        behind_s: Option<f64>,
    },
    /// A program did not run, or saw its clock advance, for longer than it had expected.
    HeldUp {
        /// For how long.
        by_s: Option<f64>,
    },
    /// PD: the time stamp that the previous leader saved is ahead of this node's clock.
    SavedAhead {
        /// By how many seconds.
        by_s: Option<f64>,
    },
    /// phc2sys steers nothing, because ptp4l has not said that it follows a clock.
    WaitsForPtp,
    /// ts2phc accepts no time, because its table of leap seconds has expired.
    LeapTableExpired,
    /// A runtime saw the clock that never goes back go back.
    MonotonicBack,
    /// HikariCP: its thread ran late, according to a clock that does not follow the wall clock.
    Late,
    /// A log store refused an entry whose time is in the future of its own clock.
    EntryTooNew {
        /// By how many seconds.
        by_s: f64,
    },
}

/// A line with such a content.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remark {
    /// The content.
    pub what: What,
    /// The program that wrote it.
    pub program: &'static str,
    /// The line.
    pub source: Source,
}

/// Maximum number of stored remarks of one text.
pub(super) const MOST: usize = 32;

/// The words that identify each remark, and the program that prints it. Sources: `check_current_time()` in chrony's
/// sched.c, `LCL_ApplyStepOffset()` in its local.c; `main()` and `load_clock_timestamp()` in systemd's timesyncd.c,
/// `clock_apply_epoch()` and `manager_dispatch_time_change_fd()` in its manager; urllib3's connection.py;
/// crypto/x509/x509_txt.c of OpenSSL; `remake.c` of GNU make; HikariCP's `HouseKeeper`; `manager_timeout()` in
/// timesyncd-manager.c; `ntp_adjtime_error_handler()` in ntp_loopfilter.c and `clock_update()` in ntp_proto.c;
/// settime() in coreutils' date.c; `VerifyClockOffset()` in CockroachDB's clock_offset.go; Ceph's `MON_CLOCK_SKEW`;
/// `checkClockSkew()` in HBase's ServerManager; `systime_mon.go` of PD and TiDB.
const WORDS: [(&str, &str, What); 35] = [
    ("ntpq: read: Connection refused", "ntpd", What::NotRunning { condition: None }),
    ("ntpdc: read: Connection refused", "ntpd", What::NotRunning { condition: None }),
    ("506 Cannot talk to daemon", "chronyd", What::NotRunning { condition: None }),
    (" to wait for clock tick timed out", "hwclock", What::RtcNoTick),
    ("hwclock: Timed out waiting for time change", "hwclock", What::RtcStandsStill),
    ("NTP CRITICAL: Offset unknown", "check_ntp", What::OffsetUnknown),
    ("NTP CRITICAL: Server not synchronized, Offset unknown", "check_ntp", What::OffsetUnknown),
    ("offset is out of range (nan)", "ntpmon", What::OffsetUnknown),
    ("hwclock: cannot open /dev/rtc0: Device or resource busy", "hwclock", What::RtcBusy),
    ("hwclock: Cannot access the Hardware Clock via any known method", "hwclock", What::RtcNone),
    ("Forward time jump detected!", "chronyd", What::Jumped { forward: true }),
    ("Backward time jump detected!", "chronyd", What::Jumped { forward: false }),
    ("Could not step system clock", "chronyd", What::NotSet),
    ("Failed to restore system clock: ", "systemd-timesyncd", What::NotSet),
    ("Timed out waiting for reply from ", "systemd-timesyncd", What::NoReply),
    ("Soliciting pool server ", "ntpd", What::Solicits),
    ("kernel reports TIME_ERROR: ", "ntpd", What::CalledUnsynchronised),
    ("Clock offset exceeds panic threshold", "ntpd", What::TooFar { by_s: None }),
    ("date: cannot set date: Operation not permitted", "date", What::NotPermitted),
    ("system time jump backward", "PD or TiDB", What::WentBack),
    ("clock skew detected on mon.", "Ceph", What::HostsDiffer { by_s: None, at_s: None }),
    (
        "clock synchronization error: this node is more than ",
        "CockroachDB",
        What::HostsDiffer { by_s: None, at_s: None },
    ),
    (
        "fewer than half the known nodes are within the maximum offset",
        "CockroachDB",
        What::HostsDiffer { by_s: None, at_s: None },
    ),
    ("] is too great! UTC now: ", "EventStore", What::HostsDiffer { by_s: None, at_s: None }),
    ("time.SyncController: setting time to ", "Talos", What::Set),
    ("System clock time unset or jumped backwards", "systemd-timesyncd", What::Recorded),
    ("System time before build time, advancing clock", "systemd", What::Recorded),
    ("System time advanced to built-in epoch", "systemd", What::Recorded),
    ("System time advanced to timestamp on ", "systemd", What::Recorded),
    ("System time changed. Resyncing.", "systemd-timesyncd", What::Set),
    ("SystemTimeWarning: System time is way off", "urllib3", What::BeforeAnyDate),
    ("CertificateNotYetValidException", "TLS", What::NotYetValid { by_s: None }),
    (
        "Clock skew detected.  Your build may be incomplete",
        "make",
        What::FilesOfTheFuture { by_s: None },
    ),
    (
        "Clock skew detected. Your build may be incomplete",
        "make",
        What::FilesOfTheFuture { by_s: None },
    ),
    ("Thread starvation or clock leap detected", "HikariCP", What::Late),
];

/// The words by which single lines of programs are known, for the test that `explain` knows them too.
pub fn known_words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(words, ..)| *words)
}

/// A remark of a line, if it has one.
pub(super) fn of_line(line: &str, source: &Source) -> Option<Remark> {
    let remark = |program, what| Some(Remark { what, program, source: source.clone() });
    if let Some((_, program, what)) = WORDS.iter().find(|(words, ..)| line.contains(words)) {
        return remark(program, what.clone());
    }
    // hwclock, timedatectl and the kernel's drivers; what the C library says of the error is translated.
    let unread = ["ioctl(RTC_RD_TIME)", "hwclock: RTC_RD_TIME: ", "Failed to read RTC: "]
        .iter()
        .any(|words| line.contains(words));
    if unread || line.contains(": no valid clock/calendar values available") {
        let says = |words: &[&str]| words.iter().any(|words| line.contains(words));
        let lost = if says(&["Invalid argument", "no valid clock"]) {
            Some(true)
        } else {
            says(&["timed out", "Input/output error", "I/O error", "No such device"])
                .then_some(false)
        };
        return remark("hwclock", What::RtcUnread { lost });
    }
    // util-linux and BusyBox name the call; toybox prints its number on x86 and Arm.
    if line.contains("hwclock: ")
        && ["ioctl(RTC_SET_TIME)", "RTC_SET_TIME: ", "ioctl 4024700a: "]
            .iter()
            .any(|words| line.contains(words))
        && !line.contains("was successful")
    {
        return remark("hwclock", What::RtcUnwritten);
    }
    if line.contains("Sending NTP request to ") && line.contains(" failed: Network is unreachable")
    {
        return remark("systemd-timesyncd", What::NoReply);
    }
    if let Some(device) =
        behind(line, "Trying to open: /dev/").filter(|_| line.trim().starts_with('T'))
    {
        let name = device.split_whitespace().next().unwrap_or_default();
        let device = format!("/dev/{}", name.chars().take(40).collect::<String>());
        return remark("hwclock", What::RtcTried { device });
    }
    // chronyd asks before it steers the clock.
    if line.contains("PR_CAPBSET_READ, CAP_SYS_TIME)") && line.trim_end().ends_with("= 1") {
        return remark("a program", What::WithinBounds);
    }
    // client_dispatch() in OpenNTPD's client.c: `reply from NAME: offset 0.000025 delay 0.000172, next query 31s`.
    if let Some(rest) = behind(line, "reply from ")
        && let Some(rest) = behind(rest, ": offset ")
        && rest.contains(", next query ")
    {
        let by_s = rest.split(' ').next()?.parse().ok().filter(|by: &f64| by.is_finite())?;
        return remark("ntpd", What::Answered { by_s });
    }
    // ntpdate -q; and the packet of an answer as check_ntp_time -vv prints it: leap indicator 3, which servers without a source send.
    let bare = line.trim();
    if bare.starts_with("server ")
        && bare.contains(" offset ")
        && [", stratum 16,", ", stratum **16**,"].iter().any(|words| bare.contains(words))
    {
        return remark("ntpdate", What::ServerUnsynchronised);
    }
    if bare == "li=3 (0xc0)" {
        return remark("check_ntp_time", What::ServerUnsynchronised);
    }
    // kubeadm, of its own certificates.
    if line.contains("the certificate is not valid yet: NotBefore: ") {
        return remark("TLS", What::NotYetValid { by_s: None });
    }
    if line.contains("ntpdate[") && line.contains("no server suitable for synchronization found") {
        return remark("ntpdate", What::NoReply);
    }
    // `f_mtime()` in make's remake.c: `Warning: File 'x' has modification time 1.1e+04 s in the future`.
    if let Some(rest) = behind(line, " has modification time ")
        && let Some((figure, _)) = rest.split_once(" s in the future")
    {
        let by_s = figure.trim().parse().ok().filter(|by: &f64| by.is_finite() && *by > 0.0);
        return remark("make", What::FilesOfTheFuture { by_s });
    }
    // ntpdate slews offsets of less than half a second.
    if let Some(rest) = behind(line, "adjust time server ")
        && let Some(rest) = behind(rest, " offset ")
    {
        let figure = rest.split_ascii_whitespace().next()?;
        let by_s = figure.parse().ok().filter(|by: &f64| by.is_finite())?;
        return remark("ntpdate", What::Slewed { by_s, asked: false });
    }
    let found = hosts_differ(line, source).or_else(|| super::programs::of_line(line, source));
    if found.is_some() {
        return found;
    }
    // chrony's sys_timex.c; `adjtimex` and ntpd print the same end of the line.
    if line.contains("adj")
        && line.trim_end_matches([' ', '`', '"', '\'']).ends_with("Operation not permitted")
        && ["adj_systime:", "adjtimex(", "adjtimex:", "ntp_adjtime(", "adjtime(", "ntp_adjtime:"]
            .iter()
            .any(|word| line.contains(word))
    {
        let chronyd = line.contains("chronyd") || line.contains("Fatal error : adjtimex(");
        let program = match (chronyd, line.contains("ntpd")) {
            (true, _) => "chronyd",
            (_, true) => "ntpd",
            _ => "a program",
        };
        return remark(program, What::NotPermitted);
    }
    // resolve handler in systemd's timesyncd-manager.c.
    if line.contains("timesyncd") && line.contains(": Failed to resolve ") {
        return remark("systemd-timesyncd", What::NoAddress);
    }
    // A firing alert, by its labels; a rule and a page about it have the name in another place.
    let fires = ["alertname", "firing", "[FIRING:"].iter().any(|word| line.contains(word));
    // Two collections of rules name it by the node and by the host.
    let is_alert =
        |name: &str| ["Node", "Host"].iter().any(|of| line.contains(&format!("{of}Clock{name}")));
    if fires && is_alert("NotSynchronising") {
        return remark("Prometheus", What::AlertUnsynchronised);
    }
    if fires && is_alert("Skew") {
        return remark("Prometheus", What::AlertOff);
    }
    // systemd, PID 1 (`manager_dispatch_time_change_fd()`).
    if line.contains("systemd[1]: Time has been changed") {
        return remark("systemd", What::Set);
    }
    // In the output of a program: `curl: (60) SSL certificate OpenSSL verify result: certificate is not yet valid (9)`.
    let programs = ["curl: (", "SSL", "error 9 at ", "verify error", "ERROR", "x509: "];
    if line.contains("certificate is not yet valid")
        && programs.iter().any(|word| line.contains(word))
        && !line.contains("has expired or is")
    {
        return remark("TLS", What::NotYetValid { by_s: None });
    }
    // Go's crypto/x509: `certificate has expired or is not yet valid: current time T is before N`.
    if let Some(rest) = behind(line, "certificate has expired or is not yet valid: current time ")
        && let Some((now, begin)) = rest.split_once(" is before ")
    {
        let by_s = until(now, begin.split([' ', '"', ')', ',', ';']).next().unwrap_or_default());
        return remark("TLS", What::NotYetValid { by_s });
    }
    // ntp_loopfilter.c and ntp_proto.c of the reference implementation.
    if let Some(rest) = behind(line, "time correction of ")
        && rest.contains(" seconds exceeds sanity limit")
    {
        let by_s = rest.split(' ').next()?.parse().ok().filter(|by: &f64| by.is_finite());
        return remark("ntpd", What::TooFar { by_s });
    }
    // The same since 4.2.5, and in NTPsec: `0.0.0.0 0617 07 panic_stop -3600 s; set clock manually within 1000 s.`
    if let Some(rest) = behind(line, " panic_stop ")
        && rest.contains(" s; set clock manually within ")
    {
        let by_s = rest.split(' ').next()?.parse().ok().filter(|by: &f64| by.is_finite());
        return remark("ntpd", What::TooFar { by_s });
    }
    // vgsvcTimeSyncWorker() in VirtualBox's VBoxServiceTimeSync.cpp: blanks separate thousands.
    if let Some(rest) = behind(line, "Radical host time change: ")
        && let Some((figure, _)) = rest.split_once("ns (HostNow=")
    {
        let digits: String = figure.chars().filter(|c| !c.is_whitespace() && *c != ',').collect();
        let by_s = digits.parse::<f64>().ok().filter(|ns| ns.is_finite())? / 1e9;
        return remark("VBoxService", What::HostWentOn { by_s });
    }
    let (program, what) = super::moved::of_line(line)?;
    remark(program, what)
}

/// Seconds from one time to a later one, both as Go prints them: `2021-03-29T11:40:49+08:00`.
fn until(now: &str, begin: &str) -> Option<f64> {
    let (now, begin) = (of_zone(now)?, of_zone(begin.trim_end_matches('.'))?);
    #[allow(clippy::cast_precision_loss)]
    let by_s = (begin - now) as f64;
    (by_s > 0.0).then_some(by_s)
}

/// Seconds since 1970 of a time with its zone.
fn of_zone(text: &str) -> Option<i64> {
    if let Some(seconds) = utc::seconds(text) {
        return i64::try_from(seconds).ok();
    }
    let at = text.rfind(['+', '-']).filter(|at| *at > 10)?;
    let (time, zone) = text.split_at(at);
    let (hours, minutes) = zone[1..].split_once(':')?;
    let ahead = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
    let local = i64::try_from(utc::seconds(&format!("{time}Z"))?).ok()?;
    Some(if zone.starts_with('-') { local + ahead } else { local - ahead })
}

pub(super) fn behind<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    Some(&line[line.find(words)? + words.len()..])
}

impl TimeSource {
    /// The remark of a line, as [`What`] lists it, or that a daemon follows a source.
    #[must_use]
    pub fn of_remark(line: &str, source: &Source) -> Option<Self> {
        // `manager_adjust_clock()` and its callers in systemd's timesyncd-manager.c.
        let synchronised = line.contains("Initial clock synchronization to ")
            || line.contains("timesyncd")
                && line.contains("ynchroniz")
                && line.contains("to time server ")
            // manager_receive_response(): for an answer that it accepts.
            || line.contains("timesyncd") && line.contains("interval/delta/delay/jitter/drift ");
        if synchronised {
            let logged = Some(true);
            return Some(Self { daemon: "systemd-timesyncd", logged, ..Self::default() });
        }
        // Talos' syncer adjusts by a server's time (internal/pkg/ntp); `state` is the return value of adjtimex(2).
        if line.contains("time.SyncController: adjusting time ") {
            let logged = line.contains("state TIME_OK").then_some(true);
            return Some(Self { daemon: "Talos", logged, ..Self::default() });
        }
        // A server that answers; another line shows whether its time is used.
        if line.contains("Contacted time server ") {
            return Some(Self { daemon: "systemd-timesyncd", answering: 1, ..Self::default() });
        }
        if let Some(told) = Self::of_ptp(line, source) {
            return Some(told);
        }
        let remark = of_line(line, source)?;
        let daemon = match remark.program {
            "chronyd" | "ntpd" | "systemd-timesyncd" | "Talos" => remark.program,
            _ => "",
        };
        // An offset is measured against a server that answers.
        let answering = u32::from(matches!(remark.what, What::TooFar { .. }));
        Some(Self { daemon, answering, remarks: vec![remark], ..Self::default() })
    }

    /// The remarks of a kind.
    pub fn remarks_of(&self, is_it: impl Fn(&What) -> bool) -> impl Iterator<Item = &Remark> {
        self.remarks.iter().filter(move |remark| is_it(&remark.what))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn said(line: &str) -> Option<(&'static str, What)> {
        of_line(line, &Source("log:1".into())).map(|remark| (remark.program, remark.what))
    }

    #[test]
    fn of_line_each_program_by_its_own_words() {
        let jump = |forward| Some(("chronyd", What::Jumped { forward }));
        assert_eq!(said("Sep 1 10:00:01 a chronyd[7]: Forward time jump detected!"), jump(true));
        assert_eq!(said("chronyd[7]: Backward time jump detected!"), jump(false));
        assert_eq!(
            said("chronyd[7]: Could not step system clock"),
            Some(("chronyd", What::NotSet))
        );
        for line in [
            "systemd-timesyncd[3]: System clock time unset or jumped backwards, restored from recorded timestamp: x",
            "systemd-timesyncd[3]: System clock time unset or jumped backwards,",
            "[  8.1] systemd-timesyncd: System clock time unset or jumped backwards, restoring from recorded timestamp: x",
        ] {
            assert_eq!(said(line), Some(("systemd-timesyncd", What::Recorded)), "{line}");
        }
        assert_eq!(said("a systemd[1]: Time has been changed"), Some(("systemd", What::Set)));
        assert_eq!(said("Time has been changed by us"), None);
        assert_eq!(
            said(
                "timesync vgsvcTimeSyncWorker: Radical host time change: 3 602 000 000 000ns (HostNow=1 ns HostLast=2 ns)"
            ),
            Some(("VBoxService", What::HostWentOn { by_s: 3602.0 }))
        );
        assert_eq!(
            said(
                "ntpd[4]: time correction of -4000 seconds exceeds sanity limit (1000); set clock manually to the correct UTC time."
            ),
            Some(("ntpd", What::TooFar { by_s: Some(-4000.0) }))
        );
        assert_eq!(
            said("ntpd[4]: 0.0.0.0 0617 07 panic_stop -4000 s; set clock manually within 1000 s."),
            Some(("ntpd", What::TooFar { by_s: Some(-4000.0) }))
        );
    }

    #[test]
    fn of_line_hwclock_alerts_and_names_that_are_not_found() {
        for (line, program, what) in [
            (
                "hwclock: select() to /dev/rtc0 to wait for clock tick timed out",
                "hwclock",
                What::RtcNoTick,
            ),
            ("NTP CRITICAL: Offset unknown", "check_ntp", What::OffsetUnknown),
            ("offset is out of range (nan)", "ntpmon", What::OffsetUnknown),
            ("hwclock: cannot open /dev/rtc0: Device or resource busy", "hwclock", What::RtcBusy),
            (
                "hwclock: Cannot access the Hardware Clock via any known method.",
                "hwclock",
                What::RtcNone,
            ),
            (
                "Aug 12 11:21:23 ha systemd-timesyncd[329]: Failed to resolve time.example: Temporary failure in name resolution",
                "systemd-timesyncd",
                What::NoAddress,
            ),
            ("alertname: NodeClockNotSynchronising", "Prometheus", What::AlertUnsynchronised),
            ("[FIRING:2] HostClockNotSynchronising", "Prometheus", What::AlertUnsynchronised),
            ("alertname = HostClockSkew", "Prometheus", What::AlertOff),
            ("[FIRING:1] NodeClockSkewDetected firing (db1)", "Prometheus", What::AlertOff),
        ] {
            assert_eq!(said(line), Some((program, what)), "{line}");
        }
        for other in [
            "- alert: NodeClockNotSynchronising",
            "Failed to resolve time.example",
            "Update the page NodeClockSkewDetected.md",
        ] {
            assert_eq!(said(other), None, "{other}");
        }
    }

    #[test]
    fn of_line_devices_bounds_and_answers() {
        let tried = What::RtcTried { device: "/dev/rtc0".to_owned() };
        assert_eq!(said("Trying to open: /dev/rtc0"), Some(("hwclock", tried)));
        assert_eq!(
            said("prctl(PR_CAPBSET_READ, CAP_SYS_TIME)    = 1"),
            Some(("a program", What::WithinBounds))
        );
        assert_eq!(said("prctl(PR_CAPBSET_READ, CAP_SYS_TIME) = 0"), None);
        assert_eq!(
            said("reply from ntpserver: offset -0.000043 delay 0.000170, next query 30s"),
            Some(("ntpd", What::Answered { by_s: -0.000_043 }))
        );
    }

    #[test]
    fn of_line_files_of_the_future_and_daemons_that_do_not_answer() {
        let make = "make[2]: Warning: File 'a.d' has modification time 1.1e+04 s in the future";
        let future = |by_s| Some(("make", What::FilesOfTheFuture { by_s }));
        assert_eq!(said(make), future(Some(11_000.0)));
        assert_eq!(
            said("make: warning:  Clock skew detected.  Your build may be incomplete."),
            future(None)
        );
        assert_eq!(said("the file has modification time of today"), None);
        for (line, program) in
            [("ntpq: read: Connection refused", "ntpd"), ("506 Cannot talk to daemon", "chronyd")]
        {
            assert_eq!(said(line), Some((program, What::NotRunning { condition: None })), "{line}");
        }
    }

    #[test]
    fn of_line_daemons_that_may_not_set_the_clock() {
        let line =
            "2020-12-27T09:09:51Z Fatal error : adjtimex(0x8001) failed : Operation not permitted";
        assert_eq!(said(line), Some(("chronyd", What::NotPermitted)));
        assert_eq!(
            said("adjtimex: Operation not permitted"),
            Some(("a program", What::NotPermitted))
        );
        assert_eq!(said("the adjtimex page says Operation not permitted"), None);
    }

    #[test]
    fn of_line_certificates_that_ran_out_are_not_a_remark() {
        let curl =
            "curl: (60) SSL certificate OpenSSL verify result: certificate is not yet valid (9)";
        assert_eq!(said(curl), Some(("TLS", What::NotYetValid { by_s: None })));
        assert_eq!(said("they fail with *certificate is not yet valid* then"), None);
        let go = "x509: certificate has expired or is not yet valid: current time 2021-01-01T00:00:00Z is";
        assert_eq!(
            said(&format!("{go} before 2024-05-01T00:00:00Z")),
            Some(("TLS", What::NotYetValid { by_s: Some(105_062_400.0) }))
        );
        let zones = format!("{} before 2021-01-01T03:00:00Z.", go.replace("00Z is", "00+08:00 is"));
        assert_eq!(said(&zones), Some(("TLS", What::NotYetValid { by_s: Some(39_600.0) })));
        assert_eq!(said(&format!("{go} after 2020-05-01T00:00:00Z")), None);
        assert_eq!(said("x509: certificate has expired or is not yet valid"), None);
    }

    #[test]
    fn of_remark_a_first_synchronisation_is_one_of_timesyncd() {
        let line = "systemd-timesyncd[3]: Initial clock synchronization to Wed 2026-08-19 12:52:05.123 UTC.";
        let told = TimeSource::of_remark(line, &Source("log:1".into())).unwrap();
        assert_eq!((told.daemon, told.logged), ("systemd-timesyncd", Some(true)));
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,120}", head in prop::sample::select(vec![
            "", "time correction of ", "the clock difference against peer a is too high [", "mon.a clock skew ", "Radical host time change: ",
        ])) {
            let _ = TimeSource::of_remark(&format!("{head}{text}"), &Source("log:1".into()));
        }
    }
}
