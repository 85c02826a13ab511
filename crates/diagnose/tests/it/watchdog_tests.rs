//! Checks of the watchdog that were held up, by a test, an SMI or a virtual CPU that lost its turn; ticks as the only other
//! clock; guests that were moved.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{CauseId, Confidence, Report, Verdict};

fn summary(report: &Report, id: CauseId) -> &str {
    report.causes.iter().find(|cause| cause.id == id).map_or("", |cause| cause.summary.as_str())
}

fn ids(report: &Report) -> Vec<CauseId> {
    report.causes.iter().map(|cause| cause.id).collect()
}

fn advised<'a>(report: &'a Report, id: &str) -> Option<&'a str> {
    report
        .remedies
        .iter()
        .find(|remedy| remedy.id == id && remedy.refused_because.is_none())
        .map(|remedy| remedy.summary.as_str())
}

const READBACK: &str = "[62939.838536] clocksource: timekeeping watchdog on CPU26: hpet read-back delay of 7220833ns, attempt 4, marking unstable\n\
     [62939.849230] tsc: Marking TSC unstable due to clocksource watchdog\n\
     [62939.886518] clocksource: Switched to clocksource hpet\n";

#[test]
fn delay_that_a_test_injected_is_named_as_that() {
    for lines in [
        "[62939.831314] clocksource: clocksource_watchdog_inject_delay(): Injecting delay.\n",
        "[62939.831314] clocksource: clocksource_watchdog_inject_delay():\nInjecting delay.\n",
    ] {
        let report = why(&format!("{lines}{READBACK}"));
        let words = summary(&report, CauseId::WatchdogAtFault);
        assert!(words.contains("deliberately"), "{words}");
        assert!(
            !report.causes.iter().any(clocksmith_diagnose::Cause::blames_tsc),
            "{:?}",
            ids(&report)
        );
        assert!(report.headline.contains("only its own check"), "{}", report.headline);
        assert!(!report.headline.contains("fault of its reference"), "{}", report.headline);
        assert!(advised(&report, "tsc-nowatchdog").is_none());
        assert!(advised(&report, "reboot-to-restore").unwrap().contains("without that test"));
    }
    // Hours before, the case differs.
    let before =
        "[  939.831314] clocksource: clocksource_watchdog_inject_delay(): Injecting delay.\n";
    let report = why(&format!("{before}{READBACK}"));
    let words = summary(&report, CauseId::WatchdogAtFault);
    assert!(words.contains("SMI") && words.contains("descheduled"), "{words}");
}

#[test]
fn clocksource_of_the_test_module_concerns_no_clock() {
    let report = why(
        "[  210.000000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'wdtest-ktime' as unstable because the skew is too large:\n\
         [  210.000001] clocksource:                       'tsc' wd_nsec: 495000000 wd_now: 5a749706 wd_last: 45adf1e0 mask: ffffffffffffffff\n\
         [  210.000002] clocksource:                       'wdtest-ktime' cs_nsec: 999000000 cs_now: 515ce2c5 cs_last: 415cd9a9 mask: ffffffffffffffff\n",
    );
    let words = summary(&report, CauseId::WatchdogAtFault);
    assert!(words.contains("test module"), "{words}: {:?}", ids(&report));
}

/// A console without stamps: user space runs when the TSC is demoted.
fn ticks(wd: (&str, &str), cs: (&str, &str), behind: &str) -> Report {
    why(&format!(
        "[  OK  ] Reached target Local File Systems.\n\
         [  OK  ] Started Journal Service.\n\
         clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         clocksource:                       'refined-jiffies' wd_now: {} wd_last: {} mask: ffffffff\n\
         clocksource:                       'tsc' cs_now: {} cs_last: {} mask: ffffffffffffffff\n\
         clocksource: Switched to clocksource refined-jiffies\n{behind}",
        wd.0, wd.1, cs.0, cs.1
    ))
}

const BEHIND: &str = "[  OK  ] Started udev Kernel Device Manager.\n\
                      \x20        Starting Flush Journal to Persistent Storage...\n\
                      systemd-journald[52]: Received request to flush runtime journal from PID 1\n";

#[test]
fn tick_behind_a_demotion_in_user_space_is_in_use_and_coarse() {
    // 128 ticks are 1.28 s at most, 40.4e9 cycles 8.4 s at least.
    let report = ticks(("fffedfb8", "fffedf38"), ("25ecc19822", "1c843f3786"), BEHIND);
    assert_eq!(report.clocksource.current.as_deref(), Some("refined-jiffies"));
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    let only = summary(&report, CauseId::OnlyChoice);
    assert!(only.contains("1 to 10 ms") && only.contains("no HPET, PM timer"), "{only}");
    assert!(advised(&report, "give-a-timer").is_some());
    let lost = summary(&report, CauseId::WatchdogAtFault);
    assert!(lost.contains("128 ticks") && lost.contains("differ by at least 7.14 s"), "{lost}");
    assert!(summary(&report, CauseId::TscJump).contains("7.14 s or more"));
    assert!(
        report.causes.iter().all(
            |cause| cause.id != CauseId::WatchdogAtFault || cause.confidence == Confidence::Low
        )
    );
}

#[test]
fn ticks_that_a_tsc_can_have_are_not_called_lost() {
    // 125 ticks at 250 Hz are half a second, 1.3e9 cycles then 2.6 GHz.
    let report = ticks(("fffedfb5", "fffedf38"), ("1c8abd1c86", "1c3d407386"), BEHIND);
    let words = summary(&report, CauseId::WatchdogAtFault);
    assert!(words.contains("imply a TSC") && !words.contains("lost that much"), "{words}");
}

#[test]
fn tick_where_the_log_ends_is_not_the_last_word() {
    let report = ticks(("fffedfb8", "fffedf38"), ("25ecc19822", "1c843f3786"), "");
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
}

#[test]
fn tick_that_was_chosen_is_not_a_last_resort() {
    let report = why("[    0.000000] Linux version 6.1.0 (b@h) (gcc 12) #1 SMP\n\
         [    0.000000] Kernel command line: ro clocksource=jiffies\n\
         [    0.300000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns\n\
         [    0.400000] clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 7645041785100000 ns\n\
         [   12.000000] systemd[1]: Reached target Multi-User System.\n\
         [   13.000000] a: x\n[   14.000000] b: y\n[   15.000000] c: z\n[   16.000000] d: z\n[   17.000000] e: z\n");
    assert!(!ids(&report).contains(&CauseId::OnlyChoice), "{:?}", ids(&report));
}

/// A KVM guest that was saved and restored on the same host.
fn moved(current: &str) -> Report {
    why(&format!(
        "[   35.166702] clocksource: timekeeping watchdog on CPU5: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [   35.167718] clocksource:                       'kvm-clock' wd_nsec: 504113713 wd_now: 838861f0c wd_last: 81a79f4db mask: ffffffffffffffff\n\
         [   35.168490] clocksource:                       'tsc' cs_nsec: 489600636 cs_now: 18a01d7d86 cs_last: 1848b53691 mask: ffffffffffffffff\n\
         [   35.169172] clocksource:                       Clocksource 'tsc' skewed -14513077 ns (-14 ms) over watchdog 'kvm-clock' interval of 504113713 ns (504 ms)\n\
         {current}\
         [   35.170432] tsc: Marking TSC unstable due to clocksource watchdog\n"
    ))
}

#[test]
fn clocksource_that_the_watchdog_names_is_in_use() {
    let report = moved(
        "[   35.169952] clocksource:                       'kvm-clock' (not 'tsc') is current clocksource.\n",
    );
    assert_eq!(report.clocksource.current.as_deref(), Some("kvm-clock"));
    assert!(report.clocksource.source.ends_with(":5"), "{}", report.clocksource.source);
    // The reference is next in rank where the TSC itself was in use, or where a tick served until the first choice.
    for current in
        ["'tsc' is current clocksource.", "'refined-jiffies' (not 'tsc') is current clocksource."]
    {
        let report =
            moved(&format!("[   35.169952] clocksource:                       {current}\n"));
        assert_eq!(report.clocksource.current.as_deref(), Some("kvm-clock"), "{current}");
        assert!(report.clocksource.source.contains("the next lower rating"), "{current}");
    }
}

#[test]
fn guest_that_was_moved_may_have_got_its_tsc_set_back_once() {
    let report = moved("");
    let jump = summary(&report, CauseId::TscJump);
    assert!(jump.contains("14.5 ms") && jump.contains("moved"), "{jump}: {:?}", ids(&report));
    assert!(
        ids(&report).contains(&CauseId::TscSkew)
            && ids(&report).contains(&CauseId::ParavirtClockBroken)
    );
}

/// A mail of 2006: a user tries one clocksource after the other.
#[test]
fn choice_behind_a_reading_makes_it_history() {
    let prompt = "root@box:/sys/devices/system/clocksource/clocksource0# ";
    let text = format!(
        "{prompt}cat available_clocksource\nacpi_pm jiffies tsc pit\n{prompt}echo acpi_pm > current_clocksource\n\
         {prompt}cat current_clocksource\nacpi_pm\n{prompt}echo tsc > current_clocksource\n"
    );
    assert_eq!(why_paste(&text).verdict, Verdict::Unknown);
    let report = why_paste(&format!("{text}{prompt}cat current_clocksource\ntsc\n"));
    assert_eq!(report.clocksource.current.as_deref(), Some("tsc"));
    // Lines that were selected by a word may lack the last choice.
    let selected = "# echo acpi_pm > /sys/devices/system/clocksource/clocksource0/current_clocksource\n\
                    Time: acpi_pm clocksource has been installed.\n";
    assert_eq!(why_paste(selected).verdict, Verdict::Unknown);
}

fn why_paste(text: &str) -> Report {
    use clocksmith_facts::log::KernelLog;
    use clocksmith_facts::paste::{self, Pasted};
    let mut facts = clocksmith_facts::Facts::from_log(
        KernelLog::scan(text.as_bytes(), "text").unwrap_or_default(),
    );
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    Pasted::read(&lines, "text").complete(&mut facts);
    clocksmith_diagnose::assess(facts, clocksmith_diagnose::Measured::default()).report
}
