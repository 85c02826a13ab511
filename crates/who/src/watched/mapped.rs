//! Files that processes have mapped: their parts, their tables, where their functions are.

use super::bounded::{self, Bounded, Room};
use super::guard::{self, NotOpened, Owners};
use super::maps::Mapping;
use super::patient;
use super::served::Served;
use crate::symbols::pclntab;
use crate::unwind::{Function, Tables};
use clocksmith_facts::mounts::Device;
use object::{Object, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A file that is mapped somewhere, held open so that it can be read after its process has gone.
#[derive(Debug)]
pub struct Mapped {
    /// The open file.
    pub file: File,
    /// Device and inode.
    pub id: (u64, u64),
    /// Whether no other user could have written it.
    pub own: bool,
    /// Room for the data that is kept of it.
    room: Room,
    segments: Vec<Segment>,
    pub(super) tables: Option<Tables>,
    /// Begins and ends of functions by its symbols, when they were needed first.
    symbols: OnceLock<Vec<(u64, u64)>>,
    /// Its build id, in hexadecimal digits; empty if it has none.
    pub build_id: String,
    /// Whether it is a program of the Go tool chain.
    pub is_go: bool,
    /// Go's table of functions, when it was needed first.
    go: OnceLock<Option<pclntab::Table>>,
}

/// A part of an ELF file that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    /// Where it is in the file, and how long it is there.
    offset: u64,
    size: u64,
    /// Its address in the file.
    address: u64,
    /// Whether it is code.
    executable: bool,
}

/// Bytes of a build id at most.
const BUILD_ID: usize = 64;
/// How the reason begins why a file was not looked into.
const UNNAMED: &str = "functions of";
/// A longer file is not read: a sparse file may claim any length.
const ELF: u64 = 8 << 30;

impl Mapped {
    /// The address in the file of an offset in it.
    #[must_use]
    pub fn address(&self, at: u64) -> Option<u64> {
        let holds = |one: &&Segment| at >= one.offset && at - one.offset < one.size;
        let segment = self.segments.iter().find(holds)?;
        segment.address.checked_add(at - segment.offset)
    }

    /// The offset in the file of an address in it.
    pub(super) fn offset(&self, at: u64) -> Option<u64> {
        let holds = |one: &&Segment| at >= one.address && at - one.address < one.size;
        let segment = self.segments.iter().find(holds)?;
        segment.offset.checked_add(at - segment.address)
    }

    fn open(file: File, own: bool, room: &Room) -> Option<Self> {
        let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let id = (meta.dev(), meta.ino());
        let (mut segments, mut tables, mut is_go) = (Vec::new(), None, false);
        let mut build_id = String::new();
        let bounded = parts(&file, own)?;
        if meta.len() <= ELF
            && let Ok(elf) = object::File::parse(&bounded)
        {
            segments = elf
                .segments()
                .map(|segment| {
                    let (offset, size) = segment.file_range();
                    let flags = segment.flags();
                    let executable =
                        matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 1 != 0);
                    Segment { offset, size, address: segment.address(), executable }
                })
                .collect();
            tables = Some(Tables::of(&elf)).filter(|it| room.take(it.kept()));
            let id = elf.build_id().ok().flatten().unwrap_or_default();
            build_id = id.iter().take(BUILD_ID).map(|byte| format!("{byte:02x}")).collect();
            is_go = pclntab::SECTIONS.iter().any(|name| elf.section_by_name(name).is_some());
        }
        Some(Self {
            file,
            id,
            own,
            room: room.clone(),
            segments,
            tables,
            symbols: OnceLock::new(),
            build_id,
            is_go,
            go: OnceLock::new(),
        })
    }

    /// Whether it is a program or a library.
    pub(super) fn is_elf(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Go's table of functions.
    #[must_use]
    pub fn go(&self) -> Option<&pclntab::Table> {
        let read = || {
            let bounded = parts(&self.file, self.own)?;
            let table = pclntab::Table::of(&object::File::parse(&bounded).ok()?)?;
            self.room.take(table.kept()).then_some(table)
        };
        self.go.get_or_init(|| self.is_go.then(read).flatten()).as_ref()
    }

    /// The function around an address of the file: by the tables, which know its bounds, otherwise by a symbol.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<Function> {
        if let Some(range) = self.tables.as_ref().and_then(|tables| tables.function(address)) {
            return Some(Function { begin: range.start, end: range.end, table: true });
        }
        let symbols = self.symbols.get_or_init(|| {
            let all = symbols(&self.file, self.own).unwrap_or_default();
            let kept = size_of_val(&all[..]) as u64;
            if self.room.take(kept) { all } else { Vec::new() }
        });
        let after = symbols.partition_point(|(begin, _)| *begin <= address);
        let (begin, end) = *symbols.get(after.checked_sub(1)?)?;
        (address < end).then_some(Function { begin, end, table: false })
    }

    /// The difference between an address in the process and the one in the file.
    pub(super) fn bias(&self, mapping: &Mapping) -> Option<u64> {
        let segment = segment_of(&self.segments, mapping)?;
        let begin = mapping.range.start.wrapping_sub(mapping.offset);
        Some(begin.wrapping_add(segment.offset).wrapping_sub(segment.address))
    }
}

/// The segment that a mapping is of. A page of the file may belong to two of them, each of which is mapped with it at another
/// address: the one that is code or not as the mapping is, and of these the one with the larger part of it.
fn segment_of<'a>(segments: &'a [Segment], mapping: &Mapping) -> Option<&'a Segment> {
    let end = mapping.offset.checked_add(mapping.range.end - mapping.range.start)?;
    let common = |one: &Segment| {
        let last = one.offset.saturating_add(one.size).min(end);
        last.saturating_sub(one.offset.max(mapping.offset))
    };
    let shares = segments.iter().filter(|one| common(one) > 0);
    shares.max_by_key(|one| (one.executable == mapping.executable, common(one)))
}

/// A file to parse.
fn parts(file: &File, own: bool) -> Option<Bounded> {
    let file = file.try_clone().ok()?;
    Bounded::of(file, own)
}

/// Functions of a file at most.
const FUNCTIONS: usize = 1 << 20;

/// Begins and ends of functions by the file's symbols, in order.
fn symbols(file: &File, own: bool) -> Option<Vec<(u64, u64)>> {
    let bounded = parts(file, own)?;
    let elf = object::File::parse(&bounded).ok()?;
    let all = elf.symbols().chain(elf.dynamic_symbols());
    let mut functions: Vec<(u64, u64)> = all
        .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| Some((symbol.address(), symbol.address().checked_add(symbol.size())?)))
        .filter(|(begin, end)| begin < end)
        .take(FUNCTIONS)
        .collect();
    functions.sort_unstable();
    functions.dedup();
    functions.shrink_to_fit();
    Some(functions)
}

/// Files of all processes, each held once.
#[derive(Debug)]
pub struct Files {
    known: HashMap<(u64, u64), Arc<Mapped>>,
    /// Copies of files on filesystems that a program or another machine serves, by device and inode as maps name them;
    /// `None` for files that could not be copied.
    copied: HashMap<(Device, u64), Option<Arc<Mapped>>>,
    served: Served,
    /// Room for files that other users could write.
    room: Room,
    /// Room for all others.
    own_room: Room,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            copied: HashMap::new(),
            served: Served::default(),
            room: Room::new(false),
            own_room: Room::new(true),
        }
    }
}

impl Files {
    /// Whether the filesystem of a mapping is served by a program or another machine, if no list of
    /// mounts shows it.
    pub(super) fn ask(&mut self, pid: u32, mapping: &Mapping) -> bool {
        let [through, below] = ways(pid, mapping);
        self.served.ask(&[&through, &below], mapping.device)
    }

    /// Opens the file behind a mapping, as the process sees it: through its own mapping (which also
    /// reaches deleted files, and needs a capability), otherwise below its own root directory.
    pub(super) fn get(
        &mut self,
        pid: u32,
        mapping: &Mapping,
        served: bool,
        gaps: &mut Vec<String>,
    ) -> Option<Arc<Mapped>> {
        let [through, below] = ways(pid, mapping);
        if served {
            let id = (mapping.device, mapping.inode);
            if let Some(copied) = self.copied.get(&id) {
                return copied.clone();
            }
            let copy = self.served.copy(&through, mapping.device).or_else(|error| match error {
                NotOpened::Refused(_) if !mapping.deleted => {
                    self.served.copy(&below, mapping.device)
                }
                error => Err(error),
            });
            if let Err(NotOpened::Refused(why)) = &copy {
                gaps.push(format!("{UNNAMED} {} have no names: {why}", mapping.base_name()));
            }
            // This program owns the copy, but another user may have written its content.
            let copied = copy.ok().and_then(|copy| Mapped::open(copy, false, &self.room));
            let copied = copied.map(Arc::new);
            self.copied.insert(id, copied.clone());
            return copied;
        }
        // To follow the first path, the kernel looks at the map.
        let file = patient::ask(pid, || guard::open_mapped(&through)).or_else(|error| {
            // A deleted file's name may be another file's now.
            match Owners::of(pid).filter(|_| !mapping.deleted) {
                Some(owners) => guard::open_named(&below, mapping.inode, &owners),
                None => Err(error),
            }
        });
        let file = file.ok()?;
        let meta = file.metadata().ok()?;
        let id = (meta.dev(), meta.ino());
        if let Some(known) = self.known.get(&id) {
            return Some(Arc::clone(known));
        }
        let own = bounded::is_own(&file);
        let mapped =
            Arc::new(Mapped::open(file, own, if own { &self.own_room } else { &self.room })?);
        self.known.insert(id, Arc::clone(&mapped));
        Some(mapped)
    }
}

/// The paths to the file behind a mapping: the mapping's own, and its name below the process's root
/// directory.
fn ways(pid: u32, mapping: &Mapping) -> [PathBuf; 2] {
    let Range { start, end } = mapping.range;
    [
        format!("/proc/{pid}/map_files/{start:x}-{end:x}"),
        format!("/proc/{pid}/root{}", mapping.name),
    ]
    .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As lld lays a program out: the first page of its code is the last page of what is only read.
    #[test]
    fn segment_of_code_is_the_code_where_a_page_is_of_two() {
        let segment =
            |offset, size, address, executable| Segment { offset, size, address, executable };
        let segments = [
            segment(0, 0x162f0, 0, false),
            segment(0x162f0, 0x42d00, 0x172f0, true),
            segment(0x58ff0, 0x2e00, 0x5aff0, false),
        ];
        let of = |range: Range<u64>, offset, executable| {
            let mapping = Mapping {
                range,
                executable,
                offset,
                device: (0, 1),
                inode: 1,
                name: "/bin/app".to_owned(),
                deleted: false,
            };
            segment_of(&segments, &mapping).map(|one| one.address)
        };
        assert_eq!(of(0x7000_0000..0x7001_7000, 0, false), Some(0));
        assert_eq!(of(0x7001_7000..0x7005_a000, 0x16000, true), Some(0x172f0));
        assert_eq!(of(0x7005_a000..0x7005_e000, 0x58000, false), Some(0x5aff0));
        // A part of the code whose protection was changed.
        assert_eq!(of(0x7001_8000..0x7001_9000, 0x17000, false), Some(0x172f0));
        assert_eq!(of(0x7010_0000..0x7010_1000, 0x9_0000, true), None);
    }
}
