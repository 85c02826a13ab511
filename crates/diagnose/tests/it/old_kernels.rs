//! Kernels before the clocksource framework, and architectures other than x86: the clocksources that their vDSO reads,
//! and no advice that they do not support.
#![allow(clippy::unwrap_used)]

use crate::common::{pasted, why};
use clocksmith_diagnose::{CauseId, Verdict};

#[test]
fn time_source_of_old_kernels_settles_what_is_in_use() {
    for (line, current, verdict) in [
        ("time.c: Using 3.579545 MHz WALL PM GTOD PM timer.", "acpi_pm", Verdict::Slow),
        ("time.c: Using 14.318180 MHz WALL HPET GTOD HPET timer.", "hpet", Verdict::Slow),
        ("time.c: Using 1.193182 MHz WALL PIT GTOD PIT/TSC timer.", "tsc", Verdict::Ok),
        ("time.c: Using PIT/TSC based timekeeping.", "tsc", Verdict::Ok),
        ("Using pmtmr for high-res timesource", "acpi_pm", Verdict::Slow),
        ("Using tsc for high-res timesource", "tsc", Verdict::Slow),
    ] {
        let report = why(&format!(
            "Console: colour VGA+ 80x25\n{line}\nMount-cache hash table entries: 256\n"
        ));
        assert_eq!(report.clocksource.current.as_deref(), Some(current), "{line}");
        assert_eq!(report.verdict, verdict, "{line}: {}", report.headline);
        let text = serde_json::to_string(&report).unwrap();
        for word in
            ["/sys/devices/system/clocksource", "clocksmith collect", "CLOCK_MONOTONIC_COARSE"]
        {
            let said = report.remedies.iter().any(|remedy| {
                remedy.summary.contains(word) || remedy.commands.iter().any(|c| c.contains(word))
            });
            assert!(
                !said && (word.starts_with("CLOCK") || !text.contains(word)),
                "{line}: {word}: {text}"
            );
        }
    }
}

/// `unsynchronized_tsc()` in arch/x86_64/kernel/time.c: nothing else but `notsc` disables the TSC of a 64-bit kernel of that time.
#[test]
fn tsc_that_a_64_bit_kernel_passed_over_is_not_synchronised() {
    let boot = |command: &str, cpu: &str, counter: &str| {
        format!(
            "Linux version 2.6.18-8.el5 (a@b) (gcc) #1 SMP\nCommand line: ro root=/dev/sda1 {command}\nConsole: colour VGA+ 80x25\n\
             time.c: Using 14.318180 MHz WALL HPET GTOD {counter} timer.\ntime.c: Detected 2009.513 MHz processor.\n{cpu}\n\
             Brought up 2 CPUs\nFreeing unused kernel memory: 224k freed\n"
        )
    };
    let opteron = "CPU0: AMD Dual-Core AMD Opteron(tm) Processor 1210 stepping 02";
    let report = why(&boot("", opteron, "HPET"));
    let cause = report.causes.iter().find(|c| c.id == CauseId::TscUnsynchronized).unwrap();
    assert!(
        cause.evidence[0].text.contains("GTOD HPET") || cause.summary.contains("notsc"),
        "{cause:?}"
    );
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    for (command, cpu, counter) in [("notsc", opteron, "HPET"), ("", opteron, "HPET/TSC")] {
        let report = why(&boot(command, cpu, counter));
        let is = report.causes.iter().any(|c| c.id == CauseId::TscUnsynchronized);
        assert!(!is, "{command} {cpu} {counter}: {}", report.headline);
    }
    let vmware = why(
        "Linux version 2.6.18-164.el5 (a@b) (gcc) #1 SMP\ntime.c: Using 3.579545 MHz WALL PM GTOD TSC Timekeeping timer.\n",
    );
    assert_eq!(vmware.clocksource.current.as_deref(), Some("tsc"), "{}", vmware.headline);
}

/// `clock_fallback()` of 32-bit kernels up to 2.6.17: the PIT serves until the next boot.
#[test]
fn tsc_that_lost_too_many_ticks_is_followed_by_the_pit() {
    let boot = "Linux version 2.6.9-5.EL (a@b) (gcc) #1 SMP\nDetected 400.816 MHz processor.\nUsing tsc for high-res timesource\n";
    let lost = "Losing too many ticks!\nTSC cannot be used as a timesource.  <4>Possible reasons for this are:\n\
                Falling back to a sane timesource now.\n";
    let lines: Vec<&str> = lost.lines().collect();
    for text in [lost, lines[0], lines[1], lines[2]] {
        let report = why(&format!("{boot}{text}\n"));
        assert_eq!(
            report.clocksource.current.as_deref(),
            Some("pit"),
            "{text}: {}",
            report.headline
        );
        assert_eq!(report.verdict, Verdict::Slow, "{text}: {}", report.headline);
        if text.contains("too many ticks") {
            assert!(
                report.headline.contains("because the kernel counted too many"),
                "{}",
                report.headline
            );
        }
    }
    let again = why(&format!("{boot}{lost}{}", boot.replace("Using tsc", "Using pmtmr")));
    assert_eq!(again.clocksource.current.as_deref(), Some("acpi_pm"), "{}", again.headline);
}

/// `current_clocksource` of a 64-bit kernel before 2.6.21 is jiffies whatever it reads.
#[test]
fn sysfs_of_64_bits_before_its_clocksources_says_nothing() {
    let read = |before: &str, behind: &str| {
        pasted(&format!(
            "{before}$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\njiffies\n{behind}"
        ))
    };
    let uname = |release: &str| {
        format!("Linux a {release} #1 SMP Tue Mar 16 2010 x86_64 x86_64 x86_64 GNU/Linux\n")
    };
    let banner =
        |release: &str| format!("Linux version {release} (b@example) (gcc version 4.1.2) #1 SMP\n");
    for release in ["2.6.19-rc3", "2.6.18-194.el5"] {
        for (line, current, verdict) in [
            (
                "time.c: Using 25.000000 MHz WALL HPET GTOD HPET/TSC timer.\n",
                Some("tsc"),
                Verdict::Ok,
            ),
            ("time.c: Using 3.579545 MHz WALL PM GTOD PM timer.\n", Some("acpi_pm"), Verdict::Slow),
            ("", None, Verdict::Unknown),
        ] {
            let boot = format!(
                "{}Command line: ro root=/dev/sda1\n{line}",
                banner(&format!("{release}.x86_64"))
            );
            let report = read("", &boot);
            assert_eq!(report.clocksource.current.as_deref(), current, "{release}: {line}");
            assert_eq!(report.verdict, verdict, "{release}: {line}: {}", report.headline);
            assert!(
                report.causes.iter().all(|cause| cause.id != CauseId::OnlyChoice),
                "{:?}",
                report.causes
            );
        }
        let report = read(&uname(release), "");
        assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
        assert!(report.headline.contains("time.c: Using"), "{}", report.headline);
        assert!(
            report.settles.iter().any(|one| one.how.contains("time.c")),
            "{:?}",
            report.settles
        );
    }
    // If the kernel may be such a kernel, its version is open.
    let report = read("", "");
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    assert!(report.settles.iter().any(|one| one.how == "uname -r"), "{:?}", report.settles);
    // Later kernels read the clocksource that sysfs shows.
    for release in ["2.6.32-5-amd64", "6.1.0-9-amd64"] {
        assert_eq!(read(&uname(release), "").verdict, Verdict::Slow, "{release}");
    }
}

#[test]
fn coarse_clocks_are_advised_with_the_kernels_that_serve_them() {
    let advice = |banner: &str| {
        let report = why(&format!(
            "{banner}[    0.790000] tsc: Marking TSC unstable due to clocksource watchdog\n\
             [    0.800000] Switched to clocksource hpet\n"
        ));
        let found = report.remedies.into_iter().find(|remedy| remedy.id == "cheaper-reads");
        found.map(|remedy| remedy.summary).unwrap_or_default()
    };
    let banner = |release: &str| {
        format!("[    0.000000] Linux version {release} (b@example) (gcc 4.8) #1 SMP\n")
    };
    assert!(advice(&banner("6.1.0-9-amd64")).contains("no system call on any clocksource"));
    assert!(advice(&banner("3.2.0-4-686-pae")).contains("is also a system call on this kernel"));
    assert!(advice(&banner("3.16.0-4-686-pae")).contains("no system call on any clocksource"));
    assert!(advice("").contains("since 3.15, on 32-bit kernels"), "{}", advice(""));
    assert!(!advice(&banner("2.6.24-1-686")).contains("COARSE"));
}

#[test]
fn clocksource_that_the_vdso_of_an_architecture_cannot_read_is_slow() {
    for text in [
        "Linux version 2.6.36.3 (b@example) (arm-linux-gnueabi-gcc 4.4) #1\nSwitching to clocksource timer_us\n",
        "Switching to clocksource 32k_counter\nSwitched to NOHz mode on CPU #0\n",
        "clocksource: Switched to clocksource mxc_timer1\n",
        "Linux version 3.18.0 (b@example) (arm-linux-gnueabihf-gcc 4.9) #1\nSwitched to clocksource arch_sys_counter\n",
        "Linux version 4.1.0 (b@example) (mips-linux-gnu-gcc 4.9) #1\nclocksource MIPS: mask: 0xffffffff max_cycles: \
         0xffffffff, max_idle_ns: 6652563862 ns\nSwitched to clocksource MIPS\n",
        "Linux version 5.3.0 (b@example) (riscv64-linux-gnu-gcc 8) #1\nclocksource: Switched to clocksource \
         riscv_clocksource\n",
    ] {
        let report = why(text);
        assert_eq!(report.verdict, Verdict::Slow, "{text}: {}", report.headline);
        assert!(
            report.causes.iter().any(|cause| cause.id == CauseId::OnlyChoice),
            "{text}: {:?}",
            report.causes
        );
    }
}

#[test]
fn architected_counter_without_architecture_and_version_is_open() {
    let report = why(
        "Bluetooth: SCO socket layer initialized\nclocksource: Switched to clocksource arch_sys_counter\n\
         NET: Registered PF_INET protocol family\n",
    );
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    assert!(!report.settles.is_empty());
}

/// A board of the Allwinner D1: its own timer is rated 350, the counter of RISC-V 300 up to 6.2.
#[test]
fn timer_rated_above_the_counter_of_riscv_is_not_called_the_best() {
    let early = "[    0.000000] Linux version 6.1.0 (b@example) (riscv64-linux-gnu-gcc 12) #1\n\
                 [    0.000000] clocksource: timer: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 79635851949 ns\n\
                 [    0.000000] clocksource: riscv_clocksource: mask: 0xffffffffffffffff max_cycles: 0x588fe9dc0, \
                 max_idle_ns: 440795202592 ns\n";
    let report = why(early);
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    // The timer of a board may register behind the counter.
    let without = early.replace("timer: mask", "jiffies: mask");
    assert_eq!(why(&without).verdict, Verdict::Unknown);
    let report =
        why(&format!("{early}[    0.074747] clocksource: Switched to clocksource timer\n"));
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    assert!(report.headline.contains("rated above riscv_clocksource"), "{}", report.headline);
    assert!(!report.causes.iter().any(|cause| cause.summary.contains("best clocksource")));
    assert!(report.differences.is_empty(), "{:?}", report.differences);
    for id in ["switch-to-counter", "newer-kernel"] {
        assert!(report.remedies.iter().any(|remedy| remedy.id == id), "{id}");
    }
    // Chosen by a person: its rating is not why.
    let chosen = early.replace(
        "[    0.000000] clocksource: timer",
        "[    0.000000] Kernel command line: clocksource=timer\n[    0.000000] clocksource: timer",
    );
    let report =
        why(&format!("{chosen}[    0.074747] clocksource: Switched to clocksource timer\n"));
    assert!(!report.headline.contains("rated above"), "{}", report.headline);
}
