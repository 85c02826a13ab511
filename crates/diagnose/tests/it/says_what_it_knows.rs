//! Sentences are true of the evidence that they are about: reasons, ends of logs, names, choices.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{CauseId, Measured, Report, Verdict, assess};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::Pasted;
use clocksmith_facts::tree::MemoryTree;
use clocksmith_facts::{Facts, Origin, collect, paste};

fn read(text: &str) -> Report {
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    let log = KernelLog::scan(text.as_bytes(), "text").unwrap();
    let mut facts = Facts::from_log(log);
    Pasted::read(&lines, "text").complete(&mut facts);
    assess(facts, Measured::default()).report
}

fn summary(report: &Report, id: CauseId) -> String {
    report.causes.iter().filter(|cause| cause.id == id).map(|cause| cause.summary.clone()).collect()
}

fn refused(report: &Report) -> String {
    report.remedies.iter().filter_map(|remedy| remedy.refused_because.clone()).collect()
}

fn demoted(wd: &str, cs: &str) -> Report {
    read(&format!(
        "[   92.092572] clocksource: timekeeping watchdog on CPU10: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [   92.092580] clocksource:                       'hpet' {wd}\n\
         [   92.092581] clocksource:                       'tsc' {cs}\n\
         [   92.092584] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [   92.093494] clocksource: Switched to clocksource hpet\n"
    ))
}

#[test]
fn figures_in_front_of_a_cut_are_used() {
    // 6.7 s of the TSC in half a second of the reference.
    for tail in [
        "",
        " wd_now: 6d3a91f2 wd_last: 6cd1>",
        " wd_now: 6d3a91f2",
        " wd_now: 6d3a91f2 wd_last: 6cd1a201 mask: ffff",
    ] {
        let cs = "cs_nsec: 6702584311 cs_now: 83820308a";
        let report = demoted(&format!("wd_nsec: 498776745{tail}"), cs);
        let known = !tail.is_empty();
        assert_eq!(
            format!("{:?}", report.causes).contains("498.8 ms"),
            known,
            "{tail}: {:?}",
            report.causes
        );
    }
}

#[test]
fn rates_that_processors_have_do_not_exclude_a_jump() {
    // 12 000 608 cycles are half a second at 24 MHz, and then the TSC runs at 1.39 GHz; 27 216 402 fit no rate of an HPET.
    for (wd, cs, due) in [
        (("a4959d7d", "a3de841d"), ("496f3ad3d79f90", "496f3aaa67ff7e"), true),
        (("49685371", "47c9095f"), ("544775984b9", "5442de33e58"), false),
    ] {
        let report = demoted(
            &format!("wd_now: {} wd_last: {} mask: ffffffff", wd.0, wd.1),
            &format!("cs_now: {} cs_last: {} mask: ffffffffffffffff", cs.0, cs.1),
        );
        let jump = summary(&report, CauseId::TscJump);
        assert!(jump.contains("otherwise the TSC or "), "{jump}: {:?}", report.causes);
        assert_eq!(
            jump.contains("at which the interval is half a second") || jump.contains("1.4 GHz"),
            due,
            "{jump}"
        );
        assert_eq!(jump.contains("at none of those rates"), !due, "{jump}");
    }
}

#[test]
fn reason_against_reliable_is_true_where_the_tsc_was_demoted() {
    let timeout = "[   27.500000] clocksource: Watchdog remote CPU 1 read timed out\n";
    let more =
        "[   27.541839] clocksource: Marking clocksource tsc unstable due to frequency skew\n";
    for text in [timeout.to_owned(), format!("{timeout}{more}")] {
        let because = refused(&read(&text));
        assert!(!because.is_empty() && !because.contains("nothing is wrong"), "{because}");
    }
}

#[test]
fn missing_end_of_the_log_is_named() {
    let first = "[    0.091070] clocksource: xen: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb, max_idle_ns: 881590591483 ns\n";
    let unstamped = "clocksource: riscv_clocksource: mask: 0xffffffffffffffff max_cycles: 0x1d854df40, max_idle_ns: 881590404240 ns\n\
        Calibrating delay loop (skipped), value calculated using timer frequency.. 8.00 BogoMIPS (lpj=16000)\n";
    for text in [first, unstamped] {
        let said = summary(&read(text), CauseId::InsufficientEvidence);
        assert!(said.contains("from the boot's first seconds"), "{said}");
    }
    let late = "[ 9000.100000] clocksource: timekeeping watchdog on CPU1: hpet wd-wd read-back delay of 239000ns\n\
                [ 9000.200000] TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\n";
    let said = summary(&read(late), CauseId::InsufficientEvidence);
    assert!(said.is_empty() || said.contains("does not begin at the boot"), "{said}");
}

#[test]
fn clocksource_that_is_not_known_is_named_as_that() {
    let text = "[    0.000000] Linux version 5.10.245 (b@h) (gcc 12) #1 SMP\n\
                [    0.000000] tsc: Detected 806.400 MHz processor\n\
                [    0.300000] clocksource: Switched to clocksource virtio-pvclock\n\
                [   12.000000] systemd[1]: Reached target Multi-User System.\n";
    let report = read(text);
    assert_eq!(report.verdict, Verdict::Unknown);
    assert!(report.headline.contains("which is not known here"), "{}", report.headline);
    assert!(!report.headline.contains("architecture"), "{}", report.headline);
}

#[test]
fn name_that_only_begins_like_the_tsc_is_not_the_tsc() {
    const DIR: &str = "sys/devices/system/clocksource/clocksource0";
    for (name, expected) in [
        ("tsc", Verdict::Ok),
        ("tscx", Verdict::Unknown),
        ("tsc-foo", Verdict::Unknown),
        ("tsc\u{200d}", Verdict::Unknown),
        ("tsc \u{202e}hpet", Verdict::Unknown),
    ] {
        let tree = MemoryTree::new("root")
            .with(&format!("{DIR}/current_clocksource"), format!("{name}\n"))
            .with(&format!("{DIR}/available_clocksource"), "tsc hpet acpi_pm \n")
            .with("proc/version", "Linux version 6.1.0-18-amd64 (b@h) (gcc 12) #1 SMP\n")
            .with("proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu tsc nonstop_tsc\n");
        let facts = collect::collect(&tree, Origin::Root("root".into()));
        let report = assess(facts, Measured::default()).report;
        assert_eq!(report.verdict, expected, "{name}: {}", report.headline);
    }
}

#[test]
fn intel_idle_is_offered_to_processors_of_intel_alone() {
    let marked = "[    0.272819] Marking TSC unstable due to TSC halts in idle\n[    0.700000] Switching to clocksource acpi_pm\n";
    let of = |text: &str| {
        let report = read(text);
        report
            .remedies
            .iter()
            .flat_map(|remedy| remedy.commands.clone())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let commands = of(marked);
    assert!(
        commands.contains("processor.max_cstate=1") && !commands.contains("intel_idle"),
        "{commands}"
    );
    let intel = "[    0.000001] smpboot: CPU0: Intel(R) Core(TM) i5 CPU M 520 @ 2.40GHz (family: 0x6, model: 0x25, stepping: 0x2)\n";
    assert!(of(&format!("{intel}{marked}")).contains("intel_idle.max_cstate=1"));
}

#[test]
fn first_of_the_list_is_an_answer_only_where_the_others_cost_the_same() {
    let list = |names: &str| {
        read(&format!(
            "$ cat /sys/devices/system/clocksource/clocksource0/available_clocksource\n{names}\n"
        ))
    };
    let open = list("tsc hpet acpi_pm");
    assert_eq!(open.verdict, Verdict::Unknown, "{}", open.headline);
    assert!(
        open.headline.contains("This evidence does not show which clocksource is in use"),
        "{}",
        open.headline
    );
    assert!(open.settles.iter().any(|settle| settle.how.contains("current_clocksource")));
    let slow = list("hpet acpi_pm");
    assert_eq!(slow.verdict, Verdict::Slow, "{}", slow.headline);
    assert!(slow.headline.contains("unless another one was chosen"), "{}", slow.headline);
}

#[test]
fn examples_are_not_a_machine_in_the_headline() {
    let block = |lines: &str| format!("```\n{lines}```\n\nor\n\n");
    let text = format!(
        "{}{}",
        block("clocksource: Switched to clocksource tsc\n"),
        block(
            "tsc: Marking TSC unstable due to check_tsc_sync_source failed\nclocksource: Switched to clocksource hpet\n"
        )
    );
    let report = read(&text);
    assert!(
        report.headline.starts_with("Unknown: ") && report.headline.contains("examples"),
        "{}",
        report.headline
    );
}

#[test]
fn notsc_that_the_kernel_refused_is_not_a_reason() {
    let report = read(
        "Linux version 2.6.18 (builder@host) (gcc version 4.1.1) #1 SMP Mon Sep 25 10:00:00 UTC 2006\n\
         Kernel command line: root=/dev/sda1 notsc maxcpus=2\n\
         notsc: Kernel compiled with CONFIG_X86_TSC, cannot disable TSC.\n\
         Using pmtmr for high-res timesource\n",
    );
    let ids: Vec<CauseId> = report.causes.iter().map(|cause| cause.id).collect();
    assert!(!ids.contains(&CauseId::CmdlineNotsc), "{ids:?}");
    assert!(ids.contains(&CauseId::CmdlineParameterIgnored), "{ids:?}");
    let commands: Vec<&str> =
        report.remedies.iter().flat_map(|remedy| &remedy.commands).map(String::as_str).collect();
    assert!(commands.iter().all(|command| !command.contains("notsc")), "{commands:?}");
}

#[test]
fn compensated_warp_of_a_new_cpu_is_not_blamed_on_firmware() {
    let report = read(
        "[    0.000000] Hypervisor detected: KVM\n\
         [  283.226964] kvm-clock: cpu 3, msr 9e5e010c1, secondary cpu clock\n\
         [  283.247200] TSC ADJUST compensate: CPU3 observed 867529151959 warp. Adjust: 867529151959\n",
    );
    let words = summary(&report, CauseId::TscAdjustChanged);
    assert!(words.contains("corrected it with") && !words.contains("firmware"), "{words}");
}

#[test]
fn reference_cpu_that_differs_at_boot_is_not_a_later_change() {
    let report = read(
        "[    0.210000] [Firmware Bug]: TSC ADJUST differs: Reference CPU0: 0 CPU1: -1234\n\
         [    1.300000] clocksource: Switched to clocksource tsc\n",
    );
    let words = summary(&report, CauseId::TscAdjustChanged);
    assert!(!words.contains("after boot") && !words.is_empty(), "{words}");
}

#[test]
fn difference_that_rounding_hides_is_stated() {
    let report = demoted(
        "wd_nsec: 14523447520 wd_now: 5a749706 wd_last: 45adf1e0 mask: ffffffff",
        "cs_nsec: 14524115132 cs_now: 515ce2c5a96caa cs_last: 515cd9a9d83918 mask: ffffffffffffffff",
    );
    let words = summary(&report, CauseId::InsufficientEvidence);
    assert!(words.contains("14.52 s, 667.6 us apart"), "{words}");
}

#[test]
fn idle_limit_is_the_one_that_the_driver_obeys() {
    let report = read(
        "[    0.428485] intel_idle: v0.4 model 0x1C\n\
         [    0.428508] Marking TSC unstable due to TSC halts in idle states deeper than C2\n\
         [    0.900000] Switching to clocksource hpet\n",
    );
    let commands: Vec<&str> =
        report.remedies.iter().flat_map(|remedy| &remedy.commands).map(String::as_str).collect();
    assert!(
        commands.iter().any(|command| command.contains("intel_idle.max_cstate=1")),
        "{commands:?}"
    );
    assert!(
        commands.iter().all(|command| !command.contains("processor.max_cstate")),
        "{commands:?}"
    );
}

#[test]
fn hyperv_withholds_nothing_from_a_kernel_that_does_not_ask() {
    let says = |release: &str| {
        let text = format!(
            "[    0.000000] Linux version {release} (b@h) (x86_64-linux-gnu-gcc 8) #1 SMP\n\
             [    0.000000] Hypervisor detected: Microsoft Hyper-V\n\
             [    0.000000] tsc: Marking TSC unstable due to running on Hyper-V\n\
             [    0.290043] clocksource: Switched to clocksource hyperv_clocksource_tsc_page\n\
             [   15.200000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n"
        );
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let report = assess(Facts::from_log(log), Measured::default()).report;
        report.causes.iter().any(|cause| {
            cause.summary.contains("does not grant this guest")
                || cause.summary.contains("exposes no invariant TSC")
        })
    };
    assert!(says("5.15.0-generic") && says("6.1.0"));
    assert!(says("4.18.0-553.16.1.el8_10.x86_64"));
    for release in ["4.15.0-generic", "4.18.0-80.11.2.el8_0.x86_64", "4.19.0"] {
        assert!(!says(release), "{release}");
    }
}

#[test]
fn tsc_reliable_that_did_not_protect_tsc_early_is_said() {
    let text = "[    0.000000] Command line: root=/dev/sda1 tsc=reliable\n\
        [    0.001000] clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x1e45649026e, max_idle_ns: 440795259094 ns\n\
        [    4.019019] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc-early' as unstable because the skew is too large:\n\
        [    4.019025] tsc: Marking TSC unstable due to clocksource watchdog\n";
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    let report = assess(Facts::from_log(log), Measured::default()).report;
    assert!(report.causes.iter().any(|cause| cause.summary.contains("did not keep the watchdog")));
    assert!(report.causes.iter().all(|cause| !cause.summary.contains("disables the watchdog")));
    // Why it was demoted is not known: a TSC that may be at fault is not left without the guard.
    assert!(
        report
            .remedies
            .iter()
            .any(|remedy| remedy.id == "tsc-reliable" && remedy.refused_because.is_some())
    );
    assert!(report.remedies.iter().all(|remedy| remedy.id != "newer-kernel-reliable"));
    // The reference was slow, and the TSC is not to blame.
    let text = "[    0.000000] Linux version 4.18.0-305.el8.x86_64 (a@b) (gcc 8.4.1) #1 SMP\n\
        [    0.000000] Command line: root=/dev/sda1 tsc=reliable\n\
        [    4.019019] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 52680ns, attempt 4, marking unstable\n\
        [    4.019025] tsc: Marking TSC unstable due to clocksource watchdog\n\
        [    4.019030] clocksource: Switched to clocksource hpet\n";
    let report = crate::common::why(text);
    assert!(
        report.remedies.iter().any(|remedy| remedy.id == "newer-kernel-reliable"),
        "{:?}",
        report.remedies
    );
}
