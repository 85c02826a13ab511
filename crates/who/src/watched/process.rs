//! One process: its map, its memory, its files.

use super::bounded::Bounded;
use super::guard::{self, NotOpened, Owners};
use super::maps::{self, Mapping};
use super::python::Python;
use super::runtime::{self, Runtime};
use super::served::{self, Mounts, Served};
use super::vdso::Vdso;
use crate::clock::Api;
use crate::symbols::perf_map::PerfMap;
use crate::unwind::{Code, Tables, Unwinder};
use clocksmith_raw::layout;
use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A file that is mapped somewhere, held open so that it can be read after its process has gone.
#[derive(Debug)]
pub struct Mapped {
    /// The open file.
    pub file: File,
    /// Device and inode.
    pub id: (u64, u64),
    /// Its parts: offset in the file, size in the file, address.
    segments: Vec<(u64, u64, u64)>,
    tables: Option<Tables>,
    /// Whether it is a program of the Go tool chain.
    pub is_go: bool,
}

/// How the reason begins why a file was not looked into.
const UNNAMED: &str = "functions of";
/// A file that is longer is not looked into: nothing bounds what a sparse one states.
const ELF: u64 = 8 << 30;

impl Mapped {
    /// The address in the file of an offset in it.
    #[must_use]
    pub fn address(&self, at: u64) -> Option<u64> {
        let (offset, _, address) =
            self.segments.iter().find(|(offset, size, _)| at >= *offset && at - *offset < *size)?;
        address.checked_add(at - offset)
    }

    fn open(file: File) -> Option<Self> {
        let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let id = (meta.dev(), meta.ino());
        let (mut segments, mut tables, mut is_go) = (Vec::new(), None, false);
        let bounded = Bounded::new(file.try_clone().ok()?)?;
        if meta.len() <= ELF
            && let Ok(elf) = object::File::parse(&bounded)
        {
            segments = elf
                .segments()
                .map(|segment| {
                    let (offset, size) = segment.file_range();
                    (offset, size, segment.address())
                })
                .collect();
            tables = Some(Tables::of(&elf));
            is_go = elf.section_by_name(".gopclntab").is_some();
        }
        Some(Self { file, id, segments, tables, is_go })
    }

    /// What to add to an address in the file to get the one in the process.
    fn bias(&self, mapping: &Mapping) -> Option<u64> {
        let end = mapping.offset.checked_add(mapping.range.end - mapping.range.start)?;
        let (offset, _, address) = self.segments.iter().find(|(offset, size, _)| {
            mapping.offset < offset.saturating_add(*size) && end > *offset
        })?;
        Some(
            mapping
                .range
                .start
                .wrapping_sub(mapping.offset)
                .wrapping_add(*offset)
                .wrapping_sub(*address),
        )
    }
}

/// Files of all processes, each held once.
#[derive(Debug, Default)]
pub struct Files {
    known: HashMap<(u64, u64), Arc<Mapped>>,
    /// Copies of files on filesystems that somebody serves, by device and inode as maps name them; `None` for those of
    /// which there is none.
    copied: HashMap<(served::Device, u64), Option<Arc<Mapped>>>,
    served: Served,
}

impl Files {
    /// Whether somebody serves the filesystem of a mapping, of which no list of mounts says it.
    fn ask(&mut self, pid: u32, mapping: &Mapping) -> bool {
        let [through, below] = ways(pid, mapping);
        self.served.ask(&[&through, &below], mapping.device)
    }

    /// Opens the file behind a mapping, as the process sees it: through its own mapping (which also
    /// reaches deleted files, and needs a capability), else below its own root directory.
    fn get(
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
            let copied = copy.ok().and_then(Mapped::open).map(Arc::new);
            self.copied.insert(id, copied.clone());
            return copied;
        }
        let file = guard::open_mapped(&through).or_else(|error| {
            // A deleted file's name may be another file's by now.
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
        let mapped = Arc::new(Mapped::open(file)?);
        self.known.insert(id, Arc::clone(&mapped));
        Some(mapped)
    }
}

/// The ways to the file behind a mapping: the mapping's own, and its name below the process's root directory.
fn ways(pid: u32, mapping: &Mapping) -> [PathBuf; 2] {
    let Range { start, end } = mapping.range;
    [
        format!("/proc/{pid}/map_files/{start:x}-{end:x}"),
        format!("/proc/{pid}/root{}", mapping.name),
    ]
    .map(PathBuf::from)
}

/// One process.
#[derive(Debug)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its short name.
    pub name: String,
    /// What runs it.
    pub runtime: Runtime,
    /// Its mappings, in order of addresses.
    pub maps: Vec<Mapping>,
    /// Its vDSO, if it has one.
    pub vdso: Option<Vdso>,
    /// Where a vDSO lies that counts each call and passes it on to the kernel's, if it has one.
    pub counting: Option<Range<u64>>,
    /// Names of code made at run time.
    pub perf_map: PerfMap,
    /// The Python interpreter in it.
    pub python: Option<Python>,
    /// What could not be found out about it.
    pub gaps: Vec<String>,
    memory: Option<File>,
    /// What its files lie on.
    mounts: Mounts,
    files: HashMap<u64, Arc<Mapped>>,
    /// The unwinder; separate, so that it can be used while the process is looked at.
    pub unwinder: Option<Unwinder>,
    added: HashMap<u64, (u64, u64)>,
    read: Instant,
}

/// Bytes of a map of memory at most: long names make one of hundreds of megabytes.
const MAPS: u64 = 32 << 20;
/// A map is not read more often than this.
const PATIENCE: Duration = Duration::from_millis(100);

impl Process {
    /// Looks at a process; `None` if it is gone or not ours to look at.
    #[must_use]
    pub fn new(pid: u32, files: &mut Files) -> Option<Self> {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned();
        let mut process = Self {
            pid,
            name,
            runtime: Runtime::Native,
            maps: Vec::new(),
            vdso: None,
            counting: None,
            perf_map: PerfMap::default(),
            python: None,
            gaps: Vec::new(),
            memory: None,
            mounts: Mounts::default(),
            files: HashMap::new(),
            unwinder: Some(Unwinder::default()),
            added: HashMap::new(),
            read: Instant::now(),
        };
        process.refresh(files);
        (!process.maps.is_empty()).then_some(process)
    }

    /// Reads the map again, if there is something in it.
    fn refresh(&mut self, files: &mut Files) {
        self.read = Instant::now();
        let text = guard::text(&format!("/proc/{}/maps", self.pid), MAPS).unwrap_or_default();
        let maps = maps::parse(&text);
        if maps.is_empty() {
            return;
        }
        // A process that has become another program keeps its id; its memory has to be opened anew.
        let program = |maps: &[Mapping]| maps.iter().find(|m| m.is_file()).map(|m| m.name.clone());
        if !self.maps.is_empty() && program(&maps) != program(&self.maps) {
            self.unwinder = Some(Unwinder::default());
            self.added.clear();
            self.files.clear();
            (self.vdso, self.python, self.perf_map) = (None, None, PerfMap::default());
            self.counting = None;
            let name = std::fs::read_to_string(format!("/proc/{}/comm", self.pid));
            self.name = name.map_or_else(|_| self.name.clone(), |name| name.trim().to_owned());
        }
        self.memory = File::open(format!("/proc/{}/mem", self.pid)).ok();
        self.maps = maps;
        self.mounts = Mounts::of(self.pid);
        for mapping in self.maps.iter().filter(|m| m.is_file()) {
            if self.mounts.is_unknown(mapping.device) {
                self.mounts.learn(mapping.device, files.ask(self.pid, mapping));
            }
        }
        if self.vdso.is_none() {
            self.find_vdso();
            self.find_counting();
        }
        let executable: Vec<Mapping> =
            self.maps.iter().filter(|m| m.executable && m.is_file()).cloned().collect();
        for mapping in executable {
            let start = mapping.range.start;
            let served = self.mounts.is_served(mapping.device);
            let Some(file) = files.get(self.pid, &mapping, served, &mut self.gaps) else {
                continue;
            };
            if self.added.get(&start) == Some(&file.id) {
                continue;
            }
            if let (Some(tables), Some(bias), Some(unwinder)) =
                (&file.tables, file.bias(&mapping), &mut self.unwinder)
            {
                unwinder.add(&mapping.name, tables, mapping.range.clone(), bias);
            }
            self.added.insert(start, file.id);
            self.files.insert(start, file);
        }
        self.runtime = runtime::recognise(&self.maps, |mapping| {
            self.files.get(&mapping.range.start).is_some_and(|file| file.is_go)
        });
        if self.runtime == Runtime::Python && self.python.is_none() {
            match Python::find(self) {
                Ok(python) => {
                    // It said otherwise while its library was not mapped yet.
                    self.gaps.retain(|gap| gap.starts_with(UNNAMED));
                    self.python = Some(python);
                }
                Err(why) if !self.gaps.contains(&why) => self.gaps.push(why),
                Err(_) => {}
            }
        }
    }

    /// Reads the map again if an address is not in it: a library that was loaded meanwhile.
    pub fn refresh_for(&mut self, address: u64, files: &mut Files) {
        if self.mapping(address).is_none() && self.read.elapsed() > PATIENCE {
            self.refresh(files);
        }
    }

    /// Reads the map again, if that was not done for a while.
    pub fn refresh_older(&mut self, files: &mut Files) {
        if self.read.elapsed() > 5 * PATIENCE {
            self.refresh(files);
        }
    }

    fn find_vdso(&mut self) {
        let Some(mapping) = self.maps.iter().find(|mapping| mapping.name == "[vdso]") else {
            return;
        };
        let range = mapping.range.clone();
        let length = usize::try_from(range.end - range.start).unwrap_or(0).min(1 << 20);
        // All 64-bit processes have the same one, unless somebody has replaced it.
        let Some(image) = self.read(range.start, length).or_else(super::vdso::own_image) else {
            return;
        };
        let vdso = Vdso::new(range.clone(), &image);
        if let (Some(tables), Some(unwinder)) = (Tables::read(&image), &mut self.unwinder) {
            unwinder.add("[vdso]", &tables, range.clone(), range.start);
        }
        self.vdso = Some(vdso);
    }

    /// Finds the image of `who --exact`: code without a file, behind settings that say what it is. Stacks
    /// go through it, but it is nobody's who reads the time.
    fn find_counting(&mut self) {
        let (Some(image), Some(unwinder)) = (clocksmith_raw::IMAGE, &mut self.unwinder) else {
            return;
        };
        let memory = self.memory.as_ref();
        let candidates = self.maps.iter().filter(|mapping| {
            mapping.executable && !mapping.is_file() && !mapping.name.starts_with("[v")
        });
        let found = candidates.into_iter().find(|mapping| {
            let mut head = [0; 12];
            let settings = mapping.range.start.checked_sub(layout::FRONT as u64);
            let read = settings.zip(memory);
            let read = read.is_some_and(|(at, memory)| memory.read_exact_at(&mut head, at).is_ok());
            read && head[..8] == layout::MAGIC.to_le_bytes()
                && head[8..] == (layout::Mode::Count as u32).to_le_bytes()
        });
        if let (Some(mapping), Some(tables)) = (found, Tables::read(image)) {
            let range = mapping.range.clone();
            unwinder.add("[counting vdso]", &tables, range.clone(), range.start);
            self.counting = Some(range);
        }
    }

    /// Whether an address is in the vDSO that counts.
    #[must_use]
    pub fn in_counting(&self, address: u64) -> bool {
        self.counting.as_ref().is_some_and(|range| range.contains(&address))
    }

    /// The mapping around an address.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        maps::find(&self.maps, address)
    }

    /// The file around an address, and the offset in it.
    #[must_use]
    pub fn file(&self, address: u64) -> Option<(&Mapping, &Arc<Mapped>, u64)> {
        let mapping = self.mapping(address)?;
        let file = self.files.get(&mapping.range.start)?;
        Some((mapping, file, address - mapping.range.start + mapping.offset))
    }

    /// The files with code that are accepted, each with its bias.
    pub fn images(
        &self,
        accept: impl Fn(&Mapping) -> bool,
    ) -> impl Iterator<Item = (&Arc<Mapped>, u64)> {
        self.maps.iter().filter(move |mapping| mapping.executable && accept(mapping)).filter_map(
            |mapping| {
                let file = self.files.get(&mapping.range.start)?;
                Some((file, file.bias(mapping)?))
            },
        )
    }

    /// Whether its memory may be read.
    #[must_use]
    pub fn can_read(&self) -> bool {
        let start = self.maps.iter().find(|mapping| mapping.executable && mapping.is_file());
        start.is_some_and(|mapping| self.word(mapping.range.start).is_some())
    }

    /// Bytes of its memory; `None` where it may not be read.
    #[must_use]
    pub fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.read_into(address, &mut bytes)?;
        Some(bytes)
    }

    /// Memory onto which a file is mapped that somebody serves is not read: the page may be there only when that
    /// somebody answers.
    fn read_into(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        let last = address.checked_add(bytes.len() as u64)?.saturating_sub(1).max(address);
        let first = self.maps.partition_point(|mapping| mapping.range.end <= address);
        let mut touched = self.maps.iter().skip(first).take_while(|m| m.range.start <= last);
        if touched.any(|m| m.is_file() && self.mounts.is_served(m.device)) {
            return None;
        }
        self.memory.as_ref()?.read_exact_at(bytes, address).ok()
    }

    /// A word of its memory.
    #[must_use]
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read_into(address, &mut bytes)?;
        Some(u64::from_ne_bytes(bytes))
    }

    /// The function of the vDSO around an address, if it reads a clock.
    #[must_use]
    pub fn vdso_function(&self, address: u64) -> Option<Api> {
        self.vdso.as_ref()?.function(address)?.api
    }

    /// Whether an address is in the vDSO.
    #[must_use]
    pub fn in_vdso(&self, address: u64) -> bool {
        self.vdso.as_ref().is_some_and(|vdso| vdso.range.contains(&address))
    }

    /// Bytes of code before an address: from the file or the vDSO's image, which needs no right to
    /// read memory, else from memory.
    #[must_use]
    pub fn code_before<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let from = address.checked_sub(N as u64)?;
        let mut bytes = [0; N];
        if let Some(vdso) = self.vdso.as_ref().filter(|vdso| vdso.range.contains(&from)) {
            let offset = usize::try_from(from - vdso.range.start).ok()?;
            bytes.copy_from_slice(vdso.image.get(offset..offset.checked_add(N)?)?);
            return Some(bytes);
        }
        if let Some((_, file, offset)) = self.file(from) {
            file.file.read_exact_at(&mut bytes, offset).ok()?;
            return Some(bytes);
        }
        self.read_into(from, &mut bytes)?;
        Some(bytes)
    }
}

impl Code for Process {
    fn is_code(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|mapping| mapping.executable)
    }

    fn before(&self, address: u64) -> Option<[u8; 7]> {
        self.code_before::<7>(address)
    }

    fn is_vdso_entry(&self, address: u64) -> bool {
        self.vdso.as_ref().is_some_and(|vdso| vdso.entry(address).is_some())
    }
}

/// The threads of a process.
#[must_use]
pub fn threads(pid: u32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The processes that a process has started, and theirs.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(parent) = all.get(at).copied() {
        for tid in threads(parent) {
            let path = format!("/proc/{parent}/task/{tid}/children");
            let text = std::fs::read_to_string(path).unwrap_or_default();
            for child in text.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
                if !all.contains(&child) {
                    all.push(child);
                }
            }
        }
        at += 1;
    }
    all.remove(0);
    all
}
