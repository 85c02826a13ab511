//! Single demotions whose figures are easily misread.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{Cause, CauseId, Confidence, Measured, Report, Severity, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;

fn read(text: &str) -> Report {
    let facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "dmesg").unwrap());
    assess(facts, Measured::default()).report
}

fn cause(seen: &Report, id: CauseId) -> Option<&Cause> {
    seen.causes.iter().find(|cause| cause.id == id)
}

fn marked(wd: &str, cs: &str) -> String {
    format!(
        "[    0.000000] Linux version 6.12.41 (x)\n\
         [   99.000000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [   99.000001] clocksource:                       {wd}\n\
         [   99.000002] clocksource:                       {cs}\n\
         [   99.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [   99.100000] clocksource: Switched to clocksource hpet\n"
    )
}

#[test]
fn short_reference_acquits_no_fast_tsc() {
    let figures = marked(
        "'hpet' wd_nsec: 427500000 wd_now: 7c36c6 wd_last: 18b4dc mask: ffffffff",
        "'tsc' cs_nsec: 513000000 cs_now: 5000000000 cs_last: 4fb0000000 mask: ffffffffffffffff",
    );
    // Without the frequency that the kernel believed, it is no rate.
    assert_eq!(cause(&read(&figures), CauseId::TscSkew).unwrap().confidence, Confidence::Low);
    let detected = "(x)\n[    0.000010] tsc: Detected 2616.330 MHz processor\n";
    let seen = read(&figures.replacen("(x)\n", detected, 1));
    assert_eq!(cause(&seen, CauseId::TscSkew).unwrap().confidence, Confidence::Medium);
    let other = cause(&seen, CauseId::WatchdogAtFault).unwrap();
    assert_eq!(other.confidence, Confidence::Low);
    assert!(other.summary.contains("chronyc"), "{}", other.summary);
    assert!(!seen.remedies.iter().any(|r| r.id == "tsc-nowatchdog" && r.refused_because.is_none()));
}

#[test]
fn line_without_the_detected_frequency_makes_no_cause_surer() {
    let log = "[    0.000000] Linux version 6.12.41 (x)\n\
         [    0.000010] tsc: Detected 2600.010 MHz processor\n\
         [    2.300000] tsc: Refined TSC clocksource calibration: 2600.000 MHz\n\
         [    2.400000] clocksource: Switched to clocksource tsc\n\
         [    4.900000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [    4.900001] clocksource:                       'hpet' wd_nsec: 500000000 wd_now: 1835d1b wd_last: 116216c mask: ffffffff\n\
         [    4.900002] clocksource:                       'tsc' cs_nsec: 500900000 cs_now: 4da22fa0 cs_last: 0 mask: ffffffffffffffff\n\
         [    4.900003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [    5.000000] clocksource: Switched to clocksource hpet\n";
    let surest = |text: &str| {
        read(text)
            .causes
            .iter()
            .filter(|cause| cause.severity >= Severity::Warning)
            .map(|cause| (cause.confidence, cause.id))
            .max_by_key(|found| found.0)
    };
    for dropped in
        [log.to_owned(), log.replace("[    0.000010] tsc: Detected 2600.010 MHz processor\n", "")]
    {
        let found: Vec<_> = [CauseId::TscMiscalibrated, CauseId::TscSkew, CauseId::WatchdogAtFault]
            .into_iter()
            .filter_map(|id| cause(&read(&dropped), id).map(|cause| (id, cause.confidence)))
            .collect();
        assert!(!found.is_empty(), "{:?}", surest(&dropped));
        assert!(found.iter().all(|(_, sure)| *sure == Confidence::Low), "{found:?} {dropped}");
    }
}

#[test]
fn cut_copy_of_the_figures_does_not_count() {
    let whole = "[  572.495181] clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [  572.495181] clocksource:                       'kvm-clock' wd_now: 8600000000 wd_last: 4300000000 mask: ffffffffffffffff\n\
         [  572.495181] clocksource:                       'tsc' cs_now: ca80000000 cs_last: c9d0000000 mask: ffffffffffffffff\n\
         [  572.495181] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [  572.495181] clocksource: Switched to clocksource kvm-clock\n";
    let figures = |text: &str| -> Vec<String> {
        let of_skew =
            |cause: &Cause| cause.summary.contains("counted").then(|| cause.summary.clone());
        read(text).causes.iter().filter_map(of_skew).collect()
    };
    let right = figures(whole);
    assert!(right.iter().any(|summary| summary.contains("287.76 s")), "{right:?}");
    for columns in [95_usize, 96, 99] {
        let cut: String = whole
            .lines()
            .map(|line| {
                let line = line.replacen("[  572.495181] ", "", 1);
                format!("Feb 27 18:47:28 localhost kernel: {}\n", &line[..line.len().min(columns)])
            })
            .collect();
        assert_eq!(figures(&format!("{whole}{cut}")), right, "{columns}");
    }
}

#[test]
fn interval_of_microseconds_blames_neither_clock() {
    let seen = read(
        "[    0.000000] Linux version 7.1.8 (x)\n\
         [    1.300000] tsc: Refined TSC clocksource calibration: 2596.123 MHz\n\
         [    1.400000] clocksource: Switched to clocksource tsc\n\
         [    2.100000] clocksource: Marking clocksource tsc unstable due to frequency skew\n\
         [    2.100001] clocksource: Watchdog                    hpet interval:            88000ns\n\
         [    2.100002] clocksource: Clocksource                  tsc interval:            86100ns\n\
         [    2.100003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [    2.200000] clocksource: Switched to clocksource hpet\n",
    );
    assert!(cause(&seen, CauseId::TscSkew).is_none(), "{:?}", seen.causes);
    assert!(cause(&seen, CauseId::TscMiscalibrated).is_none(), "{:?}", seen.causes);
    assert!(cause(&seen, CauseId::WatchdogAtFault).is_some());
    let reliable = seen.remedies.iter().find(|r| r.id == "tsc-reliable");
    let because = reliable.and_then(|r| r.refused_because.clone()).unwrap_or_default();
    assert!(!because.contains("probably at fault"), "{because}");
}

#[test]
fn reference_far_ahead_is_not_a_rate() {
    for seconds in ["1200000000", "5000000000", "60000000000"] {
        for reference in ["hpet", "kvm-clock", "acpi_pm"] {
            let seen = read(&format!(
                "[    0.000000] Linux version 6.12.41 (x)\n\
                 [   99.000000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
                 [   99.000001] clocksource: Clocksource 'tsc' skewed -{} ns (0 ms) over watchdog '{reference}' interval of {seconds} ns (0 ms)\n\
                 [   99.100000] clocksource: Switched to clocksource {reference}\n",
                seconds.parse::<u64>().unwrap() - 480_000_000
            ));
            for found in &seen.causes {
                assert!(!found.summary.contains('%'), "{reference} {seconds}: {found:?}");
                assert!(!found.summary.contains("late read"), "{reference} {seconds}: {found:?}");
                assert!(found.id != CauseId::TscSkew, "{reference} {seconds}: {found:?}");
            }
        }
    }
}

#[test]
fn ratio_of_a_wrong_frequency_is_not_a_jump() {
    let seen = read(
        "[    0.000000] Linux version 6.12.41 (x)\n\
         [    0.010000] Kernel command line: tsc_early_khz=1000000\n\
         [    0.020000] tsc: Detected 1000.000 MHz processor\n\
         [    2.300000] clocksource: Switched to clocksource tsc\n\
         [    3.000000] clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1446900000 wd_nsec: 557300000\n",
    );
    assert!(cause(&seen, CauseId::TscJump).is_none(), "{:?}", seen.causes);
    assert!(cause(&seen, CauseId::TscMiscalibrated).is_some());
}

#[test]
fn ticks_as_reference_acquit_no_tsc() {
    let seen = read(&marked(
        "'refined-jiffies' wd_nsec: 512032000 wd_now: fffedb58 wd_last: fffedb38 mask: ffffffff",
        "'tsc' cs_nsec: 533500000 cs_now: 5000000000 cs_last: 4fb0000000 mask: ffffffffffffffff",
    ));
    for id in [CauseId::WatchdogAtFault, CauseId::TscSkew] {
        assert_eq!(cause(&seen, id).unwrap().confidence, Confidence::Low);
    }
    assert!(cause(&seen, CauseId::InsufficientEvidence).is_some());
}

#[test]
fn refinement_that_agreed_with_the_first_figure_is_a_third_clock() {
    let log = marked(
        "'sgi_rtc' wd_nsec: 500000000 wd_now: 2faf080 wd_last: 0 mask: ffffffffffffff",
        "'tsc' cs_nsec: 505000000 cs_now: 5000000000 cs_last: 4fb0000000 mask: ffffffffffffffff",
    );
    let log = log.replacen(
        '\n',
        "\n[    0.020000] tsc: Detected 2500.000 MHz processor\n\
         [    1.300000] tsc: Refined TSC clocksource calibration: 2500.012 MHz\n",
        1,
    );
    let seen = read(&log);
    assert_eq!(cause(&seen, CauseId::WatchdogAtFault).unwrap().confidence, Confidence::Medium);
    assert_eq!(cause(&seen, CauseId::TscSkew).unwrap().confidence, Confidence::Low);
}

#[test]
fn echo_of_a_stated_reason_is_not_a_second_cause() {
    let seen = read(
        "[   10.000000] Marking TSC unstable due to cpufreq changes\n\
         [   10.500000] Clocksource tsc unstable (delta = -131624372 ns)\n\
         [   10.600000] Switching to clocksource hpet\n",
    );
    let ids: Vec<_> =
        seen.causes.iter().filter(|c| c.severity > Severity::Info).map(|c| c.id).collect();
    assert_eq!(ids, [CauseId::TscFrequencyChanges]);
    assert_eq!(seen.causes[0].evidence.len(), 2, "{:?}", seen.causes[0]);
}

#[test]
fn skipped_checks_are_informational() {
    let seen = read(
        "[  197.7] clocksource: timekeeping watchdog on CPU8: hpet wd-wd read-back delay of 239000ns\n\
         [  197.8] clocksource: wd-tsc-wd read-back delay of 90933ns, clock-skew test skipped!\n",
    );
    assert!(seen.causes.iter().all(|c| c.severity == Severity::Info), "{:?}", seen.causes);
}

#[test]
fn difference_alone_names_no_rate() {
    let seen = read(
        "Switched to clocksource tsc\n\
         Clocksource tsc unstable (delta = -131624372 ns)\n\
         Switched to clocksource hpet\n",
    );
    assert!(cause(&seen, CauseId::TscJump).is_some());
    assert!(seen.causes.iter().all(|c| !c.summary.contains('%')), "{:?}", seen.causes);
    let wrap = read("Clocksource tsc unstable (delta = -4679000000 ns)\n");
    assert_eq!(cause(&wrap, CauseId::WatchdogAtFault).unwrap().confidence, Confidence::Medium);
    assert!(cause(&wrap, CauseId::TscJump).is_none());
}

/// The figures are in the text, whether or not the line before them is complete.
#[test]
fn figures_without_first_line_cut_or_in_ticks_are_read() {
    let wd =
        "'refined-jiffies' wd_nsec: 503923392 wd_now: fffb73f8 wd_last: fffb7200 mask: ffffffff";
    let cs = "'tsc-early' cs_nsec: 588021368 cs_now: 581c1eb378 cs_last: 57d9aad9e8 mask: ffffffffffffffff";
    let marked = "tsc: Marking TSC unstable due to clocksource watchdog";
    let headless = format!(
        "[   20.067286] clocksource:                       {wd}\n[   20.067286] clocksource:                       {cs}\n\
         [   20.111286] {marked}\n"
    );
    let cut = "[    1.000000] clocksource:                       'tsc' cs_nsec: 506652289 cs_now: 8a6f3da80 cs_last: >\n\
               [    1.000000] clocksource:                       'hpet' wd_nsec: 510550572 wd_now: 1baa648 wd_last: 1>\n\
               [    1.000000] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable becaus>\n";
    let ticks = "[    0.000000] tsc: Detected 1649.974 MHz processor\n\
         [    0.088776] clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: \
         7645519600211568 ns\n\
         [    9.579420] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc-early' as unstable because \
         the skew is too large:\n\
         [    9.579424] clocksource:                       'refined-jiffies' wd_now: fffedc19 wd_last: fffedb90 mask: \
         ffffffff\n\
         [    9.579426] clocksource:                       'tsc-early' cs_now: b788b38be cs_last: b22e8809f mask: \
         ffffffffffffffff\n";
    for (text, tsc, reference) in [
        (headless.as_str(), "588.0 ms", "503.9 ms"),
        (cut, "506.7 ms", "510.6 ms"),
        (ticks, "870.8 ms", "548.0 ms"),
    ] {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let report = assess(Facts::from_log(log), Measured::default()).report;
        let all = serde_json::to_string(&report.causes).unwrap();
        assert!(all.contains(tsc) && all.contains(reference), "{all}");
        assert!(!all.contains("are missing") && !all.contains("are not in this evidence"), "{all}");
    }
}

/// A boot whose watchdog demoted the TSC after a refinement.
fn refined(detected: &str, refined: &str, wd: &str, cs: &str) -> Report {
    read(&format!(
        "[    0.000000] {detected}\n[    2.000000] tsc: Refined TSC clocksource calibration: {refined} MHz\n\
         [    3.000000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [    3.000001] clocksource:                       {wd}\n\
         [    3.000002] clocksource:                       {cs}\n\
         [    3.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [    3.100000] clocksource: Switched to clocksource hpet\n"
    ))
}

#[test]
fn refinement_that_fits_a_difference_under_a_millisecond_is_not_proven() {
    let seen = refined(
        "tsc: Detected 3593.169 MHz processor",
        "3596.225",
        "'hpet' wd_nsec: 505407949 wd_now: 225ee84 wd_last: 1b782da mask: ffffffff",
        "'tsc' cs_nsec: 504990010 cs_now: 13f7215a4c cs_last: 138ae28338 mask: ffffffffffffffff",
    );
    let found = cause(&seen, CauseId::TscMiscalibrated).unwrap();
    assert_eq!(found.confidence, Confidence::Medium, "{}", found.summary);
}

#[test]
fn disturbed_refinement_is_answered_by_a_reboot_first() {
    let of = |first: &str| {
        refined(
            first,
            "2112.070",
            "'hpet' wd_nsec: 499779371 wd_now: 1b89f6a wd_last: 14b6e8f mask: ffffffff",
            "'tsc' cs_nsec: 495991580 cs_now: 69bd43440 cs_last: 65d6391ef mask: ffffffffffffffff",
        )
    };
    let open = of("Console: colour dummy device 80x25");
    let sure = cause(&open, CauseId::TscMiscalibrated).map(|cause| cause.confidence);
    assert_eq!(sure, Some(Confidence::Low), "the frequency detected first is not there");
    let seen = of("tsc: Detected 2096.064 MHz processor");
    let offered: Vec<&str> = seen
        .remedies
        .iter()
        .filter(|remedy| remedy.refused_because.is_none())
        .map(|remedy| remedy.id.as_str())
        .collect();
    assert_eq!(offered.first(), Some(&"reboot-to-restore"), "{offered:?}");
    assert!(!offered.contains(&"update-firmware"), "{offered:?}");
}

#[test]
fn nominal_rate_of_cpuid_against_the_refined_one_is_not_a_fault() {
    let boot = |nominal: &str| {
        read(&format!(
            "[    0.000000] tsc: Detected 2000.000 MHz processor\n{nominal}\
             [    2.000000] tsc: Refined TSC clocksource calibration: 1991.999 MHz\n\
             [    2.100000] clocksource: Switched to clocksource tsc\n"
        ))
    };
    let seen = boot("[    0.000000] tsc: Detected 1999.968 MHz TSC\n");
    assert!(cause(&seen, CauseId::TscMiscalibrated).is_none(), "{:?}", seen.causes);
    assert!(cause(&boot(""), CauseId::TscMiscalibrated).is_some());
}

#[test]
fn initial_domain_of_xenserver_is_not_told_of_other_domains() {
    let seen = read(
        "[    0.000000] Linux version 2.6.32.43-0.4.1.xs1.8.0.835.170778xen (builder@example) (gcc 4.1.2) #1 SMP\n\
         [    1.000000] ACPI: SSDT one\n[    1.100000] PCI: two\n[    1.200000] SCSI three\n[    1.300000] NET: four\n\
         [    1.400000] VFS: five\n[    2.000000] Switching to clocksource xen\n[   60.000000] EXT3-fs: mounted\n",
    );
    let text = serde_json::to_string(&seen.remedies).unwrap();
    for word in ["EC2", "tsc_mode"] {
        assert!(
            !text.contains(word) || word == "EC2" && !text.contains("low on EC2"),
            "{word}: {text}"
        );
    }
}

#[test]
fn refinement_that_agreed_with_the_first_figure_was_not_disturbed() {
    let check = |refined: &str| {
        read(&format!(
            "[    0.000000] Linux version 6.2.0-rc1 (x)\n\
             [    0.000000] tsc: Detected 3293.783 MHz processor\n\
             [    3.567505] tsc: Refined TSC clocksource calibration: {refined} MHz\n\
             [    5.383774] clocksource: timekeeping watchdog on CPU6: Marking clocksource 'tsc' as unstable because the \
             skew is too large:\n\
             [    5.385181] clocksource:                       'hpet' wd_nsec: 501605231 wd_now: 302ba42 wd_last: 2952348 \
             mask: ffffffff\n\
             [    5.385698] clocksource:                       'tsc' cs_nsec: 503308388 cs_now: 16d90ec6a4 cs_last: \
             16763ece3c mask: ffffffffffffffff\n\
             [    5.386814] tsc: Marking TSC unstable due to clocksource watchdog\n\
             [    5.403935] clocksource: Switched to clocksource hpet\n"
        ))
    };
    // 5 ppm.
    let seen = check("3293.799");
    assert!(cause(&seen, CauseId::TscMiscalibrated).is_none(), "{}", seen.headline);
    for cause in &seen.causes {
        let likely = cause.confidence > Confidence::Low;
        assert!(!likely || cause.id == CauseId::InsufficientEvidence, "{cause:?}");
    }
    let told: Vec<&String> =
        seen.remedies.iter().filter_map(|r| r.refused_because.as_ref()).collect();
    assert!(
        !told
            .iter()
            .any(|why| why.contains("frequency is wrong") || why.contains("probably at fault")),
        "{told:?}"
    );
    assert!(seen.headline.contains("does not show"), "{}", seen.headline);
    // 110 ppm, where the check finds 3395.
    let seen = check("3294.146");
    assert!(cause(&seen, CauseId::TscMiscalibrated).is_none(), "{}", seen.headline);
    // 150 ppm.
    assert!(cause(&check("3294.277"), CauseId::TscMiscalibrated).is_some());
}
