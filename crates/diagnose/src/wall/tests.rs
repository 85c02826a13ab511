//! The wall clock of synthetic machines.
#![allow(clippy::unwrap_used)]

use super::WallState;
use crate::cause::{CauseId as C, Confidence, Severity};
use crate::{Measured, Report, Verdict, assess};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::ntp::{NtpState, Timex};
use clocksmith_facts::wall::{
    Apart, ChronyConfig, Clocks, HostClock, Keepers, Phc, PtpClock, Remark, Rtc, TimeSource, What,
};
use clocksmith_facts::{Arch, Fact, Facts, Origin, Source};

/// A machine on tsc, all of whose processes are seen.
struct Made(Facts);

const UNSYNC: i64 = 0x40;

impl Made {
    fn on(kind: Option<HypervisorKind>) -> Self {
        let mut facts = Facts::empty(Origin::Live);
        let device = ClocksourceDevice::parse("clocksource0", "tsc", "tsc hpet acpi_pm").unwrap();
        facts.clocksources = Fact::known(vec![device], "/sys/devices/system/clocksource");
        facts.arch = Fact::known(Arch::X86_64, "uname(2)");
        facts.hypervisor = Fact::known(kind.map(Hypervisor::named), "CPUID");
        facts.environment.container = Fact::known(None, "/proc/self/ns");
        Self(facts).keepers("sees: all\n").clocks(|_| {})
    }

    fn keepers(mut self, text: &str) -> Self {
        self.0.wall.keepers = Fact::known(Keepers::parse(text).unwrap(), "/proc");
        self
    }

    fn clocks(mut self, change: impl FnOnce(&mut Clocks)) -> Self {
        let mut clocks = self.0.wall.clocks.value().cloned().unwrap_or(Clocks {
            realtime_ns: 1_780_000_000_000_000_000,
            boottime_ns: 90_000_000_000_000,
            ..Clocks::default()
        });
        change(&mut clocks);
        self.0.wall.clocks = Fact::known(clocks, "clock_gettime(2)");
        self
    }

    fn kernel(mut self, status: i64, maxerror: i64) -> Self {
        let timex = Timex { status, maxerror, tick: 10_000, ..Timex::default() };
        self.0.ntp = Fact::known(NtpState::from(timex), "adjtimex(2)");
        self
    }

    fn rtc_ahead(self, seconds: i64) -> Self {
        self.clocks(|clocks| {
            let ahead_ns = seconds * 1_000_000_000;
            clocks.rtc = Some(Rtc { name: "rtc_cmos".into(), ahead_ns, local: false });
        })
    }

    fn host_ahead(self, ms: i64) -> Self {
        self.clocks(|clocks| {
            let ahead_ns = ms * 1_000_000;
            clocks.host = Some(HostClock { device: "ptp0".into(), ahead_ns, window_ns: 2_000 });
        })
    }

    fn log(mut self, text: &str) -> Self {
        self.0.log = Fact::known(KernelLog::scan(text.as_bytes(), "dmesg").unwrap(), "dmesg");
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(&mut self.0);
        self
    }

    fn report(self) -> Report {
        assess(self.0, Measured::default()).report
    }
}

const FORK: &str = "[    0.000000] Linux version 6.1.90 (gcc)\n\
                    [ 1802.402211] random: crng reseeded due to virtual machine fork\n";
const KVM: Option<HypervisorKind> = Some(HypervisorKind::Kvm);

/// The causes about the wall clock, and the state.
fn seen(report: &Report) -> (WallState, Vec<(C, Severity, Confidence)>) {
    let causes = report.causes.iter().filter(|cause| cause.id.concerns_wall_clock());
    let causes = causes.map(|cause| (cause.id, cause.severity, cause.confidence)).collect();
    (report.wall_clock.as_ref().unwrap().state, causes)
}

fn remedies(report: &Report) -> Vec<&str> {
    report.remedies.iter().map(|remedy| remedy.id.as_str()).collect()
}

#[test]
fn synchronised_clock_has_no_cause() {
    let report = Made::on(KVM).kernel(0, 20_000).keepers("sees: all\nchronyd: steers\n").report();
    assert_eq!(seen(&report), (WallState::Synchronised, vec![]));
    let wall = report.wall_clock.unwrap();
    assert_eq!(wall.disciplined_by.as_deref(), Some("chronyd"));
    assert!(wall.summary.contains("20 ms"), "{}", wall.summary);
    assert!(report.headline.ends_with("Nothing to fix."), "{}", report.headline);
}

#[test]
fn guest_behind_its_host_is_stale_and_reads_stay_fast() {
    let made = || Made::on(KVM).kernel(UNSYNC, 16_000_000);
    let by_host = made().host_ahead(61_000).report();
    let cause = (C::WallClockStaleAfterRestore, Severity::Warning, Confidence::High);
    assert_eq!(seen(&by_host), (WallState::Stale, vec![cause]));
    assert_eq!(by_host.verdict, Verdict::Ok);
    assert!(by_host.headline.contains("But the wall clock is behind"), "{}", by_host.headline);
    assert_eq!(by_host.wall_clock.as_ref().unwrap().behind_s, Some(61.0));
    assert!(remedies(&by_host).contains(&"wall-host-clock"), "{:?}", remedies(&by_host));
    let by_rtc = made().rtc_ahead(61).report();
    let cause = (C::WallClockStaleAfterRestore, Severity::Warning, Confidence::Medium);
    assert_eq!(seen(&by_rtc), (WallState::Stale, vec![cause]));
    // The daemon has not noticed yet: the flag of the kernel lags behind.
    let unnoticed = Made::on(KVM).kernel(0, 100_000).host_ahead(61_000).report();
    let cause = (C::WallClockStaleAfterRestore, Severity::Warning, Confidence::Medium);
    assert_eq!(seen(&unnoticed), (WallState::Stale, vec![cause]));
}

#[test]
fn guest_ahead_of_its_host_is_said_to_be_ahead() {
    let report = Made::on(KVM).kernel(UNSYNC, 16_000_000).rtc_ahead(-61).report();
    let cause = (C::WallClockUnsynchronised, Severity::Warning, Confidence::Medium);
    assert_eq!(seen(&report), (WallState::Unsynchronised, vec![cause]));
    let ends = "But the wall clock is ahead (likely).";
    assert!(report.headline.ends_with(ends), "{}", report.headline);
}

#[test]
fn differences_that_prove_nothing_raise_nothing() {
    // Hardware's real-time clock drifts.
    let metal = Made::on(None).kernel(0, 9_000).rtc_ahead(40).report();
    assert_eq!(seen(&metal), (WallState::Synchronised, vec![]));
    // Local time.
    let zone = Made::on(KVM).kernel(0, 9_000).rtc_ahead(2 * 3600).report();
    assert_eq!(seen(&zone), (WallState::Synchronised, vec![]));
    assert!(zone.wall_clock.unwrap().summary.contains("local time"));
    let local = Made::on(KVM).kernel(0, 9_000).rtc_ahead(-19_800).clocks(|clocks| {
        clocks.rtc.as_mut().unwrap().local = true;
    });
    assert!(!local.report().wall_clock.unwrap().summary.contains("local time"));
    // Whole seconds.
    let near = Made::on(KVM).kernel(0, 9_000).rtc_ahead(2).report();
    assert_eq!(seen(&near), (WallState::Synchronised, vec![]));
    // An emulated clock with an offset, while the kernel reports synchronisation: information, and not an alarm.
    let off = Made::on(KVM).kernel(0, 9_000).rtc_ahead(70).report();
    let cause = (C::WallClockStaleAfterRestore, Severity::Info, Confidence::Low);
    assert_eq!(seen(&off), (WallState::Synchronised, vec![cause]));
}

#[test]
fn restored_guest_without_another_clock_is_open() {
    let report = Made::on(KVM).kernel(UNSYNC, 16_000_000).log(FORK).report();
    let (state, causes) = seen(&report);
    assert_eq!(state, WallState::Unsynchronised);
    assert_eq!(causes[0], (C::WallClockStaleAfterRestore, Severity::Info, Confidence::Low));
    let wall = report.wall_clock.unwrap();
    assert_eq!(wall.restored, Some(true));
    assert!(wall.settles.iter().any(|settle| settle.how.contains("date -u")), "{:?}", wall.settles);
    // Set since, by the host's clock or by the kernel's word.
    let agrees = Made::on(KVM).kernel(UNSYNC, 16_000_000).log(FORK).host_ahead(3).report();
    assert!(seen(&agrees).1.iter().all(|(id, ..)| *id != C::WallClockStaleAfterRestore));
    let synchronised = Made::on(KVM).kernel(0, 30_000).log(FORK).report();
    assert_eq!(seen(&synchronised), (WallState::Synchronised, vec![]));
}

#[test]
fn unsynchronised_is_an_alarm_only_where_nothing_unseen_can_keep_it() {
    let of = |made: Made| {
        let (state, causes) = seen(&made.kernel(UNSYNC, 16_000_000).report());
        assert_eq!(state, WallState::Unsynchronised);
        (causes[0].0, causes[0].1)
    };
    let warning = (C::WallClockUnsynchronised, Severity::Warning);
    let info = (C::WallClockUnsynchronised, Severity::Info);
    assert_eq!(of(Made::on(None)), warning);
    assert_eq!(of(Made::on(KVM)), info);
    assert_eq!(of(Made::on(KVM).keepers("sees: all\nchronyd: steers\n")), warning);
    assert_eq!(of(Made::on(None).keepers("sees: some\n")), info);
    let container = Fact::known(Some("docker".to_owned()), "/.dockerenv");
    assert_eq!(of(Made::on(None).with(|facts| facts.environment.container = container)), info);
    let hyperv = Made::on(Some(HypervisorKind::Hyperv)).keepers("sees: all\nhv_utils: sets\n");
    assert_eq!(of(hyperv), info);
    let young = Made::on(KVM)
        .keepers("sees: all\nchronyd: steers\n")
        .clocks(|clocks| clocks.boottime_ns = 30_000_000_000);
    assert_eq!(of(young), info);
    assert_eq!(of(Made::on(None).with(|facts| facts.wall.keepers = Fact::default())), info);
}

#[test]
fn chronyd_without_rtcsync_is_not_an_alarm() {
    let report =
        Made::on(None).kernel(UNSYNC, 30_000).keepers("sees: all\nchronyd: steers\n").report();
    assert_eq!(seen(&report), (WallState::Unknown, vec![]));
    let wall = report.wall_clock.unwrap();
    assert_eq!(wall.settles[0].how, "chronyc tracking");
}

#[test]
fn two_that_steer_are_two_masters() {
    let of = |keepers: &str| {
        let report = Made::on(KVM).kernel(0, 20_000).keepers(keepers).report();
        seen(&report).1.into_iter().map(|(id, ..)| id).collect::<Vec<_>>()
    };
    assert_eq!(of("sees: all\nchronyd: steers\nsystemd-timesyncd: steers\n"), [C::TwoMasters]);
    assert_eq!(of("sees: some\nchronyd: steers\nVBoxService: steers\n"), [C::TwoMasters]);
    for fine in [
        "sees: all\nchronyd: steers\nvmtoolsd: open\nqemu-ga: sets\nhv_utils: sets\n",
        "sees: all\nchronyd: watches\nntpd: steers\n",
        "sees: all\nchronyd: steers\nptp4l: open\nphc2sys: watches\n",
    ] {
        assert_eq!(of(fine), [], "{fine}");
    }
}

#[test]
fn remedies_are_those_of_the_hypervisor() {
    let chrony = "sees: all\nchronyd: steers\n";
    let stale =
        |kind| Made::on(Some(kind)).kernel(UNSYNC, 16_000_000).rtc_ahead(90).keepers(chrony);
    let config = |text: &str| Fact::known(ChronyConfig::parse(text), "/etc/chrony.conf");
    let kvm = stale(HypervisorKind::Kvm)
        .with(|facts| {
            facts.wall.chrony = config("makestep 1 3\nrtcsync\n");
            let clock = PtpClock { device: "ptp1".into(), name: "KVM virtual PTP".into() };
            facts.wall.ptp = Fact::known(vec![clock], "/sys/class/ptp");
        })
        .report();
    assert_eq!(remedies(&kvm), ["wall-step-now", "wall-host-clock", "wall-step-always"]);
    let setting = &kvm.remedies[1].settings[0].text;
    assert!(setting.contains("refclock PHC /dev/ptp1"), "{setting}");
    let done = stale(HypervisorKind::Kvm)
        .with(|facts| {
            facts.wall.chrony = config("refclock PHC /dev/ptp0 poll 2\nmakestep 1 -1\n");
        })
        .report();
    assert_eq!(remedies(&done), ["wall-step-now"]);
    let azure = stale(HypervisorKind::Hyperv).report();
    assert!(remedies(&azure).contains(&"wall-hyperv-clock"));
    let vmware = stale(HypervisorKind::Vmware).report();
    assert!(remedies(&vmware).contains(&"wall-vmware-tools"));
    let wsl = stale(HypervisorKind::Hyperv)
        .keepers("sees: all\n")
        .with(|facts| facts.environment.wsl = Fact::known(true, "/proc/version"))
        .report();
    assert_eq!(remedies(&wsl), ["wall-wsl"]);
    let firecracker = stale(HypervisorKind::Kvm)
        .keepers("sees: all\n")
        .with(|facts| {
            let device = ClocksourceDevice::parse("clocksource0", "kvm-clock", "kvm-clock tsc");
            facts.clocksources = Fact::known(vec![device.unwrap()], "/sys");
        })
        .report();
    assert!(remedies(&firecracker).contains(&"wall-firecracker-load"));
}

#[test]
fn daemon_whose_sources_are_silent_is_named() {
    let rows = "^? 192.0.2.1   0   8     0     -     +0ns[   +0ns] +/-    0ns";
    let (mut told, _) = TimeSource::of_sources(rows.lines()).unwrap();
    told.add(TimeSource::of_tracking("Leap status", " Not synchronised").unwrap());
    let mut facts = Facts::empty(Origin::Log("post".into()));
    facts.wall.source = Fact::known(told, "post:3");
    let report = assess(facts, Measured::default()).report;
    let cause = report.causes.iter().find(|cause| cause.id == C::WallClockUnsynchronised).unwrap();
    let words = "the only source of chronyd does not answer";
    assert!(cause.summary.contains(words), "{}", cause.summary);
    assert_eq!(report.verdict, Verdict::Unknown);
}

#[test]
fn evidence_without_the_wall_clock_has_no_part_about_it() {
    let log = "[    0.000000] Linux version 6.1.90 (gcc)\n[    1.0] clocksource: Switched to clocksource tsc\n";
    let facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "log").unwrap());
    let report = assess(facts, Measured::default()).report;
    assert_eq!(report.wall_clock, None);
}

#[test]
fn rate_at_its_limit_is_said() {
    let report = Made::on(None)
        .with(|facts| {
            let timex = Timex { freq: 500 * 65536, tick: 10_000, maxerror: 9, ..Timex::default() };
            facts.ntp = Fact::known(NtpState::from(timex), "adjtimex(2)");
        })
        .report();
    let wall = report.wall_clock.unwrap();
    assert!(wall.at_limit && wall.summary.contains("tsc-miscalibrated"), "{}", wall.summary);
    assert!(wall.summary.contains("ntpd and systemd-timesyncd do not correct"), "{}", wall.summary);
}

#[test]
fn last_pair_of_dates_counts_and_a_daemon_outside_says_nothing_of_the_guest() {
    let of = |with, behind_s, before_s| {
        let told = TimeSource { daemon: "ntpd", follows: Some(false), ..TimeSource::default() };
        let report = Made::on(None)
            .with(|facts| {
                facts.wall.source = Fact::known(told, "log:9");
                let apart = Apart { with, behind_s, before_s, at_s: 9 };
                facts.wall.apart = Fact::known(apart, "log:3");
            })
            .report();
        let state = seen(&report).0;
        (state, report.wall_clock.unwrap().summary)
    };
    let (state, summary) = of("docker", 1255, Some(1));
    assert_eq!(state, WallState::Stale);
    assert!(
        summary.contains("inside docker is 21 min behind") && !summary.contains("ntpd"),
        "{summary}"
    );
    assert!(summary.contains("earlier pair of this text the two agreed"), "{summary}");
    let (state, summary) = of("ssh", 0, Some(-643));
    assert_eq!(state, WallState::Unsynchronised, "{summary}");
    assert!(
        summary.contains("ntpd")
            && summary.contains("agree; in an earlier pair they were 11 min apart"),
        "{summary}"
    );
}

/// A machine on tsc whose daemon reports a rate and an offset, and follows a source.
fn steered(daemon: &'static str, ppm: f64, ahead_s: f64) -> Report {
    let told = TimeSource {
        daemon,
        follows: Some(true),
        frequency_ppm: Some(ppm),
        skew_ppm: Some(0.05),
        ahead_s: Some(ahead_s),
        ..TimeSource::default()
    };
    Made::on(None)
        .with(|facts| {
            facts.ntp = Fact::known(NtpState::only(true), "log:9");
            facts.wall.source = Fact::known(told, "log:9");
        })
        .report()
}

#[test]
fn rate_that_chronyd_corrects_is_a_remark_and_no_wrong_clock() {
    for ppm in [505.0, -2244.0, 31_244.0, 74_443.0] {
        let report = steered("chronyd", ppm, 1e-5);
        let (state, causes) = seen(&report);
        let rate = report.causes.iter().find(|cause| cause.id == C::TscMiscalibrated).unwrap();
        assert_eq!((rate.severity, rate.confidence), (Severity::Info, Confidence::Medium));
        let wall = report.wall_clock.unwrap();
        assert_eq!((state, causes), (WallState::Synchronised, Vec::new()), "{}", wall.summary);
        assert!(wall.summary.contains("tsc-miscalibrated"), "{}", wall.summary);
        assert!(!wall.summary.contains("500 ppm"), "{}", wall.summary);
    }
    let none = steered("chronyd", 499.0, 1e-5);
    assert_eq!(seen(&none), (WallState::Synchronised, Vec::new()));
}

#[test]
fn rate_beyond_the_daemons_limit_or_beside_an_offset_is_a_wrong_clock() {
    for (daemon, ppm, ahead_s) in
        [("chronyd", 74_443.0, 4.0), ("chronyd", 100_000.0, 1e-5), ("ntpd", 505.0, 1e-5)]
    {
        let report = steered(daemon, ppm, ahead_s);
        assert_eq!(seen(&report).0, WallState::Unsynchronised, "{daemon} {ppm}");
        let summary = report.wall_clock.unwrap().summary;
        assert!(summary.contains(&format!("{ppm:.0} ppm slow")), "{summary}");
        assert_eq!(summary.contains("500 ppm"), daemon == "ntpd", "{summary}");
    }
}

#[test]
fn daemon_that_follows_its_own_clock_is_not_synchronised_by_anything() {
    let own = |own_clock| {
        let source = TimeSource {
            daemon: "chronyd",
            follows: Some(true),
            own_clock,
            ..TimeSource::default()
        };
        Made::on(None).with(|facts| facts.wall.source = Fact::known(source, "log:3")).report()
    };
    let (state, causes) = seen(&own(true));
    assert_eq!(state, WallState::Unknown);
    assert_eq!(causes, [(C::WallClockUnsynchronised, Severity::Warning, Confidence::Medium)]);
    assert_eq!(seen(&own(false)), (WallState::Synchronised, vec![]));
    let source = TimeSource {
        daemon: "ntpd",
        follows: Some(true),
        own_clock: true,
        offered_s: vec![17.5],
        ..TimeSource::default()
    };
    let report =
        Made::on(None).with(|facts| facts.wall.source = Fact::known(source, "log:3")).report();
    let summary = report.wall_clock.unwrap().summary;
    assert!(summary.contains("17.50 s ahead") || summary.contains("17.5 s ahead"), "{summary}");
    assert!(!summary.contains("not in this evidence"), "{summary}");
}

#[test]
fn phc2sys_tells_what_the_wall_clock_was_set_to() {
    let said = |ahead_s: f64, set_from_s: Option<f64>, is_reference: bool| {
        let phc = Phc { ahead_s, held: true, set_from_s, is_reference, ..Phc::default() };
        let source = TimeSource { daemon: "phc2sys", phc: Some(phc), ..TimeSource::default() };
        let report =
            Made::on(None).with(|facts| facts.wall.source = Fact::known(source, "log:3")).report();
        let wall = report.wall_clock.unwrap();
        (wall.state, wall.summary)
    };
    let years = 50.0 * 365.25 * 86_400.0;
    for (ahead, set, state, words) in [
        // A card that was never set, and a wall clock that was.
        (1e-9, Some(years), WallState::Unsynchronised, "that clock was never set"),
        (years, None, WallState::Unsynchronised, "that clock was never set"),
        // The other way round, and it is right now.
        (1e-9, Some(-years), WallState::Unknown, "had never been set"),
        (37.000_1, None, WallState::Unsynchronised, "TAI"),
        (1e-9, Some(37.0), WallState::Unsynchronised, "TAI"),
        (4e-8, None, WallState::Synchronised, "holds the wall clock within 1 us"),
    ] {
        let (found, summary) = said(ahead, set, false);
        assert_eq!(found, state, "{summary}");
        assert!(summary.contains(words), "{summary}");
    }
    let (_, summary) = said(-0.75, None, true);
    assert!(summary.contains("say nothing about the wall clock"), "{summary}");
}

#[test]
fn phc2sys_that_corrects_more_than_a_quartz_needs_is_not_called_right() {
    let line = |offset: &str, freq: &str| {
        format!("phc2sys[7.5]: CLOCK_REALTIME phc offset {offset} s2 freq {freq} delay 1948")
    };
    let (state, summary) = words_of(&[&line("-9000000", "-41000000")]);
    assert_eq!(state, WallState::Unknown, "{summary}");
    assert!(summary.contains("41000 ppm") && summary.contains("off by 9 ms"), "{summary}");
    let (state, summary) = words_of(&[&line("40", "+9585")]);
    assert_eq!(state, WallState::Synchronised, "{summary}");
}

#[test]
fn a_wall_clock_that_follows_a_card_is_as_right_as_the_card() {
    let card = "phc2sys[7.5]: CLOCK_REALTIME phc offset 18 s2 freq -1986 delay 480";
    let (_, summary) = words_of(&[card]);
    assert!(summary.contains("counts from 1970") && summary.contains("phc_ctl"), "{summary}");
    let slave = "ptp4l[7.1]: port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED";
    let (_, summary) = words_of(&[slave, card]);
    assert!(!summary.contains("1970"), "{summary}");
}

#[test]
fn what_make_finds_has_its_amount_and_its_likely_reason() {
    let said = |seconds: &str| {
        let line =
            format!("make: Warning: File 'a.c' has modification time {seconds} s in the future");
        words_of(&[&line, "make: warning:  Clock skew detected.  Your build may be incomplete."]).1
    };
    assert!(said("28760").contains("by up to 8.0 h") && said("28760").contains("time zone"));
    assert!(said("0.035").contains("share the files"), "{}", said("0.035"));
    let other = said("1.1e+03");
    assert!(other.contains("touch") && !other.contains("time zone"), "{other}");
    let broken = said("2527057042");
    assert!(
        broken.contains("dates of these files") && !broken.contains("is behind that"),
        "{broken}"
    );
}

#[test]
fn what_one_correction_of_chronyd_set_is_past() {
    let (state, summary) =
        words_of(&["2026-03-02T10:11:12Z System clock wrong by -31.500000 seconds (step)"]);
    assert!(summary.contains("31.5 s ahead") && summary.contains("set it"), "{summary}");
    assert_eq!(state, WallState::Unknown);
}

/// The words of lines of one text.
fn words_of(lines: &[&str]) -> (WallState, String) {
    let mut told = TimeSource::default();
    for line in lines {
        told.add(TimeSource::of_log(line, &Source("log:3".into())).unwrap());
    }
    let report =
        Made::on(None).with(|facts| facts.wall.source = Fact::known(told, "log:3")).report();
    let wall = report.wall_clock.unwrap();
    (wall.state, wall.summary)
}

#[test]
fn ports_of_ptp4l_and_clocks_without_time_are_told_and_prove_nothing_of_the_wall_clock() {
    for (lines, words) in [
        (
            &[
                "ptp4l[8.4]: timed out while polling for tx timestamp",
                "ptp4l[8.5]: port 1: MASTER to FAULTY on FAULT_DETECTED (FT_UNSPECIFIED)",
            ][..],
            "tx_timestamp_timeout is too short",
        ),
        (&["ptp4l[8.4]: port 1: SLAVE to FAULTY on FAULT_DETECTED"], "out of service (FAULTY)"),
        (&["ptp4l[8.4]: assuming the grand master role"], "it follows nothing"),
        (
            &[
                "ptp4l[8.4]: port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED",
                "ptp4l[9.4]: rms  420 max  611 freq  -5704 +/- 480 delay   238 +/-   0",
            ],
            "According to its last line, ptp4l follows a master within 1 us",
        ),
        (
            &["hwclock: ioctl(RTC_RD_TIME) to /dev/rtc0 to read the time failed: Invalid argument"],
            "The real-time clock has no valid time",
        ),
        (
            &[
                "hwclock: ioctl(RTC_RD_TIME) to /dev/rtc0 to read the time failed: Connection timed out",
            ],
            "The real-time clock does not answer",
        ),
        (
            &["ntpdate[7]: adjust time server 192.0.2.1 offset 0.193593 sec"],
            "194 ms behind a server's, and slews it",
        ),
    ] {
        let (state, summary) = words_of(lines);
        assert_eq!(state, WallState::Unknown, "{summary}");
        assert!(summary.contains(words), "{summary}");
    }
}

#[test]
fn requests_without_an_answer_prove_something_only_over_some_time() {
    let said = |asked, answered, over_s| {
        let what = What::Packets { asked, answered, over_s };
        let remark = Remark { what, program: "tcpdump", source: Source("log:3".into()) };
        let told = TimeSource { remarks: vec![remark], ..TimeSource::default() };
        let report =
            Made::on(None).with(|facts| facts.wall.source = Fact::known(told, "log:3")).report();
        let causes = seen(&report).1;
        (report.wall_clock.unwrap().summary, causes.len())
    };
    for (asked, answered, over_s, words, causes) in [
        (3, 0, 20.5, "no answer came in", 1),
        (3, 1, 20.5, "UDP port 123 is open", 0),
        (1, 0, 0.0, "too short to prove", 0),
        (9, 0, 2.0, "too short to prove", 0),
    ] {
        let (summary, found) = said(asked, answered, over_s);
        assert!(summary.contains(words) && found == causes, "{found} {summary}");
    }
}

#[test]
fn an_offset_that_comes_back_after_a_step_is_a_rate_and_a_clock_that_is_set_often_has_two_masters()
{
    let (_, back) = words_of(&[
        "ntpd: setting time to 2026-02-03 04:05:06.177 (offset +30.250000s)",
        "ntpd: reply from 192.0.2.1: offset:+12.500000 delay:0.019047 status:0x24",
    ]);
    assert!(
        back.contains("after the step it was 12.5 s behind again: the clock runs so slow"),
        "{back}"
    );
    let (_, past) = words_of(&[
        "ntpd: setting time to 2026-02-03 04:05:06.177 (offset +30.250000s)",
        "ntpd: reply from 192.0.2.1: offset:-0.600000 delay:0.019047 status:0x24",
    ]);
    assert!(!past.contains("again"), "{past}");
    let set = "Mar 16 00:00:05 vm systemd[1]: Time has been changed";
    assert!(words_of(&[set; 6]).1.contains("6 times"), "{}", words_of(&[set; 6]).1);
    assert!(!words_of(&[set; 2]).1.contains("times"));
    let (_, moved) = words_of(&[
        "Feb  3 04:05:06 mx dovecot: Fatal: Time just moved backwards by 3600 seconds.",
    ]);
    assert!(
        moved.contains("Dovecot saw the wall clock go back by") && moved.contains("local time"),
        "{moved}"
    );
}
