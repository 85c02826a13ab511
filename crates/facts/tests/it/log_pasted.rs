//! Logs as users paste them: as HTML, with no-break spaces, as a diff, with text around them, damaged and truncated.
//! The rest has the meaning of the kernel's messages, and no other.

#![allow(clippy::unwrap_used)]

use clocksmith_facts::log::{Event, KernelLog};

fn scan(text: &[u8]) -> KernelLog {
    KernelLog::scan(text, "log").unwrap()
}

fn events(text: &[u8]) -> Vec<Event> {
    scan(text).entries.into_iter().map(|entry| entry.event).collect()
}

/// A boot that ends with tsc, with time stamps.
const HEALTHY: &str = "\
[    0.000000] Linux version 6.1.0-18-amd64 (builder@host) (gcc 12.2.0) #1 SMP Debian 6.1.76-1
[    0.000000] tsc: Fast TSC calibration using PIT
[    0.000012] tsc: Detected 2599.998 MHz processor
[    0.312345] clocksource: Switched to clocksource tsc-early
[    1.400123] tsc: Refined TSC clocksource calibration: 2599.999 MHz
[    1.400133] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x257a34a6eea, max_idle_ns: 440795264358 ns
[    1.400321] clocksource: Switched to clocksource tsc
[   17.000001] EXT4-fs (sda1): re-mounted.
";

#[test]
fn no_break_spaces_change_no_event() {
    let plain = events(HEALTHY.as_bytes());
    assert_eq!(plain.len(), 7);
    let latin1: Vec<u8> =
        HEALTHY.bytes().map(|byte| if byte == b' ' { 0xa0 } else { byte }).collect();
    assert_eq!(events(&latin1), plain, "Latin-1");
    assert_eq!(events(HEALTHY.replace(' ', "\u{a0}").as_bytes()), plain, "UTF-8");
    assert_eq!(events(HEALTHY.replace(' ', "&nbsp;").as_bytes()), plain, "entities");
    let mail = HEALTHY.replace("[    ", "> [=A0=A0=A0 ");
    assert_eq!(events(mail.as_bytes()), plain, "quoted-printable");
}

#[test]
fn html_changes_no_event() {
    let plain = events(HEALTHY.as_bytes());
    let escaped = HEALTHY.replace('&', "&amp;").replace('<', "&lt;");
    let pages = [
        format!("<p>My log:</p>\n<pre>{escaped}</pre>\n<p>Thanks</p>\n"),
        escaped.replace('\n', "<br>"),
        escaped.replace(' ', "&nbsp;").replace('\n', "<br />\n"),
        each(&escaped, |line| format!("<span class=\"line\">{line}</span>\n")),
        each(&escaped, |line| format!("<tr><td>12</td><td><code>{line}</code></td></tr>")),
        format!("<DIV><FONT face=\"Arial\">{}</FONT></DIV>", escaped.replace('\n', "</DIV><DIV>")),
    ];
    for page in pages {
        assert_eq!(events(page.as_bytes()), plain, "{page}");
    }
    // A mail with both kinds of text has the log twice.
    let soft = escaped.replace('=', "=3D").replace('\n', "<br>").replace("clock", "clo=\nck");
    let mail = format!(
        "Content-Type: text/plain\n\n{HEALTHY}\nContent-Type: text/html\n\
         Content-Transfer-Encoding: quoted-printable\n\n<div class=3D\"x\">{soft}</div>\n"
    );
    assert_eq!(events(mail.as_bytes()), plain, "{mail}");
}

fn each(text: &str, f: impl Fn(&str) -> String) -> String {
    text.lines().map(f).collect()
}

#[test]
fn text_behind_a_log_with_stamps_is_none_of_it() {
    let plain = events(HEALTHY.as_bytes());
    for comment in [
        "tsc: Marking TSC unstable due to clocksource watchdog",
        "Linux version 5.10 works, by the way.",
        "clocksource: Switched to clocksource hpet",
        "Linux version 6.1.0-18-amd64 (builder@host) (gcc 12.2.0) #1 SMP Debian 6.1.76-1",
        "[    0.312345] clocksource: Switched to clocksource tsc-early",
    ] {
        let log = scan(format!("{HEALTHY}\nThen I saw:\n{comment}\nThanks.\n").as_bytes());
        let found: Vec<Event> = log.entries.into_iter().map(|entry| entry.event).collect();
        assert_eq!(found, plain, "{comment}");
        assert_eq!(log.boots, 1, "{comment}");
    }
    // A shell's output of sysfs is evidence.
    let read = format!(
        "{HEALTHY}$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n"
    );
    assert!(events(read.as_bytes()).contains(&Event::ReadCurrent("hpet".to_owned())));
}

#[test]
fn prose_behind_a_few_lines_does_not_make_them_a_whole_log() {
    let lines = "[    0.312345] clocksource: Switched to clocksource hpet\n\
                 [    0.400000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484873504 ns\n";
    let prose = "I do not know\nwhat to do\nabout this\nany more\nplease help\nme\nbtrfs is fine\n";
    let extent = scan(format!("{lines}{prose}").as_bytes()).extent;
    assert!(!extent.would_show_switch_after("hpet") && !extent.reaches_user_space, "{extent:?}");
}

#[test]
fn second_banner_begins_another_boot_and_mixes_nothing() {
    let other = "Linux version 5.4.0-42-generic (buildd@x) (gcc 9.3.0) #46-Ubuntu SMP Fri Jul 10 00:24:02 UTC 2020";
    let log = scan(format!("{HEALTHY}\n{other}\n").as_bytes());
    assert_eq!((log.boots, log.entries.len()), (2, 1), "{:?}", log.entries);
    // Without time stamps: the end of one boot, and the beginning of the next.
    let log = scan(
        format!("tsc: Marking TSC unstable due to clocksource watchdog\n{other}\nclocksource: Switched to clocksource tsc-early\n")
            .as_bytes(),
    );
    assert_eq!((log.boots, log.entries.len()), (2, 2), "{:?}", log.entries);
}

#[test]
fn cut_messages_say_no_more_than_what_is_there() {
    for cut in [
        "[    0.312345] Time: hpet",
        "[    0.312345] clocksource: Switched to clocksource hpe",
        "[    0.312345] clocksource: Switched to clocksource",
        "[    0.312345] clocksource: Switched to clocksource arch_sys_co",
        "[    9.000000] clocksource: Clocksource 'tsc' skewed -4855",
        "[    9.000000] clocksource: 'tsc' cs_now: 18f1a3b6c2e cs_last: 18eb4c1d0",
        "[    0.000000] Hyper-V: privilege flags low 0x2e",
        "[    0.000000] Linux version 5.1",
    ] {
        assert_eq!(events(cut.as_bytes()), [], "{cut}");
    }
    // A figure is read if the line shows its end.
    let skewed = "[    9.000000] clocksource: Clocksource 'tsc' skewed -485515617 ns (-485 ms) over watchdog 'hpet' interval of 4901";
    assert!(matches!(
        events(skewed.as_bytes())[..],
        [Event::WatchdogSkewed { skew_ns: -485_515_617, interval_ns: None, .. }]
    ));
    let long = "[    9.0] clocksource: Long readout interval, skipping watchdog check: cs_nsec: 8020123456 wd_nsec: 8020";
    assert_eq!(events(long.as_bytes()), [Event::LongReadoutCut]);
    // A known clocksource name is that clocksource, whatever registered.
    let early = "[    0.2] clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x257a34a6eea, max_idle_ns: 440795264358 ns\n";
    let switch = "[    0.312345] clocksource: Switched to clocksource tsc";
    assert_eq!(events(format!("{early}{switch}").as_bytes()).len(), 2);
    let part = "[    0.312345] clocksource: Switched to clocksource tsc-ea";
    assert_eq!(events(format!("{early}{part}").as_bytes()).len(), 1);
    assert_eq!(events(switch.as_bytes()).len(), 1);
    // A forum's empty line inside a message.
    let torn = "[   38.6] Time: hpet \n\nclocksource has been installed.\n";
    assert_eq!(events(torn.as_bytes()), [Event::Switched("hpet".to_owned())]);
}

#[test]
fn first_line_without_its_beginning_is_read() {
    let rest = "rce:                       Clocksource 'tsc'\n\
                skewed 4687076445 ns (4687 ms) over watchdog 'acpi_pm' interval of\n633206175 ns (633 ms)\n\
                <4>[   41.888583] clocksource:                       'tsc' is current\nclocksource.\n";
    let found = events(rest.as_bytes());
    assert!(
        matches!(found.first(), Some(Event::WatchdogSkewed { interval_ns: Some(633_206_175), .. })),
        "{found:?}"
    );
    let rest = "2345] clocksource: Switched to clocksource tsc\n[    2.0] x\n";
    assert_eq!(events(rest.as_bytes()).len(), 1);
}

#[test]
fn of_a_diff_the_new_log_counts() {
    let name = |name: &str| format!("[    1.400321] clocksource: Switched to clocksource {name}");
    for diff in [
        format!(
            "--- a\n+++ b\n@@ -3,2 +3,2 @@\n [    0.0] x\n-{}\n+{}\n",
            name("hpet"),
            name("tsc")
        ),
        format!("    +{}\n    -{}\n", name("tsc"), name("hpet")),
        format!("7c7\n< {}\n---\n> {}\n", name("hpet"), name("tsc")),
        format!("7c7\n> {}\n---\n< {}\n", name("tsc"), name("hpet")),
        format!(
            "*** a\n--- b\n***************\n*** 7 ****\n! {}\n--- 7 ----\n! {}\n",
            name("hpet"),
            name("tsc")
        ),
    ] {
        let log = scan(diff.as_bytes());
        assert!(log.is_diff);
        let found: Vec<_> = log.entries.iter().map(|entry| &entry.event).collect();
        assert_eq!(found, [&Event::Switched("tsc".to_owned())], "{diff}");
    }
}

#[test]
fn steering_beyond_the_limit_is_an_event() {
    for name in ["tsc", "hpet", "acpi_pm", "kvm-clock"] {
        let line = format!("[   91.907007] Adjusting {name} more than 11% (7517526 vs 7180534)\n");
        assert_eq!(events(line.as_bytes()), [Event::SteeredTooFar(name.to_owned())]);
    }
    assert_eq!(events(b"Adjusting the mirror more than 11% helps\n"), []);
}

#[test]
fn state_of_the_wall_clock_beside_a_log_is_a_fact() {
    for (text, synchronized) in [
        (
            "      Local time: Tue 2024-03-05 07:25:40 UTC\n     NTP enabled: yes\nNTP synchronized: no\n",
            false,
        ),
        ("System clock synchronized: no\n              NTP service: active\n", false),
        ("System clock synchronized: yes\n", true),
        ("Leap status     : Not synchronised\n", false),
    ] {
        for log in [format!("{HEALTHY}$ timedatectl\n{text}"), format!("{text}\n{HEALTHY}")] {
            let facts = clocksmith_facts::Facts::from_log(scan(log.as_bytes()));
            let clocksmith_facts::Fact::Known { value, source } = &facts.ntp else {
                panic!("{log}")
            };
            assert_eq!(value.synchronized, synchronized, "{log}");
            assert!(source.0.starts_with("log:"), "{source:?}");
            assert_eq!(events(log.as_bytes()).len(), 8, "{log}");
        }
    }
    // A message of the kernel, or of a daemon in its log, is not such a reading.
    let daemon = "[   20.000001] x: System clock synchronized: no\n";
    assert!(
        !clocksmith_facts::Facts::from_log(scan(format!("{HEALTHY}{daemon}").as_bytes()))
            .ntp
            .is_known()
    );
}

#[test]
fn date_at_the_end_of_a_wrapped_banner_is_a_part_of_it() {
    let banner = "Linux version 6.1.0-18-amd64 (builder@host) (gcc 12.2.0) #1 SMP Debian 6.1.76-1";
    let header = "jan 09 02:03:50 web kernel:";
    let whole = format!("{header} {banner} Sun Jan  7 20:18:38 UTC 2024\n");
    let wrapped =
        format!("> {header} {banner}=\n Sun Jan=C2=A0 7 20:18:38 UTC 2024\n> {header} x: y\n");
    assert_eq!(events(wrapped.as_bytes()), events(whole.as_bytes()));
}

#[test]
fn lines_about_the_wall_clock_are_events() {
    let log = "[    0.900000] rtc_cmos 00:03: setting system clock to 2026-06-01T10:00:00 UTC (1780308000)\n\
               [    0.910000] rtc-pl031 9010000.pl031: setting system clock to 2026-06-01 10:00:00 UTC (1780308000)\n\
               [ 1802.402211] random: crng reseeded due to virtual machine fork\n\
               [ 1803.000000] tmpfs: Unknown parameter 'random: crng reseeded due to virtual machine fork'\n\
               [ 1804.000000] x: setting system clock to 1 (5)\n\
               [    0.920000] rpi-rtc soc:rpi_rtc: setting system clock to 1970-01-01T00:00:17 UTC (17)\n\
               [    0.930000] hctosys: unable to open rtc device (rtc0)\n\
               [ 9000.000000] Clock: inserting leap second 23:59:60 UTC\n\
               [ 9001.000000] usb 1-1: Product: Clock: inserting leap second 23:59:60 UTC\n";
    assert_eq!(
        events(log.as_bytes()),
        [
            Event::SetByRtc(1_780_308_000),
            Event::SetByRtc(1_780_308_000),
            Event::VmFork,
            Event::SetByRtc(17),
            Event::NoRtc,
            Event::LeapSecond(true)
        ]
    );
}

/// A guest's console in the journal of its host, and lines that any user writes with `logger`.
#[test]
fn lines_that_a_program_passes_on_are_not_those_of_the_kernel_beside_it() {
    let host = "Mar 01 10:00:00 host kernel: Linux version 6.1.0-13-amd64 (a@b) (gcc 12) #1 SMP\n\
                Mar 01 10:00:01 host kernel: clocksource: Switched to clocksource tsc\n";
    let guest = "Mar 01 10:01:00 host qemu[123]: [    0.000000] Linux version 6.6.9 (c@d) (gcc 13) #2 SMP\n\
                 Mar 01 10:01:01 host qemu[123]: [    0.900000] clocksource: Switched to clocksource kvm-clock\n";
    let switches = |text: &str| {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let name = |event: &Event| match event {
            Event::Switched(name) => Some(name.clone()),
            _ => None,
        };
        (log.boots, log.last(name).map(|(_, name)| name))
    };
    assert_eq!(switches(&format!("{host}{guest}")), (1, Some("tsc".to_owned())));
    // Without other lines they are the only evidence.
    assert_eq!(switches(guest), (1, Some("kvm-clock".to_owned())));
}

#[test]
fn emphasis_of_markdown_is_not_a_part_of_a_word_of_the_command_line() {
    let text = "[    0.000000] Command line: ro nomodeset **clocksource=tsc** dyndbg=\"file drivers/** +p\"\n";
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    let line = log.first(|event| match event {
        Event::CommandLine(line) => Some(line.clone()),
        _ => None,
    });
    let line = line.map(|(_, line)| line);
    assert_eq!(line.as_deref(), Some("ro nomodeset clocksource=tsc dyndbg=\"file drivers/** +p\""));
}
