//! Names of functions of files that other users can write, looked up in processes of their own.
//!
//! Such a file may be made to take any amount of memory and time: a section states how long it is uncompressed, and may be
//! longer; one byte of a table of lines makes a row of many. And it may be shortened while it is mapped, which ends the
//! process that reads it (SIGBUS). So a child reads it, with limits of the kernel for its memory and its processor time,
//! and this process waits for its answers for a limited time. Debugging information that exceeds the limits is left out
//! then: another child reads the table of symbols alone.

use super::{Named, Names, Place};
use crate::watched::NameSource;
use blazesym::symbolize::source::Elf;
use blazesym::symbolize::{Input, Symbolizer};
use clocksmith_measure::interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes that one of them may take for itself, more than this process has.
const MEMORY: u64 = 72 << 20;
/// Bytes that all that wait may have together.
const WAITING: u64 = 72 << 20;
/// Seconds of processor time of one of them.
const SECONDS: u64 = 5;
/// How long all together may take, by the clock.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same after a signal has asked this program to end.
const HASTE: Duration = Duration::from_millis(500);
/// How often the wish to end is looked at, in nanoseconds.
const BEAT: i64 = 50_000_000;
/// Children that wait for questions at most.
const CHILDREN: usize = 8;
/// Bytes of one answer at most.
const LONGEST: usize = 1 << 16;

/// Which file: device and inode.
type Id = (u64, u64);

/// The files of others, and the children that read them.
#[derive(Debug, Default)]
pub(super) struct Apart {
    files: HashMap<Id, State>,
    /// Which child was asked when.
    asked: u64,
    spent: Duration,
    wished: Option<Instant>,
    /// What was left out, by the names of files.
    pub(super) gaps: Vec<String>,
}

/// What is read of a file.
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

#[derive(Debug)]
struct Child {
    pid: libc::pid_t,
    socket: UnixStream,
    /// What it had at its beginning, in bytes.
    begun: u64,
    /// What it has taken since.
    taken: u64,
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: a child of this process that was not waited for, so its number is its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Where a function is searched: an offset in the file, and the address there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) offset: u64,
    pub(super) address: Option<u64>,
}

impl Apart {
    /// The functions at a place of a file, `shown` for people; `None` if it has none, or cannot be read within the limits.
    pub(super) fn names(&mut self, file: &File, id: Id, shown: &str, at: At) -> Option<Names> {
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
            if state.child.is_none() {
                state.child = Child::start(file, depth);
            }
            if state.child.is_none() {
                state.depth = Depth::Nothing;
                let why = "which other users can write, are not looked up: no process can be started for that";
                self.gaps.push(format!("{}, {why}", begin(shown)));
                return None;
            }
            let end = begun + self.left();
            let answer = self.files.get_mut(&id)?.child.as_mut().map(|child| child.ask(at, end));
            self.spent += begun.elapsed();
            if let Some(Some(answer)) = answer {
                self.forget_oldest();
                return answer;
            }
            let all = self.left().is_zero();
            let state = self.files.get_mut(&id)?;
            (state.child, state.depth) = match depth {
                Depth::All if !all => (None, Depth::Symbols),
                _ => (None, Depth::Nothing),
            };
            let what = if all {
                "which other users can write, are not looked up: that of all such files took too long"
            } else if depth == Depth::All {
                "which other users can write, are those of its table of symbols: its debugging information takes too much \
                 memory or time"
            } else {
                "which other users can write, are not looked up: that takes too much memory or time"
            };
            self.gaps.retain(|gap| !gap.starts_with(&begin(shown)));
            self.gaps.push(format!("{}, {what}", begin(shown)));
        }
    }

    /// How long it may still take.
    fn left(&mut self) -> Duration {
        if interrupt::wished() {
            let since = self.wished.get_or_insert_with(Instant::now);
            return HASTE.saturating_sub(since.elapsed());
        }
        PATIENCE.saturating_sub(self.spent)
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

impl Child {
    fn start(file: &File, depth: Depth) -> Option<Self> {
        let (here, there) = UnixStream::pair().ok()?;
        here.set_nonblocking(true).ok()?;
        let data = data("self")?;
        // SAFETY: the child uses nothing of this process that another thread may hold, but for memory, which the C library
        // makes usable; it ends by _exit or by a signal.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => {
                let work = std::panic::AssertUnwindSafe(|| serve(file, depth, &there, data));
                let _ = std::panic::catch_unwind(work);
                // SAFETY: ends the child, without running anything of its parent's.
                unsafe { libc::_exit(0) }
            }
            pid => Some(Self { pid, socket: here, begun: data, taken: 0 }),
        }
    }

    /// The answer to a question; `None` if there is none in time.
    fn ask(&mut self, at: At, end: Instant) -> Option<Option<Names>> {
        let mut question = [0; 17];
        question[..8].copy_from_slice(&at.offset.to_le_bytes());
        question[8..16].copy_from_slice(&at.address.unwrap_or(0).to_le_bytes());
        question[16] = u8::from(at.address.is_some());
        self.socket.write_all(&question).ok()?;
        let mut length = [0; 4];
        self.read(&mut length, end)?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let mut answer = vec![0; Some(length).filter(|length| *length <= LONGEST)?];
        self.read(&mut answer, end)?;
        self.taken = data(&self.pid.to_string())?.saturating_sub(self.begun);
        Some(parse(&answer))
    }

    fn read(&mut self, to: &mut [u8], end: Instant) -> Option<()> {
        let mut filled = 0;
        while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.socket.read(rest) {
                Ok(0) => return None,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    // After a signal there is less time than was thought.
                    let end =
                        if interrupt::wished() { end.min(Instant::now() + HASTE) } else { end };
                    if Instant::now() >= end {
                        return None;
                    }
                    let beat = Timespec { tv_sec: 0, tv_nsec: BEAT };
                    let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&beat));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(())
    }
}

/// What a process has of memory that counts for its limit, in bytes.
fn data(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(5)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

/// In the child: answers questions until its parent ends.
fn serve(file: &File, depth: Depth, socket: &UnixStream, data: u64) {
    alone(&[file.as_raw_fd(), socket.as_raw_fd()]);
    let limit = |what, most| {
        rustix::process::setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })
    };
    let limits = [
        limit(Resource::Core, 0),
        limit(Resource::Data, data.saturating_add(MEMORY)),
        limit(Resource::Cpu, SECONDS),
    ];
    if limits.iter().any(Result::is_err) {
        return;
    }
    let names = NameSource::of_file(file).unwrap_or_default();
    let symbolizer = super::symbolizer();
    let mut socket = socket;
    let mut question = [0; 17];
    while socket.read_exact(&mut question).is_ok() {
        let word = |at: usize| {
            let bytes = question.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        let at = At { offset: word(0), address: (question[16] != 0).then(|| word(8)) };
        let debug = depth == Depth::All;
        let found = look_up(&symbolizer, file, &names, debug, at);
        let mut answer = write(found.as_deref());
        answer.truncate(LONGEST);
        let length = u32::try_from(answer.len()).unwrap_or(0).to_le_bytes();
        if socket.write_all(&length).and_then(|()| socket.write_all(&answer)).is_err() {
            return;
        }
    }
}

/// Leaves a process that has these files open, and that no signal of a terminal ends before its parent.
fn alone(keep: &[RawFd; 2]) {
    let (first, second) = (keep[0].min(keep[1]), keep[0].max(keep[1]));
    // SAFETY: system calls on numbers; this process has one thread, and uses no other file.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            if !keep.contains(&standard) {
                libc::dup2(null, standard);
            }
        }
        let mut from = 3;
        for kept in [first, second] {
            if kept > from {
                libc::syscall(libc::SYS_close_range, from, kept - 1, 0);
            }
            from = from.max(kept + 1);
        }
        libc::syscall(libc::SYS_close_range, from, libc::c_int::MAX, 0);
    }
}

fn look_up(
    symbolizer: &Symbolizer,
    file: &File,
    names: &NameSource,
    debug: bool,
    at: At,
) -> Option<Names> {
    let other = names.other.as_ref().filter(|_| debug).zip(at.address);
    let other = other.and_then(|(other, address)| {
        let input = Input::VirtOffset(address);
        super::names_of(symbolizer, Elf::new(super::path(other)), input)
    });
    other.or_else(|| super::own_names(symbolizer, file, debug && names.debug, at.offset))
}

/// Names as bytes: each with its length before it, then the file and the line of its source.
fn write(names: Option<&[Named]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let add = |bytes: &mut Vec<u8>, text: &str| {
        // A name may be of any length. What is left of a letter at its end is shown as such.
        let text = text.as_bytes().get(..NAME).unwrap_or(text.as_bytes());
        bytes.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
        bytes.extend_from_slice(text);
    };
    for named in names.unwrap_or_default().iter().take(INLINED) {
        add(&mut bytes, &named.name);
        let place = named.place.as_ref();
        add(&mut bytes, place.map_or("", |place| &place.file));
        bytes.extend(place.map_or(u32::MAX, |place| place.line).to_le_bytes());
    }
    bytes
}

/// Bytes of a name, and of the name of a file, at most.
const NAME: usize = 1 << 10;
/// Functions at one address at most: the answer has room for them.
const INLINED: usize = 24;

fn parse(bytes: &[u8]) -> Option<Names> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let name = text(&mut rest)?.into();
        let file = text(&mut rest)?;
        let line = number(&mut rest)?;
        let place = (line != u32::MAX).then(|| Place { file: file.into(), line });
        found.push(Named { name, place });
    }
    (!found.is_empty()).then(|| found.into())
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*first))
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// This test as a file.
    fn own() -> (tempfile::TempDir, File, u64) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        (dir, file, length)
    }

    fn ask(apart: &mut Apart, file: &File, offset: u64) -> Option<Names> {
        apart.names(file, (1, 2), "program", At { offset, address: None })
    }

    #[test]
    fn names_are_those_that_are_found_here() {
        let (_dir, file, length) = own();
        let mut apart = Apart::default();
        let (symbolizer, source) =
            (super::super::symbolizer(), NameSource::of_file(&file).unwrap());
        let mut known = 0;
        for part in 1..64 {
            let at = At { offset: length / 64 * part, address: None };
            let here = look_up(&symbolizer, &file, &source, true, at);
            known += usize::from(here.is_some());
            assert_eq!(apart.names(&file, (1, 2), "program", at), here, "{at:?}");
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

    /// A zlib stream of so many mebibytes of zeros: one part of it again and again.
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
        let symtab = [sym(0, 0, 0, 0, 0), sym(1, 0x12, 1, 0x100, 0x100)].concat();
        let names = format!("\0.text\0.symtab\0.strtab\0.shstrtab\0{name}\0");
        let at =
            |name: &str| u32::try_from(names.find(&format!("\0{name}\0")).unwrap() + 1).unwrap();
        // Name, type, flags, address, content, link, size of an entry.
        let sections: [Section<'_>; 5] = [
            (at(".text"), 1, 6, 0x100, &[0x90; 0x100], 0, 0),
            (at(".symtab"), 2, 0, 0, &symtab, 3, 24),
            (at(".strtab"), 3, 0, 0, b"\0victim\0", 0, 0),
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

    #[test]
    fn sections_that_grow_cost_the_debugging_information_and_no_more() {
        let packed = zeros(400);
        let mut read = Vec::new();
        flate2::read::ZlibDecoder::new(&zeros(2)[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, vec![0; 2 << 20]);
        // What a section states is seen before it is read; one that lies is stopped by the kernel.
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
            let mut apart = Apart::default();
            let before = data("self").unwrap();
            let at = At { offset: 0x120, address: Some(0x120) };
            let names = apart.names(&file, (1, 2), "bomb", at).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(&*names[0].name, "victim", "{name}");
            assert!(data("self").unwrap() < before + MEMORY, "{name}");
            // Where the debugging information was read at all, it was left, and that is said.
            println!("{name} {states}: {:?}", apart.gaps);
        }
    }

    #[test]
    fn memory_that_a_file_takes_has_a_limit() {
        // Takes twice the limit while it answers.
        let (here, there) = UnixStream::pair().unwrap();
        let data = data("self").unwrap();
        let (_dir, file, _) = own();
        // SAFETY: as in `Child::start`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            alone(&[file.as_raw_fd(), there.as_raw_fd()]);
            let most = Some(data + MEMORY);
            let _ =
                rustix::process::setrlimit(Resource::Data, Rlimit { current: most, maximum: most });
            let length = usize::try_from(2 * MEMORY).unwrap();
            let taken = Vec::<u8>::new().try_reserve_exact(length).is_ok();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(taken)) };
        }
        drop(there);
        let mut status = 0;
        // SAFETY: a child of this test.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 0));
        drop(here);
    }

    #[test]
    fn child_that_does_not_answer_is_left_in_time_and_said() {
        let (_dir, file, length) = own();
        let mut apart = Apart { spent: PATIENCE - Duration::from_millis(100), ..Apart::default() };
        let child = Child::start(&file, Depth::All).unwrap();
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
            apart.names(&file, (1, id), "program", at);
        }
        let kept = |apart: &Apart| apart.files.values().filter(|it| it.child.is_some()).count();
        assert_eq!(kept(&apart), CHILDREN);
        // One that takes much leaves no room for others.
        let last = apart.files.get_mut(&(1, 2 * CHILDREN as u64 - 1)).unwrap();
        last.child.as_mut().unwrap().taken = WAITING + 1;
        ask(&mut apart, &file, length / 2);
        assert_eq!(kept(&apart), 1);
    }

    proptest! {
        #[test]
        fn any_answer(bytes: Vec<u8>) {
            parse(&bytes);
        }

        #[test]
        fn answers_are_read_as_they_were_written(
            all in proptest::collection::vec((".{0,20}", proptest::option::of((".{0,20}", 0..u32::MAX))), 0..5)
        ) {
            let named: Vec<Named> = all
                .into_iter()
                .map(|(name, place)| Named {
                    name: name.into(),
                    place: place.map(|(file, line)| Place { file: Arc::from(file), line }),
                })
                .collect();
            let read = parse(&write(Some(&named)));
            prop_assert_eq!(read.as_deref().unwrap_or_default(), &named[..]);
        }
    }
}
