//! The inputs: bundles, and files that the engine reads itself.

use crate::ui::{err, file};
use anyhow::{Context, Result, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_fleet::documents::{Shape, shape};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Levels of directories; `fetch` of Ansible makes four of them.
const DEPTH: usize = 16;

/// Inputs, in the order in which they were given; directories sorted.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// Bundles that `collect` wrote.
    pub(super) bundles: Vec<PathBuf>,
    /// Documents, and directories of tables and histories.
    pub(super) others: Vec<PathBuf>,
}

/// Finds the inputs. Leaves unreadable files of a directory to their reader, which counts them.
pub(super) fn find(given: &[PathBuf]) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    let mut unusable = Vec::new();
    for path in given {
        unusable.extend(inputs.look_at(path).err());
    }
    // One unusable input of many does not prevent the others.
    if inputs.bundles.is_empty() && inputs.others.is_empty() && !unusable.is_empty() {
        return Err(unusable.swap_remove(0));
    }
    for error in unusable {
        err::line(&format!("clocksmith: left out: {error:#}"));
    }
    let standard = inputs.others.iter().filter(|path| *path == Path::new("-")).count();
    if standard > 0 && (standard > 1 || !inputs.bundles.is_empty()) {
        bail!(
            "standard input can be given once, and not together with bundles; write it to a file"
        );
    }
    Ok(inputs)
}

impl Inputs {
    fn look_at(&mut self, path: &Path) -> Result<()> {
        if path == Path::new("-") {
            self.others.push(path.to_owned());
        } else if path.is_dir() {
            let before = self.bundles.len() + self.others.len();
            directory(path, DEPTH, self)?;
            if self.bundles.len() + self.others.len() == before {
                bail!("{} is a directory without files", path.display());
            }
        } else {
            let begin = begin(path, Kinds::Streams)
                .with_context(|| format!("cannot read {}", path.display()))?;
            self.add(path.to_owned(), &begin)?;
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, begin: &[u8]) -> Result<()> {
        match shape(begin) {
            Shape::Packed => self.bundles.push(path),
            // Cut off, or another kind of file under the name of a bundle: the reader of bundles reports it.
            Shape::Lines | Shape::Whole if is_bundles_name(&path) => self.bundles.push(path),
            Shape::Lines | Shape::Whole => self.others.push(path),
            Shape::Parquet => {
                let dir = path.parent().unwrap_or(Path::new(".")).display();
                bail!("{} is one table; give the directory with all three: {dir}", path.display());
            }
        }
        Ok(())
    }
}

/// Returns whether a file has the name of a bundle.
fn is_bundles_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let ends = [".tgz", ".txz", ".tar", ".tar.gz", ".tar.xz", ".tar.zst"];
    path.is_file() && ends.iter().any(|end| name.ends_with(end))
}

/// Returns the first bytes of a file. Only the engine reads a pipe, so no bytes are consumed.
fn begin(path: &Path, kinds: Kinds) -> std::io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    if kinds == Kinds::Regular || path.is_file() {
        given::open(path, Kinds::Regular)?.take(512).read_to_end(&mut begin)?;
    } else if !std::fs::metadata(path)?.file_type().is_fifo() {
        // For the reason why it is not read.
        given::open(path, kinds)?;
    }
    Ok(begin)
}

/// Directories of a history, and the prefix of the directory in which a run writes.
const TABLES: [&str; 3] = ["hosts", "causes", "remedies"];
const UNFINISHED: &str = ".clocksmith-history-";

/// Whether the engine wrote a directory with --history: hosts/day=2026-01-05.
fn is_history(dir: &Path) -> bool {
    let Ok(entries) = dir.join(TABLES[0]).read_dir() else { return false };
    let named = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("day=");
    entries.flatten().any(named)
}

/// Symbolic links to directories are not followed: they may lead back.
fn directory(dir: &Path, depth: usize, inputs: &mut Inputs) -> Result<()> {
    let hosts = begin(&dir.join("hosts.parquet"), Kinds::Regular).unwrap_or_default();
    let tables = matches!(shape(&hosts), Shape::Parquet);
    let history = is_history(dir);
    if tables || history {
        inputs.others.push(dir.to_owned());
    }
    let entries = std::fs::read_dir(dir)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .with_context(|| format!("cannot list {}", dir.display()))?;
    let mut entries: Vec<_> =
        entries.into_iter().map(|entry| (entry.path(), entry.file_type())).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in entries {
        if tables && path.extension().is_some_and(|extension| extension == "parquet") {
            continue;
        }
        let table = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
        if history && (TABLES.contains(&table) || table.starts_with(UNFINISHED)) {
            continue;
        }
        if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
            if depth == 0 {
                bail!("{} is deeper than {DEPTH} directories", path.display());
            }
            directory(&path, depth - 1, inputs)?;
        } else if file::leaves_out_link(&path) {
            continue;
        } else if path.is_file() {
            // A file whose beginning cannot be read is passed on; its reader reports the reason.
            let begin = begin(&path, Kinds::Regular).unwrap_or_default();
            // One file must not prevent the others.
            if let Err(error) = inputs.add(path, &begin) {
                err::line(&format!("clocksmith: left out: {error}"));
            }
        } else if path.exists() && !path.is_dir() {
            err::line(&format!(
                "clocksmith: {} is not a regular file, and is left out",
                path.display()
            ));
        }
    }
    Ok(())
}
