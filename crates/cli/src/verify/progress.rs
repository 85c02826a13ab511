//! A line on standard error, on a terminal, for work that takes longer than two seconds.

use crate::args::Common;
use crate::ui::err;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Runs `work`, which should take about `expected`.
pub(crate) fn during<R>(common: &Common, expected: Duration, work: impl FnOnce() -> R) -> R {
    let long = expected > Duration::from_secs(2);
    if !long || common.quiet || !err::is_terminal() {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        let show = move || {
            let begun = Instant::now();
            while waiting.recv_timeout(Duration::from_millis(500))
                == Err(mpsc::RecvTimeoutError::Timeout)
            {
                let (now, end) = (begun.elapsed().as_secs_f64(), expected.as_secs_f64());
                err::progress(&format!("verifying: {now:.0} of {end:.0} s"));
            }
            err::progress_done();
        };
        // Without a thread there is no progress line, and everything else continues.
        let _ = std::thread::Builder::new().spawn_scoped(scope, show);
        let result = work();
        drop(done);
        result
    })
}
