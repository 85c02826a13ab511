//! A file from a path, or from standard input.

use anyhow::{Context, Result, anyhow, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{shell, visible};
use clocksmith_vm::document::{DocumentError, MAX_BYTES, MAX_BYTES_OF_ONE, is_archive};
use clocksmith_vm::{Document, Guest, Kind};
use std::fs::File;
use std::io::{ErrorKind, Read};
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
                Err(error) if error.kind() == ErrorKind::FileTooLarge => {
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

/// Whether a text is a kernel log. A line that begins with `kernel:` and has no time stamp is a target of a Makefile or
/// a key of a manifest.
fn is_log(bytes: &[u8]) -> bool {
    let is_key = |line: &[u8]| {
        line.trim_ascii_start()
            .strip_prefix(b"kernel:")
            .is_some_and(|rest| !rest.trim_ascii_start().starts_with(b"["))
    };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_key(line));
    let rest = lines.collect::<Vec<_>>().concat();
    KernelLog::scan(rest.as_slice(), "").is_ok_and(|log| log.looks_like_kernel)
}

/// The beginning of an OVA, whose first member is the OVF; the disks after it may be of any size.
fn begin_of_archive(path: &Path) -> Option<Vec<u8>> {
    path.extension().filter(|end| end.eq_ignore_ascii_case("ova"))?;
    let file = given::open(path, Kinds::Regular).ok()?;
    let most = MAX_BYTES as u64;
    let bytes = given::all(file.take(most), most).ok()?;
    is_archive(&bytes).then_some(bytes)
}

/// A file of a directory.
pub(super) enum Found {
    /// It is of a kind that is known.
    Known(Box<Document>),
    /// It is of such a kind, or may be: why it cannot be used.
    Unusable(anyhow::Error),
    /// It is of another kind.
    Other,
}

/// Looks at a file of a directory.
pub(super) fn found(path: &Path, kind: Option<&str>, guest: Option<&str>) -> Found {
    let name = shown(path);
    let document = |bytes: &[u8]| match kind.and_then(Kind::of_name) {
        Some(kind) => Document::of_kind(&name, bytes, kind),
        None => Document::new(&name, bytes),
    };
    let read = begin_of_archive(path)
        .map_or_else(|| given::read(path, Kinds::Regular, MAX_BYTES as u64), std::io::Result::Ok);
    let (read, most) = match read {
        // Its beginning shows the kind of a file that is too long: an image of a disk is of another kind.
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            (begin(path).map(|bytes| document(&bytes)), Some(MAX_BYTES))
        }
        read => (read.map(|bytes| document(&bytes)), None),
    };
    match (read, most) {
        (Err(error), _) => {
            Found::Unusable(anyhow::Error::new(error).context(format!("cannot read {name}")))
        }
        (Ok(Err(DocumentError::TooLarge { most })), _) | (Ok(Ok(_)), Some(most)) => {
            Found::Unusable(anyhow!("cannot use {name}: {}", DocumentError::TooLarge { most }))
        }
        (Ok(Ok(document)), None) => {
            Found::Known(Box::new(document.with_guest(guest.and_then(Guest::of_name))))
        }
        (Ok(Err(_)), _) => Found::Other,
    }
}

/// The first lines of a file, up to the length that one of any kind may have.
fn begin(path: &Path) -> std::io::Result<Vec<u8>> {
    let most = MAX_BYTES_OF_ONE as u64;
    let mut bytes = given::all(given::open(path, Kinds::Regular)?.take(most), most)?;
    // Not a part of a sign.
    while bytes.last().is_some_and(|byte| !byte.is_ascii()) {
        bytes.pop();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_is_told_from_a_target_or_a_key_of_its_name() {
        for text in [
            "IMAGE ?= out/vmlinuz\nall: kernel\n\nkernel: ${IMAGE}\n\t@ls -l ${IMAGE}\n",
            "boot:\n  kernel: /srv/tftp/vmlinuz\n  initrd: /srv/tftp/initrd\n",
        ] {
            assert!(!is_log(text.as_bytes()), "{text}");
        }
        for text in [
            "Nov  1 10:00:00 db1 kernel: eth0: link up\n",
            "[    1.500000] clocksource: Switched to clocksource hpet\n",
            "kernel:[    1.500000] eth0: link up\n",
        ] {
            assert!(is_log(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn file_that_cannot_be_looked_at_is_not_one_of_another_kind() {
        let dir = tempfile::tempdir().unwrap();
        let of = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            found(&path, None, None)
        };
        let domain = |before: usize, after: usize| {
            let (before, after) = ("x".repeat(before), "x".repeat(after));
            format!("<domain><name>{before}\u{e9}{after}</name></domain>\n")
        };
        assert!(matches!(of("a.xml", domain(1, 1).as_bytes()), Found::Known(_)));
        let begin = MAX_BYTES_OF_ONE - "<domain><name>".len();
        // In the last ones the sign of two bytes is around the end of what is read.
        for before in [begin, begin - 2, begin - 1] {
            for after in [1, 5 << 20] {
                let Found::Unusable(error) = of("b.xml", domain(before, after).as_bytes()) else {
                    panic!()
                };
                assert!(error.to_string().contains("b.xml: it has more than"), "{error}");
            }
        }
        assert!(matches!(of("c.txt", "text\n".repeat(2 << 20).as_bytes()), Found::Other));
        assert!(matches!(of("c.img", &vec![7; 5 << 20]), Found::Other));
        // Any error but that of another kind.
        let Found::Unusable(error) = found(dir.path(), None, None) else { panic!() };
        assert!(format!("{error:#}").contains("it is a directory"), "{error:#}");
    }
}
