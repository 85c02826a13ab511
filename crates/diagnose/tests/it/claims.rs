//! Claims that a verdict must not make: too little evidence, or evidence of another subject.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{CauseId, Confidence, Measured, Report, Severity, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;

fn read(text: &str) -> Report {
    let facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "dmesg").unwrap());
    assess(facts, Measured::default()).report
}

fn confidence(report: &Report, id: CauseId) -> Option<Confidence> {
    report.causes.iter().find(|cause| cause.id == id).map(|cause| cause.confidence)
}

fn refused(report: &Report) -> String {
    let refused = report.remedies.iter().filter_map(|r| r.refused_because.clone());
    refused.collect::<Vec<_>>().join("\n")
}

const MARKED: &str = "clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
    clocksource:                       'hpet' WD\n\
    clocksource:                       'tsc' CS\n\
    clocksource:                       'tsc' is current clocksource.\n\
    tsc: Marking TSC unstable due to clocksource watchdog\n\
    clocksource: Switched to clocksource hpet\n";

fn marked(wd: &str, cs: &str) -> String {
    MARKED.replace("WD", wd).replace("CS", cs)
}

const REVERSED: &str = "apr 09 08:49:26 pc kernel: clocksource: Switched to clocksource tsc\n\
    apr 09 08:49:26 pc kernel: tsc: Refined TSC clocksource calibration: 2494.334 MHz\n\
    apr 09 08:49:25 pc kernel: clocksource: Switched to clocksource hpet\n\
    apr 09 08:49:25 pc kernel: clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns\n";

#[test]
fn assess_newest_line_first_is_not_a_choice_at_run_time() {
    // The second text has only the switches.
    let switches: String = REVERSED
        .lines()
        .filter(|line| line.contains("Switched"))
        .fold(String::new(), |all, line| all + line + "\n");
    for text in [REVERSED, switches.as_str()] {
        let report = read(text);
        assert_eq!(confidence(&report, CauseId::RuntimeOverride), None, "{report:?}");
        assert_ne!(report.verdict, Verdict::Slow, "{}", report.headline);
        assert_ne!(report.clocksource.current.as_deref(), Some("hpet"));
    }
}

#[test]
fn assess_one_interval_of_under_a_millisecond_blames_no_clock() {
    // 0.88 ms in half a second after two calibrations that agree to 4 ppm; 0.43 ms without a frequency.
    let agreed = format!(
        "kernel: Linux version 6.16.0-rc5 (x)\ntsc: Detected 3593.263 MHz processor\n\
         tsc: Refined TSC clocksource calibration: 3593.249 MHz\n{}",
        marked(
            "wd_nsec: 503113803 wd_now: 2255ae4 wd_last: 1b76f8a mask: ffffffff",
            "cs_nsec: 503992871 cs_now: 7e43d2a4a5 cs_last: 7dd7e5bc6a mask: ffffffffffffffff",
        )
    );
    let unknown = marked(
        "wd_nsec: 504292794 wd_now: 1c9ec43 wd_last: 15bbef8 mask: ffffffff",
        "cs_nsec: 503862628 cs_now: 36f0a2b1c0 cs_last: 36a2b1c0d0 mask: ffffffffffffffff",
    );
    for text in [agreed, unknown] {
        let report = read(&text);
        let skew = confidence(&report, CauseId::TscSkew);
        assert!(skew.is_none_or(|sure| sure == Confidence::Low), "{}", report.headline);
        assert!(!refused(&report).contains("probably at fault"), "{}", refused(&report));
    }
}

#[test]
fn assess_skew_without_a_frequency_names_no_rate() {
    let text = marked(
        "wd_nsec: 495997815 wd_now: 36f24f3 wd_last: 302c799 mask: ffffffff",
        "cs_nsec: 497721416 cs_now: 36f0a2b1c0 cs_last: 36a2b1c0d0 mask: ffffffffffffffff",
    );
    let report = read(&text);
    assert!(!report.headline.contains("rate"), "{}", report.headline);
    assert!(
        report.causes.iter().all(|cause| !cause.summary.contains("ppm")),
        "{:?}",
        report.causes
    );
}

#[test]
fn assess_misspelt_interval_is_read() {
    let text = marked(
        "wd_nesc: 505192062 wd_now: 10657158 wd_last: fac6f97 mask: ffffffff",
        "cs_nsec: 504007829 cs_now: 36f0a2b1c0 cs_last: 36a2b1c0d0 mask: ffffffffffffffff",
    );
    let report = read(&text);
    assert!(
        report.causes.iter().any(|cause| cause.summary.contains("505.2 ms")),
        "{:?}",
        report.causes
    );
}

#[test]
fn assess_kvm_clock_above_differing_tscs_is_a_caution() {
    let report = read(
        "[    0.000000] Linux version 5.4.0-216-generic (x)\n\
         [    0.000000] Hypervisor detected: KVM\n\
         [    0.000000] kvm-clock: Using msrs 4b564d01 and 4b564d00\n\
         [    0.300000] clocksource: Switched to clocksource kvm-clock\n\
         [    3.121418] Measured 1026495 cycles TSC warp between CPUs, turning off TSC clock.\n\
         [    3.121418] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n\
         [    3.500000] sched_clock: Marking stable (3400000000, 100000000)->(3600000000, -100000000)\n\
         [   30.000000] systemd[1]: Started x\n",
    );
    let warp = report.causes.iter().find(|cause| cause.id == CauseId::TscWarp).unwrap();
    assert!(warp.severity >= Severity::Warning && warp.summary.contains("verify"), "{warp:?}");
    assert!(!report.headline.contains("Nothing to fix"), "{}", report.headline);
}

#[test]
fn assess_next_boot_without_a_banner_ends_the_one_before() {
    let report = read(
        "[    0.000000] Linux version 6.19.0-rc6 (x)\n\
         [    0.600000] clocksource: Switched to clocksource tsc-early\n\
         [    1.900000] usb 1-1: new device\n\
         [   98.240753] Booting paravirtualized kernel on bare hardware\n\
         [   98.270455] clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1910969940391419 ns\n\
         [   98.572173] printk: log_buf_len min size: 131072 bytes\n",
    );
    assert_eq!(report.clocksource.current, None, "{}", report.headline);
}

#[test]
fn assess_talos_prefix_is_read() {
    for front in
        ["kern: warning: ", "kern  :warn  : ", "kern: warning: [2022-01-01T10:00:00.123Z]: "]
    {
        let report =
            read(&format!("{front}clocksource: Long readout interval, skipping watchdog check\n"));
        assert!(confidence(&report, CauseId::ReadoutStall).is_some(), "{front}");
        // The figures are not in the text, so the report must not state that the clocks agree.
        assert!(!refused(&report).contains("both clocks agree"), "{}", refused(&report));
    }
}

#[test]
fn assess_counter_of_an_origin_is_read_by_a_system_call() {
    let report = read(
        "Linux version 5.3.0-rc5 (x)\n\
         clocksource: HUB-RT: mask: 0xfffffffffffff max_cycles: 0x127350b88, max_idle_ns: 1763180808480 ns\n\
         clocksource: Switched to clocksource HUB-RT\n",
    );
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    assert!(
        report.causes.iter().all(|cause| !cause.summary.contains("TSC")),
        "{:?}",
        report.causes
    );
}

#[test]
fn assess_guest_of_a_model_without_invariant_tsc_gets_no_newer_kernel() {
    let guest = |name: &str| {
        read(&format!(
            "[    0.000000] Linux version 3.16.0-4-amd64 (x)\n\
             [    0.000000] Hypervisor detected: KVM\n\
             [    0.100000] smpboot: CPU0: Intel {name} (fam: 0f, model: 06, stepping: 01)\n\
             [    0.400000] Switched to clocksource kvm-clock\n\
             [   30.000000] systemd[1]: Started x\n"
        ))
    };
    for name in ["Common KVM processor", "QEMU Virtual CPU version 2.0.0"] {
        let advice: Vec<String> = guest(name).remedies.iter().map(|r| format!("{r:?}")).collect();
        assert!(advice.iter().all(|text| !text.contains("invariant TSC since")), "{advice:?}");
    }
}

#[test]
fn assess_two_examples_of_one_text_are_not_one_history() {
    let report = read(
        "### Good\n```\nclocksource: Switched to clocksource tsc\n```\n### Bad\n```\n\
         tsc: Marking TSC unstable due to check_tsc_sync_source failed\n\
         clocksource: Switched to clocksource hpet\n```\n",
    );
    assert_eq!(report.clocksource.current, None, "{}", report.headline);
}

#[test]
fn assess_dates_show_how_long_a_log_goes_on() {
    let mut text = String::from(
        "May 30 07:34:28 pc kernel: Linux version 6.9.3 (x)\n\
         May 30 07:34:28 pc kernel: clocksource: Switched to clocksource tsc-early\n\
         May 30 07:34:28 pc kernel: clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x6a8d2284b57, max_idle_ns: 881590451434 ns\n\
         May 30 07:34:28 pc kernel: clocksource: Switched to clocksource tsc\n",
    );
    for number in 0..40 {
        text.push_str(&format!("Jun 03 07:58:21 pc kernel: wlan0: associated {number}\n"));
    }
    assert_eq!(read(&text).verdict, Verdict::Ok, "{}", read(&text).headline);
}
