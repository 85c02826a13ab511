use super::*;
use clocksmith_diagnose::{Measured, Path, Read, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use proptest::prelude::*;

fn report(log: &str, reads: Vec<Read>) -> Report {
    let facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "log").unwrap());
    assess(facts, Measured { reads, counter_ns: Some(20.0) }).report
}

fn shown(report: &Report) -> String {
    page(report, &Made { at: 1_795_262_400.0, of: "a <test>".to_owned() })
}

const DEMOTED: &str = "\
[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)
[    0.000000] Command line: quiet
[    0.100000] tsc: Detected 2400.000 MHz processor
[    1.000000] clocksource: Switched to clocksource tsc
[  900.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:
[  900.000001] clocksource:                       'hpet' wd_nsec: 512000000 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff
[  900.000002] clocksource:                       'tsc' cs_nsec: 522000000 cs_now: 2000000000 cs_last: 1fa2c7a680 mask: ffffffffffffffff
[  900.000003] tsc: Marking TSC unstable due to clocksource watchdog
[  900.000009] clocksource: Switched to clocksource hpet
";

#[test]
fn causes_on_the_same_lines_show_them_once() {
    // A jump of 180 ms: of the TSC, or of the HPET.
    let jump = DEMOTED.replace("cs_nsec: 522000000", "cs_nsec: 692000000");
    let report = report(&jump, Vec::new());
    let alike =
        report.causes.windows(2).filter(|pair| pair[0].evidence == pair[1].evidence).count();
    assert!(alike > 0, "{:?}", report.causes);
    let page = shown(&report);
    assert_eq!(page.matches("The same lines.").count(), alike);
    let figures = report.causes.iter().map(|cause| cause.evidence.len()).sum::<usize>();
    assert!(page.matches("<figure>").count() < figures);
}

#[test]
fn everything_of_the_document_is_on_the_page() {
    let read = Read {
        clock: "CLOCK_MONOTONIC".into(),
        path: Path::Syscall,
        ns: Some(1300.0),
        syscall_ns: Some(1290.0),
    };
    let report = report(DEMOTED, vec![read]);
    let page = shown(&report);
    assert!(!report.causes.is_empty() && !report.remedies.is_empty() && !report.missing.is_empty());
    let mut wanted: Vec<String> = vec![
        report.headline.clone(),
        "2026-11-21 12:00:00Z".into(),
        env!("CARGO_PKG_VERSION").into(),
        "a <test>".into(),
        "SLOW".into(),
        "1.30 us".into(),
        "clocksmith.why.v1".into(),
        // The frequency, which turns the figures of the evidence into time.
        "2400.000 MHz".into(),
    ];
    for cause in &report.causes {
        wanted.extend([cause.id.name().to_owned(), cause.summary.clone()]);
        wanted.extend(cause.evidence.iter().flat_map(|e| [e.source.clone(), e.text.clone()]));
    }
    for remedy in &report.remedies {
        wanted.extend([remedy.id.clone(), remedy.summary.clone(), remedy.source.clone()]);
        match &remedy.refused_because {
            Some(because) => wanted.push(because.clone()),
            None => wanted.push(remedy.risk.clone()),
        }
        wanted.extend(remedy.commands.iter().filter(|_| remedy.refused_because.is_none()).cloned());
        wanted.extend(remedy.settings.iter().flat_map(|s| [s.r#where.clone(), s.text.clone()]));
        wanted.extend(remedy.instructions.iter().cloned());
    }
    for item in &report.missing {
        wanted.extend([item.fact.clone(), item.why.clone()]);
        wanted.extend(item.how.clone());
    }
    wanted.extend(report.differences.iter().cloned());
    wanted.extend(report.timeline.iter().map(|moment| moment.text.clone()));
    for part in wanted {
        let found = page.contains(&text(&part)) || page.contains(&verbatim(&part));
        assert!(found, "{part:?} is not on the page");
    }
    // In the order of the document.
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}"));
    for pair in report.causes.windows(2) {
        let article = |cause: &Cause| at(&format!("</span> <code>{}</code>", cause.id.name()));
        assert!(article(&pair[0]) < article(&pair[1]));
    }
    assert!(at("What to do, best first") < at("What not to do"));
}

#[test]
fn nothing_is_loaded_or_run() {
    let page = shown(&report(DEMOTED, Vec::new()));
    assert!(page.contains("default-src 'none'"), "{page}");
    assert!(page.contains("Not measured"));
    for outside in
        ["<script", "<link", "<img", "<iframe", " src=", "href=", "@import", "url(", " style="]
    {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_hostile_log_stays_text() {
    let evil =
        "<script>alert(1)</script>\u{202e}\u{2066}\x1b[31m\u{0}\"'&<img src=x onerror=alert(1)>";
    let log = format!(
        "[    0.000000] Linux version 6.1.0-{evil} (x)\n\
         [    0.000000] Command line: clocksource={evil}\n\
         [    0.100000] DMI: {evil}\n\
         [    1.000000] clocksource: Switched to clocksource {evil}\n\
         [    2.000000] tsc: Marking TSC unstable due to {evil}\n"
    );
    let page = shown(&report(&log, Vec::new()));
    assert!(page.contains("&lt;script&gt;"), "the log's words are shown:\n{page}");
    for bad in ["<script", "<img", "\u{202e}", "\u{2066}", "\x1b", "\0"] {
        assert!(!page.contains(bad), "{bad:?}");
    }
    assert_eq!(balance(&page), Ok(()));
}

#[test]
fn a_log_that_repeats_itself_is_shown_by_its_ends() {
    let mut log = DEMOTED.to_owned();
    for n in 0..2000 {
        let _ = writeln!(log, "[ {}.000000] clocksource: Switched to clocksource tsc", 1000 + n);
        let _ = writeln!(log, "[ {}.500000] tsc: Marking TSC unstable due to {n}", 1000 + n);
    }
    let report = report(&log, Vec::new());
    assert!(report.timeline.len() > 2 * MOMENTS);
    let page = shown(&report);
    assert!(page.contains("more lines are in the document"));
    assert!(page.contains("900.000003") && page.contains("2999.500"), "{page}");
    assert_eq!(page.matches("<li class=\"gap\">").count(), 1);
    assert_eq!(balance(&page), Ok(()));
}

/// Whether every element that is opened is closed, in the right order.
fn balance(page: &str) -> Result<(), String> {
    let void = ["meta", "br", "!doctype"];
    let mut open: Vec<&str> = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, _) = part.split_once('>').ok_or_else(|| format!("no end: {part:.40}"))?;
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing"));
            }
        } else if !tag.ends_with('/') && !void.contains(&name) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_words_of_a_log_make_a_whole_page(words in any::<String>(), ns in any::<f64>(), at in any::<f64>()) {
        let log = format!("[ 1.0] Linux version {words}\n[ 2.0] clocksource: Switched to clocksource {words}\n");
        // A text of control characters is refused before.
        if KernelLog::scan(log.as_bytes(), "log").is_ok() {
            let read = Read { clock: words.clone(), path: Path::Unknown, ns: Some(ns), syscall_ns: Some(-ns) };
            let report = report(&log, vec![read]);
            let page = page(&report, &Made { at, of: words.clone() });
            prop_assert_eq!(balance(&page), Ok(()));
            prop_assert!(!page.contains("NaN") && page.ends_with("</html>\n"));
        }
    }
}
