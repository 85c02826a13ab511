//! The wall clock by single lines and the output of other tools: rates that cannot be corrected, sources that disagree,
//! jumps, a clock that was wrong from the start, two masters in a guest.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::wall::WallState;
use clocksmith_diagnose::{Cause, CauseId, Confidence, Measured, Report, Severity, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::{self, Pasted};

fn why(text: &str) -> Report {
    let mut facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "text").unwrap());
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    Pasted::read(&lines, "text").complete(&mut facts);
    assess(facts, Measured::default()).report
}

fn summary(report: &Report) -> &str {
    report.wall_clock.as_ref().map_or("", |wall| &wall.summary)
}

fn cause(report: &Report, id: CauseId) -> Option<&Cause> {
    report.causes.iter().find(|cause| cause.id == id)
}

fn remedies(report: &Report) -> Vec<&str> {
    report.remedies.iter().map(|remedy| remedy.id.as_str()).collect()
}

const ON_TSC: &str = "$ cat /sys/devices/system/clocksource/clocksource0/available_clocksource\n\
    tsc hpet acpi_pm\n\
    $ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n\
    tsc\n";

const PEER: &str = "$ ntpq -c 'rv 20111'\n\
    associd=20111 status=9014 conf, reach, sel_reject, 1 event, reachable,\n\
    srcadr=ntp.example, srcport=123, reach=037, unreach=0, hpoll=6, ppoll=6,\n\
    flash=400 peer_dist, keyid=0, offset=900.500, delay=0.9, jitter=700.1,\n\
    filtoffset=  900.50  700.50  500.50  300.50    0.00,\n\
    filtdisp=      0.00    0.96    1.92    2.88 16000.0\n";

#[test]
fn rate_beyond_what_ntp_corrects_is_not_nothing_to_fix() {
    // chronyd corrects such a rate, but does not reach the time with this one.
    let tracking = "$ chronyc tracking\nReference ID    : C0000201 (ntp.example)\n\
        System time     : 2.000003 seconds slow of NTP time\nFrequency       : 3100.5 ppm slow\nLeap status     : Normal\n";
    let tolerance =
        "Sep 14 10:00:01 a ntpd[9]: frequency error 3100 PPM exceeds tolerance 500 PPM\n";
    for (text, ppm) in
        [(PEER, "3125 ppm slow"), (tracking, "3100 ppm slow"), (tolerance, "3100 ppm slow")]
    {
        let report = why(&format!("{ON_TSC}{text}"));
        assert!(!report.headline.contains("Nothing to fix"), "{}", report.headline);
        let found = cause(&report, CauseId::TscMiscalibrated).unwrap();
        assert!(
            found.confidence == Confidence::Medium && found.summary.contains(ppm),
            "{found:#?}"
        );
        let offered = remedies(&report);
        assert!(
            offered.contains(&"wall-counter-rate") && !offered.contains(&"wall-ask-the-daemon"),
            "{offered:?}"
        );
        let rate = report.remedies.iter().find(|remedy| remedy.id == "wall-counter-rate").unwrap();
        assert!(rate.commands.iter().any(|command| command.contains("echo hpet")), "{rate:#?}");
    }
}

#[test]
fn rate_that_chronyd_corrects_is_a_remark_beside_the_verdict() {
    let tracking = "$ chronyc tracking\nReference ID    : C0000201 (ntp.example)\n\
        System time     : 0.000003 seconds slow of NTP time\nFrequency       : 3100.5 ppm slow\nLeap status     : Normal\n";
    let report = why(&format!("{ON_TSC}{tracking}"));
    let found = cause(&report, CauseId::TscMiscalibrated).unwrap();
    assert!(
        found.severity == Severity::Info && found.summary.contains("3100 ppm slow"),
        "{found:#?}"
    );
    assert!(cause(&report, CauseId::WallClockUnsynchronised).is_none());
    assert!(remedies(&report).is_empty(), "{:?}", remedies(&report));
}

#[test]
fn rate_of_another_clocksource_blames_no_tsc() {
    let on_hpet = ON_TSC.replace("current_clocksource\ntsc", "current_clocksource\nhpet");
    let report = why(&format!("{on_hpet}{PEER}"));
    assert!(cause(&report, CauseId::TscMiscalibrated).is_none(), "{:#?}", report.causes);
    assert!(cause(&report, CauseId::WallClockUnsynchronised).is_some());
}

#[test]
fn rate_that_is_hardly_known_is_not_a_rate() {
    let text = "$ chronyc tracking\nReference ID    : C0000201 (ntp.example)\n\
        System time     : 0.000003 seconds slow of NTP time\nFrequency       : 900.0 ppm slow\n\
        Skew            : 800.0 ppm\nLeap status     : Normal\n";
    let report = why(&format!("{ON_TSC}{text}"));
    assert!(cause(&report, CauseId::TscMiscalibrated).is_none(), "{:#?}", report.causes);
}

#[test]
fn source_that_answers_and_is_not_followed_is_not_a_firewall() {
    let text = "$ ntpq -pn\n\
        \x20    remote           refid      st t when poll reach   delay   offset  jitter\n\
        ==============================================================================\n\
        \x20192.0.2.10      192.0.2.99       2 u   24   64   37    0.979 1869.194 1198.290\n";
    let report = why(&format!("{ON_TSC}{text}"));
    let said = summary(&report);
    assert!(said.contains("1.9 s slow") && said.contains("wrong rate"), "{said}");
    assert!(!report.headline.contains("Nothing to fix"), "{}", report.headline);
    for remedy in &report.remedies {
        assert!(!remedy.summary.contains("none of its servers answers"), "{remedy:#?}");
    }
}

#[test]
fn sources_that_disagree_answer() {
    let text = "MS Name/IP address         Stratum Poll Reach LastRx Last sample\n\
        ===============================================================================\n\
        ^x ntp1.example                  2   6   377    49    +23ms[  +23ms] +/-   29ms\n\
        ^x ntp2.example                  2   6   377    49  +1203ms[+1203ms] +/-   29ms\n";
    let peers = "     remote           refid      st t when poll reach   delay   offset  jitter\n\
        ==============================================================================\n\
        x192.0.2.1       192.0.2.99       2 u   24   64  377    0.979  -23.000   1.290\n\
        x192.0.2.2       192.0.2.98       2 u   24   64  377    0.979 -1203.00   1.290\n";
    for text in [text, peers] {
        let report = why(text);
        let said = summary(&report);
        assert!(said.contains("falsetickers") && said.contains("1.2 s apart"), "{said}");
        assert!(!said.contains("follows no source"), "{said}");
        let asked =
            report.remedies.iter().find(|remedy| remedy.id == "wall-ask-the-daemon").unwrap();
        assert!(asked.summary.contains("disagree"), "{asked:#?}");
    }
    // A daemon tolerates one wrong source of several.
    let fine = text.replacen("^x", "^*", 1);
    assert_eq!(why(&fine).wall_clock.unwrap().state, WallState::Synchronised);
}

#[test]
fn first_step_without_a_real_time_clock_was_wrong_from_the_start() {
    let step = "a chronyd[7]: System clock wrong by 19461.487274 seconds\n\
        a chronyd[7]: System clock was stepped by 19461.487274 seconds\n";
    for (line, word) in [
        (
            "a kernel: rpi-rtc soc:rpi_rtc: setting system clock to 1970-01-01T00:00:17 UTC (17)\n",
            "began in 1970",
        ),
        (
            "a kernel: rtc_cmos 00:02: setting system clock to 1980-01-01T00:00:17 UTC (315532817)\n",
            "began in 1980",
        ),
        ("a kernel: hctosys: unable to open rtc device (rtc0)\n", "no real-time clock"),
        (
            "a systemd-timesyncd[3]: System clock time unset or jumped backwards, restored from recorded timestamp: x\n",
            "recorded",
        ),
    ] {
        let said = summary(&why(&format!("{line}{step}"))).to_owned();
        assert!(said.contains("wrong from the start") && said.contains(word), "{line}: {said}");
        // Even if no daemon has corrected it yet. x86 needs no driver for its real-time clock.
        let boot = "a kernel: Booting Linux on physical CPU 0x0000000000 [0x410fd034]\n";
        let alone = summary(&why(&format!("{boot}{line}"))).to_owned();
        assert!(
            alone.contains("wrong when the machine started") && alone.contains(word),
            "{line}: {alone}"
        );
    }
    for boot in ["", "a kernel: tsc: Detected 2000.000 MHz processor\n"] {
        let none = why(&format!("{boot}a kernel: hctosys: unable to open rtc device (rtc0)\n"));
        let text = serde_json::to_string(&none).unwrap();
        assert!(!text.contains("when the machine started"), "{text}");
    }
    let good =
        "a kernel: rtc_cmos 00:02: setting system clock to 2026-06-01T10:00:00 UTC (1780308000)\n";
    let said = summary(&why(&format!("{good}{step}"))).to_owned();
    assert!(!said.contains("from the start") && said.contains("without a battery"), "{said}");
}

#[test]
fn corrections_by_their_size_have_their_reasons() {
    let of = |by: &str| {
        summary(&why(&format!("a chronyd[7]: System clock wrong by {by} seconds\n"))).to_owned()
    };
    assert!(of("-32398.026858").contains("local time"), "{}", of("-32398.026858"));
    assert!(of("31.5").contains("runs too slow"));
    let far = of("-3002385021.274820");
    assert!(far.contains("95.1 years ahead") && !far.contains("too fast"), "{far}");
}

#[test]
fn jump_beside_a_suspend_is_one() {
    let jump = "Sep 14 10:00:01 a chronyd[7]: Forward time jump detected!\n";
    let slept = "Sep 14 09:00:00 a kernel: PM: suspend entry (deep)\nSep 14 09:00:01 a kernel: PM: suspend exit\n";
    assert!(summary(&why(&format!("{slept}{jump}"))).contains("shows that the machine slept"));
    let alone = summary(&why(jump)).to_owned();
    assert!(
        alone.contains("jump ahead") && !alone.contains("shows that the machine slept"),
        "{alone}"
    );
    let back = summary(&why(&jump.replace("Forward", "Backward"))).to_owned();
    assert!(back.contains("jump back"), "{back}");
}

#[test]
fn leap_second_is_reported_and_is_not_a_fault() {
    for line in [
        "Clock: inserting leap second 23:59:60 UTC\n",
        "[10703552.860274] Clock: inserting leap second 23:59:60 UTC\n",
    ] {
        let report = why(line);
        assert!(summary(&report).contains("inserted a leap second"), "{}", summary(&report));
        assert!(
            report.causes.iter().all(|cause| !cause.id.concerns_wall_clock()),
            "{:#?}",
            report.causes
        );
    }
}

#[test]
fn daemon_that_cannot_set_the_clock_warns() {
    let report = why("a chronyd[7]: Could not step system clock\n");
    let found = cause(&report, CauseId::WallClockUnsynchronised).unwrap();
    assert!(
        found.severity >= Severity::Warning && found.summary.contains("CAP_SYS_TIME"),
        "{found:#?}"
    );
}

#[test]
fn tools_of_a_hypervisor_beside_ntp_are_two_masters() {
    let tools = "$ vmware-toolbox-cmd timesync status\nEnabled\n";
    let active = "$ timedatectl\n               Local time: Sat 2027-12-25 00:02:26 UTC\n\
        \x20          Universal time: Sat 2027-12-25 00:02:26 UTC\n\
        System clock synchronized: yes\n              NTP service: active\n";
    let follows = "^* 192.0.2.1   2   6   377    34    -12us[  -16us] +/-   14ms\n";
    let of = |text: &str| cause(&why(text), CauseId::TwoMasters).map(|cause| cause.confidence);
    assert_eq!(of(&format!("{tools}{active}")), Some(Confidence::Medium));
    assert_eq!(of(&format!("{tools}{follows}")), Some(Confidence::High));
    assert_eq!(of(&format!("tools.syncTime = \"TRUE\"\n{follows}")), Some(Confidence::High));
    assert_eq!(of(&format!("{}{active}", tools.replace("Enabled", "Disabled"))), None);
    assert_eq!(of(&format!("{tools}{}", active.replace("active", "inactive"))), None);
    let report = why(&format!("{tools}{follows}"));
    let master = report.remedies.iter().find(|remedy| remedy.id == "wall-one-master").unwrap();
    assert_eq!(master.commands, ["sudo vmware-toolbox-cmd timesync disable"]);
}

#[test]
fn two_dates_that_differ_are_evidence() {
    let of = |here: &str, inside: &str| {
        why(&format!("$ date -u ; docker run busybox date\n{here}\n{inside}\n"))
    };
    let report = of("Fr  3 Nov 2017 15:20:43 UTC", "Fri Nov  3 15:26:26 UTC 2017");
    assert!(
        summary(&report).contains("5.7 min ahead") || summary(&report).contains("343.0 s ahead"),
        "{}",
        summary(&report)
    );
    assert!(cause(&report, CauseId::WallClockUnsynchronised).is_some());
    let behind = of("Fri Nov  3 15:26:26 UTC 2017", "Fri Nov  3 14:26:26 UTC 2017");
    assert!(cause(&behind, CauseId::WallClockStaleAfterRestore).is_some(), "{}", summary(&behind));
    let same = of("Fri Nov  3 15:26:26 UTC 2017", "Fri Nov  3 15:26:27 UTC 2017");
    assert!(same.causes.iter().all(|cause| !cause.id.concerns_wall_clock()));
    // Another zone proves nothing.
    let zones = of("Fri Nov  3 16:26:26 CET 2017", "Fri Nov  3 15:26:27 UTC 2017");
    assert!(zones.wall_clock.is_none());
}

#[test]
fn programs_that_run_into_a_clock_are_symptoms() {
    for (line, word) in [
        (
            "HikariPool-1 - Thread starvation or clock leap detected (housekeeper delta=1m13s50ms).\n",
            "CLOCK_MONOTONIC",
        ),
        (
            "make[2]: warning:  Clock skew detected.  Your build may be incomplete.\n",
            "changed in the future",
        ),
        (
            "SystemTimeWarning: System time is way off (before 2024-01-01).\n",
            "too early to be possible",
        ),
        ("curl: (60) SSL certificate problem: certificate is not yet valid\n", "not yet valid"),
    ] {
        let report = why(line);
        assert!(summary(&report).contains(word), "{line}: {}", summary(&report));
        let grave = |cause: &&Cause| cause.severity >= Severity::Warning;
        assert_eq!(
            report.causes.iter().filter(grave).find(|cause| cause.id.concerns_wall_clock()),
            None,
            "{line}"
        );
    }
}

#[test]
fn cause_that_two_findings_prove_is_listed_once() {
    let report = why("$ timedatectl\n\
        \x20              Local time: Tue 2026-08-11 10:24:57 UTC\n\
        \x20          Universal time: Tue 2026-08-11 10:24:57 UTC\n\
        \x20                RTC time: Mon 2024-06-17 10:47:28\n\
        System clock synchronized: no\n              NTP service: active\n          RTC in local TZ: yes\n");
    let all: Vec<&Cause> =
        report.causes.iter().filter(|cause| cause.id == CauseId::WallClockUnsynchronised).collect();
    let [one] = all.as_slice() else { panic!("{all:#?}") };
    assert!(one.evidence.iter().any(|line| line.text.contains("behind by")), "{one:#?}");
    assert!(one.evidence.iter().all(|line| !line.text.contains("by -")), "{one:#?}");
    assert!(summary(&report).contains("keeps local time"), "{}", summary(&report));
}

#[test]
fn tracking_in_any_dress_is_read() {
    let plain = "$ chronyc tracking\nReference ID    : C0000201 (ntp.example)\nStratum         : 3\n\
        System time     : 7.810536861 seconds slow of NTP time\nFrequency       : 31244.098 ppm slow\nLeap status     : Normal\n";
    let indented = |by: &str| plain.lines().map(|line| format!("{by}{line}\n")).collect::<String>();
    let single: String = plain
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        .collect();
    let quoted =
        |mark: &str| plain.lines().map(|line| format!("{mark}{line}{mark}\n")).collect::<String>();
    for text in [
        plain.to_owned(),
        indented("    "),
        indented("  "),
        indented("\t"),
        single,
        quoted("\""),
        quoted("`"),
        indented("> "),
    ] {
        let report = why(&text);
        let figures = report.wall_clock.as_ref().unwrap();
        assert_eq!(figures.frequency_ppm, Some(31244.098), "{text}");
        assert_eq!(figures.offset_ns, Some(7_810_536_861), "{text}");
    }
    // A field of that name alone may be anything.
    assert!(why("Frequency: 3000.0 ppm slow\n").wall_clock.is_none());
}

#[test]
fn sources_without_a_majority_answer_and_disagree() {
    let report = why("Jul 17 04:19:28 a chronyd[17]: Selected source 192.0.2.1\n\
         Jul 17 04:19:28 a chronyd[17]: System clock wrong by 1700.500000 seconds, adjustment started\n\
         Jul 17 04:19:32 a chronyd[17]: Selected source 192.0.2.2\n\
         Jul 17 04:19:32 a chronyd[17]: System clock wrong by -1900.500000 seconds, adjustment started\n\
         Jul 17 04:21:41 a chronyd[17]: Can't synchronise: no majority\n");
    let said = summary(&report);
    assert!(said.contains("disagree") && !said.contains("set wrong, by hand"), "{said}");
    let remedy = report.remedies.iter().find(|one| one.id.as_str() == "wall-ask-the-daemon");
    let remedy = format!("{:?}", remedy.unwrap());
    assert!(remedy.contains("they answer, but") && !remedy.contains("none of its"), "{remedy}");
}

#[test]
fn rate_known_badly_beside_a_followed_source_is_synchronised() {
    let tracking = |leap: &str| {
        format!(
            "$ chronyc tracking\nReference ID    : C0000201 (ntp.example)\n\
             System time     : 0.000000000 seconds slow of NTP time\nSkew            : 1000000.000 ppm\n\
             Root dispersion : 0.003 seconds\nLeap status     : {leap}\n"
        )
    };
    let report = why(&tracking("Normal"));
    let wall = report.wall_clock.as_ref().unwrap();
    assert_eq!(wall.state, WallState::Synchronised);
    assert!(wall.summary.contains("1000000 ppm"), "{}", wall.summary);
    assert!(cause(&report, CauseId::WallClockUnsynchronised).is_none());
    assert!(cause(&why(&tracking("Not synchronised")), CauseId::WallClockUnsynchronised).is_some());
}

#[test]
fn table_of_peers_with_a_followed_source_says_that_it_is_kept() {
    let table = |offset: &str| {
        format!(
            "     remote           refid      st t when poll reach   delay   offset  jitter\n\
             ==============================================================================\n\
             *192.0.2.1       198.51.100.1     2 u  224  256  377    0.695  {offset}  15.020\n\
             +192.0.2.2       198.51.100.1     2 u  157  256  377    0.711  {offset}  15.411\n"
        )
    };
    let report = why(&table("0.111"));
    assert!(report.headline.contains("the wall clock is synchronised"), "{}", report.headline);
    assert!(!summary(&report).contains("slow"), "{}", summary(&report));
    let report = why(&table("122.400"));
    assert!(summary(&report).contains("122 ms slow of its source"), "{}", summary(&report));
}

#[test]
fn lines_of_daemons_say_what_they_prove_and_no_more() {
    let no_reply = "Mar 10 13:12:16 a systemd-timesyncd[6]: Timed out waiting for reply from 192.0.2.1:123 (ntp.example).\n";
    let contacted = "Mar 10 13:12:26 a systemd-timesyncd[6]: Contacted time server 192.0.2.2:123 (ntp.example).\n";
    let report = why(no_reply);
    assert!(summary(&report).contains("no line says that one answered"), "{}", summary(&report));
    assert_eq!(
        cause(&report, CauseId::WallClockUnsynchronised).unwrap().confidence,
        Confidence::Medium
    );
    let report = why(&format!("{no_reply}{contacted}"));
    assert!(summary(&report).contains("another line says that a server answered"));
    assert!(cause(&report, CauseId::WallClockUnsynchronised).is_none());
    let report = why(
        "Jun 28 08:42:36 a ntpd[18]: kernel reports TIME_ERROR: 0x2041: Clock Unsynchronized\n",
    );
    assert!(summary(&report).contains("a few minutes"), "{}", summary(&report));
    assert!(report.causes.iter().all(|cause| cause.severity == Severity::Info), "{report:#?}");
    let report = why(
        "Jun 28 08:42:36 a ntpd[18]: kernel reports TIME_ERROR: 0x41: Clock Unsynchronized\n\
         $ ntpq -pn\n     remote           refid      st t when poll reach   delay   offset  jitter\n\
         *192.0.2.1       198.51.100.1     2 u   24   64  377    0.695    0.100   0.020\n",
    );
    assert!(
        summary(&report).contains("according to another line, a source is followed"),
        "{report:#?}"
    );
    assert!(cause(&report, CauseId::WallClockUnsynchronised).is_none());
    let report = why("Aug  6 08:33:12 a ntpd[8]: Clock offset exceeds panic threshold.\n");
    assert!(summary(&report).contains("off by more than"), "{}", summary(&report));
    let remedies = format!("{:?}", report.remedies);
    assert!(!remedies.contains("none of its servers"), "{remedies}");
    let report = why(
        "2020-12-27T09:09:51Z Fatal error : adjtimex(0x8001) failed : Operation not permitted\n",
    );
    assert!(summary(&report).contains("CAP_SYS_TIME"), "{}", summary(&report));
    assert!(report.remedies.is_empty(), "{:#?}", report.remedies);
}

#[test]
fn servers_whose_clocks_differ_are_settled_on_each_host() {
    let report = why(
        "2016-07-13 16:59:59.776094 W | rafthttp: the clock difference against peer 4e8d454852097618 is too high [12.5s > 1s]\n\
         2016-07-13 17:00:29.776265 W | rafthttp: the clock difference against peer 4e8d454852097618 is too high [4.5s > 1s]\n",
    );
    let said = summary(&report);
    assert!(said.contains("etcd found") && said.contains("by 12.5 s, later by 4.5 s"), "{said}");
    assert_eq!(said.matches("etcd found").count(), 1, "{said}");
    let wall = report.wall_clock.as_ref().unwrap();
    assert_eq!(wall.state, WallState::Unknown);
    assert!(wall.settles.iter().any(|one| one.how.contains("on each of the hosts")));
    assert!(report.headline.contains("about the wall clock"), "{}", report.headline);
}

#[test]
fn clock_of_kvm_is_not_advised_in_virtualbox() {
    let log = |vendor: &str| {
        format!(
            "[    0.000000] Linux version 6.1.0-13-amd64 (a@b) (gcc-12) #1 SMP\n\
             [    0.000000] DMI: {vendor} 12/01/2006\n\
             [    0.000000] Hypervisor detected: KVM\n\
             [    0.500000] clocksource: Switched to clocksource kvm-clock\n\
             $ timedatectl\nSystem clock synchronized: no\n              NTP service: active\n"
        )
    };
    let advised = |vendor: &str| remedies(&why(&log(vendor))).contains(&"wall-host-clock");
    assert!(advised("QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.16.2"));
    assert!(!advised("innotek GmbH VirtualBox/VirtualBox, BIOS VirtualBox"));
}

#[test]
fn step_that_the_next_one_undoes_is_no_rate() {
    let steps = |second: &str| {
        why(&format!(
            "May  2 02:53:48 a ntpd[14]: time reset -8.407942 s\n\
             May  2 03:18:04 a ntpd[14]: time reset {second} s\n"
        ))
    };
    let undone = steps("+8.403648");
    assert!(summary(&undone).contains("rate of the clock is not wrong"), "{}", summary(&undone));
    assert!(!summary(&undone).contains("runs too fast"), "{}", summary(&undone));
    let other = steps("+2.5");
    assert!(!summary(&other).contains("rate of the clock is not wrong"), "{}", summary(&other));
}

#[test]
fn time_that_a_daemon_sets_in_vain() {
    let text = |after: &str| {
        format!(
            "ntpd: setting time to 2020-02-04 13:00:34.437454 (offset -555.563030s)\n\
             after: Tue Feb  4 {after} CET 2020\n"
        )
    };
    let vain = why(&text("13:09:52"));
    assert!(summary(&vain).contains("still shows the old time"), "{}", summary(&vain));
    assert!(!summary(&vain).contains("set it since"), "{}", summary(&vain));
    let kept = why(&text("13:00:36"));
    assert!(!summary(&kept).contains("old time"), "{}", summary(&kept));
}

#[test]
fn difference_of_hosts_that_grows_is_a_rate() {
    let line = |at: &str, by: &str| {
        format!(
            "2020-07-15 {at} W | rafthttp: the clock difference against peer bd is too high [1m{by}s > 1s]\n"
        )
    };
    let text = ["01:54:34", "01:55:04", "01:55:34", "01:56:04"]
        .iter()
        .zip(["22.150", "22.190", "22.230", "22.270"])
        .map(|(at, by)| line(at, by))
        .collect::<String>();
    let report = why(&text);
    assert!(
        summary(&report).contains("grows steadily, by 0.120 s in 90 s"),
        "{}",
        summary(&report)
    );
    assert!(summary(&report).contains("82."), "{}", summary(&report));
}

#[test]
fn correction_that_an_offset_asks_for_is_no_rate() {
    let line = |ppm: u32| {
        format!("Sep 14 10:00:01 a ntpd[9]: frequency error {ppm} PPM exceeds tolerance 500 PPM\n")
    };
    let report = why(&format!("{ON_TSC}{}{}", line(17_000), line(640)));
    assert!(cause(&report, CauseId::TscMiscalibrated).is_none(), "{report:#?}");
    assert!(summary(&report).contains("larger than it may step"), "{}", summary(&report));
    assert!(!remedies(&report).contains(&"wall-counter-rate"), "{report:#?}");
    // One steady figure is that of the counter.
    let steady = why(&format!("{ON_TSC}{}{}", line(3100), line(3050)));
    assert!(cause(&steady, CauseId::TscMiscalibrated).is_some(), "{steady:#?}");
}
