//! The same log in other formats has the same events: mailers, web pages, terminals, consoles, build
//! servers and tools do not change them. And text that users can put into a log is not an event.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_facts::{Arch, Facts};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn scan(text: &[u8]) -> KernelLog {
    KernelLog::scan(text, "log").unwrap()
}

fn events(text: &[u8]) -> Vec<Event> {
    scan(text).entries.into_iter().map(|entry| entry.event).collect()
}

/// The logs of this repository that have stamps on all of their lines.
fn samples() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut folders = vec![
        root.join("book/samples"),
        root.join("crates/cli/tests/fixtures"),
        root.join("crates/facts/tests/fixtures"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "log")
                || path.file_name().is_some_and(|name| name == "dmesg")
            {
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                if text.lines().all(|line| line.starts_with("[ ") && line.contains("] ")) {
                    found.push((path, text));
                }
            }
        }
    }
    assert!(found.len() > 20, "{} samples", found.len());
    found
}

fn each_line(text: &str, f: impl Fn(usize, &str) -> String) -> Vec<u8> {
    let lines: Vec<String> = text.lines().enumerate().map(|(n, line)| f(n, line)).collect();
    (lines.join("\n") + "\n").into_bytes()
}

/// The message after the stamp.
fn bare(line: &str) -> &str {
    line.split_once("] ").unwrap().1
}

/// Cut at blanks, as mailers do, or anywhere, as terminals do.
fn wrapped(line: &str, columns: usize, at_blanks: bool) -> String {
    let mut rest = line;
    let mut out = String::new();
    while rest.len() > columns && rest.is_char_boundary(columns) {
        let cut = if at_blanks {
            match rest[..=columns].rfind(' ').filter(|at| !rest[..*at].trim().is_empty()) {
                Some(at) if at > 20 => at,
                _ => break,
            }
        } else {
            columns
        };
        out.push_str(&rest[..cut]);
        out.push('\n');
        rest = if at_blanks { rest[cut..].trim_start() } else { &rest[cut..] };
    }
    out + rest
}

fn same(path: &Path, what: &str, plain: &str, changed: &[u8]) {
    assert_eq!(events(changed), events(plain.as_bytes()), "{what}: {}", path.display());
}

#[test]
fn prefixes_change_no_event() {
    for (path, text) in samples() {
        for prefix in [
            "> ",
            "> > ",
            "- ",
            "\u{2022} ",
            "web_1  | ",
            "web-1 | ",
            "<6>",
            "kern  :info  : ",
            "\t",
            "dmesg.txt:",
        ] {
            same(&path, prefix, &text, &each_line(&text, |_, line| format!("{prefix}{line}")));
        }
        same(&path, "cat -n", &text, &each_line(&text, |n, line| format!("{n:6}\t{line}")));
        same(&path, "grep -n", &text, &each_line(&text, |n, line| format!("{n}:{line}")));
        let ci = |n: usize, line: &str| format!("2020-01-02T03:04:{:02}.1234567Z {line}", n % 60);
        same(&path, "build server", &text, &each_line(&text, ci));
        let delta = |_: usize, line: &str| line.replacen("] ", " <    0.000012>] ", 1);
        same(&path, "dmesg -d", &text, &each_line(&text, delta));
    }
}

#[test]
fn dates_instead_of_stamps_change_no_event() {
    for (path, text) in samples() {
        // Without time stamps a second boot in one log cannot be distinguished from the first.
        let unstamped = each_line(&text, |_, line| bare(line).to_owned());
        let unstamped = String::from_utf8(unstamped).unwrap();
        if scan(text.as_bytes()).boots > 1 {
            continue;
        }
        for sign in ["T", " "] {
            let iso = |_: usize, line: &str| {
                format!("2020-01-02{sign}03:04:05,000003+00:00 {}", bare(line))
            };
            same(&path, "iso", &text, &each_line(&text, iso));
        }
        let date = |_: usize, line: &str| format!("[Wed Dec 22 08:37:21 2021] {}", bare(line));
        same(&path, "dmesg -T", &text, &each_line(&text, date));
        let ci = |_: usize, line: &str| format!("2020-01-02T03:04:05.1234567Z {line}");
        same(&path, "build server", &unstamped, &each_line(&unstamped, ci));
        let pod = |_: usize, line: &str| format!("web-1  | {line}");
        same(&path, "container", &unstamped, &each_line(&unstamped, pod));
    }
}

#[test]
fn other_signs_and_encodings_change_no_event() {
    for (path, text) in samples() {
        let html = text.replace('&', "&amp;").replace('\'', "&#39;").replace('"', "&quot;");
        let html = html.replace('<', "&lt;").replace('>', "&gt;");
        same(&path, "html", &text, html.as_bytes());
        let smart = text.replace(" '", " \u{2018}").replace('\'', "\u{2019}");
        same(&path, "smart quotes", &text, smart.as_bytes());
        same(&path, "CRLF", &text, text.replace('\n', "\r\n").as_bytes());
        let little: Vec<u8> = format!("\u{feff}{}", text.replace('\n', "\r\n"))
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        same(&path, "UTF-16", &text, &little);
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        same(&path, "UTF-16 without a mark", &text, &big);
    }
}

#[test]
fn two_consoles_say_it_once() {
    for (path, text) in samples() {
        same(&path, "doubled", &text, &each_line(&text, |_, line| format!("{line}\n{line}")));
    }
}

#[test]
fn wraps_change_no_event() {
    for (path, text) in samples() {
        for columns in [72, 76, 78, 100] {
            let wrap = |_: usize, line: &str| wrapped(line, columns, true);
            same(&path, &format!("wrap at {columns}"), &text, &each_line(&text, wrap));
        }
        same(&path, "terminal", &text, &each_line(&text, |_, line| wrapped(line, 80, false)));
    }
}

/// Lines that would be events, were they messages.
const FORGED: [&str; 4] = [
    "tsc: Marking TSC unstable due to clocksource watchdog",
    "clocksource: Switched to clocksource hpet",
    "clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:",
    "Measured 512340 cycles TSC warp between CPUs, turning off TSC clock.",
];

#[test]
fn text_from_users_is_not_a_message() {
    for forged in FORGED {
        for line in [
            format!("usb 1-1: Product: {forged}"),
            format!("process 'x' launched '/tmp/{forged}' with NULL argv"),
            format!("tmpfs: Unknown parameter '{forged}'"),
            format!("I see \"{forged}\" in the log, and it is slow"),
            format!("root@x:/# dmesg | grep '{forged}'"),
        ] {
            assert_eq!(events(format!("[   15.100000] {line}\n").as_bytes()), [], "{line}");
            assert_eq!(events(format!("{line}\n").as_bytes()), [], "{line}");
        }
        // Marks of code in the text of a program or a user in a kernel's line; in prose they quote a message.
        let quoted = format!("[   15.100000] x: `{forged}` is what it says\n");
        assert_eq!(events(quoted.as_bytes()), [], "{quoted}");
        let record = format!("tmpfs: Unknown parameter 'x\n{forged}\nx'");
        let stamped = record.replace('\n', "\n[   15.100000] ");
        assert_eq!(events(format!("[   15.100000] {stamped}\n").as_bytes()), [], "same stamp");
        let indented = record.replace('\n', "\n               ");
        assert_eq!(events(format!("[   15.100000] {indented}\n").as_bytes()), [], "indented");
        for prefix in
            ["[   15.100000] ", "kern  :info  : [   15.100000] ", "Nov 22 10:00:00 host kernel: "]
        {
            for more in
                [forged.to_owned(), format!("[   16.0] {forged}"), format!("<4>[   16.0] {forged}")]
            {
                for between in ["", "\n", "\n[    9.0] y", "\ny\n"] {
                    let text = format!("{prefix}tmpfs: Unknown parameter 'x{between}\n{more}");
                    let text = text.replace('\n', &format!("\n{}", " ".repeat(prefix.len())));
                    assert_eq!(events(format!("{text}\n").as_bytes()), [], "{text}");
                }
            }
        }
        let plain = events(format!("[   15.100000] {record}\n").as_bytes());
        assert_eq!(plain, [], "open quotation");
        let usb = format!(
            "[   15.1] usb 1-1: Product: x\n[   15.100000] usb 1-1: Product: x\n[   15.100000] {forged}\n"
        );
        assert_eq!(events(usb.as_bytes()), [], "usb");
        let json = format!(
            "{{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":{}}}\n",
            serde_json::to_string(&record).unwrap()
        );
        assert_eq!(events(json.as_bytes()), [], "journal");
        let json = format!(
            "{{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"usb 1-1: Product: [    1.000000] {forged}\"}}\n"
        );
        assert_eq!(events(json.as_bytes()), [], "a stamp in the text");
        // And the message itself is one.
        assert_eq!(events(format!("[   15.100000] {forged}\n").as_bytes()).len(), 1, "{forged}");
    }
}

#[test]
fn messages_of_one_microsecond_stay_messages() {
    let log = "\
[    9.100000] clocksource:                       'hpet' wd_now: 2b1d7a5c wd_last: 2a6c02f1 mask: ffffffff
[    9.100000] clocksource:                       'tsc' cs_now: 18f1a3b6c2e cs_last: 18eb4c1d03a mask: ffffffffffffffff
[    9.100000] tsc: Marking TSC unstable due to clocksource watchdog
";
    assert_eq!(events(log.as_bytes()).len(), 3);
}

#[test]
fn names_of_boards_are_read_in_switches() {
    for name in [
        "sh-tmu.0",
        "sh_cmt.1",
        "timer@f0001000",
        "e6130000.timer",
        "fttmr010@98400000",
        "ARCv2 RTC",
    ] {
        for prefix in ["", "[    0.100000] ", "[    0.100000] clocksource: ", "clocksource: "] {
            let log = format!("{prefix}Switched to clocksource {name}\n");
            assert_eq!(events(log.as_bytes()), [Event::Switched(name.to_owned())], "{log}");
        }
    }
    assert_eq!(events(b"Switched to clocksource tsc and all was well\n"), []);
}

#[test]
fn the_header_of_a_failed_test_is_an_event() {
    let of = |line: &str| events(format!("[    0.200000] {line}\n").as_bytes());
    let header = Event::WarpHeader { from: 0, to: 1 };
    assert_eq!(of("TSC synchronization [CPU#0 -> CPU#1]:"), [header]);
    assert_eq!(of("TSC synchronization [CPU#0 -> CPU#1]: passed"), []);
    assert_eq!(of("checking TSC synchronization [CPU#0 -> CPU#1]: passed."), []);
}

#[test]
fn the_schedulers_clock_shows_the_stable_bit() {
    let of = |line: &str| events(format!("[    0.200000] {line}\n").as_bytes());
    assert_eq!(of("sched_clock: Marking stable (1, 2)->(3, 4)"), [Event::SchedClockStable]);
    let line = "Unstable clock detected, switching default tracing clock to \"global\"";
    assert_eq!(of(line), [Event::TraceClockGlobal]);
}

fn facts(log: &str) -> Facts {
    Facts::from_log(scan(log.as_bytes()))
}

#[test]
fn the_architecture_is_shown_or_missing() {
    for (line, arch) in [
        ("BIOS-e820: [mem 0x0000000000000000-0x000000000009ffff] usable", Some(Arch::X86_64)),
        ("CPU: ARMv7 Processor [412fc09a] revision 10 (ARMv7), cr=10c5387d", Some(Arch::Arm)),
        ("Booting Linux on physical CPU 0x0", None),
        ("Booting Linux on physical CPU 0x0000000000 [0x410fd034]", Some(Arch::Arm64)),
        ("CPU0 revision is: 00019374 (MIPS 24Kc)", Some(Arch::Mips)),
        ("Booting machvec: RTS7751R2D", Some(Arch::Sh)),
        ("Checking that ptrace can change system call numbers...OK", Some(Arch::Um)),
        ("setup.289988: Linux is running under KVM in 64-bit mode", Some(Arch::S390)),
        ("clocksource: Switched to clocksource timebase", Some(Arch::Powerpc)),
        ("clocksource: Switched to clocksource stick", Some(Arch::Sparc)),
        ("CPU: Feroceon 88FR131 [56251311] revision 1 (ARMv5TE), cr=00053977", Some(Arch::Arm)),
        ("CPU: ARM926EJ-S [41069265] revision 5 (ARMv5TEJ), cr=00053177", Some(Arch::Arm)),
        ("CPU: XScale-PXA270 [69054117] revision 7 (ARMv5TE), cr=0000397f", Some(Arch::Arm)),
        ("CPU revision is: 00019374 (MIPS 24Kc)", Some(Arch::Mips)),
        ("clocksource: Switched to clocksource openrisc_timer", Some(Arch::Openrisc)),
        ("Linux version 6.19.0 (b@x) (loongarch32-linux-gnu-gcc 15) #1", Some(Arch::Loongarch32)),
        ("Linux version 5.19.0 (b@x) (loongarch64-linux-gnu-gcc 13) #1", Some(Arch::Loongarch)),
        ("clocksource: Switched to clocksource riscv_clocksource", Some(Arch::Riscv)),
        (
            "clocksource: cr16: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19 ns",
            Some(Arch::Parisc),
        ),
        ("Calibrating delay loop... 996.14 BogoMIPS (lpj=4980736)", None),
        ("Switched to clocksource arm_global_timer", None),
    ] {
        let log = format!("[    0.000000] {line}\n");
        assert_eq!(facts(&log).arch.value().copied(), arch, "{line}");
    }
}

#[test]
fn kinds_of_xen_are_distinguished() {
    use clocksmith_facts::hypervisor::HypervisorKind as Kind;
    for (log, kind, dom0) in [
        ("Booting paravirtualized kernel on Xen\n", Kind::XenPv, false),
        ("Booting paravirtualized kernel on Xen PVH\n", Kind::XenPvh, false),
        ("Booting paravirtualized kernel on Xen HVM\n", Kind::XenHvm, false),
        ("Hypervisor detected: Xen PV\n", Kind::XenPv, false),
        ("Hypervisor detected: Xen\nBooting paravirtualized kernel on Xen\n", Kind::XenPv, false),
        ("Hypervisor detected: Xen\n", Kind::Xen, false),
        ("Switched to clocksource xen\n", Kind::Xen, false),
        ("PCI: setting up Xen PCI frontend stub\n", Kind::XenPv, false),
        (
            "xen: registering gsi 9 triggering 0 polarity 0\nSwitched to clocksource xen\n",
            Kind::XenPv,
            true,
        ),
        ("DMI: Xen HVM domU, BIOS 4.2.amazon 08/24/2006\n", Kind::XenHvm, false),
        (
            "Hyper-V: privilege flags low 0x2e7f, high 0x3b8030\nHypervisor detected: KVM\n",
            Kind::Kvm,
            false,
        ),
    ] {
        let facts = facts(log);
        let found = facts.hypervisor.value().unwrap().as_ref().unwrap();
        assert_eq!((found.kind, found.xen_dom0), (kind, dom0), "{log}");
    }
}

#[test]
fn acpi_off_leaves_the_timers_open() {
    let log = |line: &str| {
        format!(
            "[    0.000000] Linux version 6.1.0\n[    0.000000] Command line: {line}\n\
             [    0.000000] smpboot: Allowing 2 CPUs, 0 hotplug CPUs\n"
        )
    };
    let listed = "[    0.000000] ACPI: RSDP 0x00000000000F05B0 000024 (v02 VENDOR)\n";
    assert!(facts(&format!("{}{listed}", log("quiet"))).hpet.is_known());
    assert!(!facts(&log("quiet")).hpet.is_known(), "no line shows that the kernel looked");
    let off = facts(&log("acpi=off"));
    for reason in [off.hpet.reason(), off.pm_timer.reason()] {
        let why = reason.unwrap().why.to_string();
        assert!(why.contains("the kernel ignores it because of a parameter: acpi=off"), "{why}");
    }
}

#[test]
fn cut_messages_are_of_a_kernel() {
    for line in [
        "clocksource: Long readout interval,",
        "sched_clock: 64 bits at 100MHz",
        "kvm-clock: cpu 0, msr 3f001001",
        "- tsc: Det",
        "2020-01-02T03:04:05Z hpet: x",
    ] {
        assert!(scan(line.as_bytes()).looks_like_kernel, "{line}");
    }
    for line in ["Dear all, the clocksource: is slow", "root@x:/# dmesg | grep tsc", "{\"tsc\": 1}"]
    {
        assert!(!scan(line.as_bytes()).looks_like_kernel, "{line}");
    }
}

proptest! {
    #[test]
    fn text_in_front_makes_no_event(words in "[a-z]{2,8}( [a-z0-9]{1,8}){0,3}: ", n in 0..FORGED.len()) {
        // Other tests cover words of the kernel, or of a program before a colon.
        prop_assume!(!words.starts_with("tsc:") && !words.starts_with("hpet:"));
        let log = format!("[   15.100000] {words}{}\n", FORGED[n]);
        let own = ["kvm: ", "xen: ", "dmesg: ", "clocksource: ", "vmware: ", "kernel: "];
        prop_assume!(!own.contains(&words.as_str()));
        prop_assert_eq!(events(log.as_bytes()), []);
    }
}
