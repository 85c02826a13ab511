//! The engine while it runs: it gets the documents of bundles, and a signal ends it before this program, whose temporary
//! files are removed in between.

use super::bundles;
use anyhow::anyhow;
use clocksmith_measure::interrupt;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often its end, and a request to end, are looked for.
const BEAT: Duration = Duration::from_millis(10);

/// How the engine ended.
pub(super) enum Ended {
    /// By itself, or killed by others.
    Itself(ExitStatus),
    /// By this program, which got this signal.
    By(i32),
}

/// Writes the documents of bundles to the engine, and waits for its end.
///
/// # Errors
/// Returns an error if the documents cannot be written.
pub(super) fn feed(
    child: &mut Child,
    pipe: Option<ChildStdin>,
    bundles: &[PathBuf],
) -> io::Result<Ended> {
    // The thread that started the engine waits for its end: the engine ends with that thread.
    let pipe = &Mutex::new(pipe);
    let work = || {
        let pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
        pipe.map_or(Ok(()), |pipe| write(pipe, bundles))
    };
    std::thread::scope(|scope| {
        let writer =
            std::thread::Builder::new().name("documents".to_owned()).spawn_scoped(scope, work);
        let Ok(writer) = writer else {
            // A limit allows no further thread.
            work()?;
            return child.wait().map(Ended::Itself);
        };
        let ended = loop {
            if let Some(status) = child.try_wait()? {
                break Ended::Itself(status);
            }
            if let Some(signal) = interrupt::signal() {
                // Its pipe is closed then, so that the writer also ends.
                let _ = child.kill();
                let _ = child.wait();
                break Ended::By(signal);
            }
            std::thread::sleep(BEAT);
        };
        match (writer.join(), ended) {
            (Ok(Err(error)), Ended::Itself(_)) => Err(error),
            (_, ended) => Ok(ended),
        }
    })
}

fn write(pipe: ChildStdin, bundles: &[PathBuf]) -> io::Result<()> {
    let mut pipe = BufWriter::with_capacity(1 << 16, pipe);
    let sent = bundles::each(bundles, |line| {
        if interrupt::wished() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        serde_json::to_writer(&mut pipe, &line).map_err(io::Error::from)?;
        pipe.write_all(b"\n")
    });
    match sent.and_then(|()| pipe.flush()) {
        // The engine has ended early, and has printed the reason.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        sent => sent,
    }
}

/// Ends this program by a signal that it got: the second one of a kind does.
pub(super) fn end_by(signal: i32) -> anyhow::Error {
    if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    anyhow!("ended by signal {signal}")
}
