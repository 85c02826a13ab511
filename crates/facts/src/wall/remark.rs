//! What lines of logs say of the wall clock beside a correction: that it jumped, that it was set, that it was never right,
//! and what programs run into because of it.

use super::TimeSource;
use crate::Source;
use serde::Serialize;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum What {
    /// chronyd: the clock moved by more than ten seconds beside what chronyd had waited.
    Jumped {
        /// Towards the future.
        forward: bool,
    },
    /// A daemon tried to set the clock, and the kernel did not let it.
    NotSet,
    /// A daemon found the clock farther away than it sets it by itself, by so many seconds.
    TooFar {
        /// How far the clock was behind; negative: ahead. `None`: the line does not say.
        by_s: Option<f64>,
    },
    /// systemd found the clock earlier than a time that it had recorded, and set it to that.
    Recorded,
    /// Something set the clock; by how much the line does not say.
    Set,
    /// The tools of a hypervisor saw the host's clock go on by so many seconds between two looks.
    HostWentOn {
        /// Seconds; negative: back.
        by_s: f64,
    },
    /// A library found the date earlier than any that it can be.
    BeforeAnyDate,
    /// TLS: a certificate that is not valid yet.
    NotYetValid,
    /// make: files with a time of change in the future.
    FilesOfTheFuture,
    /// HikariCP: its thread ran later than it should have, by a clock that does not follow the wall clock.
    Late,
}

/// A line that says so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remark {
    /// What it says.
    pub what: What,
    /// The program that said it.
    pub program: &'static str,
    /// Where it says so.
    pub source: Source,
}

/// Remarks of one text that are kept.
pub(super) const MOST: usize = 32;

/// The words by which each is known, with the program. Sources: `check_current_time()` in chrony's sched.c, `LCL_ApplyStepOffset()`
/// in its local.c; `main()` and `load_clock_timestamp()` in systemd's timesyncd.c, `clock_apply_epoch()` and
/// `manager_dispatch_time_change_fd()` in its manager; urllib3's connection.py; crypto/x509/x509_txt.c of OpenSSL; `remake.c` of
/// GNU make; HikariCP's `HouseKeeper`.
const WORDS: [(&str, &str, What); 14] = [
    ("Forward time jump detected!", "chronyd", What::Jumped { forward: true }),
    ("Backward time jump detected!", "chronyd", What::Jumped { forward: false }),
    ("Could not step system clock", "chronyd", What::NotSet),
    ("Failed to restore system clock: ", "systemd-timesyncd", What::NotSet),
    ("System clock time unset or jumped backwards", "systemd-timesyncd", What::Recorded),
    ("System time before build time, advancing clock", "systemd", What::Recorded),
    ("System time advanced to built-in epoch", "systemd", What::Recorded),
    ("System time advanced to timestamp on ", "systemd", What::Recorded),
    ("System time changed. Resyncing.", "systemd-timesyncd", What::Set),
    ("SystemTimeWarning: System time is way off", "urllib3", What::BeforeAnyDate),
    ("CertificateNotYetValidException", "TLS", What::NotYetValid),
    ("Clock skew detected.  Your build may be incomplete", "make", What::FilesOfTheFuture),
    ("Clock skew detected. Your build may be incomplete", "make", What::FilesOfTheFuture),
    ("Thread starvation or clock leap detected", "HikariCP", What::Late),
];

/// A remark of a line, if it has one.
pub(super) fn of_line(line: &str, source: &Source) -> Option<Remark> {
    let remark = |program, what| Some(Remark { what, program, source: source.clone() });
    if let Some((_, program, what)) = WORDS.iter().find(|(words, ..)| line.contains(words)) {
        return remark(program, what.clone());
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
        return remark("TLS", What::NotYetValid);
    }
    // Go's crypto/x509: `certificate has expired or is not yet valid: current time T is before N`.
    if line.contains("certificate has expired or is not yet valid: current time ")
        && line.contains(" is before ")
    {
        return remark("TLS", What::NotYetValid);
    }
    // ntp_loopfilter.c and ntp_proto.c of the reference implementation.
    if let Some(rest) = behind(line, "time correction of ")
        && rest.contains(" seconds exceeds sanity limit")
    {
        let by_s = rest.split(' ').next()?.parse().ok().filter(|by: &f64| by.is_finite());
        return remark("ntpd", What::TooFar { by_s });
    }
    // vgsvcTimeSyncWorker() in VirtualBox's VBoxServiceTimeSync.cpp: thousands are apart by blanks.
    if let Some(rest) = behind(line, "Radical host time change: ")
        && let Some((figure, _)) = rest.split_once("ns (HostNow=")
    {
        let digits: String = figure.chars().filter(|c| !c.is_whitespace() && *c != ',').collect();
        let by_s = digits.parse::<f64>().ok().filter(|ns| ns.is_finite())? / 1e9;
        return remark("VBoxService", What::HostWentOn { by_s });
    }
    None
}

fn behind<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    Some(&line[line.find(words)? + words.len()..])
}

impl TimeSource {
    /// Whether a line says what [`What`] lists, or that a daemon follows a source.
    #[must_use]
    pub fn of_remark(line: &str, source: &Source) -> Option<Self> {
        // `manager_adjust_clock()` and its callers in systemd's timesyncd-manager.c.
        let synchronised = line.contains("Initial clock synchronization to ")
            || line.contains("timesyncd")
                && line.contains("ynchroniz")
                && line.contains("to time server ");
        if synchronised {
            let logged = Some(true);
            return Some(Self { daemon: "systemd-timesyncd", logged, ..Self::default() });
        }
        let remark = of_line(line, source)?;
        let daemon = match remark.program {
            "chronyd" | "ntpd" | "systemd-timesyncd" => remark.program,
            _ => "",
        };
        Some(Self { daemon, remarks: vec![remark], ..Self::default() })
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
    }

    #[test]
    fn of_line_certificates_that_ran_out_are_no_remark() {
        let curl =
            "curl: (60) SSL certificate OpenSSL verify result: certificate is not yet valid (9)";
        assert_eq!(said(curl), Some(("TLS", What::NotYetValid)));
        assert_eq!(said("they fail with *certificate is not yet valid* then"), None);
        let go = "x509: certificate has expired or is not yet valid: current time 2021-01-01T00:00:00Z is";
        assert_eq!(
            said(&format!("{go} before 2024-05-01T00:00:00Z")),
            Some(("TLS", What::NotYetValid))
        );
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
            "", "time correction of ", "Radical host time change: ",
        ])) {
            let _ = TimeSource::of_remark(&format!("{head}{text}"), &Source("log:1".into()));
        }
    }
}
