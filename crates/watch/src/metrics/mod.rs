//! Metrics in Prometheus' text format, version 0.0.4: names in base units, `_info` with value 1,
//! `_total` for a counter that only grows. Clocksources have the labels `device` and `clocksource`, as
//! node_exporter's `node_time_clocksource_available_info` and `node_time_clocksource_current_info` have
//! (`collector/time_linux.go`, 1.5 and later), so that the two can be joined.
//!
//! There is one function for each group of families. Nothing is measured or judged here.

mod text;
mod timex;
mod watch;

pub use text::{Kind, Text};
pub use timex::{timex, wall_clock};
pub use watch::{Process, process, requests, watch};

use crate::judge::Judgement;
use clocksmith_diagnose::{Report, Verdict};
use clocksmith_facts::clockdev::ClocksourceDevice;

/// Version of the program.
pub fn build(text: &mut Text, version: &str) {
    text.family("clocksmith_build_info", Kind::Gauge, "Always 1; the version of clocksmith.");
    text.sample(&[("version", version)], 1.0);
}

/// Appends the judgement, as states of which one is 1.
pub fn judgement(text: &mut Text, judgement: &Judgement) {
    text.family(
        "clocksmith_state",
        Kind::Gauge,
        "The state of the clocks: 0 ok, 1 warning, 2 critical, 3 unknown.",
    );
    text.sample(&[], f64::from(judgement.state.code()));
    text.family(
        "clocksmith_point_state",
        Kind::Gauge,
        "The state of each point that was checked: 0 ok, 1 warning, 2 critical, 3 unknown.",
    );
    for point in judgement.points.iter().filter(|point| point.looked_at) {
        text.sample(&[("point", point.id)], f64::from(point.state.code()));
    }
}

/// Appends the available clocksources and the one in use.
pub fn clocksources(text: &mut Text, devices: &[ClocksourceDevice]) {
    text.family(
        "clocksmith_clocksource_available_info",
        Kind::Gauge,
        "Always 1; a clocksource that the kernel offers.",
    );
    for device in devices {
        let number = device.index.to_string();
        for name in &device.available {
            text.sample(&[("device", &number), ("clocksource", name)], 1.0);
        }
    }
    text.family(
        "clocksmith_clocksource_current_info",
        Kind::Gauge,
        "Always 1; the clocksource in use.",
    );
    for device in devices.iter().filter(|device| !device.current.is_empty()) {
        let number = device.index.to_string();
        text.sample(&[("device", &number), ("clocksource", &device.current)], 1.0);
    }
}

/// Verdict, causes and costs.
pub fn diagnosis(text: &mut Text, report: &Report) {
    text.family("clocksmith_verdict", Kind::Gauge, "1 for the current verdict, 0 for the others.");
    for verdict in [Verdict::Ok, Verdict::Slow, Verdict::Untrustworthy, Verdict::Unknown] {
        let holds = f64::from(u8::from(verdict == report.verdict));
        text.sample(&[("verdict", verdict.name())], holds);
    }
    text.family(
        "clocksmith_cause_info",
        Kind::Gauge,
        "Always 1; a cause that the diagnosis found. To read about it: clocksmith explain CAUSE.",
    );
    for cause in &report.causes {
        text.sample(&[("cause", cause.id.name()), ("severity", cause.severity.name())], 1.0);
    }
    text.family(
        "clocksmith_clock_read_seconds",
        Kind::Gauge,
        "The cost of a read of a clock through the C library, median of the last measurement.",
    );
    for read in &report.reads {
        if let Some(ns) = read.ns {
            text.sample(&[("clock", &read.clock)], ns / 1e9);
        }
    }
    text.family(
        "clocksmith_clock_read_syscall_seconds",
        Kind::Gauge,
        "The cost of the same read as a plain system call.",
    );
    for read in &report.reads {
        if let Some(ns) = read.syscall_ns {
            text.sample(&[("clock", &read.clock)], ns / 1e9);
        }
    }
    text.family(
        "clocksmith_clock_read_path_info",
        Kind::Gauge,
        "Always 1; the path of a read of a clock: vdso, syscall or unknown.",
    );
    for read in &report.reads {
        text.sample(&[("clock", &read.clock), ("path", read.path.name())], 1.0);
    }
    if let Some(ns) = report.counter_ns {
        text.family(
            "clocksmith_raw_read_seconds",
            Kind::Gauge,
            "The cost of a bare read of the processor's counter.",
        );
        text.sample(&[], ns / 1e9);
    }
}

/// Appends whether the kernel log could be read: without it demotions are only seen by their effect.
pub fn kernel_log(text: &mut Text, readable: bool) {
    text.family(
        "clocksmith_kernel_log_readable",
        Kind::Gauge,
        "1 if the kernel log can be read, 0 if not.",
    );
    text.sample(&[], f64::from(u8::from(readable)));
}
