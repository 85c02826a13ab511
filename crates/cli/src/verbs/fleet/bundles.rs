//! Bundles to documents, by as many threads as there are processors, in order.

use crate::gather::{self, Bundled};
use anyhow::Result;
use clocksmith_diagnose::{Report, assess};
use clocksmith_fleet::parse::INPUT;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

/// Bytes of bundles' contents that all threads together read at the same time, unless one is larger.
const AT_ONCE: u64 = 32 << 20;

/// A bundle's document, or why it has none.
#[derive(Serialize)]
pub(super) struct Line {
    schema: &'static str,
    /// The bundle.
    pub(super) input: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) document: Option<Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// Hands on one line for each bundle, in their order, until `take` fails.
pub(super) fn each(
    bundles: &[PathBuf],
    mut take: impl FnMut(Line) -> io::Result<()>,
) -> io::Result<()> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let threads = threads.clamp(1, 64).min(bundles.len().max(1));
    let turn = &Mutex::new(());
    std::thread::scope(|scope| {
        let lines: Vec<Option<Receiver<Line>>> = (0..threads)
            .map(|first| {
                // Few: a document of a bundle with a hostile log may be large.
                let (send, receive) = sync_channel(2);
                let work = move || {
                    for bundle in bundles.iter().skip(first).step_by(threads) {
                        if send.send(line(bundle, threads, turn)).is_err() {
                            return;
                        }
                    }
                };
                // If a limit allows no further thread, this one does the work.
                std::thread::Builder::new().spawn_scoped(scope, work).ok().map(|_| receive)
            })
            .collect();
        for (bundle, lines) in bundles.iter().zip(lines.iter().cycle()) {
            match lines.as_ref().map(Receiver::recv) {
                Some(Ok(line)) => take(line)?,
                Some(Err(_)) => break,
                None => take(line(bundle, threads, turn))?,
            }
        }
        Ok(())
    })
}

fn line(bundle: &Path, threads: usize, turn: &Mutex<()>) -> Line {
    let (document, error) = match report(bundle, threads, turn) {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    Line { schema: INPUT, input: bundle.display().to_string(), document, error }
}

/// As `why --bundle`.
fn report(bundle: &Path, threads: usize, turn: &Mutex<()>) -> Result<Report> {
    let Bundled { facts, manifest, measured } =
        gather::bundle_in_turn(bundle, AT_ONCE / threads as u64, turn)?;
    Ok(assess(facts, measured).report.of_bundle(manifest))
}
