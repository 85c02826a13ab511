//! The clocksource in use that a log proves, and no more: logs that end too soon, and later events.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{Cause, CauseId, Measured, Report, Severity, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;

fn cause(report: &Report, id: CauseId) -> Option<&Cause> {
    report.causes.iter().find(|cause| cause.id == id)
}

/// Lines of a boot that do not concern clocks, up to a switch at 0.8 s, and the lines after it.
fn boot(switch: &str, more: &str) -> Report {
    why(&format!(
        "[    0.000000] x86/fpu: Supporting XSAVE feature 0x001\n[    0.100000] pid_max: default: 32768\n\
         [    0.200000] NET: Registered protocol family 16\n[    0.300000] SCSI subsystem initialized\n\
         [    0.400000] VFS: Disk quotas dquot_6.6.0\n{switch}\n\
         [    0.801000] pnp: PnP ACPI init\n{more}"
    ))
}

fn switched(name: &str) -> String {
    format!("[    0.800000] clocksource: Switched to clocksource {name}")
}

#[test]
fn switch_at_the_end_of_a_log_is_not_the_last_word() {
    for name in ["kvm-clock", "xen", "hyperv_clocksource_tsc_page", "tsc-early", "tsc"] {
        let report = boot(&switched(name), "");
        assert_eq!(report.verdict, Verdict::Unknown, "{name}: {}", report.headline);
        assert!(report.headline.contains("at the end of this log"), "{name}: {}", report.headline);
        assert!(report.settles.iter().any(|settle| settle.fact.contains("last line")), "{name}");
        for id in [CauseId::InvariantTscWithheld, CauseId::ParavirtClockPreferred] {
            assert!(cause(&report, id).is_none(), "{name}: {id:?}");
        }
    }
    for name in ["hpet", "acpi_pm", "refined-jiffies", "jiffies"] {
        let report = boot(&switched(name), "");
        assert_eq!(report.verdict, Verdict::Unknown, "{name}: {}", report.headline);
        assert_eq!(report.clocksource.current, None, "{name}");
    }
}

#[test]
fn tick_in_use_after_the_tsc_was_lost_is_not_the_last_word() {
    let lost = "[    0.790000] tsc: Marking TSC unstable due to clocksource watchdog\n";
    let report = boot(&format!("{lost}{}", switched("refined-jiffies")), "");
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    let more = "[    0.850000] clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns\n\
                [    0.851000] clocksource: Switched to clocksource acpi_pm\n";
    let report = boot(&format!("{lost}{}", switched("refined-jiffies")), more);
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    assert_eq!(report.clocksource.current.as_deref(), Some("acpi_pm"));
}

#[test]
fn hyperv_page_of_unknown_grant_is_not_evidence_against_it() {
    let switch = "[    0.000001] Hypervisor detected: Microsoft Hyper-V\n".to_owned()
        + &switched("hyperv_clocksource_tsc_page");
    let early = boot(&switch, "");
    assert!(cause(&early, CauseId::InvariantTscWithheld).is_none(), "{:?}", early.causes);
    let settled = boot(
        &switch,
        "[   60.000000] systemd[1]: Reached target Network.\n[   61.000000] eth0: up\n",
    );
    assert_eq!(settled.clocksource.current.as_deref(), Some("hyperv_clocksource_tsc_page"));
    assert!(cause(&settled, CauseId::InvariantTscWithheld).is_some(), "{:?}", settled.causes);
    // Evidence may cite a line of the log only for words of that line.
    for item in settled.causes.iter().flat_map(|cause| &cause.evidence) {
        assert!(
            !item.text.contains("AccessTscInvariant") || !item.text.contains("[log:"),
            "{item:?}"
        );
    }
}

#[test]
fn hyperv_msr_clock_is_slow_and_no_grant_is_asked_for() {
    for more in
        ["", "[   60.000000] systemd[1]: Reached target Network.\n[   61.000000] eth0: up\n"]
    {
        let report = boot(&switched("hyperv_clocksource"), more);
        assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
        assert!(cause(&report, CauseId::VdsoBypassed).is_some(), "{:?}", report.causes);
        assert!(cause(&report, CauseId::InvariantTscWithheld).is_none(), "{:?}", report.causes);
        let page = |text: &str| text.contains("reference TSC page");
        assert!(
            report.remedies.iter().any(|remedy| page(&remedy.summary)),
            "{:?}",
            report.remedies
        );
        let text = serde_json::to_string(&report).unwrap();
        assert!(!text.contains("AccessTscInvariant") && !text.contains("fast and right"), "{text}");
    }
}

#[test]
fn switch_behind_a_reading_of_sysfs_is_reported_by_its_own_line() {
    let report = why("[    0.000000] Kernel command line: ro clocksource=acpi_pm\n\
         [    1.178281] clocksource: Switched to clocksource acpi_pm\n\
         [    2.359224] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x256bf150130, max_idle_ns: 440795232506 \
         ns\n\
         SYSFS current_clocksource=acpi_pm\n\
         SYSFS available_clocksource=tsc hpet acpi_pm \n\
         [    5.934088] clocksource: Switched to clocksource tsc\n");
    assert_eq!(report.clocksource.current.as_deref(), Some("tsc"));
    assert_eq!(report.clocksource.source, "log:6");
    assert_eq!(
        report.verdict,
        Verdict::Unknown,
        "the log ends with the switch: {}",
        report.headline
    );
    let quoted = report.causes.iter().flat_map(|cause| &cause.evidence);
    for item in quoted.filter(|item| item.source == "log:4") {
        assert!(!item.text.contains("current tsc"), "{item:?}");
    }
}

#[test]
fn demotion_behind_the_switch_is_not_why_a_paravirtual_clock_is_in_use() {
    let report = why("[    0.149025] Switched to clocksource xen\n\
         [    1.160042] clocksource tsc: mask: 0xffffffffffffffff max_cycles: 0x1f3a6b29c11, max_idle_ns: 440795245120 \
         ns\n\
         [271095.072610] timekeeping watchdog: Marking clocksource 'tsc' as unstable, because the skew is too large:\n\
         [271095.072619] \t'xen' wd_now: f6aa707c0c8f wd_last: f6a8d4762faa mask: ffffffffffffffff\n\
         [271095.072624] \t'tsc' cs_now: 1b6861d00 cs_last: 21d7172f2b8c4 mask: ffffffffffffffff\n");
    assert_eq!(report.clocksource.current.as_deref(), Some("xen"));
    assert!(!report.headline.contains("jump"), "{}", report.headline);
    assert!(cause(&report, CauseId::TscJump).is_some(), "{:?}", report.causes);
}

#[test]
fn late_checks_blame_no_clock_and_claim_no_stop_of_the_machine() {
    let report = why(
        "[   20.231907] clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1367682540 wd_nsec: \
         1367682409\n\
         [   40.358094] clocksource: Long readout interval, skipping watchdog check: cs_nsec: 10545682727 wd_nsec: \
         10545681608\n",
    );
    let stall = cause(&report, CauseId::ReadoutStall).unwrap();
    assert!(stall.summary.contains("10.55 s"), "{}", stall.summary);
    assert_eq!(stall.evidence.len(), 2);
    let text = serde_json::to_string(&report).unwrap();
    for word in ["nothing ran", "clocksource is fine", "stood still"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn headline_calls_no_tsc_usable_that_was_not_shown() {
    let report = boot(
        &switched("xen"),
        "[   60.000000] systemd[1]: Reached target Network.\n[   61.000000] eth0: up\n",
    );
    assert!(!report.headline.contains("usable"), "{}", report.headline);
}

#[test]
fn processor_without_a_tsc_needs_no_parameter_taken_off() {
    let report = why(
        "Linux version 6.1.0 (builder@example) (gcc 12) #1\nKernel command line: ro tsc=unstable\n\
         tsc: Marking TSC unstable due to boot parameter\nCPU: Intel 486 DX/4 (family: 0x4, model: 0x8, stepping: 0x0)\n",
    );
    assert_eq!(
        report.causes.first().map(|cause| cause.id),
        Some(CauseId::NoTsc),
        "{:?}",
        report.causes
    );
    assert!(
        report
            .causes
            .iter()
            .all(|cause| cause.id == CauseId::NoTsc || cause.severity == Severity::Info)
    );
    assert!(!report.remedies.iter().any(|r| r.commands.iter().any(|c| c.contains("tsc=unstable"))));
}

#[test]
fn tsc_that_stops_in_idle_states_may_be_lost_when_their_driver_loads() {
    let boot = |cpu: &str, end: &str| {
        why(&format!(
            "[    0.000000] Linux version 3.16.0 (builder@example.x86_64) (gcc 4.8 x86_64-linux-gnu) #1 SMP\n\
             [    0.100000] x86/fpu: one\n[    0.110000] pid_max: two\n[    0.120000] NET: three\n\
             [    0.130000] SCSI four\n[    0.140000] VFS: five\n\
             [    0.200000] smpboot: CPU0: {cpu}\n\
             [    2.984095] Switched to clocksource tsc\n[    8.000000] systemd[1]: Reached target Paths.\n\
             [   {end}] ppdev: user-space parallel port driver\n"
        ))
        .verdict
    };
    let core2 = "Intel(R) Core(TM)2 Duo CPU P8400 @ 2.26GHz (fam: 06, model: 17, stepping: 06)";
    assert_eq!(boot(core2, "11.337889"), Verdict::Unknown);
    assert_eq!(boot(core2, "61.337889"), Verdict::Ok);
    let later = "Intel(R) Core(TM) i7-2600 CPU @ 3.40GHz (fam: 06, model: 2a, stepping: 07)";
    assert_eq!(boot(later, "11.337889"), Verdict::Ok);
}

#[test]
fn single_lines_quoted_in_prose_do_not_show_that_the_tsc_stayed() {
    let lines = "     [    1.612848] calling  pinctrl_init+0x0/0x20 @ 1\n\
                 \x20    [    2.607764] clocksource: Switched to clocksource tsc\n\
                 \x20    [   37.828217] clk: Disabling unused clocks\n\
                 \x20    [   37.928217] PM: Magic number: 1:2\n\
                 \x20    [   38.028217] Freeing unused decrypted memory: 2036K\n\
                 \x20    [   38.038217] EXT4-fs (sda1): mounted filesystem\n\
                 \x20    [   38.077788] initcall pinctrl_init+0x0/0x20 returned 0 after 36338138 usecs\n";
    let prose =
        "> The machine takes a minute to boot.\n> Nothing is printed between these lines:\n"
            .repeat(12);
    let report = |text: &str| {
        let log = KernelLog::scan(text.as_bytes(), "mail").unwrap();
        assess(Facts::from_log(log), Measured::default()).report
    };
    assert_eq!(report(lines).verdict, Verdict::Ok, "{}", report(lines).headline);
    let mail = report(&format!("{prose}{lines}{prose}"));
    assert_eq!(mail.verdict, Verdict::Unknown, "{}", mail.headline);
    assert_eq!(mail.clocksource.current.as_deref(), Some("tsc"));
    assert!(mail.settles.iter().any(|settle| settle.how.contains("current_clocksource")));
}

#[test]
fn tick_is_not_the_last_word_behind_which_a_counter_registers() {
    let registered = "[    2.391354] clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns\n";
    let later: String =
        (3..60).map(|at| format!("[   {at:2}.100000] usb 1-{at}: new device\n")).collect();
    let report = boot(&switched("refined-jiffies"), &format!("{registered}{later}"));
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    assert!(!report.headline.contains("refined-jiffies is in use"), "{}", report.headline);
    // If no counter registers, it stays in use.
    let report = boot(&switched("refined-jiffies"), &later);
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
}

#[test]
fn log_that_ends_inside_a_message_of_a_change_shows_no_end() {
    let later: String =
        (3..60).map(|at| format!("[   {at:2}.100000] usb 1-{at}: new device\n")).collect();
    let tsc = |more: &str| boot(&switched("tsc"), &format!("{later}{more}"));
    assert_eq!(tsc("").verdict, Verdict::Ok, "{}", tsc("").headline);
    let line = "[  371.400000] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable";
    for end in 17..line.len() {
        let report = tsc(&line[..end]);
        assert_ne!(report.verdict, Verdict::Ok, "{}: {}", &line[..end], report.headline);
    }
    assert_ne!(tsc("[  371.400000] clocksource: Switched to clock\n").verdict, Verdict::Ok);
    // Another message, whole or cut.
    assert_eq!(tsc("[  371.400000] usb 1-2: new dev").verdict, Verdict::Ok);
    // Lines of a demotion without the first one.
    for line in [
        "clocksource:                       'hpet' wd_nsec: 503339500 wd_now: 5ca548fd wd_last: 5932c25f mask: ffffffff",
        "clocksource:                       'tsc' is current clocksource.",
    ] {
        let report = tsc(&format!("[  371.400000] {line}\n"));
        assert_eq!(report.verdict, Verdict::Unknown, "{line}: {}", report.headline);
    }
}

#[test]
fn choice_at_run_time_is_less_sure_without_the_command_line() {
    let sysfs = "$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n\
                 $ cat /sys/devices/system/clocksource/clocksource0/available_clocksource\ntsc hpet acpi_pm\n";
    let sure = |text: &str| {
        let mut facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "text").unwrap());
        let lines = clocksmith_facts::paste::lines(text.as_bytes(), "text").unwrap();
        clocksmith_facts::paste::Pasted::read(&lines, "text").complete(&mut facts);
        let report = assess(facts, Measured::default()).report;
        let found = cause(&report, CauseId::RuntimeOverride).unwrap();
        (found.confidence, found.summary.contains("does not contain the command line"))
    };
    use clocksmith_diagnose::Confidence;
    assert_eq!(sure(sysfs), (Confidence::Medium, true));
    let with = format!("$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n{sysfs}");
    assert_eq!(sure(&with), (Confidence::High, false));
}

/// Messages of many subsystems that a kernel prints after its first choice.
const REST: &str = "\
[    0.812000] NET: Registered protocol family 2
[    0.813000] TCP: Hash tables configured (established 8192 bind 8192)
[    0.814000] UDP hash table entries: 512 (order: 2, 16384 bytes)
[    0.900000] Trying to unpack rootfs image as initramfs...
[    1.000000] Freeing initrd memory: 20000K
[    1.100000] workingset: timestamp_bits=46 max_order=21 bucket_order=0
[    1.110000] Key type asymmetric registered
[    1.120000] io scheduler mq-deadline registered
[    1.130000] Serial: 8250/16550 driver, 32 ports, IRQ sharing enabled
[    1.140000] Linux agpgart interface v0.103
[    1.150000] i8042: PNP: No PS/2 controller found.
[    1.160000] mousedev: PS/2 mouse device common for all mice
[    1.170000] rtc_cmos 00:03: registered as rtc0
[    1.180000] usbcore: registered new interface driver usbhid
[    1.190000] Freeing unused kernel memory: 1500K
[    6.368367] ata3: softreset failed (device not ready)
[   43.028926] ACPI Warning: SystemIO range 0x0B00-0x0B08 conflicts with OpRegion 0x0B00-0x0B0F
[   43.033953] sp5100_tco: failed to find MMIO address, giving up.
[   51.000000] EXT4-fs error (device sda1): ext4_lookup:1602: inode #2: comm x: deleted inode referenced: 7
[   74.362233] e1000e: eth0 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: None
";

#[test]
fn lines_that_were_searched_for_show_no_last_word_of_hpet() {
    let whole = boot(&switched("hpet"), REST);
    assert_eq!(whole.clocksource.current.as_deref(), Some("hpet"), "{}", whole.headline);
    for words in [
        &["hpet", "ACPI", "failed", "error"][..],
        &["hpet", "usb", "eth", "ata", "EXT4"],
        &["hpet", "ACPI", "pnp", "serial", "Serial", "rtc", "memory"],
        &["hpet", "Linux", "kernel", "Link", "PNP"],
    ] {
        let chosen = |line: &&str| words.iter().any(|word| line.contains(word));
        let rest: String = REST.lines().filter(chosen).map(|line| format!("{line}\n")).collect();
        for name in ["hpet", "acpi_pm"] {
            let report = why(&format!("{}\n{rest}", switched(name)));
            assert_eq!(report.clocksource.current, None, "{words:?}: {}", report.headline);
            assert_eq!(report.verdict, Verdict::Unknown, "{words:?}: {}", report.headline);
        }
    }
    // The TSC was lost, so an omitted line cannot be a switch to it.
    let lost = "[    0.790000] tsc: Marking TSC unstable due to TSCs unsynchronized\n";
    let report = why(&format!("{lost}{}\n[   43.0] ACPI Warning: x\n", switched("hpet")));
    assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{}", report.headline);
}

#[test]
fn choice_that_was_refused_and_then_taken_is_not_refused() {
    let refused = "[    1.888271] Override clocksource tsc is not HRT compatible. Cannot switch while in HRT/NOHZ mode\n";
    let report = why(refused);
    assert!(cause(&report, CauseId::OverrideRefused).is_some());
    let taken = "[    1.888274] Switching to clocksource tsc\n";
    let report = why(&format!("{refused}{taken}"));
    assert!(cause(&report, CauseId::OverrideRefused).is_none(), "{}", report.headline);
}

/// The boot of a kernel whose TSC is refined a second or two after the switch, with every time stamp `by` seconds
/// later.
fn shifted(lines: &[(f64, &str)], by: f64) -> String {
    lines.iter().map(|(at, text)| format!("[{:12.6}] {text}\n", at + by)).collect()
}

#[test]
fn time_behind_the_first_switch_counts_and_not_its_stamp() {
    let boot = [
        (0.10, "NetLabel:  unlabeled traffic allowed by default"),
        (0.11, "clocksource: Switched to clocksource refined-jiffies"),
        (0.12, "AppArmor: AppArmor Filesystem Enabled"),
        (0.13, "pnp: PnP ACPI init"),
        (
            0.14,
            "clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns",
        ),
        (0.15, "clocksource: Switched to clocksource acpi_pm"),
        (0.16, "pci 0000:00:01.0: PIIX3: Enabling Passive Release"),
        (0.30, "Trying to unpack rootfs image as initramfs..."),
        (0.70, "Freeing initrd memory: 4824K"),
    ];
    let old = [
        (0.10, "SCSI subsystem initialized"),
        (0.20, "libata version 3.00 loaded."),
        (0.21, "usbcore: registered new interface driver usbfs"),
        (0.23, "Switching to clocksource hpet"),
        (0.24, "pnp: PnP ACPI init"),
        (0.25, "NET: Registered protocol family 2"),
        (0.30, "TCP established hash table entries: 131072"),
    ];
    for by in [0.0, 3.0, 5.0, 9.0, 9.9, 11.0, 40.0] {
        for lines in [&boot[..], &old[..]] {
            let report = why(&shifted(lines, by));
            assert_eq!(report.verdict, Verdict::Unknown, "{by}: {}", report.headline);
            assert_eq!(report.clocksource.current, None, "{by}: {}", report.headline);
        }
    }
    // A switch near lines of the boot belongs to the boot, however late it is; any other late switch is a change.
    assert_eq!(why(&shifted(&boot, 400.0)).clocksource.current, None);
    let change = "[ 4000.000000] clocksource: Switched to clocksource hpet\n";
    assert_eq!(why(change).clocksource.current.as_deref(), Some("hpet"));
}

#[test]
fn kernel_that_disables_the_watchdog_says_so_whatever_its_version_would() {
    let log = |line: &str| {
        format!(
            "[    0.000000] Linux version 5.13.19 (a@b) (gcc 10) #1 SMP\n\
             [    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1\n\
             [    0.000000] x86/fpu: Supporting XSAVE feature 0x004: 'AVX registers'\n\
             [    0.000000] tsc: Detected 2000.000 MHz TSC\n{line}\
             [    0.400000] clocksource: Switched to clocksource tsc-early\n\
             [    0.500000] pnp: PnP ACPI init\n[    0.600000] NET: Registered PF_INET protocol family\n\
             [    0.700000] SCSI subsystem initialized\n[    0.800000] VFS: Disk quotas dquot_6.6.0\n\
             [    1.400000] tsc: Refined TSC clocksource calibration: 1996.800 MHz\n\
             [    1.500000] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x39a85c9bff6, max_idle_ns: 881590591483 ns\n\
             [    1.600000] clocksource: Switched to clocksource tsc\n\
             [    2.000000] Run /init as init process\n[   20.000000] EXT4-fs (sda1): mounted filesystem\n"
        )
    };
    let watched = why(&log(""));
    assert!(watched.headline.contains("still checks it"), "{}", watched.headline);
    // Since 5.16 a processor with TSC_ADJUST is not watched, and this one has none as far as its model shows.
    let zen = "[    0.300000] smpboot: CPU0: AMD Ryzen 7 5700U with Radeon Graphics (family: 0x17, model: 0x68, stepping: 0x1)\n";
    let newer = log(zen).replace("5.13.19", "6.5.13");
    assert!(why(&newer).headline.contains("so far"), "{}", why(&newer).headline);
    assert!(why(&newer).headline.contains("may still check it"), "{}", why(&newer).headline);
    let line = "[    0.300000] check_system_tsc_reliable: disable clocksource watchdog\n";
    let report = why(&log(line));
    assert_eq!(report.verdict, Verdict::Ok, "{}", report.headline);
    assert!(!report.headline.contains("watchdog still"), "{}", report.headline);
}

#[test]
fn log_without_stamps_tells_no_more_than_with_them() {
    let lines = [
        "Linux version 5.10.0 (a@b) (gcc 10) #1 SMP",
        "Command line: ro quiet tsc=reliable",
        "tsc: Detected 2400.000 MHz processor",
        "clocksource: Switched to clocksource tsc-early",
        "check_system_tsc_reliable: disable clocksource watchdog",
        "pnp: PnP ACPI init",
        "clocksource: Switched to clocksource tsc",
    ];
    let stamped = lines.iter().zip(0u32..).map(|(line, n)| format!("[    0.{n}00000] {line}\n"));
    let stamped = why(&stamped.collect::<String>());
    let bare = why(&format!("{}\n", lines.join("\n")));
    assert_eq!(stamped.verdict, Verdict::Unknown, "{}", stamped.headline);
    assert_eq!((bare.verdict, &bare.headline), (stamped.verdict, &stamped.headline));
}

#[test]
fn stamps_that_are_left_tell_how_far_a_log_goes() {
    let log = |stamp: &str, last: &str| {
        let lines: String =
            (0..120).map(|n| format!("{stamp}pci 0000:00:{n:02x}.0: BAR 0\n")).collect();
        why(&format!(
            "[    0.000000] pid_max: default: 32768\n[    0.300000] SCSI subsystem initialized\n\
             clocksource: Switched to clocksource tsc\n{lines}\
             [    {last}] EXT4-fs (sda1): mounted filesystem\n"
        ))
    };
    let report = log("[    4.000000] ", "4.700000");
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
}

/// A Xen guest with these words on its command line, up to the choice of `name`, and the lines after it.
fn guest_of_xen(version: &str, words: Option<&str>, name: &str, more: &str) -> Report {
    let line = words.map_or_else(String::new, |words| {
        format!("[    0.000000] Command line: root=LABEL=/ console=ttyS0 {words}\n")
    });
    boot(
        &format!(
            "[    0.000000] Linux version {version} (b@h) (gcc version 7.3.1) #1 SMP Tue Aug 6 20:00:00 UTC 2019\n{line}\
             [    0.000000] Hypervisor detected: Xen HVM\n[    0.000000] tsc: Detected 2400.062 MHz processor\n{}",
            switched(name)
        ),
        more,
    )
}

const TSC_REGISTERS: &str = "[    2.000100] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x229860e2ab7, max_idle_ns: 440795229431 ns\n";
const TSC_CHOSEN: &str = "[    2.000200] clocksource: Switched to clocksource tsc\n";
const LATER: &str = "[   14.000000] ixgbevf: eth0: NIC Link is Up 10 Gbps\n[   16.000000] Bluetooth: Core ver 2.22\n\
                     [   21.000000] systemd-journald[900]: Received request to flush runtime journal from PID 1\n";

#[test]
fn choice_of_the_command_line_is_awaited_until_it_registers() {
    let version = "4.9.81-35.56.amzn1.x86_64";
    let asked = Some("clocksource=tsc tsc=reliable");
    for more in ["", TSC_REGISTERS] {
        let report = guest_of_xen(version, asked, "xen", more);
        assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
        assert_eq!(report.clocksource.current.as_deref(), Some("xen"));
        assert!(report.headline.contains("at the end of this log"), "{}", report.headline);
    }
    let whole = format!("{TSC_REGISTERS}{TSC_CHOSEN}{LATER}");
    let report = guest_of_xen(version, asked, "xen", &whole);
    assert_eq!(report.verdict, Verdict::Ok, "{}", report.headline);
    // A lost line may also have requested it; one that requests no clocksource leaves the choice to the ratings.
    let report = guest_of_xen(version, None, "xen", "");
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    let report = guest_of_xen(version, Some("ro"), "xen", "");
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    // Asked for, registered, and not chosen.
    let report = guest_of_xen(version, asked, "xen", &format!("{TSC_REGISTERS}{LATER}"));
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
}

#[test]
fn choice_of_the_pm_timer_is_awaited_where_a_clock_of_the_hypervisor_serves() {
    let version = "4.15.0-1044-aws";
    let report = guest_of_xen(version, Some("clocksource=acpi_pm"), "xen", "");
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    let chosen = "[    0.850000] clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns\n\
                  [    0.851000] clocksource: Switched to clocksource acpi_pm\n";
    let report = guest_of_xen(version, Some("clocksource=acpi_pm"), "xen", chosen);
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
}

#[test]
fn figures_of_another_clocksource_are_no_doubt_about_the_tsc() {
    let figures = |name: &str| {
        format!(
            "[  912.100000] clocksource: timekeeping watchdog on CPU3: Marking clocksource '{name}' as unstable because the \
             skew is too large:\n\
             [  912.100010] clocksource:                       'tsc' wd_nsec: 503845123 wd_now: 1e9e1f3c7a2 wd_last: \
             1e9da2e8a11 mask: ffffffffffffffff\n\
             [  912.100020] clocksource:                       '{name}' cs_nsec: 504997001 cs_now: 8d5199 cs_last: 70bfb7 \
             mask: ffffff\n\
             [  912.100040] clocksource:                       'tsc' (not '{name}') is current clocksource.\n"
        )
    };
    for name in ["acpi_pm", "wdtest-ktime"] {
        let whole = format!("{LATER}{}", figures(name));
        let report = boot(&switched("tsc"), &whole);
        assert_eq!(report.verdict, Verdict::Ok, "{name}: {}", report.headline);
        // Without the line that names the clocksource, the figures may be those of the TSC.
        let lost: String = whole.lines().filter(|l| !l.contains("Marking")).fold(
            String::new(),
            |mut text, line| {
                text.push_str(line);
                text.push('\n');
                text
            },
        );
        let report = boot(&switched("tsc"), &lost);
        assert_eq!(report.verdict, Verdict::Unknown, "{name}: {}", report.headline);
    }
}

#[test]
fn order_of_cpus_is_not_called_a_rate() {
    let report = boot(
        &switched("tsc"),
        &format!(
            "{LATER}[  400.000000] clocksource: Marking clocksource tsc unstable due to inter CPU skew\n\
             [  400.000010] clocksource: CPU3     918273645511 < CPU0     918273655999 (cycles)\n\
             [  400.000020] tsc: Marking TSC unstable due to clocksource watchdog\n\
             [  400.001000] clocksource: Switched to clocksource hpet\n"
        ),
    );
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    assert!(cause(&report, CauseId::TscSkew).is_some(), "{:?}", report.causes);
    assert!(
        report.headline.contains("the TSCs of the CPUs differ")
            && !report.headline.contains("rate"),
        "{}",
        report.headline
    );
}

#[test]
fn vdso_mode_that_a_stable_release_may_have_is_not_denied() {
    for (version, verdict) in [
        ("4.13.0-36-generic", Verdict::Slow),
        ("4.14.77-70.59.amzn1.x86_64", Verdict::Slow),
        ("4.14.133-113.112.amzn2.x86_64", Verdict::Unknown),
        ("4.14.232-177.418.amzn2.x86_64", Verdict::Unknown),
    ] {
        let report = guest_of_xen(version, Some("ro"), "xen", LATER);
        assert_eq!(report.clocksource.current.as_deref(), Some("xen"));
        assert_eq!(report.verdict, verdict, "{version}: {}", report.headline);
    }
    let says = "[    0.900000] xen: VCLOCK_PVCLOCK not supported (tsc unstable)\n";
    let report =
        guest_of_xen("4.14.133-113.112.amzn2.x86_64", Some("ro"), "xen", &format!("{says}{LATER}"));
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
}
