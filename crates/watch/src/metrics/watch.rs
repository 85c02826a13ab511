//! The metrics that only `watch` has: events since it began, and its own process.

use super::{Kind, Text};
use crate::state::Watch;
use std::collections::BTreeMap;

/// Appends all metrics of the watched machine.
pub fn watch(text: &mut Text, version: &str, watch: &Watch) {
    super::build(text, version);
    super::clocksources(text, watch.devices());
    if let Some(latest) = watch.latest() {
        super::judgement(text, &latest.judgement);
        super::diagnosis(text, &latest.report);
        super::wall_clock(text, &latest.report);
        super::kernel_log(text, latest.log);
        text.family(
            "clocksmith_last_look_timestamp_seconds",
            Kind::Gauge,
            "Time of the last examination of the whole machine.",
        );
        text.sample(&[], latest.time);
    }
    if let Some(ns) = watch.usual_ns() {
        text.family(
            "clocksmith_clock_read_usual_seconds",
            Kind::Gauge,
            "The usual cost of a read of CLOCK_MONOTONIC on this clocksource.",
        );
        text.sample(&[], ns / 1e9);
    }
    events(text, watch);
    if let Some(test) = watch.test() {
        text.family(
            "clocksmith_test_fault",
            Kind::Gauge,
            "1 if the last short test of two processors' counters and clocks found a fault, \
             otherwise 0.",
        );
        text.sample(&[], f64::from(u8::from(test.fault)));
        text.family(
            "clocksmith_test_timestamp_seconds",
            Kind::Gauge,
            "Time of the last short test.",
        );
        text.sample(&[], test.time);
    }
    text.family(
        "clocksmith_watch_start_time_seconds",
        Kind::Gauge,
        "Time at which the watch began.",
    );
    text.sample(&[], watch.begun);
    text.family("clocksmith_looks_total", Kind::Counter, "Examinations of the whole machine.");
    #[allow(clippy::cast_precision_loss)]
    text.sample(&[], watch.looks() as f64);
}

fn events(text: &mut Text, watch: &Watch) {
    text.family("clocksmith_events_total", Kind::Counter, "Events since the watch began, by kind.");
    for (kind, count, _) in watch.counts() {
        #[allow(clippy::cast_precision_loss)]
        text.sample(&[("kind", kind.name())], count as f64);
    }
    text.family(
        "clocksmith_events_suppressed_total",
        Kind::Counter,
        "Events that were left out because there were too many of their kind, by kind.",
    );
    for (kind, count) in watch.suppressed() {
        #[allow(clippy::cast_precision_loss)]
        text.sample(&[("kind", kind.name())], count as f64);
    }
    text.family(
        "clocksmith_last_event_timestamp_seconds",
        Kind::Gauge,
        "Time of the last event of this kind since the watch began.",
    );
    for (kind, _, last) in watch.counts() {
        if let Some(time) = last {
            text.sample(&[("kind", kind.name())], time);
        }
    }
    if let Some(change) = watch.change() {
        text.family(
            "clocksmith_last_change_info",
            Kind::Gauge,
            "Always 1; the last change of the clocksource since the watch began, with its cause.",
        );
        let cause = change.reason.as_ref().and_then(|reason| reason.cause.as_deref());
        text.sample(
            &[
                ("from", change.from.as_deref().unwrap_or("")),
                ("to", change.to.as_deref().unwrap_or("")),
                ("cause", cause.unwrap_or("unknown")),
            ],
            1.0,
        );
    }
}

/// The resources of the process, with the names that every exporter has. Not for node_exporter's textfile collector,
/// which uses these names for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// Seconds of CPU time.
    pub cpu_seconds: f64,
    /// Resident memory in bytes.
    pub resident_bytes: f64,
    /// Open file descriptors.
    pub open_fds: f64,
}

/// The process itself.
pub fn process(text: &mut Text, process: &Process) {
    text.family("process_cpu_seconds_total", Kind::Counter, "CPU time of this process.");
    text.sample(&[], process.cpu_seconds);
    text.family("process_resident_memory_bytes", Kind::Gauge, "Resident memory of this process.");
    text.sample(&[], process.resident_bytes);
    text.family("process_open_fds", Kind::Gauge, "Open file descriptors of this process.");
    text.sample(&[], process.open_fds);
}

/// Appends the served requests, by status code.
pub fn requests(text: &mut Text, counts: &BTreeMap<u16, u64>) {
    text.family("clocksmith_http_requests_total", Kind::Counter, "Answered requests.");
    for (code, count) in counts {
        #[allow(clippy::cast_precision_loss)]
        text.sample(&[("code", &code.to_string())], *count as f64);
    }
}
