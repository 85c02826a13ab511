//! Lines of another machine in one text are no cause of this one's clocksource.
#![allow(clippy::unwrap_used)]

use crate::common::{Story, pasted};
use clocksmith_diagnose::{CauseId, Confidence, Report, Verdict};

const DIR: &str = "/sys/devices/system/clocksource/clocksource0";

fn read(current: &str, available: &str) -> String {
    format!(
        "$ cat {DIR}/current_clocksource\n{current}\n$ cat {DIR}/available_clocksource\n{available}\n\n"
    )
}

/// The forms of 7.1 and later, of 6.3 to 7.0, and of 4.1 to 6.2.
fn demotions(watchdog: &str) -> [String; 3] {
    [
        format!(
            "[  360.661925] clocksource: Marking clocksource tsc unstable due to frequency skew\n\
             [  360.662225] clocksource: Watchdog               {watchdog} interval:        495949066ns\n\
             [  360.662458] clocksource: Clocksource                  tsc interval:       1343945643ns\n\
             [  360.662674] tsc: Marking TSC unstable due to clocksource watchdog\n"
        ),
        format!(
            "[  300.1] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
             [  300.1] clocksource:                       '{watchdog}' wd_nsec: 511999144 wd_now: 1d1a94dc wd_last: 1c2cd4e6 mask: ffffffff\n\
             [  300.1] clocksource:                       'tsc' cs_nsec: 611999144 cs_now: 2a7ed1e0a4 cs_last: 29e7d5b0d0 mask: ffffffffffffffff\n\
             [  300.1] clocksource:                       Clocksource 'tsc' skewed 100000000 ns (100 ms) over watchdog '{watchdog}' interval of 511999144 ns (511 ms)\n\
             [  300.1] clocksource:                       '{watchdog}' (not 'tsc') is current clocksource.\n\
             [  300.1] tsc: Marking TSC unstable due to clocksource watchdog\n"
        ),
        format!(
            "[  300.1] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
             [  300.1] clocksource:                       '{watchdog}' wd_now: 1d1a94dc wd_last: 1c2cd4e6 mask: ffffffff\n\
             [  300.1] clocksource:                       'tsc' cs_now: 2a7ed1e0a4 cs_last: 29e7d5b0d0 mask: ffffffffffffffff\n\
             [  300.1] tsc: Marking TSC unstable due to clocksource watchdog\n"
        ),
    ]
}

fn blames_a_demotion(report: &Report) -> bool {
    report.headline.contains("demoted")
        || report.causes.iter().any(|cause| {
            matches!(
                cause.id,
                CauseId::TscSkew
                    | CauseId::TscJump
                    | CauseId::WatchdogAtFault
                    | CauseId::ParavirtClockBroken
                    | CauseId::TscMiscalibrated
            )
        })
}

#[test]
fn demotion_by_a_reference_that_is_not_listed_is_of_another_machine() {
    for lines in demotions("kvm-clock") {
        let (host, guest) =
            (read("hpet", "hpet acpi_pm"), read("kvm-clock", "kvm-clock hpet acpi_pm"));
        for text in [format!("{host}{lines}"), format!("{lines}\n{host}")] {
            let report = pasted(&text);
            assert_eq!(report.verdict, Verdict::Slow, "{text}: {}", report.headline);
            assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{text}");
            assert!(!blames_a_demotion(&report), "{text}: {} {:?}", report.headline, report.causes);
            assert!(
                report.causes.iter().any(|cause| cause.id == CauseId::ContradictedEvidence),
                "{text}"
            );
        }
        // Of the guest they are the cause, and so of a host whose own timer did it.
        for (own, lines) in [
            (&guest, lines.clone()),
            (&host, lines.replace("kvm-clock", "hpet")),
            (&read("acpi_pm", "acpi_pm"), lines.replace("kvm-clock", "refined-jiffies")),
        ] {
            let report = pasted(&format!("{own}{lines}"));
            assert!(blames_a_demotion(&report), "{own}{lines}: {:?}", report.causes);
        }
    }
}

/// A guest's clock shows that its log is not of the host that lists none.
#[test]
fn boot_of_a_guest_is_not_that_of_its_host() {
    let boot = "[    0.000000] clocksource: kvm-clock: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb, max_idle_ns: 881590591483 ns\n\
                [    2.100000] tsc: Marking TSC unstable due to clocksource watchdog\n";
    let report = pasted(&format!("{}{boot}", read("hpet", "hpet acpi_pm")));
    assert!(!blames_a_demotion(&report), "{} {:?}", report.headline, report.causes);
    let report = pasted(&format!("{}{boot}", read("kvm-clock", "kvm-clock acpi_pm")));
    assert!(blames_a_demotion(&report), "{} {:?}", report.headline, report.causes);
}

/// A reference that the kernel demoted itself later is in no list any more.
#[test]
fn reference_that_was_demoted_later_need_not_be_listed() {
    let [lines, ..] = demotions("hpet");
    let later = "[  900.1] clocksource: Marking clocksource hpet unstable due to frequency skew\n";
    let report = pasted(&format!("{}{lines}{later}", read("acpi_pm", "acpi_pm")));
    assert!(blames_a_demotion(&report), "{} {:?}", report.headline, report.causes);
}

/// A kernel that gave the TSC up does not use it again before the next boot.
#[test]
fn demotion_in_front_of_a_reading_of_the_tsc_is_of_another_boot() {
    let is_contradicted = |report: &Report| {
        report.causes.iter().any(|cause| cause.id == CauseId::ContradictedEvidence)
    };
    let own = read("tsc", "tsc hpet acpi_pm");
    let guest = "[    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP\n\
                 [    0.041223] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
                 [    0.512377] clocksource: Switched to clocksource hpet\n";
    let mut texts: Vec<String> = demotions("hpet").into();
    texts.push(guest.to_owned());
    for lines in texts {
        for text in [format!("{lines}\n{own}"), format!("{own}{lines}\n{own}")] {
            let report = pasted(&text);
            assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{text}");
            assert_eq!(report.verdict, Verdict::Unknown, "{text}: {}", report.headline);
            assert!(
                report.headline.starts_with("These lines are from two boots or two machines"),
                "{}",
                report.headline
            );
            let ids: Vec<CauseId> = report.causes.iter().map(|cause| cause.id).collect();
            assert!(!ids.contains(&CauseId::RuntimeOverride), "{text}: {ids:?}");
            assert_eq!(report.settles.len(), 1, "{text}");
            assert!(is_contradicted(&report), "{text}: {:?}", report.causes);
        }
        // A reading from before the demotion does not contradict it, and a user can request the TSC again.
        let write = format!("# echo tsc > {DIR}/current_clocksource\n");
        for text in [format!("{own}{lines}"), format!("{lines}\n{write}{own}")] {
            let report = pasted(&text);
            assert!(!is_contradicted(&report), "{text}: {:?}", report.causes);
        }
    }
}

/// A text whose sentence above the lines does not say whose they are, and that has no other sign of its writer's machine.
#[test]
fn lines_of_no_certain_machine_are_judged_on_condition() {
    let [lines, ..] = demotions("hpet");
    let block = format!("{lines}[  361.1] clocksource: Switched to clocksource hpet\n");
    let report = pasted(&format!("Such a demotion is visible in dmesg as\n\n{block}"));
    assert!(
        report
            .headline
            .starts_with("If your machine printed these lines, reading the time is slow on it")
    );
    assert_eq!(report.verdict, Verdict::Slow);
    assert_eq!(report.confidence, Confidence::Low);
    assert!(report.settles.iter().any(|settle| settle.how.contains("journalctl -k -b")));
    // An answer that leaves the clocksource open is of no certain machine either.
    for line in [
        "clocksource: timekeeping watchdog on CPU5: Marking clocksource 'tsc' as unstable because the skew is too large",
        "tsc: Marking TSC unstable due to check_tsc_sync_source failed",
    ] {
        let guide =
            pasted(&format!("The watchdog compares two counters, and then prints:\n\n{line}\n"));
        let own = pasted(&format!("My server prints this:\n\n{line}\n"));
        assert!(guide.headline.starts_with("If your machine printed"), "{}", guide.headline);
        assert!(!own.headline.contains("If your"), "{}", own.headline);
    }
    for text in [
        block.clone(),
        format!("My server prints this:\n\n{block}"),
        format!("dmesg:\n\n{block}"),
        format!("Such a demotion is visible in dmesg as\n\n{block}\nDoes anyone know why?\n"),
        format!(
            "Such a demotion is visible in dmesg as\n\n{block}\n{}",
            read("hpet", "hpet acpi_pm")
        ),
    ] {
        let report = pasted(&text);
        assert!(
            report.headline.starts_with("Reading the time is slow here"),
            "{text}: {}",
            report.headline
        );
    }
}

/// Any user can write such a line: with logger, as the product of a USB device, as the description of a unit.
#[test]
fn lines_of_a_log_are_no_words_of_its_author() {
    let [lines, ..] = demotions("hpet");
    let switch = "[  361.100000] clocksource: Switched to clocksource hpet\n";
    let slow = |text: &str| {
        let report = pasted(text);
        assert!(
            report.headline.starts_with("Reading the time is slow here"),
            "{text}: {}",
            report.headline
        );
    };
    slow(&format!("{lines}{switch}"));
    for words in [
        "The docs of pgbench show this for a slow host:",
        "On a broken guest it would print:",
        "Some machines print lines like these:",
        "Expected output:",
        "x = \"\"\"",
    ] {
        for front in [
            "Nov  2 12:33:27 db1 eve: ",
            "eve[812]: ",
            "[  300.000000] usb 1-1: Product: ",
            "[  300.1] usb 1-1: Product: ",
            "Nov  2 12:33:27 db1 kernel: [  300.000000] usb 1-1: Product: ",
        ] {
            slow(&format!("{front}{words}\n{lines}{switch}"));
        }
    }
}

#[test]
fn machine_is_in_the_state_that_its_own_sysfs_shows_whatever_its_log_says() {
    let log = "[    0.000000] Linux version 5.15.0-91-generic (a@b) (gcc 11) #1 SMP\n\
               [    1.600000] clocksource: Switched to clocksource tsc\n\
               [ 9000.000000] usb 1-2: USB disconnect, device number 3\n\
               [    1.000000] clocksource: Switched to clocksource tsc-early\n";
    let alone = crate::common::why(log);
    assert_eq!(alone.clocksource.current, None, "{}", alone.headline);
    let seen = Story::new("Linux version 5.15.0-91-generic (a@b) (gcc 11) #1 SMP x86_64")
        .sysfs("tsc", &["tsc", "hpet", "acpi_pm"])
        .log(log)
        .diagnose();
    assert_eq!(seen.report.clocksource.current.as_deref(), Some("tsc"), "{}", seen.report.headline);
}
