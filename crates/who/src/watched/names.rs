//! Sources of the names of a file's functions.
//!
//! A file may name another one for its debugging information (`.gnu_debuglink`, `.gnu_debugaltlink`, `.debug_sup`), by
//! any path. The file may belong to any user, so such a name is never opened: the other file is found by the build id,
//! in the directory of the distribution, which belongs to root.

use super::bounded::Bounded;
use object::{CompressionFormat, Object, ObjectSection};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// Bytes of all sections with names and debugging information at most, as they are uncompressed.
const SECTIONS: u64 = 4 << 30;
/// Bytes that compressed sections may grow to, by their stated lengths.
const COMPRESSED: u64 = 1 << 30;
/// Sections that name other files.
const LINKS: [&str; 3] = [".gnu_debuglink", ".gnu_debugaltlink", ".debug_sup"];

/// Where names come from.
#[derive(Debug, Default)]
pub struct NameSource {
    /// Whether the file's own debugging information may be read; its table of symbols always is.
    pub debug: bool,
    /// The file with the debugging information that the distribution has for it.
    pub other: Option<File>,
}

impl NameSource {
    /// Reads an open file; `None` if it is not an ELF file.
    #[must_use]
    pub fn of_file(file: &File) -> Option<Self> {
        let bounded = Bounded::new(file.try_clone().ok()?)?;
        object::File::parse(&bounded).map(|elf| Self::of(&elf)).ok()
    }

    /// Reads an ELF file.
    #[must_use]
    pub fn of<'a, R: object::ReadRef<'a>>(file: &object::File<'a, R>) -> Self {
        let (mut all, mut compressed, mut linked) = (0u64, 0u64, false);
        for section in file.sections() {
            let name = section.name().unwrap_or("");
            linked |= LINKS.contains(&name);
            if name.starts_with(".debug") || name.starts_with(".zdebug") {
                let grown = section.compressed_file_range().ok();
                let size = grown.map_or(section.size(), |range| range.uncompressed_size);
                all = all.saturating_add(size);
                if grown.is_some_and(|range| range.format != CompressionFormat::None) {
                    compressed = compressed.saturating_add(size);
                }
            }
        }
        // A file without symbols may have been stripped without a link to them.
        let wanted = linked || file.section_by_name(".symtab").is_none();
        let other = file.build_id().ok().flatten().filter(|_| wanted).and_then(debug_file);
        Self { debug: !linked && all <= SECTIONS && compressed <= COMPRESSED, other }
    }
}

/// The file that a distribution has for a build id (gdb, "Debugging Information in Separate Files").
fn debug_file(id: &[u8]) -> Option<File> {
    let (first, rest) = id.split_first().filter(|(_, rest)| (7..64).contains(&rest.len()))?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug");
    let flags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let meta = file.metadata().ok()?;
    (meta.is_file() && meta.uid() == 0 && meta.mode() & 0o022 == 0).then_some(file)
}
