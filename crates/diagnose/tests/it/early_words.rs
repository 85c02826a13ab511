//! Kernels of the years around the first clocksources: what their messages prove, and what they do not.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::explain::explain;
use clocksmith_diagnose::{CauseId, Measured, Report, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::{self, Pasted};

/// The report on a text that contains the values of files.
fn of_text(text: &str) -> Report {
    let mut facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "text").unwrap());
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    Pasted::read(&lines, "text").complete(&mut facts);
    assess(facts, Measured::default()).report
}

const DIR: &str = "/sys/devices/system/clocksource/clocksource0";

#[test]
fn list_in_order_of_registration_blames_nobody() {
    let text = |list: &str| {
        format!(
            "box:~# cat {DIR}/available_clocksource\n{list}\nbox:~# cat {DIR}/current_clocksource\ntsc\nTime: pit clocksource \
             has been installed.\n"
        )
    };
    for list in ["jiffies tsc pit", "acpi_pm jiffies tsc pit", "pit tsc"] {
        let report = of_text(&text(list));
        assert!(!report.causes.iter().any(|c| c.id == CauseId::RuntimeOverride), "{list}");
        assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{list}");
    }
    // A sorted list, since 2.6.21.
    let sorted = format!(
        "box:~# cat {DIR}/available_clocksource\ntsc hpet acpi_pm\nbox:~# cat {DIR}/current_clocksource\nhpet\n"
    );
    assert!(of_text(&sorted).causes.iter().any(|c| c.id == CauseId::RuntimeOverride));
}

#[test]
fn first_of_an_unsorted_list_is_not_what_is_in_use() {
    let report = of_text(&format!(
        "Linux box 2.6.18-6-686 #1 SMP i686 GNU/Linux\nbox:~# cat {DIR}/available_clocksource\npit tsc acpi_pm\n"
    ));
    assert_eq!(report.clocksource.current, None, "{}", report.headline);
}

#[test]
fn jiffies_alone_in_the_list_tell_nothing_of_kernels_that_choose_without_it() {
    let list = format!("$ cat {DIR}/available_clocksource\njiffies\n");
    assert_eq!(of_text(&list).clocksource.current, None);
    let with = format!("{list}time.c: Using 3.579545 MHz WALL PM GTOD PIT/TSC timer.\n");
    let report = of_text(&with);
    assert_eq!(report.clocksource.current.as_deref(), Some("tsc"));
    assert!(report.clocksource.source.contains("only jiffies"), "{}", report.clocksource.source);
    assert_eq!(report.expected.current, None);
}

#[test]
fn kernels_without_ratings_get_no_rules_about_ratings() {
    let log = KernelLog::scan(
        "time.c: Using 3.579545 MHz WALL PM GTOD PIT/TSC timer.\ntime.c: Detected 2400.153 MHz processor.\n".as_bytes(),
        "log",
    )
    .unwrap();
    let seen = assess(Facts::from_log(log), Measured::default());
    let said: Vec<&str> = seen.expectation.reasons.iter().map(|r| r.because.as_str()).collect();
    assert!(
        !said.iter().any(|text| text.contains("rated 300") || text.contains("HPET")),
        "{said:?}"
    );
    assert!(seen.expectation.assumed.is_empty());
}

#[test]
fn clock_gettime_of_64_bits_is_not_fast_before_the_vdso() {
    let report = why("time.c: Using 3.579545 MHz WALL PM GTOD PIT/TSC timer.\n");
    assert!(report.headline.contains("clock_gettime by a system call"), "{}", report.headline);
    let shown = |release: &str| {
        of_text(&format!(
            "Linux box {release} #1 SMP x86_64 GNU/Linux\nbox:~# cat {DIR}/current_clocksource\ntsc\n"
        ))
        .headline
    };
    assert!(
        shown("2.6.22-14-server").contains("by a system call"),
        "{}",
        shown("2.6.22-14-server")
    );
    assert!(!shown("2.6.24-19-server").contains("by a system call"));
}

#[test]
fn write_of_tsc_is_refused_by_the_rules_of_its_version() {
    let refused = |text: &str| {
        let report = why(text);
        let found = report.remedies.into_iter().find(|r| r.id == "switch-to-tsc-now");
        found.and_then(|r| r.refused_because).unwrap_or_default()
    };
    let banner = |version: &str| {
        format!(
            "[    0.000000] Linux version {version} (b@example) (gcc 4.1) #1 SMP\n\
             [    0.790000] Marking TSC unstable due to TSC halts in idle\n[    0.800000] Switching to clocksource acpi_pm\n"
        )
    };
    assert!(refused(&banner("2.6.29-2-amd64")).contains("accepts the name"));
    let slowly = "[   43.709238] TSC appears to be running slowly. Marking it as unstable\n\
                  [   43.800000] Time: pit clocksource has been installed.\n";
    assert!(refused(slowly).contains("accepts the name"), "{}", refused(slowly));
    for text in [banner("2.6.32-5-amd64"), banner("4.9.0-6-amd64")] {
        assert!(
            refused(&text).contains("returns success and changes nothing"),
            "{}",
            refused(&text)
        );
    }
}

#[test]
fn running_slowly_names_more_than_idle() {
    let report = why("[   43.709238] TSC appears to be running slowly. Marking it as unstable\n");
    let cause = report.causes.iter().find(|c| c.id == CauseId::TscSkew).unwrap();
    for word in ["idle", "frequency", "emulator", "does not say which"] {
        assert!(cause.summary.contains(word), "{}", cause.summary);
    }
    let text = serde_json::to_string(&report).unwrap();
    assert!(!text.contains("probably at fault"), "{text}");
    assert!(!text.contains("\"id\":\"tsc-skew\",\"confidence\":\"high\""));
}

#[test]
fn lost_ticks_are_kernel_lines_with_open_cause() {
    for line in [
        "warning: many lost ticks.",
        "Your time source seems to be instable or some driver is hogging interupts",
        "Losing some ticks... checking if CPU frequency changed.",
        "time.c: Lost 3 timer tick(s)! rip default_idle+0x24/0x30)",
        "Losing too many ticks!",
    ] {
        let text = format!("scsi0: reset\n{line}\nrip default_idle+0x24/0x30\n");
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        assert!(log.looks_like_kernel && log.entries.len() == 1, "{line}");
        let report = why(&text);
        let falls_back = line.starts_with("Losing too many");
        let verdict = if falls_back { Verdict::Slow } else { Verdict::Unknown };
        assert_eq!(report.verdict, verdict, "{line}: {}", report.headline);
        assert!(report.causes.iter().any(|c| c.summary.contains("delayed")), "{line}");
        assert!(explain(line).iter().any(|e| e.versions.contains("2.6")), "{line}");
    }
    let report =
        why("warning: many lost ticks.\nrip default_idle+0x24/0x30\nFalling back to HPET\n");
    assert_eq!(report.clocksource.current.as_deref(), Some("hpet"));
    assert_eq!(report.verdict, Verdict::Slow);
    // Other programs print "Falling back", too.
    let log =
        KernelLog::scan("mplayer: Falling back to HPET timer support\n".as_bytes(), "log").unwrap();
    assert!(log.entries.is_empty());
}

#[test]
fn rate_of_the_pm_timer_is_not_unsteadiness() {
    let line = "PM-Timer running at invalid rate: 310% of normal - aborting.";
    let entry = explain(line).into_iter().next().unwrap();
    assert!(
        !entry.what.contains("steadily") && entry.what.contains("The rate of the PM timer differs"),
        "{}",
        entry.what
    );
    let report = why(&format!(
        "[   13.640353] {line}\n[   14.000000] Time: hpet clocksource has been installed.\n"
    ));
    assert!(!report.missing.iter().any(|fact| fact.fact == "PM timer"));
    let other = explain("PM-Timer failed consistency check  (0x0xffffff) - aborting.")
        .into_iter()
        .next()
        .unwrap();
    assert!(other.what.contains("steadily"));
}

#[test]
fn disabled_vsyscall_names_the_pm_timer() {
    let report = why("PID hash table entries: 4096\nDisabling vsyscall due to use of PM timer\n");
    assert_eq!(report.clocksource.current.as_deref(), Some("acpi_pm"));
}

#[test]
fn lines_that_grep_marks_with_their_file_are_read() {
    for file in ["dmesg-2.6.17-rc2-mm1:", "/var/log/dmesg.0:", "messages:", "kern.log:", "dmesg:"] {
        let report = why(&format!(
            "> {file}Time: tsc clocksource has been installed.\n> {file}Time: pit clocksource has been installed.\n"
        ));
        assert_eq!(
            report.clocksource.current.as_deref(),
            Some("pit"),
            "{file}: {}",
            report.headline
        );
    }
    let log =
        KernelLog::scan("race.log:Time: 12:30 clocks have been installed.\n".as_bytes(), "log")
            .unwrap();
    assert!(log.entries.is_empty() && !log.looks_like_kernel);
}

#[test]
fn figures_on_the_next_quoted_line_are_read() {
    let report = why(
        "On Tue, a user wrote:\n> I see this every ten minutes:\n>\n> clocksource: Long readout interval, skipping watchdog check: \
         cs_nsec:\n> 2897344852 wd_nsec: 2897356996\n>\n> Reverting it helps.\n",
    );
    let text = serde_json::to_string(&report).unwrap();
    assert!(!text.contains("cut off"), "{text}");
    assert!(text.contains("readout-stall"), "{text}");
}

/// An AMD Ryzen 5 5500U: both boots refine to 2112.07 MHz, and the counters run at 2096.06 MHz.
#[test]
fn refinement_that_repeats_in_another_boot_is_not_a_disturbance() {
    let boot = |refined: &str, wd: (u64, &str, &str), cs: (u64, &str, &str), skew: i64| {
        format!(
            "[    0.000000] Linux version 6.15.0-rc2 (b@example) (gcc 15) #1 SMP x86_64\n\
             [    0.000000] tsc: Detected 2096.000 MHz processor\n\
             [    0.100000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484873504 ns\n\
             [    2.100000] tsc: Refined TSC clocksource calibration: {refined} MHz\n\
             [    2.200000] clocksource: Switched to clocksource tsc\n\
             [    2.700000] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too \
             large:\n\
             [    2.700001] clocksource:                       'hpet' wd_nsec: {} wd_now: {} wd_last: {} mask: ffffffff\n\
             [    2.700002] clocksource:                       'tsc' cs_nsec: {} cs_now: {} cs_last: {} mask: ffffffffffffffff\n\
             [    2.700003] clocksource:                       Clocksource 'tsc' skewed {skew} ns (-3 ms) over watchdog 'hpet' interval \
             of {} ns (499 ms)\n\
             [    2.700004] tsc: Marking TSC unstable due to clocksource watchdog\n\
             [    2.800000] clocksource: Switched to clocksource hpet\n\
             [    9.800000] systemd[1]: started\n",
            wd.0, wd.1, wd.2, cs.0, cs.1, cs.2, wd.0
        )
    };
    let first = boot(
        "2112.070",
        (499779371, "1b89f6a", "14b6e8f"),
        (495991580, "69bd43440", "65d6391ef"),
        -3787791,
    );
    let second = boot(
        "2112.068",
        (499779720, "1b8bcdb", "14b8bfb"),
        (495992467, "67fa96fd0", "64138ca4c"),
        -3787253,
    );
    let alone = why(&second);
    assert!(
        alone.remedies.iter().any(|r| r.id == "reboot-to-restore" && r.refused_because.is_none())
    );
    let report = why(&format!("{first}{second}"));
    let cause = report.causes.iter().find(|c| c.id == CauseId::TscMiscalibrated).unwrap();
    assert!(cause.summary.contains("Another boot in this log"), "{}", cause.summary);
    assert!(!report.causes.iter().any(|c| c.summary.contains("jumped ahead")));
    assert!(
        !report.remedies.iter().any(|r| r.id == "reboot-to-restore" && r.refused_because.is_none())
    );
    // Another figure in the earlier boot proves the contrary.
    let other = why(&format!("{}{second}", first.replace("2112.070", "2095.981")));
    assert!(!other.causes.iter().any(|c| c.summary.contains("Another boot in this log shows")));
}

/// A Core i3-6100 with Linux 4.9.96.
#[test]
fn warp_on_a_processor_with_tsc_adjust_is_for_a_newer_kernel() {
    let log = |version: &str, model: &str| {
        format!(
            "[    0.000000] Linux version {version} (b@example) (gcc 6.3) #1 SMP x86_64\n\
             [    0.042000] smpboot: CPU0: Intel(R) Core(TM) CPU (family: 0x6, model: {model}, stepping: 0x3)\n\
             [    0.042724] Measured 454450 cycles TSC warp between CPUs, turning off TSC clock.\n\
             [    0.042726] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n\
             [    0.800000] clocksource: Switched to clocksource hpet\n"
        )
    };
    let offers = |text: &str| {
        why(text).remedies.iter().any(|r| r.id == "newer-kernel" && r.refused_because.is_none())
    };
    assert!(offers(&log("4.9.96", "0x5e")));
    assert!(!offers(&log("4.19.0", "0x5e")));
    // Nehalem has no TSC_ADJUST register.
    assert!(!offers(&log("4.9.96", "0x1a")));
}

#[test]
fn virtualbox_is_distinguished_from_kvm_by_its_firmware() {
    let log = |dmi: &str| {
        format!(
            "[    0.000000] Linux version 5.7.0 (b@example) (gcc 9) #1 SMP x86_64\n[    0.000000] {dmi}\n[    0.000000] Hypervisor \
             detected: KVM\n[    0.000000] kvm-clock: Using msrs 4b564d01 and 4b564d00\n[    1.000000] clocksource: Switched to \
             clocksource kvm-clock\n"
        )
    };
    let named = |dmi: &str| {
        let report = why(&log(dmi));
        serde_json::to_value(&report).unwrap()["machine"]["hypervisor"].as_str().unwrap().to_owned()
    };
    for line in [
        "DMI: innotek GmbH VirtualBox/VirtualBox, BIOS VirtualBox 12/01/2006",
        "ACPI: RSDP 0x00000000000E0000 000024 (v02 VBOX  )",
    ] {
        assert!(named(line).starts_with("VirtualBox"), "{line}");
    }
    assert_eq!(named("DMI: QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.16.2-1 04/01/2014"), "KVM");
}

#[test]
fn cpuid_is_for_x86_alone() {
    let report =
        why("[    0.000000] Linux version 6.1.0 (b@example) (riscv64-linux-gnu-gcc 12) #1\n\
         [    0.000000] Kernel command line: quiet\n[    0.000000] Memory: 4096K\n");
    assert!(!serde_json::to_string(&report).unwrap().contains("CPUID"), "{:?}", report.causes);
}

#[test]
fn failed_calibration_does_not_deny_a_timer_that_is_in_use() {
    let report = why("[    0.000000] Linux version 3.19.0 (b@example) (gcc 4.9) #1 SMP x86_64\n\
         [    0.000000] tsc: Unable to calibrate against PIT\n[    0.000000] tsc: HPET/PMTIMER calibration failed\n\
         [    0.000000] tsc: Marking TSC unstable due to could not calculate TSC khz\n\
         [    1.500000] Switched to clocksource acpi_pm\n");
    assert!(!serde_json::to_string(&report).unwrap().contains("answered"));
}

#[test]
fn a_write_does_not_erase_the_reading_before_it() {
    let read = format!("[root@h ~]# cat {DIR}/current_clocksource\nkvm-clock\n");
    let write = format!("[root@h ~]# echo tsc > {DIR}/current_clocksource\n");
    let report = of_text(&format!("{read}{write}"));
    assert_eq!(report.verdict, Verdict::Unknown);
    assert!(
        report.headline.contains("it was kvm-clock")
            && report.headline.contains("then tsc was written to current_clocksource"),
        "{}",
        report.headline
    );
    let again = of_text(&format!("{read}{write}[root@h ~]# cat {DIR}/current_clocksource\ntsc\n"));
    assert_eq!(again.clocksource.current.as_deref(), Some("tsc"), "{}", again.headline);
}

#[test]
fn timers_that_a_list_does_not_have_are_not_assumed() {
    let report = of_text(&format!(
        "$ cat {DIR}/available_clocksource\ntsc acpi_pm\n$ cat {DIR}/current_clocksource\ntsc\n"
    ));
    let reasons = format!("{:?}", report.expected);
    assert!(!reasons.contains("firmware describes an HPET"), "{reasons}");
}

#[test]
fn pg_test_timing_may_write_a_decimal_comma() {
    let costs = |figure: &str| {
        let text = format!(
            "Testing timing overhead for 3 seconds.\nPer loop time including overhead: {figure} ns\n\
             Histogram of timing durations:\n  < us   % of total      count\n     8     99,85491     648295\n"
        );
        of_text(&text).symptoms.len()
    };
    assert_eq!((costs("4620.82"), costs("4620,82")), (1, 1));
}

#[test]
fn reference_is_not_in_use_where_none_was_chosen_yet() {
    let log = |reference: &str, current: &str| {
        why(&format!(
            "[    7.100000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc-early' as unstable because the skew is \
             too large:\n\
             [    7.100001] clocksource:                       '{reference}' wd_nsec: 504000000 wd_now: eac00000 wd_last: eab00000 mask: \
             ffffffff\n\
             [    7.100002] clocksource:                       'tsc-early' cs_nsec: 2394000000 cs_now: 2b4000000 cs_last: 2a2000000 \
             mask: ffffffffffffffff\n\
             [    7.100003] clocksource:                       {current}\n\
             [    7.100004] tsc: Marking TSC unstable due to clocksource watchdog\n"
        ))
        .clocksource
        .current
    };
    // The PM timer or the HPET may register later.
    assert_eq!(log("pit", "No current clocksource."), None);
    assert_eq!(log("pit", "'jiffies' (not 'tsc-early') is current clocksource."), None);
    assert_eq!(log("hpet", "No current clocksource.").as_deref(), Some("hpet"));
    assert_eq!(log("pit", "'tsc-early' is current clocksource.").as_deref(), Some("pit"));
}

/// Behind a log with time stamps, the same words without one may be the kernel's (`journalctl -o cat`, a debugging script's
/// report) or the sender's: the state before them is no longer known to be the present one.
#[test]
fn demotion_without_a_stamp_behind_a_log_leaves_open_what_is_in_use() {
    use std::fmt::Write as _;
    let mut log = "[    0.000000] Linux version 6.8.0 (a@b) (gcc) #1 SMP\n[    0.000000] tsc: Detected 2000.000 MHz processor\n\
                   [    0.500000] clocksource: Switched to clocksource tsc-early\n[    1.700000] clocksource: Switched to clocksource tsc\n"
        .to_owned();
    for at in 2..60 {
        _ = writeln!(
            log,
            "[   {at:2}.000000] usb 1-{at}: new full-speed USB device number {at} using xhci_hcd"
        );
    }
    assert_eq!(why(&log).clocksource.current.as_deref(), Some("tsc"));
    let behind = "clocksource: timekeeping watchdog on CPU4: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
                  tsc: Marking TSC unstable due to clocksource watchdog\nclocksource: Switched to clocksource hpet\n";
    let dated: String =
        behind.lines().map(|line| format!("2024-09-20 21:07:13,003 DEBUG:\t{line}\n")).collect();
    for text in [behind, &dated, "clocksource: Switched to clocksource hpet\n"] {
        let report = why(&format!("{log}\nAfter resume:\n\n{text}"));
        assert_eq!(report.clocksource.current, None, "{text}: {}", report.headline);
    }
    // The same choice again.
    let again = why(&format!("{log}\n\nclocksource: Switched to clocksource tsc\n"));
    assert_eq!(again.clocksource.current.as_deref(), Some("tsc"), "{}", again.headline);
}

/// A demoted TSC cannot be in use again in the same boot: the second part is of another one.
#[test]
fn watchdog_that_names_the_tsc_after_its_demotion_is_of_another_boot() {
    let demotion = |at: u32, reference: &str| {
        format!(
            "[ {at}.740540] clocksource: timekeeping watchdog on CPU9: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
             [ {at}.740542] clocksource:                       '{reference}' wd_nsec: 312227950 wd_now: 92367f wd_last: 8128bd mask: ffffff\n\
             [ {at}.740544] clocksource:                       'tsc' cs_nsec: 4999196389 cs_now: 9e811223a9754 cs_last: 9e80e767df194 mask: ffffffffffffffff\n\
             [ {at}.740545] clocksource:                       'tsc' is current clocksource.\n\
             [ {at}.740553] tsc: Marking TSC unstable due to clocksource watchdog\n"
        )
    };
    let first =
        demotion(2410, "hpet") + "[ 2410.784045] clocksource: Switched to clocksource hpet\n";
    assert_eq!(why(&first).clocksource.current.as_deref(), Some("hpet"));
    let report = why(&format!("{first}\nanother one\n\n{}", demotion(3302, "acpi_pm")));
    assert_eq!(report.clocksource.current, None, "{}", report.headline);
}

/// Without the first lines of the boot nothing shows that no hypervisor disabled the watchdog, and nothing shows that one did.
#[test]
fn end_of_a_log_gives_no_more_confidence_than_the_whole() {
    use std::fmt::Write as _;
    let mut rest = "[    1.700000] clocksource: Switched to clocksource tsc\n".to_owned();
    for at in 2..60 {
        _ = writeln!(
            rest,
            "[   {at:2}.000000] usb 1-{at}: new full-speed USB device number {at} using xhci_hcd"
        );
    }
    rest += "[   61.000000] CPU: 2 PID: 1 Comm: a Not tainted 5.3.0 #1\n";
    let begin = "[    0.000000] Linux version 5.3.0 (a@b) (gcc) #1 SMP\n[    0.000000] DMI: Maker Board, BIOS 1 01/01/2019\n\
                 [    0.000000] tsc: Detected 2000.000 MHz processor\n";
    for text in [format!("{begin}{rest}"), rest] {
        let report = why(&text);
        assert!(report.headline.contains("fast here so far"), "{}", report.headline);
    }
}
