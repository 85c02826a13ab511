//! Bundles to documents, by as many threads as there are processors, in order.

use crate::gather;
use anyhow::Result;
use clocksmith_diagnose::{Measured, Report, assess};
use clocksmith_fleet::parse::INPUT;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

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
    std::thread::scope(|scope| {
        let lines: Vec<Receiver<Line>> = (0..threads)
            .map(|first| {
                // Few: a document of a bundle with a hostile log may be large.
                let (send, receive) = sync_channel(2);
                scope.spawn(move || {
                    for bundle in bundles.iter().skip(first).step_by(threads) {
                        if send.send(line(bundle)).is_err() {
                            return;
                        }
                    }
                });
                receive
            })
            .collect();
        for thread in (0..threads).cycle() {
            let Some(Ok(line)) = lines.get(thread).map(Receiver::recv) else { break };
            take(line)?;
        }
        Ok(())
    })
}

fn line(bundle: &Path) -> Line {
    let (document, error) = match report(bundle) {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    Line { schema: INPUT, input: bundle.display().to_string(), document, error }
}

/// As `why --bundle`.
fn report(bundle: &Path) -> Result<Report> {
    let (facts, manifest) = gather::bundle(bundle)?;
    let (host, taken_at) = manifest.map(|m| (m.hostname, m.time)).unzip();
    Ok(assess(facts, Measured::default()).report.named(host, taken_at))
}
