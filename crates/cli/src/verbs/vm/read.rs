//! A file from a path, or from standard input.

use anyhow::{Context, Result, anyhow, bail};
use clocksmith_facts::visible;
use clocksmith_vm::document::MAX_BYTES;
use clocksmith_vm::{Document, Kind};
use std::io::Read;
use std::path::Path;

/// Whether a path means standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A path as people see it.
pub(super) fn shown(path: &Path) -> String {
    visible::line(&path.to_string_lossy()).into_owned()
}

/// Reads a file; its bytes come along, to see later whether it was changed meanwhile.
pub(super) fn read(path: &Path, kind: Option<&str>) -> Result<(Document, Vec<u8>)> {
    let name = shown(path);
    let mut bytes = Vec::new();
    // One byte more, so that a file that is too large shows it.
    let limit = MAX_BYTES as u64 + 1;
    if is_stdin(path) {
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
        let kind = file.metadata().with_context(|| format!("cannot read {name}"))?.file_type();
        if kind.is_dir() {
            bail!("{name} is a directory; name the files in it, such as {name}/*.xml");
        }
        file.take(limit).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    }
    let document = match kind.and_then(Kind::of_name) {
        Some(kind) => Document::of_kind(&name, &bytes, kind),
        None => Document::new(&name, &bytes),
    };
    Ok((document.map_err(|error| anyhow!("cannot use {name}: {error}"))?, bytes))
}
