//! Bundles: all evidence of one machine for `why`, in one compressed tar file.
//!
//! A bundle is untrusted input: sizes and counts are limited
//! before memory is allocated, only regular files with plain relative names are accepted, and each kind
//! of fault has its own error. Nothing is ever unpacked to disk.

use super::decode::{Compression, decoded};
use super::manifest;
pub use super::manifest::{MANIFEST, Manifest, ManifestGap, SCHEMA};
use super::{MemoryTree, Tree, normal, ways};
use crate::Missing;
use crate::given::{self, Kinds};
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;
use tar::EntryType;

/// Maximum number of entries in one bundle, including directories.
pub const MAX_ENTRIES: usize = 4096;
/// Maximum bytes of one file.
pub const MAX_FILE: u64 = 32 << 20;
/// Maximum bytes of all files together.
pub(crate) const MAX_TOTAL: u64 = 56 << 20;
/// Maximum bytes of a compressed bundle.
pub(crate) const MAX_COMPRESSED: u64 = 64 << 20;
/// Maximum bytes of headers and padding.
const MAX_OVERHEAD: u64 = 16 << 20;
/// Maximum bytes of a long name or of extended attributes in the tar format.
const MAX_EXTENSION: u64 = 64 << 10;

/// The reason why a file was refused as a bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file cannot be opened or read.
    #[error("cannot read {name}: {error}")]
    Read {
        /// The file.
        name: String,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not a tar file, compressed or not.
    #[error("{0} is not a bundle: no tar file (.tar, .tar.gz, .tar.xz, .tar.zst)")]
    NotTar(String),
    /// It is truncated or damaged.
    #[error("the bundle is damaged: {0}")]
    Damaged(String),
    /// The compressed file is too large.
    #[error("the file is larger than {MAX_COMPRESSED} bytes")]
    InputTooLarge,
    /// It has too many entries.
    #[error("the bundle has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    /// One file in it is too large.
    #[error("{name:?} in the bundle is larger than {MAX_FILE} bytes")]
    FileTooLarge {
        /// Its name.
        name: String,
    },
    /// The total is too large: a decompression bomb, or not a bundle of this program.
    #[error("the bundle's content is larger than {MAX_TOTAL} bytes")]
    TotalTooLarge,
    /// An absolute path, one with `..`, one that is not UTF-8.
    #[error("{name:?} in the bundle: {what}")]
    UnsafePath {
        /// The name.
        name: String,
        /// The fault of the name.
        what: &'static str,
    },
    /// A symbolic or hard link.
    #[error("{name:?} in the bundle is a link")]
    Link {
        /// Its name.
        name: String,
    },
    /// A device, a FIFO, a sparse file.
    #[error("{name:?} in the bundle is not a regular file")]
    Special {
        /// Its name.
        name: String,
    },
    /// Two files of one name.
    #[error("{name:?} is in the bundle twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A tar file without any file that this program reads.
    #[error(
        "{0} is a tar file, but neither a bundle nor a mirrored root (no proc, no sys, no log)"
    )]
    Foreign(String),
    /// The manifest cannot be parsed.
    #[error("the bundle's manifest ({MANIFEST}): {0}")]
    Manifest(String),
}

/// A bundle in memory.
#[derive(Clone, Debug)]
pub struct BundleTree {
    files: MemoryTree,
    manifest: Option<Manifest>,
}

impl BundleTree {
    /// Opens a bundle file.
    ///
    /// # Errors
    /// See [`BundleError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, BundleError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match given::open(path, Kinds::Regular) {
            Ok(file) => Self::read(file, &name),
            Err(error) => Err(BundleError::Read { name, error }),
        }
    }

    /// Reads a bundle; `name` is used in errors only.
    ///
    /// # Errors
    /// See [`BundleError`].
    pub fn read(reader: impl Read, name: &str) -> Result<Self, BundleError> {
        Self::read_dyn(Box::new(reader), name, MAX_TOTAL)
    }

    /// Opens a bundle file whose content may be larger than `most` bytes only after `wait` has returned; the result of
    /// `wait` is kept until the content is read. So many bundles at the same time take little memory.
    ///
    /// # Errors
    /// See [`BundleError`].
    pub fn open_in_turn<T>(
        path: impl AsRef<Path>,
        most: u64,
        wait: impl FnOnce() -> T,
    ) -> Result<(Self, Option<T>), BundleError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let open = || given::open(path, Kinds::Regular);
        let failed = |error| BundleError::Read { name: name.clone(), error };
        let small = most.min(MAX_TOTAL);
        match Self::read_dyn(Box::new(open().map_err(failed)?), &name, small) {
            Err(BundleError::TotalTooLarge) => {
                let turn = wait();
                let file = open().map_err(failed)?;
                Ok((Self::read_dyn(Box::new(file), &name, MAX_TOTAL)?, Some(turn)))
            }
            other => Ok((other?, None)),
        }
    }

    /// Not generic, so that it is compiled here and not in the crate that calls, which may be less optimised.
    fn read_dyn(reader: Box<dyn Read + '_>, name: &str, total: u64) -> Result<Self, BundleError> {
        let input = Limit::new(MAX_TOTAL + MAX_OVERHEAD);
        let reader = Limited { inner: reader, read: 0, limit: Rc::clone(&input) };
        let (compression, content) =
            decoded(reader).map_err(|error| BundleError::Read { name: name.to_owned(), error })?;
        if compression != Compression::Plain {
            // Only the first bytes were read so far.
            input.bytes.set(MAX_COMPRESSED);
        }
        let output = Limit::new(MAX_TOTAL + MAX_OVERHEAD);
        let content = Limited { inner: content, read: 0, limit: Rc::clone(&output) };
        let mut files = MemoryTree::new("bundle:");
        let read = read_entries(content, name, total, &mut files);
        if output.exceeded.get() {
            return Err(BundleError::TotalTooLarge);
        }
        if input.exceeded.get() {
            return Err(match compression {
                Compression::Plain => BundleError::TotalTooLarge,
                _ => BundleError::InputTooLarge,
            });
        }
        read?;
        let manifest = manifest::read(&files)?;
        if manifest.is_none() {
            // `tar czf x.tar.gz DIR` puts DIR before every name.
            files.strip_top(is_known);
            if !files.files().any(|(path, _)| is_known(path)) {
                return Err(BundleError::Foreign(name.to_owned()));
            }
        }
        if let Some(manifest) = &manifest {
            for gap in &manifest.missing {
                let mut missing = gap.missing.clone();
                missing.how = missing.how.filter(|how| ways::is_ours(how));
                files.set_missing(&gap.path, missing);
            }
            for (dir, names) in &manifest.listings {
                files.set_listing(dir, names.clone());
            }
        }
        Ok(Self { files, manifest })
    }

    /// The manifest of the bundle; a tar file made by hand from a mirrored root has none.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Paths and contents, sorted by path, the manifest among them.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.files()
    }
}

impl Tree for BundleTree {
    fn describe(&self, path: &str) -> String {
        self.files.describe(path)
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, Missing> {
        self.files.open(path)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, Missing> {
        self.files.list(dir)
    }
}

/// A limit of the bytes that are read, and whether it was exceeded. Decoders wrap and replace the errors of
/// their input, so that the error alone does not show the limit.
struct Limit {
    bytes: Cell<u64>,
    exceeded: Cell<bool>,
}

impl Limit {
    fn new(bytes: u64) -> Rc<Self> {
        Rc::new(Self { bytes: Cell::new(bytes), exceeded: Cell::new(false) })
    }
}

/// A reader that fails beyond its limit.
struct Limited<R> {
    inner: R,
    read: u64,
    limit: Rc<Limit>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read += count as u64;
        if self.read > self.limit.bytes.get() {
            self.limit.exceeded.set(true);
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too large"));
        }
        Ok(count)
    }
}

fn read_entries(
    content: impl Read,
    name: &str,
    most: u64,
    files: &mut MemoryTree,
) -> Result<(), BundleError> {
    let not_tar = || BundleError::NotTar(name.to_owned());
    let damaged = |error: io::Error| BundleError::Damaged(error.to_string());
    let is_over = Cell::new(false);
    let mut archive = tar::Archive::new(Watched { inner: content, is_over: &is_over });
    let entries = archive.entries().map_err(damaged)?.raw(true);
    let (mut count, mut total) = (0usize, 0u64);
    let mut long_name: Option<Vec<u8>> = None;
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(_) if count == 0 => return Err(not_tar()),
            Err(error) => return Err(damaged(error)),
        };
        count += 1;
        if count > MAX_ENTRIES {
            return Err(BundleError::TooManyEntries);
        }
        let kind = entry.header().entry_type();
        let size = entry.header().entry_size().map_err(damaged)?;
        if let EntryType::GNULongName | EntryType::XHeader | EntryType::XGlobalHeader = kind {
            let mut extension = Vec::new();
            if size > MAX_EXTENSION {
                return Err(BundleError::Damaged("an extended header of absurd size".to_owned()));
            }
            entry.read_to_end(&mut extension).map_err(damaged)?;
            match kind {
                EntryType::GNULongName => long_name = Some(extension),
                EntryType::XHeader => long_name = pax_path(&extension)?.or(long_name),
                _ => {}
            }
            continue;
        }
        let raw = long_name.take().unwrap_or_else(|| entry.header().path_bytes().into_owned());
        let raw = raw.strip_suffix(b"\0").unwrap_or(&raw);
        let path = String::from_utf8(raw.to_vec()).map_err(|_| BundleError::UnsafePath {
            name: String::from_utf8_lossy(raw).into_owned(),
            what: "a name that is not UTF-8",
        })?;
        match kind {
            EntryType::Regular | EntryType::Continuous => {}
            // `./` is the only directory without a name.
            EntryType::Directory if path.split('/').all(|part| matches!(part, "" | ".")) => {
                continue;
            }
            EntryType::Directory => {
                normal(&path).map_err(|what| BundleError::UnsafePath { name: path, what })?;
                continue;
            }
            EntryType::Symlink | EntryType::Link | EntryType::GNULongLink => {
                return Err(BundleError::Link { name: path });
            }
            _ => return Err(BundleError::Special { name: path }),
        }
        let path = match normal(&path) {
            Ok(path) => path,
            Err(what) => return Err(BundleError::UnsafePath { name: path, what }),
        };
        if size > MAX_FILE {
            return Err(BundleError::FileTooLarge { name: path });
        }
        total += size;
        if total > most {
            return Err(BundleError::TotalTooLarge);
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(damaged)?;
        if content.len() as u64 != size {
            return Err(BundleError::Damaged(format!("{path:?} is cut off")));
        }
        if !files.insert(&path, content) {
            return Err(BundleError::Duplicate { name: path });
        }
    }
    if count == 0 {
        return Err(not_tar());
    }
    // Blocks of zeros end a tar file. The reader stops at them, and does not meet the end of the input.
    if is_over.get() {
        return Err(BundleError::Damaged(format!(
            "it ends after {count} entries without the mark of its end, so a part may be missing"
        )));
    }
    Ok(())
}

/// A reader that notes the end of its input.
struct Watched<'a, R> {
    inner: R,
    is_over: &'a Cell<bool>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.is_over.set(self.is_over.get() || count == 0 && !buffer.is_empty());
        Ok(count)
    }
}

/// The `path` of a pax header. A `size` in the header would shift all later entries; a file that is small
/// enough has none.
fn pax_path(extension: &[u8]) -> Result<Option<Vec<u8>>, BundleError> {
    let mut path = None;
    for record in tar::PaxExtensions::new(extension) {
        let record = record.map_err(|error| BundleError::Damaged(error.to_string()))?;
        match record.key_bytes() {
            b"path" => path = Some(record.value_bytes().to_vec()),
            b"size" => return Err(BundleError::Damaged("a size in a pax header".to_owned())),
            _ => {}
        }
    }
    Ok(path)
}

/// Whether a path is one of a machine's root, or of a bundle.
fn is_known(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or_default();
    super::is_virtual(path) || matches!(top, "proc" | "sys" | "var" | "sos_commands")
}

/// Writes a bundle: gzip around tar, the manifest first.
///
/// # Errors
/// Returns the errors of `out`, and an error if the content exceeds the limits of a reader.
pub fn write<'a>(
    out: impl Write,
    manifest: &Manifest,
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
    seconds: u64,
) -> io::Result<()> {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(out, Default::default()));
    let (mut count, mut total) = (0usize, 0u64);
    let mut append = |path: &str, content: &[u8]| {
        count += 1;
        total += content.len() as u64;
        if count > MAX_ENTRIES || content.len() as u64 > MAX_FILE || total > MAX_TOTAL {
            return Err(io::Error::other(format!("{path:?} does not fit into a bundle")));
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(seconds);
        header.set_entry_type(EntryType::Regular);
        archive.append_data(&mut header, path, content)
    };
    append(MANIFEST, &serde_json::to_vec_pretty(manifest).map_err(io::Error::other)?)?;
    for (path, content) in files {
        append(path, content)?;
    }
    archive.into_inner()?.finish()?.flush()
}
