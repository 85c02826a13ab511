//! The program's verbs.
//!
//! - [`run`]: boot cases, record, compare
//! - [`one`]: one boot of `run`, from kernel to verdict
//! - [`guest`]: `shell` and `exec`, guests for developers
//! - [`disk`]: `disk build`, `shell`, `exec` and `run`, installed systems for developers
//! - [`scenario`]: events for clocks in running guests
//!
//! `list`, `fetch`, `lines` and `report` are short enough to be in this file.

pub mod disk;
pub mod guest;
pub mod one;
pub mod run;
pub mod scenario;

use crate::cache::Cache;
use crate::case::file::load_directory;
use crate::case::select::Subset;
use crate::kernel::catalogue::Catalogue;
use crate::kernel::store::Store;
use crate::lines::{self, Ignored};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Prints the boots of a subset, as a table or one JSON document a line.
pub fn list(cases: &Path, subset: &Subset, json: bool) -> Result<()> {
    let catalogue = Catalogue::load(cases)?;
    let boots = load_directory(cases, &catalogue)?;
    let mut count = 0;
    for boot in boots.iter().filter(|boot| subset.contains(boot)) {
        count += 1;
        if json {
            println!("{}", serde_json::to_string(boot)?);
            continue;
        }
        let expect = boot.expect.as_ref().map(ToString::to_string).unwrap_or_default();
        let ci = if boot.ci { "ci" } else { "" };
        println!("{:40} {ci:2} {expect:34} {}", boot.id, boot.cmdline);
    }
    eprintln!("{count} boots");
    Ok(())
}

/// Fetches the kernels that a subset needs.
pub fn fetch(cases: &Path, cache: &Cache, subset: &Subset, refresh: bool) -> Result<()> {
    let catalogue = Catalogue::load(cases)?;
    let boots = load_directory(cases, &catalogue)?;
    let wanted: BTreeSet<&str> =
        boots.iter().filter(|b| subset.contains(b)).map(|b| b.kernel.as_str()).collect();
    let store = Store::new(cache, refresh);
    for name in wanted {
        let kernel = catalogue.get(name).context("a case names a kernel the catalogue lacks")?;
        let ready = store.get(kernel)?;
        println!("{name}: {} {}", ready.package.name, ready.package.version);
    }
    Ok(())
}

/// Prints the kernel messages about clocks that no parser claims. Whether all is well is returned.
pub fn lines(paths: &[PathBuf]) -> Result<bool> {
    let ignored = Ignored::standard()?;
    let found = lines::look(paths, &ignored)?;
    for (kind, (count, path, line)) in &found.unclaimed {
        println!("{count:6} {kind}\n       {}: {line}", path.display());
    }
    println!("{}", found.summary());
    for complaint in ignored.complaints(&found) {
        println!("ignored-lines.toml: {complaint}");
    }
    Ok(found.unclaimed.is_empty())
}

/// Prints the agreement page of a directory of records, or writes it to a file.
pub fn report(cases: &Path, directory: &Path, output: Option<&Path>) -> Result<()> {
    let catalogue = Catalogue::load(cases)?;
    let boots = load_directory(cases, &catalogue)?;
    let rows = crate::report::load(directory)?;
    let page = crate::report::page::markdown(&rows, &boots, &catalogue);
    match output {
        Some(path) => crate::record::write_file(path, &page)?,
        None => print!("{page}"),
    }
    Ok(())
}
