//! Looks up the names of a file's functions in separate processes.
//!
//! A file can be made to take any amount of memory and time: a section states its uncompressed length, and may be
//! longer; one byte of a line table makes a row of many. And it may be shortened while it is mapped, which ends the
//! process that reads it (SIGBUS). So a child reads it, with kernel limits on its memory and its CPU time, and this
//! process waits for the results for a limited time. Debugging information that exceeds the limits is left out:
//! another child reads only the symbol table. A file of root or of the caller has larger limits, but still has
//! limits: it may belong to an image that another user has built.

mod answer;
mod child;

use super::Names;
use child::{Child, Limits};
use clocksmith_measure::interrupt;
use std::collections::HashMap;
use std::fs::File;
use std::time::{Duration, Instant};

/// Bytes that all that wait may have together.
const WAITING: u64 = 160 << 20;
/// How long all together may take, by the clock: those that others can write, and all others.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { TESTS_PATIENCE } else { 20 });
/// The same in tests, whose code is not optimised, and which run at the same time.
const TESTS_PATIENCE: u64 = 200;
/// The same after a signal has requested this program to end.
const HASTE: Duration = Duration::from_millis(500);
/// Children that wait for questions at most.
const CHILDREN: usize = 24;
/// Which file: device and inode.
type Id = (u64, u64);

/// Files, and the children that read them.
#[derive(Debug, Default)]
pub(super) struct Apart {
    files: HashMap<Id, State>,
    /// The number of the last request, which shows the child that was used longest ago.
    asked: u64,
    spent: Duration,
    spent_on_own: Duration,
    wished: Option<Instant>,
    /// Data that was left out, with the names of the files.
    pub(super) gaps: Vec<String>,
}

/// The data to read from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// Debugging information and symbols.
    All,
    /// Symbols.
    Symbols,
    /// Nothing.
    Nothing,
}

#[derive(Debug)]
struct State {
    depth: Depth,
    child: Option<Child>,
    last: u64,
}

/// Where a function is searched: an offset in the file, and the address there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) offset: u64,
    pub(super) address: Option<u64>,
}

impl Apart {
    /// The functions at a place of a file, `shown` for people; `None` if it has none, or cannot be read within the limits.
    /// `own` files are those that no other user could have written.
    pub(super) fn names(
        &mut self,
        file: &File,
        id: Id,
        shown: &str,
        own: bool,
        at: At,
    ) -> Option<Names> {
        let which = if own { "" } else { ", which other users can write," };
        loop {
            self.asked += 1;
            let now = self.asked;
            let state =
                self.files.entry(id).or_insert(State { depth: Depth::All, child: None, last: now });
            state.last = now;
            let depth = state.depth;
            if depth == Depth::Nothing {
                return None;
            }
            let begun = Instant::now();
            let left = self.left(own);
            let state = self.files.get_mut(&id)?;
            if state.child.is_none() && !left.is_zero() {
                state.child = Child::start(file, depth, Limits::of(own));
            }
            if state.child.is_none() && !left.is_zero() {
                state.depth = Depth::Nothing;
                let why = "are not looked up: no process can be started for that";
                self.gaps.push(format!("{}{which} {why}", begin(shown)));
                return None;
            }
            let end = begun + left;
            let answer = self.files.get_mut(&id)?.child.as_mut().map(|child| child.ask(at, end));
            let spent = if own { &mut self.spent_on_own } else { &mut self.spent };
            *spent += begun.elapsed();
            if let Some(Some(answer)) = answer {
                self.forget_oldest();
                return answer;
            }
            let all = self.left(own).is_zero();
            let state = self.files.get_mut(&id)?;
            (state.child, state.depth) = match depth {
                Depth::All if !all => (None, Depth::Symbols),
                _ => (None, Depth::Nothing),
            };
            let what = if all {
                "are not looked up: the lookups in all such files took too long"
            } else if depth == Depth::All {
                "are those of its symbol table: its debugging information takes too much memory or \
                 time"
            } else {
                "are not looked up: that takes too much memory or time"
            };
            self.gaps.retain(|gap| !gap.starts_with(&begin(shown)));
            self.gaps.push(format!("{}{which} {what}", begin(shown)));
        }
    }

    /// How long it may still take.
    fn left(&mut self, own: bool) -> Duration {
        if interrupt::wished() {
            let since = self.wished.get_or_insert_with(Instant::now);
            return HASTE.saturating_sub(since.elapsed());
        }
        PATIENCE.saturating_sub(if own { self.spent_on_own } else { self.spent })
    }

    /// Ends children that have waited longest, until those that are left are few and have little memory.
    fn forget_oldest(&mut self) {
        loop {
            let with = || {
                self.files.iter().filter_map(|(id, state)| Some((id, state, state.child.as_ref()?)))
            };
            let taken: u64 = with().map(|(_, _, child)| child.taken).sum();
            let many = with().count();
            if many <= 1 || many <= CHILDREN && taken <= WAITING {
                return;
            }
            let oldest = with().min_by_key(|(_, state, _)| state.last).map(|(id, ..)| *id);
            if let Some(state) = oldest.and_then(|id| self.files.get_mut(&id)) {
                state.child = None;
            }
        }
    }
}

fn begin(shown: &str) -> String {
    format!("names of functions of {shown}")
}

#[cfg(test)]
mod tests {
    use super::child::{MEMORY, data, look_up};
    use super::*;
    use crate::watched::NameSource;
    use std::io::Read;

    /// This test as a file.
    pub(super) fn own() -> (tempfile::TempDir, File, u64) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        (dir, file, length)
    }

    fn ask(apart: &mut Apart, file: &File, offset: u64) -> Option<Names> {
        apart.names(file, (1, 2), "program", false, At { offset, address: None })
    }

    #[test]
    fn names_are_those_that_are_found_here() {
        let (_dir, file, length) = own();
        let mut apart = Apart::default();
        let (symbolizer, source) =
            (crate::symbols::symbolizer(), NameSource::of_file(&file).unwrap());
        let mut known = 0;
        for part in 1..64 {
            let at = At { offset: length / 64 * part, address: None };
            let here = look_up(&symbolizer, &file, &source, true, at);
            known += usize::from(here.is_some());
            assert_eq!(apart.names(&file, (1, 2), "program", part % 2 == 0, at), here, "{at:?}");
        }
        assert!(known > 5);
        assert_eq!(apart.gaps, [""; 0]);
    }

    #[test]
    fn file_that_is_shortened_ends_only_the_child() {
        let (_dir, file, length) = own();
        let mut apart = Apart::default();
        let first = (1..64).find_map(|part| ask(&mut apart, &file, length / 64 * part));
        assert!(first.is_some());
        file.set_len(4096).unwrap();
        for part in 1..64 {
            ask(&mut apart, &file, length / 64 * part + 1);
        }
    }

    /// Returns a zlib stream of this many mebibytes of zeros: one part of it repeated.
    fn zeros(mebibytes: u32) -> Vec<u8> {
        let mut part = Vec::with_capacity(1 << 16);
        let mut compress = flate2::Compress::new(flate2::Compression::fast(), false);
        let one = vec![0; 1 << 20];
        compress.compress_vec(&one, &mut part, flate2::FlushCompress::Full).unwrap();
        let mut packed = vec![0x78, 1];
        for _ in 0..mebibytes {
            packed.extend_from_slice(&part);
        }
        // The last block, which is empty, and the checksum.
        packed.extend([3, 0]);
        let sum = ((u64::from(mebibytes) << 20) % 65521) << 16 | 1;
        packed.extend(u32::try_from(sum).unwrap().to_be_bytes());
        packed
    }

    /// Name, kind, flags, address, content, link and size of an entry.
    type Section<'a> = (u32, u32, u64, u64, &'a [u8], u32, u64);

    /// An ELF file with the function `victim` from 0x100 to 0x200, and a compressed section of this name that states a length.
    fn bomb(name: &str, states: u64, zeros: &[u8]) -> Vec<u8> {
        named_bomb("victim", name, states, zeros)
    }

    /// The same with another name of the function.
    fn named_bomb(victim: &str, name: &str, states: u64, zeros: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        for word in [1u32, 0] {
            packed.extend(word.to_le_bytes());
        }
        for word in [states, 1] {
            packed.extend(word.to_le_bytes());
        }
        packed.extend_from_slice(zeros);
        let sym = |name: u32, info: u8, index: u16, value: u64, size: u64| {
            let mut bytes = name.to_le_bytes().to_vec();
            bytes.extend([info, 0]);
            bytes.extend(index.to_le_bytes());
            bytes.extend(value.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes
        };
        let strings = format!("\0{victim}\0");
        let symtab = [sym(0, 0, 0, 0, 0), sym(1, 0x12, 1, 0x100, 0x100)].concat();
        let names = format!("\0.text\0.symtab\0.strtab\0.shstrtab\0{name}\0");
        let at =
            |name: &str| u32::try_from(names.find(&format!("\0{name}\0")).unwrap() + 1).unwrap();
        // Name, type, flags, address, content, link, size of an entry.
        let sections: [Section<'_>; 5] = [
            (at(".text"), 1, 6, 0x100, &[0x90; 0x100], 0, 0),
            (at(".symtab"), 2, 0, 0, &symtab, 3, 24),
            (at(".strtab"), 3, 0, 0, strings.as_bytes(), 0, 0),
            (at(".shstrtab"), 3, 0, 0, names.as_bytes(), 0, 0),
            (at(name), 1, 0x800, 0, &packed, 0, 0),
        ];
        let mut file = vec![0; 0x100];
        let mut headers = vec![0; 64];
        for (name, kind, flags, address, content, link, entry) in sections {
            let offset = file.len() as u64;
            file.extend_from_slice(content);
            file.resize(file.len().next_multiple_of(16), 0);
            headers.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
            let size = content.len() as u64;
            for word in [flags, address, offset, size] {
                headers.extend(word.to_le_bytes());
            }
            headers.extend([link.to_le_bytes(), 1u32.to_le_bytes()].concat());
            headers.extend([8u64.to_le_bytes(), entry.to_le_bytes()].concat());
        }
        let place = file.len() as u64;
        file.extend(headers);
        let whole = file.len() as u64;
        let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        head.extend([3u16.to_le_bytes(), 62u16.to_le_bytes()].concat());
        head.extend(1u32.to_le_bytes());
        for word in [0x100, 64, place] {
            head.extend(word.to_le_bytes());
        }
        head.extend(0u32.to_le_bytes());
        for half in [64u16, 56, 1, 64, 6, 4] {
            head.extend(half.to_le_bytes());
        }
        head.extend([1u32.to_le_bytes(), 5u32.to_le_bytes()].concat());
        for word in [0, 0, 0, whole, whole, 0x1000] {
            head.extend(word.to_le_bytes());
        }
        file[..head.len()].copy_from_slice(&head);
        file
    }

    /// Runs a test of the memory of this process in a separate process: other tests allocate meanwhile.
    fn alone(test: &str, body: fn()) {
        const SET: &str = "CLOCKSMITH_TEST_ALONE";
        if std::env::var_os(SET).is_some() {
            return body();
        }
        let test = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
        let ran = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test, "--nocapture"])
            .env(SET, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(
            said.contains("test result: ok. 1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }

    #[test]
    fn sections_that_grow_cost_the_debugging_information_and_no_more() {
        alone("sections_that_grow_cost_the_debugging_information_and_no_more", sections_that_grow);
    }

    fn sections_that_grow() {
        let packed = zeros(400);
        let mut read = Vec::new();
        flate2::read::ZlibDecoder::new(&zeros(2)[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, vec![0; 2 << 20]);
        // The stated length of a section is checked before it is read; the kernel stops a section with a wrong length.
        for (name, states) in [
            (".debug_info", 400 << 20),
            (".debug_info", 64),
            (".debug_abbrev", 400 << 20),
            (".debug_line", 64),
            (".debug_str", 400 << 20),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("bomb");
            std::fs::write(&path, bomb(name, states, &packed)).unwrap();
            let file = File::open(&path).unwrap();
            for own in [false, true] {
                let mut apart = Apart::default();
                let before = data("self").unwrap();
                let at = At { offset: 0x120, address: Some(0x120) };
                let names = apart.names(&file, (1, 2), "bomb", own, at);
                let names = names.unwrap_or_else(|| panic!("{name}"));
                assert_eq!(&*names[0].name, "victim", "{name}");
                assert!(data("self").unwrap() < before + MEMORY, "{name}");
                // If the debugging information was read at all, it was left out, and a message reports that.
                println!("{name} {states}: {:?}", apart.gaps);
            }
        }
    }

    #[test]
    fn name_that_grows_when_it_is_made_readable_ends_the_child_alone() {
        alone("name_that_grows_when_it_is_made_readable_ends_the_child_alone", name_that_grows);
    }

    fn name_that_grows() {
        // Each parameter is a template of all before it, twice.
        let mut name = "_Z1fI1A".to_owned();
        for step in 0..28 {
            let last = if step == 0 { "S_".to_owned() } else { format!("S{}_", base_36(step - 1)) };
            name += &format!("1TI{last}{last}E");
        }
        name += "EvT_";
        let long = format!("_Z{}", "1aI".repeat(1 << 12));
        for name in [name, long] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("mangled");
            std::fs::write(&path, named_bomb(&name, ".comment", 0, &[])).unwrap();
            let file = File::open(&path).unwrap();
            for own in [false, true] {
                let mut apart = Apart::default();
                let before = data("self").unwrap();
                let at = At { offset: 0x120, address: Some(0x120) };
                let found = apart.names(&file, (1, 2), "mangled", own, at);
                let longest = found.iter().flat_map(|names| names.iter()).map(|it| it.name.len());
                assert!(longest.max().unwrap_or(0) <= 4096);
                assert!(data("self").unwrap() < before + MEMORY);
            }
        }
    }

    fn base_36(number: u32) -> char {
        char::from_digit(number, 36).unwrap().to_ascii_uppercase()
    }

    #[test]
    fn child_that_does_not_answer_is_left_in_time_and_said() {
        let (_dir, file, length) = own();
        let mut apart = Apart { spent: PATIENCE - Duration::from_millis(100), ..Apart::default() };
        let child = Child::start(&file, Depth::All, Limits::of(false)).unwrap();
        // SAFETY: a child of this test.
        unsafe { libc::kill(child.pid, libc::SIGSTOP) };
        apart.files.insert((1, 2), State { depth: Depth::All, child: Some(child), last: 0 });
        let begun = Instant::now();
        assert_eq!(ask(&mut apart, &file, length / 2), None);
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(apart.gaps.len(), 1);
        assert!(apart.gaps[0].contains("too long"), "{:?}", apart.gaps);
        assert_eq!(apart.files[&(1, 2)].depth, Depth::Nothing);
    }

    #[test]
    fn few_children_are_kept() {
        let (_dir, file, length) = own();
        let mut apart = Apart::default();
        for id in 0..2 * CHILDREN as u64 {
            let at = At { offset: length / 2, address: None };
            apart.names(&file, (1, id), "program", false, at);
        }
        let kept = |apart: &Apart| apart.files.values().filter(|it| it.child.is_some()).count();
        assert_eq!(kept(&apart), CHILDREN);
        // A child that takes much memory leaves no room for others.
        let last = apart.files.get_mut(&(1, 2 * CHILDREN as u64 - 1)).unwrap();
        last.child.as_mut().unwrap().taken = WAITING + 1;
        ask(&mut apart, &file, length / 2);
        assert_eq!(kept(&apart), 1);
    }
}
