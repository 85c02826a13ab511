//! The name of a clocksource alone gives no verdict that a version, a width or an architecture could turn round.

#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{Measured, Report, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::names;

fn report(text: &str) -> Report {
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    assess(Facts::from_log(log), Measured::default()).report
}

/// Compilers of every architecture, by whose name a banner shows the architecture.
const COMPILERS: [(&str, &[&str]); 16] = [
    ("x86_64-linux-gnu-gcc", &["tsc", "tsc-early", "hpet", "acpi_pm", "kvm-clock", "xen", "pit"]),
    ("i686-linux-gnu-gcc", &["tsc", "tsc-early", "hpet", "acpi_pm", "kvm-clock", "xen", "pit"]),
    ("aarch64-linux-gnu-gcc", &["arch_sys_counter"]),
    ("arm-linux-gnueabihf-gcc", &["arch_sys_counter", "32k_counter", "mxc_timer1"]),
    ("riscv64-linux-gnu-gcc", &["riscv_clocksource", "clint_clocksource"]),
    ("riscv32-linux-gnu-gcc", &["riscv_clocksource", "clint_clocksource"]),
    ("s390x-linux-gnu-gcc", &["tod"]),
    ("powerpc64le-linux-gnu-gcc", &["timebase"]),
    ("powerpc-linux-gnu-gcc", &["timebase"]),
    ("loongarch64-linux-gnu-gcc", &["Constant"]),
    ("loongarch32r-linux-gnusf-gcc", &["Constant"]),
    ("mips-linux-gnu-gcc", &["MIPS", "GIC", "HUB-RT"]),
    ("sparc64-linux-gnu-gcc", &["tick", "stick", "hbtick"]),
    ("hppa64-linux-gnu-gcc", &["cr16"]),
    ("or1k-linux-gnu-gcc", &["openrisc_timer"]),
    ("alpha-linux-gnu-gcc", &["rpcc"]),
];

const VERSIONS: [&str; 6] = ["2.6.28", "3.2.0", "3.10.0", "4.15.0", "5.4.0", "6.1.0"];

/// The lines in which a text names the clocksource in use: in the kernel's words of its time, or as sysfs shows it.
fn named(name: &str, version: Option<&str>) -> Vec<String> {
    let old = |version: &str| version.starts_with("2.") || version.starts_with("3.");
    let word = match version {
        Some(version) if old(version) && !version.starts_with("3.1") => {
            format!("[    0.100000] Switching to clocksource {name}\n")
        }
        Some(version) if old(version) => {
            format!("[    0.100000] Switched to clocksource {name}\n")
        }
        _ => format!("[    0.100000] clocksource: Switched to clocksource {name}\n"),
    };
    let shown =
        format!("$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n{name}\n");
    vec![word, shown]
}

#[test]
fn a_cut_never_turns_a_definite_verdict_round() {
    let definite = |verdict: Verdict| matches!(verdict, Verdict::Ok | Verdict::Slow);
    for (compiler, counters) in COMPILERS {
        for version in VERSIONS {
            for name in counters {
                let head = format!(
                    "[    0.000000] Linux version {version} (b@h) ({compiler} (GCC) 8.3.0) #1 SMP\n"
                );
                let tail =
                    "[   60.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n";
                for word in named(name, Some(version)) {
                    let (full, cut) =
                        (report(&format!("{head}{word}{tail}")), report(&format!("{word}{tail}")));
                    let turned = definite(cut.verdict)
                        && definite(full.verdict)
                        && cut.verdict != full.verdict;
                    // The TSC according to one file: a 32-bit kernel from before 2014 is not assumed.
                    let supposed = name.starts_with("tsc") && word.starts_with('$');
                    assert!(
                        !turned || supposed,
                        "{compiler} {version} {name}: {:?}: {}\nwithout the first line {:?}: {}",
                        full.verdict,
                        full.headline,
                        cut.verdict,
                        cut.headline
                    );
                }
            }
        }
    }
}

/// Under emulation a boot takes minutes; one that stops before the choice shows none.
#[test]
fn only_counter_of_a_boot_that_stopped_is_not_in_use_yet() {
    let head = "[    0.000000] Linux version 5.4.0 (b@h) (powerpc64le-linux-gnu-gcc (GCC) 8.3.0) #1 SMP\n\
                [    0.000000] clocksource: timebase: mask: 0xffffffffffffffff max_cycles: 0x761537d007, max_idle_ns: \
                440795202126 ns\n\
                [    9.100000] smp: Brought up 1 node, 2 CPUs\n";
    let stopped = format!("{head}[  208.000000] EDAC MC: Ver: 3.0.0\n");
    assert_eq!(report(&stopped).verdict, Verdict::Unknown, "{}", report(&stopped).headline);
    let finished = format!("{stopped}[  240.000000] Run /sbin/init as init process\n");
    assert_eq!(report(&finished).verdict, Verdict::Ok, "{}", report(&finished).headline);
}

#[test]
fn every_known_name_alone_says_what_it_depends_on() {
    for known in names::NAMES {
        for word in named(known.name, None) {
            let alone = report(&word);
            let text = format!("{} {:?}: {}", known.name, alone.verdict, alone.headline);
            assert!(
                alone.verdict != Verdict::Ok
                    // A 32-bit kernel from before 2014 is listed as open.
                    || (alone.settles.is_empty() || known.name.starts_with("tsc"))
                        && matches!(known.name, "tsc" | "tsc-early" | "tod" | "timebase"),
                "{text}"
            );
        }
    }
}

#[test]
fn width_of_loongarch_decides() {
    let boot = |head: &str| {
        report(&format!(
            "{head}[    0.264000] clocksource: Switched to clocksource Constant\n\
             [   60.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n"
        ))
    };
    assert_eq!(boot("").verdict, Verdict::Unknown);
    assert_eq!(
        boot("[    0.000000] Standard 32-bit Loongson Processor probed\n").verdict,
        Verdict::Slow
    );
    assert_eq!(
        boot("[    0.000000] CPU0 revision is: 00004200 (Loongson-32bit)\n").verdict,
        Verdict::Slow
    );
    let wide = "[    0.000000] CPU0 revision is: 0014c011 (Loongson-64bit)\n";
    assert_eq!(boot(wide).verdict, Verdict::Unknown, "the version is open");
    let banner = "[    0.000000] Linux version 6.6.0 (b@h) (loongarch64-linux-gnu-gcc 13) #1 SMP\n";
    assert_eq!(boot(banner).verdict, Verdict::Ok);
    // Kernels of the makers, older than upstream's.
    let own = "[    0.000000] Linux version 4.19.0 (b@h) (loongarch64-linux-gnu-gcc 8) #1 SMP\n";
    assert_eq!(boot(own).verdict, Verdict::Unknown);
}

#[test]
fn a_kernel_of_32_bits_without_a_vdso_clock_is_slow_with_the_tsc_too() {
    let seen = report(
        "[    0.000000] Linux version 3.2.0-4-686-pae (b@h) (gcc version 4.6.3) #1 SMP\n\
         [    1.500000] Switching to clocksource tsc\n\
         [   60.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n",
    );
    assert_eq!(seen.verdict, Verdict::Slow, "{}", seen.headline);
    assert!(seen.headline.contains("32-bit kernel serves each read by a system call"));
    assert!(seen.causes.iter().all(|cause| !cause.summary.contains("says why tsc")), "{seen:#?}");
    // The TSC costs a system call there, too.
    let guest = report(
        "[    0.000000] Linux version 2.6.32-5-686 (b@h) (gcc version 4.3.5) #1 SMP\n\
         [    0.000000] Booting paravirtualized kernel on Xen\n\
         [    0.100000] Switching to clocksource xen\n\
         [   60.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n",
    );
    assert_eq!(guest.verdict, Verdict::Slow, "{}", guest.headline);
    assert!(guest.remedies.iter().all(|remedy| remedy.id != "switch-to-tsc-now"));
}

#[test]
fn a_log_that_ends_before_the_first_choice_names_no_clocksource() {
    for (compiler, name) in [
        ("aarch64-linux-gnu-gcc", "arch_sys_counter"),
        ("powerpc64le-linux-gnu-gcc", "timebase"),
        ("riscv64-linux-gnu-gcc", "riscv_clocksource"),
    ] {
        let head = format!(
            "[    0.000000] Linux version 6.6.0 (b@h) ({compiler} (GCC) 12) #1 SMP\n\
             [    0.000001] clocksource: {name}: mask: 0xffffffffffffff max_cycles: 0x46d987e47, max_idle_ns: 440795202767 ns\n\
             [    0.000400] Console: colour dummy device 80x25\n"
        );
        let cut = report(&head);
        assert_eq!(cut.verdict, Verdict::Unknown, "{name}: {}", cut.headline);
        assert_eq!(cut.clocksource.current, None, "{name}: {}", cut.headline);
        assert!(!cut.settles.is_empty(), "{name}");
        let whole = report(&format!("{head}[    9.100000] systemd[1]: Detected architecture.\n"));
        assert_eq!(whole.clocksource.current.as_deref(), Some(name), "{}", whole.headline);
    }
}
