//! The progress of a long measurement: on standard error, and only if that is a terminal.

use crate::args::Common;
use crate::ui::err;
use clocksmith_measure::bench::Stage;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Nothing is shown before.
const QUIET: Duration = Duration::from_secs(2);
/// The time between two lines.
const PAUSE: Duration = Duration::from_millis(200);

/// The line of progress.
pub(super) struct Progress {
    begun: Instant,
    shown: Option<Mutex<Option<Instant>>>,
}

impl Progress {
    pub(super) fn new(common: &Common) -> Self {
        let wanted = err::is_terminal() && !common.quiet;
        Self { begun: Instant::now(), shown: wanted.then(|| Mutex::new(None)) }
    }

    /// Shows the present stage and its progress.
    pub(super) fn show(&self, clocksource: Option<&str>, stage: Stage, done: f64) {
        let Some(shown) = &self.shown else { return };
        let Ok(mut last) = shown.lock() else { return };
        if self.begun.elapsed() < QUIET || last.is_some_and(|at| at.elapsed() < PAUSE) {
            return;
        }
        *last = Some(Instant::now());
        err::progress(&line(clocksource, stage, done));
    }

    /// Clears the line.
    pub(super) fn clear(&self) {
        let Some(shown) = &self.shown else { return };
        if shown.lock().is_ok_and(|last| last.is_some()) {
            err::progress_done();
        }
    }
}

fn line(clocksource: Option<&str>, stage: Stage, done: f64) -> String {
    let what = match stage {
        Stage::Costs => "costs of all reads, in turns",
        Stage::Singles => "single calls",
        Stage::Shares => "user and system time",
        Stage::Threads => "several threads",
        Stage::Timers => "how late waits end",
        Stage::Starts => "starts, one after the other",
    };
    let source = clocksource.map_or_else(String::new, |name| format!("{name}: "));
    // A percentage, so in range.
    let percent = (done.clamp(0.0, 1.0) * 100.0).round() as u32;
    format!("  {source}{what} {percent} % (Ctrl-C shows the results so far)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits() {
        let text = line(Some("hyperv_clocksource_tsc_page"), Stage::Costs, 1.0);
        assert!(text.contains("100 %"), "{text}");
        assert!(line(None, Stage::Threads, f64::NAN).contains("0 %"));
    }
}
