//! Parts of a log, and logs that lost lines: less evidence makes a verdict unknown, and never another one.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{CauseId, Verdict};

/// A boot with the TSC in use from 2.98 s on: the line of the processor, the lines before the switch, and the last
/// stamp.
fn boot(processor: &str, before: &str, end: &str) -> String {
    format!(
        "[    0.000000] Linux version 3.16.0-4-amd64 (a@b) (gcc version 4.8.4) #1 SMP\n\
         [    0.000000] BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable\n\
         [    0.000000] tsc: Detected 1300.065 MHz processor\n{processor}{before}\
         [    0.200000] NET: Registered protocol family 16\n[    0.300000] SCSI subsystem initialized\n\
         [    0.320034] Switched to clocksource hpet\n[    0.400000] VFS: Disk quotas dquot_6.5.2\n\
         [    0.900000] Freeing unused kernel memory: 1204K\n\
         [    1.984021] tsc: Refined TSC clocksource calibration: 1300.045 MHz\n\
         [    2.984095] Switched to clocksource tsc\n[    3.100000] EXT4-fs (sda1): mounted filesystem\n\
         [    4.500000] systemd[1]: Detected architecture x86-64.\n[    5.000000] input: Power Button\n\
         [    6.000000] ppdev: user-space parallel port driver\n[   {end}] usb 1-1: new device\n"
    )
}

const ATOM: &str = "[    0.083736] CPU0: Intel(R) Atom(TM) CPU N270   @ 1.60GHz (fam: 06, model: 1c, stepping: 02)\n";
const CORE_2: &str = "[    0.083736] smpboot: CPU0: Genuine Intel(R) CPU           U7300  @ 1.30GHz (fam: 06, model: 17, stepping: 0a)\n";

#[test]
fn processor_that_is_not_named_is_not_a_recent_one() {
    for processor in [CORE_2, ATOM, ""] {
        let report = why(&boot(processor, "", "11.336889"));
        assert_eq!(report.verdict, Verdict::Unknown, "{processor}: {}", report.headline);
        assert!(report.headline.contains("at the end of this log"), "{}", report.headline);
        // At this time the driver of idle states is loaded, and the TSC was not demoted.
        let report = why(&boot(processor, "", "61.000000"));
        assert_eq!(report.verdict, Verdict::Ok, "{processor}: {}", report.headline);
    }
}

#[test]
fn lines_that_only_recent_processors_have_stand_for_its_name() {
    for line in [
        "x86/fpu: Supporting XSAVE feature 0x004: 'AVX registers'",
        "x86/fpu: Enabled xstate features 0x7, context size is 832 bytes, using 'standard' format.",
        "xsave: enabled xstate_bv 0x7, cntxt size 0x340",
        "TSC deadline timer available",
        "TSC deadline timer enabled",
        "intel_pstate: Intel P-state driver initializing",
        "Intel P-state driver initializing.",
        "intel_idle: v0.4 model 0x1E",
        "Performance Events: PEBS fmt1+, erratum AAJ80 worked around, Nehalem events, Intel PMU driver.",
        "Performance Events: 16-deep LBR, SandyBridge events, Intel PMU driver.",
        "Hypervisor detected: VMware",
    ] {
        let report = why(&boot("", &format!("[    0.100000] {line}\n"), "11.336889"));
        assert_eq!(report.verdict, Verdict::Ok, "{line}: {}", report.headline);
    }
    for line in [
        "x86/fpu: Supporting XSAVE feature 0x002: 'SSE registers'",
        "x86/fpu: Enabled xstate features 0x3, context size is 576 bytes, using 'standard' format.",
        "xsave: enabled xstate_bv 0x3, cntxt size 0x240",
        "intel_idle: v0.4 model 0x1C",
        "intel_idle: v0.4 model 0x1",
        "Performance Events: PEBS fmt0+, 4-deep LBR, Core2 events, Intel PMU driver.",
        "Performance Events: PEBS fmt0+, LBR disabled due to erratum, Atom events, Intel PMU driver.",
    ] {
        let report = why(&boot("", &format!("[    0.100000] {line}\n"), "11.336889"));
        assert_eq!(report.verdict, Verdict::Unknown, "{line}: {}", report.headline);
    }
}

#[test]
fn option_that_stops_the_watchdog_does_not_stop_the_driver_of_idle_states() {
    let line = "[    0.000000] Command line: ro tsc=reliable\n";
    for processor in [CORE_2, ""] {
        let report = why(&boot(processor, line, "11.336889"));
        assert_eq!(report.verdict, Verdict::Unknown, "{processor}: {}", report.headline);
    }
}

#[test]
fn clocksource_that_registers_late_may_have_been_chosen() {
    let late = "[    7.000000] clocksource: virtio-pvclock: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb, \
                max_idle_ns: 881590591483 ns\n";
    let whole = boot("", "", "61.000000");
    let at = whole.find("[   61.0").unwrap();
    let text = |more: &str| format!("{}{late}{more}{}", &whole[..at], &whole[at..]);
    let report = why(&text(""));
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    assert_eq!(report.clocksource.current.as_deref(), Some("tsc"));
    assert!(
        report.headline.contains("or virtio-pvclock, if the line about it"),
        "{}",
        report.headline
    );
    assert!(
        report.settles.iter().any(|settle| settle.fact.contains("last choice of the clocksource")),
        "{:?}",
        report.settles
    );
    let chosen = why(&text("[    7.000100] clocksource: Switched to clocksource virtio-pvclock\n"));
    assert_eq!(chosen.clocksource.current.as_deref(), Some("virtio-pvclock"));
    // A clocksource that the kernel rates below the TSC, and one that the command line requests.
    let acpi = late.replace("virtio-pvclock", "acpi_pm");
    let below = format!("{}{acpi}{}", &whole[..at], &whole[at..]);
    assert_eq!(why(&below).verdict, Verdict::Ok, "{}", why(&below).headline);
    let asked = "[    0.000000] Command line: ro clocksource=tsc\n";
    let asked = text("").replacen("[    0.200000]", &format!("{asked}[    0.200000]"), 1);
    assert_eq!(why(&asked).verdict, Verdict::Ok, "{}", why(&asked).headline);
}

/// A boot of User-mode Linux, without stamps.
fn user_mode(before: &str, line: &str, registered: &str, more: &str) -> String {
    format!(
        "{before}Linux version 4.9.88 (a@b) (x86_64-linux-gnu-gcc version 6.3.0 (Debian 6.3.0-18+deb9u1) ) #8 Thu Nov 12\n\
         Built 1 zonelists in Zone order, mobility grouping on.  Total pages: 267080\n{line}\
         PID hash table entries: 4096 (order: 2, 16384 bytes)\nCalibrating delay loop... 1718.68 BogoMIPS (lpj=8593408)\n\
         pid_max: default: 32768 minimum: 301\n{registered}NET: Registered protocol family 16\n\
         clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604462750000 ns\n\
         clocksource: Switched to clocksource timer\nVFS: Disk quotas dquot_6.6.0\n{more}TCP: Hash tables configured\n\
         io scheduler noop registered\nEXT4-fs (ubda): mounted filesystem\nVFS: Mounted root (ext4 filesystem) readonly.\n"
    )
}

#[test]
fn clock_of_user_mode_linux_is_not_that_of_an_x86_without_tsc() {
    let ptrace = "Core dump limits :\nChecking that ptrace can change system call numbers...OK\n";
    let disk = "Kernel command line: con=null ubda=/dev/sdb6 rw\n";
    let registered = "clocksource: timer: mask: 0xffffffffffffffff max_cycles: 0x1cd42e205, max_idle_ns: 881590404426 ns\n";
    let console = "mconsole (version 2) initialized on /root/.uml/node1/mconsole\n";
    let nothing = why(&user_mode("", "", "", ""));
    let texts = [
        user_mode(ptrace, "", "", ""),
        user_mode("", disk, "", ""),
        user_mode("", "", registered, ""),
        user_mode("", "", "", console),
        user_mode(ptrace, disk, registered, console),
    ];
    for report in texts.iter().map(|text| why(text)).chain([nothing]) {
        assert_eq!(report.clocksource.current.as_deref(), Some("timer"));
        assert!(
            report.causes.iter().all(|cause| cause.id != CauseId::NoTsc),
            "{:?}",
            report.causes
        );
        assert!(!report.headline.contains("TSC"), "{}", report.headline);
        assert!(!report.machine.arch.is_some_and(|arch| arch.starts_with("x86")));
    }
    for text in &texts {
        assert_eq!(why(text).machine.arch.as_deref(), Some("um"), "{text}");
    }
}

#[test]
fn reason_that_is_cut_is_the_one_that_the_watchdog_announced() {
    let head = "clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
                clocksource:                       'hpet' wd_nsec: 503466648 wd_now: 3d8c3e7 wd_last: 3699e26 mask: ffffffff\n\
                clocksource:                       'tsc' cs_nsec: 516466648 cs_now: 3224653e7bd cs_last: 3220d4f8d5 mask: ffffffffffffffff\n";
    let whole = "tsc: Marking TSC unstable due to clocksource watchdog";
    let full = why(&format!("{head}{whole}\n"));
    assert_eq!(full.verdict, Verdict::Slow, "{}", full.headline);
    for end in 0..whole.len() {
        for more in ["", "\n"] {
            let report = why(&format!("{head}{}{more}", &whole[..end]));
            assert_eq!(report.verdict, Verdict::Slow, "{}: {}", &whole[..end], report.headline);
            assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{}", &whole[..end]);
        }
    }
}

#[test]
fn words_that_no_kernel_prints_demote_nothing() {
    let text = |reason: &str| {
        format!(
            "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable{reason}\n"
        )
    };
    let satire = why(&text(" because it ran backwards"));
    assert!(!satire.headline.contains("demoted"), "{}", satire.headline);
    for reason in [
        " because the skew is too large:",
        ", because the skew is too large:",
        " because the sk",
        "",
    ] {
        let report = why(&text(reason));
        assert!(report.headline.contains("demoted"), "{reason}: {}", report.headline);
    }
}

#[test]
fn message_about_a_program_is_no_prompt_before_its_name() {
    let report = crate::common::pasted(
        "Nov 15 16:57:38 db1 kernel: [    0.963339] PCI-DMA: Using software bounce buffering for IO (SWIOTLB)\n\
         Nov 15 16:57:38 db1 kernel: [    0.963448] software IO TLB: mapped [mem 0x00000000dbff0000-0x00000000dfff0000] (64MB)\n\
         Nov 15 16:57:38 db1 kernel: [    0.965585] clocksource: Switched to clocksource tsc\n\
         Nov 15 16:57:38 db1 kernel: [    0.965957] platform rtc_cmos: registered platform RTC device (no PNP device found)\n\
         Nov 15 16:57:38 db1 kernel: [    2.284753] dmesg (62) used greatest stack depth: 13592 bytes left\n\
         Nov 15 17:39:42 db1 kernel: [ 2528.551165] kworker/dying (50) used greatest stack depth: 12024 bytes left\n",
    );
    assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{}", report.headline);
}
