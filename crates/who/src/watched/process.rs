//! One process: its map, its memory, its files.

mod code;
mod copied;
mod reads;

use super::guard;
use super::mapped::{Files, Mapped};
use super::maps::{self, Mapping};
use super::ours::Ours;
use super::patient;
use super::python::Python;
use super::runtime::{self, Runtime};
use super::served::Mounts;
use super::vdso::Vdso;
use crate::clock::Api;
use crate::symbols::perf_map::PerfMap;
use crate::unwind::{Code, Function, Tables, Unwinder};
use clocksmith_facts::patient::is_silent;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// One process.
#[derive(Debug)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The thread by which the kernel shows it: not the first one if that has ended.
    at: u32,
    /// Its short name.
    pub name: String,
    /// The runtime that runs it.
    pub runtime: Runtime,
    /// Its mappings, in order of addresses.
    pub maps: Vec<Mapping>,
    /// Its vDSO, if it has one.
    pub vdso: Option<Vdso>,
    /// The vDSO of this project that its program calls instead of the kernel's, if it has one.
    pub ours: Option<Ours>,
    /// Names of code made at run time.
    pub perf_map: PerfMap,
    /// The Python interpreter in it.
    pub python: Option<Python>,
    /// Why there is none, in a program that is Python.
    pub no_python: Option<String>,
    /// Missing data about it.
    pub gaps: Vec<String>,
    /// Whether it had ended before it could be examined: only its vDSO is known.
    pub ended: bool,
    /// Whether its program is 32-bit: it has a different vDSO, which is not examined.
    pub narrow: bool,
    memory: Option<File>,
    /// The filesystems of its files.
    mounts: Mounts,
    files: HashMap<u64, Arc<Mapped>>,
    /// Files in memory that are not programs or libraries, by device and inode.
    made: HashSet<((u32, u32), u64)>,
    /// Executable memory next to a file, by its range: the offset in that file at which its code begins, if it is the
    /// file's.
    copied: HashMap<(u64, u64), Option<u64>>,
    /// The unwinder; separate, so that it can be used while the process is borrowed.
    pub unwinder: Option<Unwinder>,
    added: HashMap<u64, (u64, u64)>,
    read: Instant,
    seen: Instant,
}

/// Bytes of a map of memory at most: long names make one of hundreds of megabytes.
const MAPS: u64 = 32 << 20;
/// Bytes of a name; any byte but zero may be in one.
const NAME: u64 = 1 << 10;
/// A map is not read more often than this.
const PATIENCE: Duration = Duration::from_millis(100);

impl Process {
    /// Looks at a process; `None` if it is gone or this user may not look at it.
    #[must_use]
    pub fn new(pid: u32, files: &mut Files) -> Option<Self> {
        if !patient::shows(pid) {
            return None;
        }
        let name = guard::text(&format!("/proc/{pid}/comm"), NAME)?;
        let name = named(name.trim(), || patient::link(pid, "exe"));
        let mut process = Self { at: living(pid), ..Self::blank(pid, name) };
        process.refresh(files);
        (!process.maps.is_empty()).then_some(process)
    }

    /// A process that has ended, of which only its name and the place of its vDSO are known.
    #[must_use]
    pub fn ended(pid: u32, name: &str, vdso: Range<u64>) -> Self {
        static IMAGE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
        let mut process = Self { ended: true, ..Self::blank(pid, name.to_owned()) };
        if let Some(image) = IMAGE.get_or_init(super::vdso::own_image) {
            process.set_vdso(vdso, image);
        }
        process
    }

    fn blank(pid: u32, name: String) -> Self {
        Self {
            pid,
            at: pid,
            name,
            runtime: Runtime::Native,
            maps: Vec::new(),
            vdso: None,
            ours: None,
            perf_map: PerfMap::default(),
            python: None,
            no_python: None,
            gaps: Vec::new(),
            ended: false,
            narrow: false,
            memory: None,
            mounts: Mounts::default(),
            files: HashMap::new(),
            made: HashSet::new(),
            copied: HashMap::new(),
            unwinder: Some(Unwinder::default()),
            added: HashMap::new(),
            read: Instant::now(),
            seen: Instant::now(),
        }
    }

    /// Reads the map again; keeps the previous one if the new one is empty or the kernel does not
    /// show the process.
    fn refresh(&mut self, files: &mut Files) {
        self.read = Instant::now();
        // Its id may belong to another process now.
        if self.ended {
            return;
        }
        let text = patient::text(self.at, "maps", MAPS).unwrap_or_default();
        let maps = maps::parse(&text);
        // Newer kernels show the map without its lock (6.17, `CONFIG_PER_VMA_LOCK`), and nothing else; and a process
        // that is becoming another program shows neither its namespaces nor its memory.
        let shows = || {
            patient::text(self.at, "cmdline", 1).is_some() && {
                let _ = patient::link(self.at, "ns/user");
                !is_silent(self.at)
            }
        };
        if maps.is_empty() || !shows() {
            return;
        }
        // A process that has become another program keeps its id; its memory has to be opened
        // again.
        let program = |maps: &[Mapping]| maps.iter().find(|m| m.is_file()).map(|m| m.name.clone());
        if !self.maps.is_empty() && program(&maps) != program(&self.maps) {
            self.unwinder = Some(Unwinder::default());
            self.added.clear();
            self.files.clear();
            self.made.clear();
            self.copied.clear();
            (self.vdso, self.python, self.perf_map) = (None, None, PerfMap::default());
            self.narrow = false;
            self.ours = None;
            if let Some(name) = guard::text(&format!("/proc/{}/comm", self.pid), NAME) {
                self.name = named(name.trim(), || patient::link(self.pid, "exe"));
            }
        }
        let memory = format!("/proc/{}/mem", self.at);
        self.memory = patient::ask(self.pid, || File::open(memory).ok());
        self.maps = maps;
        self.mounts = Mounts::of(self.at);
        let of_file = |m: &&Mapping| m.is_file() || m.executable && m.is_in_memory();
        for mapping in self.maps.iter().filter(of_file) {
            if self.mounts.is_unknown(mapping.device) {
                self.mounts.learn(mapping.device, files.ask(self.at, mapping));
            }
        }
        self.find_copied(files);
        if self.vdso.is_none() {
            self.find_vdso();
            self.find_ours();
        }
        let executable: Vec<Mapping> =
            self.maps.iter().filter(|m| m.executable).filter(of_file).cloned().collect();
        for mapping in executable {
            let start = mapping.range.start;
            let served = self.mounts.is_served(mapping.device);
            let (in_memory, id) = (mapping.is_in_memory(), (mapping.device, mapping.inode));
            if in_memory && self.made.contains(&id) {
                continue;
            }
            let file = files.get(self.at, &mapping, served, &mut self.gaps);
            // .NET and others map the code that they make from such a file, in many parts.
            if in_memory && file.as_ref().is_none_or(|file| !file.is_elf()) {
                self.made.insert(id);
                continue;
            }
            let Some(file) = file else { continue };
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
                    // The search failed because the library had not been mapped yet.
                    (self.python, self.no_python) = (Some(python), None);
                }
                Err(why) => self.no_python = Some(why),
            }
        }
    }

    /// Reads the map again if an address is not in it: a library that was loaded meanwhile.
    pub fn refresh_for(&mut self, address: u64, files: &mut Files) {
        if self.mapping(address).is_none() {
            self.refresh_soon(files);
        }
    }

    /// Reads the map again for a return address at which the process has no code, and returns whether it has it now.
    /// The value may not be a return address at all, so this is done less often as the process is watched longer.
    pub fn refresh_for_caller(&mut self, address: u64, files: &mut Files) -> bool {
        if self.read.elapsed() > (self.seen.elapsed() / 8).min(5 * PATIENCE) {
            self.refresh(files);
            return self.mapping(address).is_some_and(|mapping| mapping.executable);
        }
        false
    }

    /// Reads the map again, if that was not done just now.
    pub fn refresh_soon(&mut self, files: &mut Files) {
        // A program that has just begun loads its libraries now.
        if self.read.elapsed() > (self.seen.elapsed() / 8).min(PATIENCE) {
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
        // All 64-bit processes have the same vDSO, unless a program has replaced it.
        let Some(image) = self.read(range.start, length).or_else(super::vdso::own_image) else {
            return;
        };
        self.set_vdso(range, &image);
    }

    fn set_vdso(&mut self, range: Range<u64>, image: &[u8]) {
        let vdso = Vdso::new(range.clone(), image);
        if let (Some(tables), Some(unwinder)) = (Tables::read(image), &mut self.unwinder) {
            unwinder.add("[vdso]", &tables, range.clone(), range.start);
        }
        self.vdso = Some(vdso);
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

    /// Bytes of its memory; `None` if it may not be read.
    #[must_use]
    pub fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.read_into(address, &mut bytes)?;
        Some(bytes)
    }

    /// Memory is not read if the mapped file's filesystem is served by a program or another machine: the page
    /// may be absent until the server answers.
    fn read_into(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        let last = address.checked_add(bytes.len() as u64)?.saturating_sub(1).max(address);
        let first = self.maps.partition_point(|mapping| mapping.range.end <= address);
        let mut touched = self.maps.iter().skip(first).take_while(|m| m.range.start <= last);
        if touched.any(|m| m.is_file() && self.mounts.is_served(m.device)) {
            return None;
        }
        let memory = self.memory.as_ref()?;
        patient::ask(self.pid, || memory.read_exact_at(bytes, address)).ok()
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
    /// read memory, otherwise from memory.
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

    /// Bytes of code from an address on, as [`Self::code_before`]; after the end, zeros.
    fn code_at<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        if let Some(vdso) = self.vdso.as_ref().filter(|vdso| vdso.range.contains(&address)) {
            let offset = usize::try_from(address - vdso.range.start).ok()?;
            let part = vdso.image.get(offset..)?;
            bytes.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            return Some(bytes);
        }
        if let Some((_, file, offset)) = self.file(address) {
            file.file.read_at(&mut bytes, offset).ok()?;
            return Some(bytes);
        }
        self.read_into(address, &mut bytes)?;
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

    fn at(&self, address: u64) -> Option<[u8; 64]> {
        self.code_at::<64>(address)
    }

    fn word(&self, address: u64) -> Option<u64> {
        Process::word(self, address)
    }

    fn is_vdso_entry(&self, address: u64) -> bool {
        self.entry(address).is_some()
    }

    fn function(&self, address: u64) -> Option<Function> {
        if let Some(vdso) = self.vdso.as_ref().filter(|vdso| vdso.range.contains(&address)) {
            let begin = vdso.range.start.checked_add(vdso.function(address)?.offset)?;
            return Some(Function { begin, end: vdso.range.end, table: true });
        }
        let mapping = self.mapping(address)?;
        let file = self.files.get(&mapping.range.start)?;
        let bias = file.bias(mapping)?;
        let found = file.function(address.wrapping_sub(bias))?;
        let (begin, end) = (found.begin.wrapping_add(bias), found.end.wrapping_add(bias));
        Some(Function { begin, end, ..found })
    }
}

/// The threads of a process.
#[must_use]
pub fn threads(pid: u32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task");
    let list = || {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
    };
    patient::ask(pid, list)
}

/// The short name of Node's processes from version 24 on: it says which thread it is.
const MAIN_THREAD: &str = "MainThread";

/// The name of a process by its short name, or by its file if the short one names no program.
fn named(short: &str, file: impl FnOnce() -> Option<PathBuf>) -> String {
    let by_file = || {
        let file = file()?;
        let name = file.file_name()?.to_str()?;
        Some(name.strip_suffix(" (deleted)").unwrap_or(name).to_owned())
    };
    let by_file = (short == MAIN_THREAD).then(by_file).flatten();
    by_file.unwrap_or_else(|| short.to_owned())
}

/// Returns the short name of a process; `None` if it is gone, or does not answer.
#[must_use]
pub fn short_name(pid: u32) -> Option<String> {
    let read = |pid| {
        let name = guard::text(&format!("/proc/{pid}/comm"), NAME).unwrap_or_default();
        named(name.trim(), || std::fs::read_link(format!("/proc/{pid}/exe")).ok()).into_bytes()
    };
    let answer = patient::each(&[pid], read).pop().flatten()?;
    let name = String::from_utf8_lossy(&answer).trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Returns a thread of a process that has not ended: the first one, otherwise any other. `/proc` shows a process
/// through the requested thread, and a thread that has ended has no memory, program or arguments.
pub(super) fn living(pid: u32) -> u32 {
    let ended = |tid: u32| {
        let status = guard::text(&format!("/proc/{tid}/status"), 1 << 16).unwrap_or_default();
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.is_none_or(|state| matches!(state.trim_start().chars().next(), Some('Z' | 'X')))
    };
    if !ended(pid) {
        return pid;
    }
    let others = threads(pid).into_iter().filter_map(|tid| u32::try_from(tid).ok());
    others.filter(|tid| *tid != pid).find(|tid| !ended(*tid)).unwrap_or(pid)
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
                // A process that does not answer is left out, and so are its children.
                if !all.contains(&child) && patient::shows(child) {
                    all.push(child);
                }
            }
        }
        at += 1;
    }
    all.remove(0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    /// Any user can name a program so.
    #[test]
    fn process_whose_name_is_not_text_is_examined() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(OsStr::from_bytes(b"a\xffb"));
        std::fs::copy("/bin/sleep", &program).unwrap();
        let mut child = std::process::Command::new(&program).arg("100").spawn().unwrap();
        // Until it is that program.
        let exe = format!("/proc/{}/exe", child.id());
        while std::fs::read_link(&exe).is_ok_and(|exe| exe != program) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let process = Process::new(child.id(), &mut Files::default());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(process.unwrap().name, "a\u{fffd}b");
    }

    #[test]
    fn process_whose_short_name_is_a_threads_has_the_name_of_its_file() {
        let file = |path: &str| Some(PathBuf::from(path));
        assert_eq!(named("node", || file("/usr/bin/other")), "node");
        assert_eq!(named("MainThread", || file("/usr/bin/node (deleted)")), "node");
        assert_eq!(named("MainThread", || None), "MainThread");
    }

    /// Programs are started from memory by container runtimes, and by programs that unpack themselves.
    #[test]
    fn program_in_memory_has_names_and_code_that_is_made_there_has_none() {
        use rustix::fd::AsRawFd;
        use rustix::fs::{MemfdFlags, memfd_create};
        let program = memfd_create("packed", MemfdFlags::empty()).unwrap();
        let mut file = File::from(program);
        std::io::copy(&mut File::open("/bin/sleep").unwrap(), &mut file).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let mut child = std::process::Command::new(path).arg("100").spawn().unwrap();
        let exe = format!("/proc/{}/exe", child.id());
        while std::fs::read_link(&exe).is_ok_and(|exe| !exe.starts_with("/memfd:packed (deleted)"))
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut files = Files::default();
        let mut process = Process::new(child.id(), &mut files).unwrap();
        let code = |process: &Process| {
            let mut code = process.maps.iter().filter(|m| m.executable && m.is_in_memory());
            code.next().map(|mapping| mapping.range.start)
        };
        // Until the program is mapped, and the loader has done its work.
        while code(&process).is_none() {
            std::thread::sleep(Duration::from_millis(1));
            process.refresh(&mut files);
        }
        let begin = code(&process).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // Following the mapping to its file needs a capability.
        if rustix::process::geteuid().is_root() {
            let (mapping, file, _) = process.file(begin).unwrap();
            assert!(file.is_elf() && mapping.base_name() == "memfd:packed");
            assert!(!process.has_code_without_file());
        }
    }

    /// V8 reserves the memory of its code, and makes pages of it executable while the program runs.
    #[test]
    fn page_that_was_made_executable_is_code_when_a_stack_goes_through_it() {
        use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
        let none = std::ptr::null_mut();
        // SAFETY: new memory where the kernel chooses, which only its address is taken of.
        let page = unsafe { mmap_anonymous(none, 4096, ProtFlags::empty(), MapFlags::PRIVATE) };
        let page = page.unwrap();
        let mut files = Files::default();
        let mut process = Process::new(std::process::id(), &mut files).unwrap();
        assert!(!process.is_code(page as u64));
        let execute = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: the page belongs only to this test, and nothing refers to it.
        unsafe { mprotect(page, 4096, execute).unwrap() };
        std::thread::sleep(Duration::from_millis(50));
        assert!(process.refresh_for_caller(page as u64, &mut files));
        assert!(process.is_code(page as u64));
        // Another address does not cause another read at once.
        assert!(!process.refresh_for_caller(8, &mut files));
        // SAFETY: as above; it is not used after this.
        unsafe { munmap(page, 4096).unwrap() };
    }
}
