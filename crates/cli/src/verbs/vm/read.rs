//! A file from a path, or from standard input.

use anyhow::{Context, Result, anyhow, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{shell, visible};
use clocksmith_vm::document::{DocumentError, MAX_BYTES, is_archive};
use clocksmith_vm::{Document, Guest, Kind};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Whether a path means standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns a path in visible characters.
pub(super) fn shown(path: &Path) -> String {
    visible::line(&path.to_string_lossy()).into_owned()
}

/// Reads a file; its bytes come along, to see later whether it was changed meanwhile.
pub(super) fn read(
    path: &Path,
    kind: Option<&str>,
    guest: Option<&str>,
) -> Result<(Document, Vec<u8>)> {
    let name = shown(path);
    let bytes = if is_stdin(path) {
        // One byte more than the limit, so that the document reports that the file is too large.
        let mut bytes = Vec::new();
        let limit = MAX_BYTES as u64 + 1;
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        bytes
    } else {
        if path.is_dir() {
            bail!("{name} is a directory; name the files in it, such as {name}/*.xml");
        }
        match begin_of_archive(path) {
            Some(bytes) => bytes,
            None => match given::read(path, Kinds::Streams, MAX_BYTES as u64) {
                Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                    bail!("cannot use {name}: {}", DocumentError::TooLarge { most: MAX_BYTES })
                }
                read => read.with_context(|| format!("cannot read {name}"))?,
            },
        }
    };
    Ok((document(&name, &bytes, kind, guest)?, bytes))
}

/// Reads a file that was opened to be replaced.
pub(super) fn read_opened(
    path: &Path,
    file: &File,
    kind: Option<&str>,
    guest: Option<&str>,
) -> Result<(Document, Vec<u8>)> {
    let name = shown(path);
    let most = MAX_BYTES as u64;
    let cannot = || format!("cannot read {name}");
    let length = file.metadata().with_context(cannot)?.len();
    let begin = |length: u64| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).with_context(cannot)?;
        Ok(bytes)
    };
    let archive = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("ova"));
    if length > most && !archive {
        bail!("cannot use {name}: {}", DocumentError::TooLarge { most: MAX_BYTES });
    }
    // After the first member of an archive come disks of any size.
    let bytes = begin(if archive { most } else { most + 1 })?;
    Ok((document(&name, &bytes, kind, guest)?, bytes))
}

fn document(name: &str, bytes: &[u8], kind: Option<&str>, guest: Option<&str>) -> Result<Document> {
    let document = match kind.and_then(Kind::of_name) {
        Some(kind) => Document::of_kind(name, bytes, kind),
        None => Document::new(name, bytes),
    };
    let document = document.map_err(|error| match error {
        DocumentError::UnknownKind if is_log(bytes) => anyhow!(
            "cannot use {name}: it is a kernel log, not a configuration; `clocksmith why {}` reads \
             it",
            shell::quote(name)
        ),
        error => anyhow!("cannot use {name}: {error}"),
    })?;
    Ok(document.with_guest(guest.and_then(Guest::of_name)))
}

fn is_log(bytes: &[u8]) -> bool {
    KernelLog::scan(bytes, "").is_ok_and(|log| log.looks_like_kernel)
}

/// The beginning of an OVA, whose first member is the OVF; the disks after it may be of any size.
fn begin_of_archive(path: &Path) -> Option<Vec<u8>> {
    path.extension().filter(|end| end.eq_ignore_ascii_case("ova"))?;
    let file = given::open(path, Kinds::Regular).ok()?;
    let most = MAX_BYTES as u64;
    let bytes = given::all(file.take(most), most).ok()?;
    is_archive(&bytes).then_some(bytes)
}

/// A file of a directory, if it is of a kind that is known.
pub(super) fn known(path: &Path, kind: Option<&str>, guest: Option<&str>) -> Option<Document> {
    let bytes = begin_of_archive(path)
        .or_else(|| given::read(path, Kinds::Regular, MAX_BYTES as u64).ok())?;
    let name = shown(path);
    let document = match kind.and_then(Kind::of_name) {
        Some(kind) => Document::of_kind(&name, &bytes, kind),
        None => Document::new(&name, &bytes),
    };
    Some(document.ok()?.with_guest(guest.and_then(Guest::of_name)))
}
