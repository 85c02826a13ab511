//! `testbed run`: boots cases, records the kernels' choices, compares them with the predictions.

use super::one::{self, GuestProgram, Prepared};
use crate::cache::Cache;
use crate::case::Boot;
use crate::case::file::load_directory;
use crate::case::select::Subset;
use crate::initramfs::probe;
use crate::inside::Inside;
use crate::kernel::catalogue::Catalogue;
use crate::kernel::store::{Ready, Store};
use crate::oracle::{Oracle, Verdict};
use crate::qemu::arguments::Accel;
use crate::record::log;
use crate::report::{self, Row};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The boots to run, and how.
pub struct Run {
    /// The directory of the case files.
    pub cases: PathBuf,
    /// Which boots.
    pub subset: Subset,
    /// The program to compare with; without one, boots are recorded and not compared.
    pub clocksmith: Option<PathBuf>,
    /// The static program to run in x86-64 guests.
    pub guest_clocksmith: Option<PathBuf>,
    /// Where records go.
    pub out: PathBuf,
    /// Guests that run at the same time.
    pub jobs: usize,
    /// Emulation or virtualization.
    pub accel: Accel,
    /// Look for newer kernel packages first.
    pub refresh: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Every boot worked, and nothing disagreed.
    Good,
    /// Something disagreed with its prediction or with its case file.
    Disagreements,
    /// Some guests did not come up.
    FailedBoots,
}

/// Runs it.
pub fn run(run: &Run, cache: &Cache) -> Result<Outcome> {
    let catalogue = Catalogue::load(&run.cases)?;
    let mut boots = load_directory(&run.cases, &catalogue)?;
    boots.retain(|boot| run.subset.contains(boot));
    if boots.is_empty() {
        bail!("no boot is in the subset {:?}; `testbed list` shows all", run.subset);
    }
    let oracle = run.clocksmith.as_deref().map(Oracle::at).transpose()?;
    let guest = run.guest_clocksmith.as_deref().map(GuestProgram::at).transpose()?;
    std::fs::create_dir_all(&run.out)
        .with_context(|| format!("making the output directory {}", run.out.display()))?;
    let prepared = prepare(&boots, &catalogue, cache, run.refresh);
    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<Row>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..run.jobs.clamp(1, boots.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(boot) = boots.get(index) else { break };
                    let row = match prepared.get(&boot.kernel) {
                        Some(Ok(prepared)) => one::record(
                            boot,
                            prepared,
                            run.accel,
                            oracle.as_ref(),
                            guest.as_ref(),
                            &run.out,
                        ),
                        Some(Err(why)) => Err(anyhow!("{why}")),
                        None => Err(anyhow!("the kernel {} was not prepared", boot.kernel)),
                    };
                    print_boot(boot, &row, &run.out);
                    if let Ok(mut results) = results.lock() {
                        results.push((index, row));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(index, _)| *index);
    finish(results, begin, &run.out, &boots, &catalogue)
}

/// The kernels of all boots. A kernel that cannot be fetched fails its own boots and no others.
fn prepare(
    boots: &[Boot],
    catalogue: &Catalogue,
    cache: &Cache,
    refresh: bool,
) -> BTreeMap<String, Result<Prepared, String>> {
    let store = Store::new(cache, refresh);
    let names: BTreeSet<&str> = boots.iter().map(|boot| boot.kernel.as_str()).collect();
    let get = |name: &str| -> Result<Prepared> {
        let kernel = catalogue
            .get(name)
            .with_context(|| format!("the catalogue lacks the kernel {name}"))?;
        prepare_one(store.get(kernel)?, kernel.arch, cache)
    };
    names
        .into_iter()
        .map(|name| (name.to_string(), get(name).map_err(|error| format!("{error:#}"))))
        .collect()
}

/// Loads the files that the guests of a kernel need.
pub fn prepare_one(ready: Ready, arch: crate::arch::Arch, cache: &Cache) -> Result<Prepared> {
    let busybox = std::fs::read(&ready.busybox)
        .with_context(|| format!("reading {}", ready.busybox.display()))?;
    Ok(Prepared { kernel: ready, busybox, probe: probe::for_arch(cache, arch)? })
}

fn print_boot(boot: &Boot, row: &Result<Row>, out: &Path) {
    match row {
        Err(error) => println!("{:40} FAILED: {error:#}", boot.id),
        Ok(row) => {
            let choice = row.truth.choice();
            let mut text = format!("{:40} {choice}", boot.id);
            match &row.judgement.verdict {
                Verdict::Agrees => text.push_str("  agrees"),
                Verdict::Skipped => {}
                Verdict::Failed { why } => text.push_str(&format!("  NO PREDICTION: {why}")),
                Verdict::Disagrees { predicted } => {
                    text.push_str(&format!("\n    PREDICTED {predicted}"));
                    text.push_str(&kernels_own_words(&out.join(&boot.id)));
                }
            }
            if let Some(expected) = &row.judgement.expected {
                text.push_str(&format!("\n    THE CASE FILE EXPECTS {expected}"));
                text.push_str(&kernels_own_words(&out.join(&boot.id)));
            }
            if let Some(inside) = &row.judgement.inside {
                text.push_str(&in_words(inside));
                if !inside.disagreements.is_empty() {
                    text.push_str(&kernels_own_words(&out.join(&boot.id)));
                }
            }
            println!("{text}");
        }
    }
}

/// The program's answer inside the guest, in one line, and a line for each disagreement.
fn in_words(inside: &Inside) -> String {
    let mut text = String::new();
    if let Some(answer) = &inside.answer {
        let causes: Vec<&str> = answer.causes.iter().map(String::as_str).collect();
        text.push_str(&format!("\n    inside: {} {}", answer.verdict, causes.join(" ")));
    }
    if let Some((why, collect)) = inside.seconds {
        let size = inside.bundle.div_ceil(1024);
        text.push_str(&format!(" (why {why} s, collect {collect} s, {size} KiB)"));
    }
    for disagreement in &inside.disagreements {
        text.push_str(&format!("\n    DISAGREES {disagreement}"));
    }
    text
}

fn kernels_own_words(record: &Path) -> String {
    let log = std::fs::read_to_string(record.join("full-dmesg")).unwrap_or_default();
    let lines = log::explanation(&log);
    lines.iter().map(|line| format!("\n      {line}")).collect()
}

fn finish(
    results: Vec<(usize, Result<Row>)>,
    begin: Instant,
    out: &Path,
    boots: &[Boot],
    catalogue: &Catalogue,
) -> Result<Outcome> {
    let total = results.len();
    let rows: Vec<Row> = results.into_iter().filter_map(|(_, row)| row.ok()).collect();
    let failed = total - rows.len();
    std::fs::write(out.join("report.md"), report::page::markdown(&rows, boots, catalogue))
        .with_context(|| format!("writing the report in {}", out.display()))?;
    let seconds = begin.elapsed().as_secs();
    println!("{} in {seconds} s; {failed} boots failed", report::summary(&rows));
    let skipped = |row: &Row| row.judgement.verdict == Verdict::Skipped;
    if !rows.is_empty() && rows.iter().all(skipped) {
        println!("the comparison was skipped: no program to ask (--clocksmith PATH)");
    }
    Ok(match (failed, rows.iter().any(|row| row.judgement.is_bad())) {
        (0, false) => Outcome::Good,
        (0, true) => Outcome::Disagreements,
        _ => Outcome::FailedBoots,
    })
}
