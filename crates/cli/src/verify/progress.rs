//! A line on standard error, on a terminal, for what takes longer than two seconds.

use crate::args::Common;
use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Runs `work`, which should take about `expected`.
pub(crate) fn during<R>(common: &Common, expected: Duration, work: impl FnOnce() -> R) -> R {
    let long = expected > Duration::from_secs(2);
    if !long || common.quiet || !stderr().is_terminal() {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        let show = move || {
            let begun = Instant::now();
            while waiting.recv_timeout(Duration::from_millis(500))
                == Err(mpsc::RecvTimeoutError::Timeout)
            {
                let line = format!(
                    "\rverifying: {:.0} of {:.0} s ",
                    begun.elapsed().as_secs_f64(),
                    expected.as_secs_f64()
                );
                // Progress that cannot be shown is no error.
                let _ = stderr().write_all(line.as_bytes());
            }
            let _ = stderr().write_all(b"\r                                \r");
        };
        // Without a thread there is no progress, and everything else goes on.
        let _ = std::thread::Builder::new().spawn_scoped(scope, show);
        let result = work();
        drop(done);
        result
    })
}
