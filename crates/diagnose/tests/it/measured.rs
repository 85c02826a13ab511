//! A measurement outweighs the name of the clocksource.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Seen, Story};
use clocksmith_diagnose::{Path, Read, Verdict};

fn on_tsc(path: Path, ns: Option<f64>, syscall_ns: Option<f64>) -> Seen {
    let read = Read { clock: "CLOCK_MONOTONIC".to_owned(), path, ns, syscall_ns };
    Story::new("Linux version 6.1.0")
        .flags("tsc constant_tsc nonstop_tsc rdtscp")
        .cpus(2)
        .bare_metal()
        .sysfs("tsc", &["tsc", "hpet"])
        .diagnose_with(vec![read])
}

#[test]
fn a_fast_read_is_fast() {
    let seen = on_tsc(Path::Vdso, Some(23.0), Some(250.0));
    assert_eq!(seen.report.verdict, Verdict::Ok);
    assert!(seen.report.headline.contains("fast here: the clocksource is tsc, about 23 ns"));
}

#[test]
fn a_measurement_that_failed_is_not_fast() {
    for (ns, syscall_ns) in [(None, None), (None, Some(300.0)), (Some(0.0), Some(0.0))] {
        let seen = on_tsc(Path::Unknown, ns, syscall_ns);
        assert_eq!(seen.report.verdict, Verdict::Unknown, "{ns:?} {syscall_ns:?}");
        let headline = &seen.report.headline;
        assert!(headline.contains("whether its reads stay in user space is unknown"), "{headline}");
    }
}

#[test]
fn a_read_far_dearer_than_a_system_call_is_not_fast() {
    let seen = on_tsc(Path::Unknown, Some(200_000.0), Some(900.0));
    assert_eq!(seen.report.verdict, Verdict::Unknown);
    assert!(seen.report.headline.contains("about 200.0 us a read"));
    assert!(!seen.report.headline.contains("Nothing to fix"));
}

#[test]
fn a_slow_clocksource_stays_slow_when_nothing_could_be_measured() {
    let read = Read {
        clock: "CLOCK_MONOTONIC".to_owned(),
        path: Path::Unknown,
        ns: None,
        syscall_ns: None,
    };
    let seen = Story::new("Linux version 6.1.0")
        .bare_metal()
        .sysfs("acpi_pm", &["acpi_pm"])
        .diagnose_with(vec![read]);
    assert_eq!(seen.report.verdict, Verdict::Slow);
}
