//! Stacks from registers and a part of the stack memory.
//!
//! There are four methods, because no single one works for every program: the unwind tables of the
//! files and of the vDSO; the chain of frame pointers that the kernel walked (Go reads the clock on
//! another stack, where tables end and frame pointers continue); the first instructions of a function
//! without tables (C code of musl, which uses the frame pointer's register for other values), which lead to
//! its caller; and, if they do not, a search of the stack for return addresses, which follow a call
//! instruction.

mod entries;
mod prologue;
pub mod registers;
mod search;

use crate::record::Sample;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Frames that are kept.
pub const FRAMES: usize = 48;
/// A chain that is not longer is taken for broken.
const BROKEN: usize = 3;
/// Functions without tables on a stack at most.
const WITHOUT_TABLES: usize = 4;

/// Bytes of a section with tables at most; the largest programs have a tenth of it.
const LARGEST: u64 = 256 << 20;

/// Section bytes, shared between processes that map the same file.
type Bytes = Arc<[u8]>;

/// The unwind tables of one file.
#[derive(Clone, Debug)]
pub struct Tables {
    info: Sections,
}

#[derive(Clone, Debug, Default)]
struct Sections {
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
    eh_frame: Option<(Range<u64>, Option<Bytes>)>,
    eh_frame_hdr: Option<(Range<u64>, Option<Bytes>)>,
    debug_frame: Option<Bytes>,
}

impl Tables {
    /// Reads the tables from an ELF file; `None` if it is not an ELF file.
    #[must_use]
    pub fn read(file: &[u8]) -> Option<Self> {
        Some(Self::of(&object::File::parse(file).ok()?))
    }

    /// Takes the tables from a parsed file. The code itself is not kept: it is large, and the
    /// tables suffice.
    #[must_use]
    pub fn of<'a, R: object::ReadRef<'a>>(file: &object::File<'a, R>) -> Self {
        let data = |name: &str| -> Option<(Range<u64>, Option<Bytes>)> {
            let section = file.section_by_name(name)?;
            let range = section.address()..section.address().checked_add(section.size())?;
            // No decompression: a hostile file may state any size.
            let bytes = (section.size() <= LARGEST).then(|| section.data().ok()).flatten();
            let bytes = bytes.filter(|data| !data.is_empty()).map(Bytes::from);
            Some((range, bytes))
        };
        let place = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        Self {
            info: Sections {
                text: place(".text"),
                got: place(".got"),
                eh_frame: data(".eh_frame"),
                eh_frame_hdr: data(".eh_frame_hdr"),
                debug_frame: data(".debug_frame").and_then(|(_, bytes)| bytes),
            },
        }
    }

    /// Returns how many bytes they have.
    #[must_use]
    pub fn kept(&self) -> u64 {
        let of = |bytes: Option<&Bytes>| bytes.map_or(0, |bytes| bytes.len() as u64);
        let part = |part: &Option<(Range<u64>, Option<Bytes>)>| {
            of(part.as_ref().and_then(|(_, bytes)| bytes.as_ref()))
        };
        let info = &self.info;
        part(&info.eh_frame) + part(&info.eh_frame_hdr) + of(info.debug_frame.as_ref())
    }

    /// The function around an address of the file by the tables.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<Range<u64>> {
        registers::function(&self.info, address)
    }
}

/// The unwinder of one process.
pub struct Unwinder {
    inner: UnwinderX86_64<Bytes>,
    cache: CacheX86_64,
    /// The same files, for data that the library does not provide: where they are, and their tables.
    files: Vec<(Range<u64>, u64, Sections)>,
    /// Which entries of their tables may be used.
    known: entries::Known,
    /// The return address of the last stack at which no code was known.
    lost: Option<u64>,
    /// Frames of functions without tables, by an address in them.
    frames: HashMap<u64, Option<prologue::Frame>>,
    /// The frames of the last stack that tables or first instructions led to, each with its stack pointer.
    pointers: Vec<(u64, u64)>,
}

impl std::fmt::Debug for Unwinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unwinder").finish_non_exhaustive()
    }
}

impl Default for Unwinder {
    fn default() -> Self {
        Self {
            inner: UnwinderX86_64::new(),
            cache: CacheX86_64::new(),
            files: Vec::new(),
            known: entries::Known::default(),
            lost: None,
            frames: HashMap::new(),
            pointers: Vec::new(),
        }
    }
}

/// The content of the process at an address.
pub trait Code {
    /// Whether code can run there.
    fn is_code(&self, address: u64) -> bool;
    /// The bytes before an address, if they can be read.
    fn before(&self, address: u64) -> Option<[u8; 7]>;
    /// Returns the bytes from an address on, if they can be read; zeros follow the end of the readable bytes.
    fn at(&self, address: u64) -> Option<[u8; 64]>;
    /// The word at an address, if it can be read.
    fn word(&self, address: u64) -> Option<u64>;
    /// Whether a function of the vDSO begins there.
    fn is_vdso_entry(&self, address: u64) -> bool;
    /// The function around an address, where a symbol or a table states it.
    fn function(&self, address: u64) -> Option<Function>;
}

/// The extent of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its first address.
    pub begin: u64,
    /// The address after it.
    pub end: u64,
    /// Whether unwind tables cover it.
    pub table: bool,
}

impl Unwinder {
    /// Adds a file that is mapped at `range`, `bias` above the addresses in it.
    pub fn add(&mut self, name: &str, tables: &Tables, range: Range<u64>, bias: u64) {
        let mut sections = tables.info.clone();
        if !entries::all(&sections) {
            (sections.eh_frame, sections.eh_frame_hdr, sections.debug_frame) = (None, None, None);
        }
        let split = |section: &Option<(Range<u64>, Option<Bytes>)>| match section {
            Some((range, bytes)) => (Some(range.clone()), bytes.clone()),
            None => (None, None),
        };
        let (eh_frame_svma, eh_frame) = split(&sections.eh_frame);
        let (eh_frame_hdr_svma, eh_frame_hdr) = split(&sections.eh_frame_hdr);
        let info = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: sections.text.clone(),
            got_svma: sections.got.clone(),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame: sections.debug_frame.clone(),
            ..Default::default()
        };
        // Both lists have one file at each begin, so that both find the same one.
        self.inner.remove_module(range.start);
        self.files.retain(|(known, ..)| known.start != range.start);
        self.files.push((range.clone(), bias, sections));
        self.known.clear();
        self.frames.clear();
        self.inner.add_module(Module::new(name.to_owned(), range, bias, info));
    }

    /// The user stack of a sample, innermost first. Addresses of callers are one less than the return
    /// address, so that they are inside the call.
    pub fn stack(&mut self, sample: &Sample, code: &dyn Code) -> Vec<u64> {
        let Some(registers) = sample.registers else { return Vec::new() };
        let mut by_tables = self.by_tables(sample, code);
        cut(&mut by_tables, code);
        self.by_prologues(sample, code, &mut by_tables);
        let mut by_pointers = by_pointers(sample, code);
        cut(&mut by_pointers, code);
        let mut best =
            if by_pointers.len() > by_tables.len() + 1 { by_pointers } else { by_tables };
        if best.len() <= BROKEN {
            search::search(&sample.stack, &mut best, code);
        }
        if best.is_empty() {
            best.push(registers.ip);
        }
        best
    }

    /// The return address by the tables at which the last stack ended, because no code was known there: code that was made or
    /// mapped since the map was read, or a value that is not a return address.
    #[must_use]
    pub fn lost(&self) -> Option<u64> {
        self.lost
    }

    fn by_tables(&mut self, sample: &Sample, code: &dyn Code) -> Vec<u64> {
        self.lost = None;
        self.pointers.clear();
        let Some(registers) = sample.registers else { return Vec::new() };
        let mut stack = Vec::new();
        self.walk((registers.ip, registers.sp, registers.bp), sample, code, &mut stack);
        stack
    }

    /// Adds the frames by tables from an instruction, a stack pointer and a frame pointer on.
    fn walk(
        &mut self,
        (ip, sp, bp): (u64, u64, u64),
        sample: &Sample,
        code: &dyn Code,
        stack: &mut Vec<u64>,
    ) {
        let Some(registers) = sample.registers else { return };
        let mut read = |address: u64| {
            let offset = address.checked_sub(registers.sp).ok_or(())?;
            word(&sample.stack, usize::try_from(offset).map_err(|_| ())?).ok_or(())
        };
        let Self { inner, cache, files, known, lost, pointers, frames, .. } = self;
        let mut at = UnwindRegsX86_64::new(ip, sp, bp);
        let mut next = Some(FrameAddress::InstructionPointer(ip));
        while let Some(frame) = next {
            let address = match frame {
                FrameAddress::InstructionPointer(address) => address,
                FrameAddress::ReturnAddress(address) => u64::from(address) - 1,
            };
            if !code.is_code(address) {
                *lost = Some(address);
                break;
            }
            if stack.len() >= FRAMES {
                break;
            }
            pointers.truncate(stack.len());
            pointers.push((address, at.sp()));
            stack.push(address);
            // The next step uses the entry for this address.
            let begun = files.iter().filter(|(range, ..)| range.start <= address);
            let file = begun.max_by_key(|(range, ..)| range.start);
            let file = file.filter(|(range, ..)| address < range.end);
            if let Some((_, bias, sections)) = file
                && !known.may_use(address, sections, address.wrapping_sub(*bias))
            {
                break;
            }
            // Without tables the library follows the frame pointer, in which such a function may have another value.
            let by_prologue = frames.entry(address).or_insert_with(|| {
                let function = code.function(address).filter(|function| !function.table)?;
                prologue::frame(code, function, address)
            });
            if by_prologue.is_some() {
                break;
            }
            let found = inner.unwind_frame(frame, &mut at, cache, &mut read);
            next = found.ok().flatten().and_then(FrameAddress::from_return_address);
        }
    }

    /// Adds the callers of a function without tables by its first instructions, and theirs by tables.
    fn by_prologues(&mut self, sample: &Sample, code: &dyn Code, stack: &mut Vec<u64>) {
        let Some(registers) = sample.registers else { return };
        for _ in 0..WITHOUT_TABLES {
            let Some(below) = stack.last().copied() else { return };
            let Some(function) = code.function(below).filter(|function| !function.table) else {
                return;
            };
            let frame =
                *self.frames.entry(below).or_insert_with(|| prologue::frame(code, function, below));
            let Some(frame) = frame else { return };
            // The stack pointer there, above that of the sample. An earlier call may have left the same return address
            // below the valid one.
            let leads = |above: usize| {
                let place = above.checked_add(usize::try_from(frame.size).ok()?)?;
                let address = word(&sample.stack, place)?;
                let caller = address.wrapping_sub(1);
                let other = code.is_code(caller) && code.function(caller) != Some(function);
                let fits = || search::fit(address, below, Some(function), code) != search::Fit::No;
                (other && fits()).then_some((above, place, caller))
            };
            // Tables of the functions that it calls show it.
            let of_tables = stack.len().checked_sub(1).and_then(|last| self.pointers.get(last));
            let of_tables = of_tables.filter(|(address, _)| *address == below);
            let of_tables = of_tables.and_then(|(_, sp)| sp.checked_sub(registers.sp));
            let ends = match of_tables.and_then(|above| usize::try_from(above).ok()) {
                Some(above) => vec![above],
                None => search::known_ends(&sample.stack, stack),
            };
            let Some((above, place, caller)) = ends.into_iter().rev().find_map(leads) else {
                return;
            };
            let at = |bytes: u64| above.checked_add(usize::try_from(bytes).ok()?);
            let rbp = match frame.rbp {
                Some(saved) => at(saved).and_then(|place| word(&sample.stack, place)).unwrap_or(0),
                // Nothing has changed it since, if this is the function of the sample.
                None if stack.len() == 1 => registers.bp,
                None => 0,
            };
            let sp = registers.sp.wrapping_add(place as u64).wrapping_add(8);
            self.walk((caller, sp, rbp), sample, code, stack);
            cut(stack, code);
        }
    }
}

/// Removes the callers of a function without tables that do not call it: there, a register with another value was taken
/// for a frame pointer.
fn cut(stack: &mut Vec<u64>, code: &dyn Code) {
    let wrong = stack.windows(2).position(|pair| {
        let [below, caller] = pair else { return false };
        let function = code.function(*below);
        function.is_some_and(|function| !function.table)
            && search::fit(caller.wrapping_add(1), *below, function, code) == search::Fit::No
    });
    if let Some(last) = wrong {
        stack.truncate(last + 1);
    }
}

/// The kernel's chain of frame pointers. At the entry of a function the caller's return address is not
/// yet in a frame, so the chain skips the caller; the return address is on top of the stack.
fn by_pointers(sample: &Sample, code: &dyn Code) -> Vec<u64> {
    let mut stack: Vec<u64> = Vec::new();
    for (at, address) in sample.user.iter().enumerate().take(FRAMES) {
        let address = if at == 0 { *address } else { address.saturating_sub(1) };
        if !code.is_code(address) {
            break;
        }
        stack.push(address);
        if at == 0
            && code.is_vdso_entry(address)
            && let Some(caller) = word(&sample.stack, 0)
            && code.is_code(caller.wrapping_sub(1))
        {
            stack.push(caller - 1);
        }
    }
    stack
}

fn word(memory: &[u8], offset: usize) -> Option<u64> {
    let bytes = memory.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// In tests: code may run from this address on, and nothing can be read.
#[cfg(test)]
struct CodeFrom(u64);

#[cfg(test)]
impl Code for CodeFrom {
    fn is_code(&self, address: u64) -> bool {
        address >= self.0
    }
    fn before(&self, _: u64) -> Option<[u8; 7]> {
        None
    }
    fn at(&self, _: u64) -> Option<[u8; 64]> {
        None
    }
    fn word(&self, _: u64) -> Option<u64> {
        None
    }
    fn is_vdso_entry(&self, _: u64) -> bool {
        false
    }
    fn function(&self, _: u64) -> Option<Function> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Registers;
    use proptest::prelude::*;

    /// Code from 0x1000 to 0x2000 in one function, with an indirect call before each address that ends in 0.
    struct Made;

    impl Code for Made {
        fn is_code(&self, address: u64) -> bool {
            (0x1000..0x2000).contains(&address)
        }
        fn before(&self, address: u64) -> Option<[u8; 7]> {
            let call = [0, 0, 0, 0, 0, 0xff, 0xd0];
            self.is_code(address).then_some(if address & 15 == 0 { call } else { [0; 7] })
        }
        fn at(&self, _: u64) -> Option<[u8; 64]> {
            None
        }
        fn word(&self, _: u64) -> Option<u64> {
            None
        }
        fn is_vdso_entry(&self, address: u64) -> bool {
            address == 0x1100
        }
        fn function(&self, _: u64) -> Option<Function> {
            None
        }
    }

    fn sample(ip: u64, user: &[u64], words: &[u64]) -> Sample {
        Sample {
            user: user.to_vec(),
            registers: Some(Registers { ip, sp: 0x8000, ..Registers::default() }),
            stack: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            ..Sample::default()
        }
    }

    #[test]
    fn frame_pointers_with_the_caller_that_they_skip() {
        let sample = sample(0x1100, &[0x1100, 0x1300, 0x1400, 0x1500, 9], &[0x1200]);
        let stack = Unwinder::default().stack(&sample, &Made);
        assert_eq!(stack, [0x1100, 0x11ff, 0x12ff, 0x13ff, 0x14ff]);
    }

    #[test]
    fn a_broken_chain_is_completed_from_the_stack() {
        let sample = sample(0x1104, &[0x1104], &[5, 0x1208, 0x1230, 0x9999, 0x1340]);
        let stack = Unwinder::default().stack(&sample, &Made);
        assert_eq!(stack, [0x1104, 0x122f, 0x133f]);
    }

    /// As [`Made`], with a function without tables at 0x1100: push rbx; sub rsp, 16; call rax.
    struct Plain;

    impl Code for Plain {
        fn is_code(&self, address: u64) -> bool {
            Made.is_code(address)
        }
        fn before(&self, address: u64) -> Option<[u8; 7]> {
            Made.before(address)
        }
        fn at(&self, address: u64) -> Option<[u8; 64]> {
            const CODE: [u8; 7] = [0x53, 0x48, 0x83, 0xec, 0x10, 0xff, 0xd0];
            let from = usize::try_from(address.checked_sub(0x1100)?).ok()?;
            let mut bytes = [0x90; 64];
            bytes.iter_mut().zip(CODE.get(from..)?).for_each(|(to, from)| *to = *from);
            Some(bytes)
        }
        fn word(&self, _: u64) -> Option<u64> {
            None
        }
        fn is_vdso_entry(&self, _: u64) -> bool {
            false
        }
        fn function(&self, address: u64) -> Option<Function> {
            let all = 0x1100..0x1140;
            all.contains(&address).then_some(Function {
                begin: all.start,
                end: all.end,
                table: false,
            })
        }
    }

    #[test]
    fn caller_of_a_function_without_tables_is_where_its_first_instructions_leave_it() {
        // Below the return address is one that an earlier call has left in the frame.
        let words = [0x1230, 0, 0, 0x1340, 0x1450];
        let at_call = sample(0x1105, &[0x1105], &words);
        assert_eq!(Unwinder::default().stack(&at_call, &Plain)[..2], [0x1105, 0x133f]);
        // At the beginning of the function nothing has been pushed yet.
        let at_begin = sample(0x1100, &[0x1100], &words);
        assert_eq!(Unwinder::default().stack(&at_begin, &Plain)[..2], [0x1100, 0x122f]);
        // If that word is not a return address, the stack is searched.
        let other = sample(0x1105, &[0x1105], &[5, 0x1230, 0, 0x1341]);
        assert_eq!(Unwinder::default().stack(&other, &Plain)[..2], [0x1105, 0x122f]);
    }

    #[test]
    fn chain_of_pointers_through_a_register_with_another_value_is_not_taken() {
        // At 0x1300 an earlier call left its return address; no call there leads to the function at 0x1100.
        let words = [0, 0, 0x1340, 0, 0x1450];
        let user = [0x1105, 0x1301, 0x1400, 0x1500, 0x1600];
        let at_call = sample(0x1105, &user, &words);
        assert_eq!(Unwinder::default().stack(&at_call, &Plain)[..2], [0x1105, 0x133f]);
    }

    #[test]
    fn frame_pointer_of_a_function_without_tables_is_not_followed_where_its_first_instructions_show_the_caller()
     {
        let words = [0x1230, 0, 0, 0x1340, 0x1450];
        let mut at_call = sample(0x1105, &[0x1105], &words);
        // The register points into the frame of the caller, at data next to an earlier call's return address.
        if let Some(registers) = &mut at_call.registers {
            registers.bp = 0x8018;
        }
        assert_eq!(Unwinder::default().stack(&at_call, &Plain)[..2], [0x1105, 0x133f]);
    }

    proptest! {
        #[test]
        fn any_stack(ip: u64, sp: u64, bp: u64, user: Vec<u64>, stack: Vec<u8>) {
            let registers = Some(Registers { ip, sp, bp, ..Registers::default() });
            let sample = Sample { user, registers, stack, ..Sample::default() };
            prop_assert!(Unwinder::default().stack(&sample, &Made).len() <= FRAMES + 4);
        }

        #[test]
        fn any_file(bytes: Vec<u8>) {
            let _ = Tables::read(&bytes);
        }
    }
}
