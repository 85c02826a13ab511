//! Tables from several places as one: the report of each host that is used, and all reports, in a directory of links
//! that the engine reads. So names of directories need no quoting, and files of an interrupted run stay out.

use crate::copy::{self, Sink};
use crate::output;
use crate::tables::{self, Set, TABLES};
use anyhow::{Context, Result};
use clocksmith_facts::visible;
use clocksmith_fleet::newest::{Newest, Served};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The views of the engine.
pub(crate) struct Views {
    /// Removed with this value.
    temporary: TempDir,
    links: usize,
}

impl Views {
    pub(crate) fn new() -> Result<Self> {
        let temporary = TempDir::with_prefix("clocksmith-fleet-").with_context(|| {
            format!(
                "cannot write into {}; TMPDIR names another place",
                std::env::temp_dir().display()
            )
        })?;
        Ok(Self { temporary, links: 0 })
    }

    /// The directory of the reports that are used, or of all reports.
    pub(crate) fn dir(&self, all: bool, table: usize) -> PathBuf {
        let table = TABLES.get(table).copied().unwrap_or_default();
        self.temporary.path().join(if all { "all" } else { "newest" }).join(table)
    }

    /// Adds a set to the reports that are used, or to all reports.
    pub(crate) fn add(&mut self, all: bool, set: &Set) -> Result<()> {
        self.links += 1;
        for table in 0..TABLES.len() {
            let mut dir = self.dir(all, table);
            if all {
                dir.push(format!("part={}", set.day.as_deref().unwrap_or("-")));
            }
            std::fs::create_dir_all(&dir).context("cannot make a directory in TMPDIR")?;
            if let Some(file) = set.file(table) {
                let link = dir.join(format!("{:06}.parquet", self.links));
                std::os::unix::fs::symlink(std::path::absolute(file)?, link)
                    .context("cannot make a link in TMPDIR")?;
            }
        }
        Ok(())
    }

    /// Returns the tables of the newest reports, of several sets; and the counts of the others.
    pub(crate) fn newest(&self, sets: &[Set]) -> Result<(Set, Served)> {
        let mut newest = Newest::default();
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for set in sets {
            let mut range = ranges.last().map_or(0..0, |last| last.end..last.end);
            if let Some(hosts) = set.file(0) {
                copy::each_key(hosts, |keys, at| {
                    let taken = keys.moment(at, set.day.as_deref());
                    let row = newest.add(keys.host(at), keys.machine(at), taken);
                    range.end = row.context("more reports than can be distinguished")? + 1;
                    Ok(())
                })?;
            }
            ranges.push(range);
        }
        let served = newest.finish();
        if let ([set], 0) = (sets, served.duplicates) {
            return Ok((set.clone(), served));
        }
        let dir = self.temporary.path().join("served");
        std::fs::create_dir(&dir).context("cannot make a directory in TMPDIR")?;
        let into = Set::flat(&dir);
        for table in 0..TABLES.len() {
            let files: Vec<PathBuf> =
                sets.iter().filter_map(|set| set.file(table)).map(Path::to_owned).collect();
            let schema = copy::columns(&tables::fields(table), &files)?;
            let path = into.file(table).context("no table")?;
            let mut sink = Sink::new(path.to_owned(), schema)?;
            for (set, range) in sets.iter().zip(&ranges) {
                let Some(file) = set.file(table) else { continue };
                let day = set.day.as_deref();
                let mut row = range.start;
                sink.add(file, |keys, at| {
                    if table == 0 {
                        row += 1;
                        return served.serves(row - 1);
                    }
                    if !keys.are_whole() {
                        // Tables of a version without these columns have one report of each host.
                        return served.any(keys.host(at), range);
                    }
                    let taken = keys.moment(at, day);
                    let row = served.row(keys.host(at), keys.machine(at), taken);
                    row.is_some_and(|row| range.contains(&row))
                })?;
            }
            sink.finish()?;
        }
        Ok((into, served))
    }
}

/// The names and places of rows over several sets.
pub(crate) fn places(sets: &[Set], rows: &[u32]) -> Result<Vec<(u32, String)>> {
    let (mut found, mut before) = (Vec::new(), 0u32);
    for set in sets {
        let Some(hosts) = set.file(0) else { continue };
        let count = u32::try_from(copy::open(hosts)?.metadata().file_metadata().num_rows())?;
        let here: Vec<u32> = rows
            .iter()
            .filter(|row| (before..before + count).contains(row))
            .map(|row| row - before)
            .collect();
        found.extend(
            copy::places(hosts, &here)?.into_iter().map(|(row, text)| (row + before, text)),
        );
        before += count;
    }
    Ok(found)
}

/// Prints which tables of a history are missing.
pub(crate) fn say_missing(sets: &[Set]) {
    for set in sets {
        let missing: Vec<&str> = (1..TABLES.len())
            .filter(|table| set.file(*table).is_none())
            .map(|table| TABLES[table])
            .collect();
        if let (Some(hosts), false) = (set.file(0), missing.is_empty()) {
            output::message(&format!(
                "clocksmith-fleet: {} has no file of {} beside it; they count as empty\n",
                visible::line(&hosts.display().to_string()),
                missing.join(" and ")
            ));
        }
    }
}
