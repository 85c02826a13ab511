//! The kernel's clock discipline and the wall clock.
//!
//! The families of the discipline have the names and meanings of node_exporter's collector (`collector/timex.go`): on the
//! program's own address `node_timex_*`, so that rules and dashboards for them work. In a textfile, which node_exporter
//! adds to its own, they begin with `clocksmith_timex`: it refuses all metrics if a name occurs twice.

use super::{Kind, Text};
use crate::state::Watch;
use clocksmith_diagnose::Report;
use clocksmith_diagnose::wall::WallState;
use clocksmith_facts::ntp::{NtpState, Timex};

/// `TIME_ERROR` of `<sys/timex.h>`.
const TIME_ERROR: i64 = 5;

/// The kernel's discipline at the last reading; `prefix` is `node_timex` or `clocksmith_timex`.
pub fn timex(text: &mut Text, prefix: &str, watch: &Watch) {
    if let Some(timex) = watch.wall().and_then(|reading| reading.timex) {
        discipline(text, prefix, timex);
    }
}

#[allow(clippy::cast_precision_loss)]
fn discipline(text: &mut Text, prefix: &str, timex: Timex) {
    let state = NtpState::from(timex);
    let us = |value: i64| value as f64 / 1e6;
    let synchronised = match timex.state {
        Some(state) => state != TIME_ERROR,
        None => state.synchronized,
    };
    let mut gauge = |name: &str, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            text.family(&format!("{prefix}_{name}"), Kind::Gauge, help);
            text.sample(&[], value);
        }
    };
    gauge(
        "offset_seconds",
        "Time offset in between local system and reference clock.",
        state.offset_ns.map(|ns| ns as f64 / 1e9),
    );
    gauge(
        "frequency_adjustment_ratio",
        "Local clock frequency adjustment.",
        state.frequency_ppm.map(|ppm| 1.0 + ppm / 1e6),
    );
    gauge("maxerror_seconds", "Maximum error in seconds.", Some(us(timex.maxerror)));
    gauge("estimated_error_seconds", "Estimated error in seconds.", Some(us(timex.esterror)));
    gauge("status", "Value of the status array bits.", Some(timex.status as f64));
    gauge(
        "loop_time_constant",
        "Phase-locked loop time constant.",
        timex.constant.map(|constant| constant as f64),
    );
    gauge("tick_seconds", "Seconds between clock ticks.", Some(us(timex.tick)));
    gauge(
        "tai_offset_seconds",
        "International Atomic Time (TAI) offset.",
        timex.tai.map(|tai| tai as f64),
    );
    gauge(
        "sync_status",
        "Is clock synchronized to a reliable server (1 = yes, 0 = no).",
        Some(f64::from(u8::from(synchronised))),
    );
}

/// Appends the diagnosis of the wall clock.
pub fn wall_clock(text: &mut Text, report: &Report) {
    let Some(wall) = &report.wall_clock else { return };
    text.family(
        "clocksmith_wall_clock_state",
        Kind::Gauge,
        "1 for the current state of the wall clock, 0 for the others.",
    );
    let states =
        [WallState::Synchronised, WallState::Unsynchronised, WallState::Stale, WallState::Unknown];
    for state in states {
        text.sample(&[("state", state.name())], f64::from(u8::from(state == wall.state)));
    }
    if let (Some(behind), Some(of)) = (wall.behind_s, &wall.behind_of) {
        text.family(
            "clocksmith_wall_clock_behind_seconds",
            Kind::Gauge,
            "The time by which the wall clock is behind the host's clock or the real-time clock.",
        );
        text.sample(&[("of", of)], behind);
    }
}
