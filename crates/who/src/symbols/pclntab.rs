//! The names, files and lines that every Go program has for its own stack traces, even if its symbols were removed
//! (`-ldflags=-s -w`): the table `.gopclntab`, since Go 1.18 (`src/runtime/symtab.go`, `src/runtime/symtabinl.go`,
//! `src/cmd/link/internal/ld/pcln.go` of Go 1.18 to 1.26). Functions that the compiler has inlined are in it since
//! 1.20. Pure; the file may be hostile, so every offset is checked, and every loop is bounded.

use super::{Named, Place};
use object::read::ReadRef;
use object::{Object, ObjectSection, RelocationFlags, RelocationTarget};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Where the table is; the second in programs that can be loaded anywhere, by some linkers.
pub const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];
/// The first word of the table, by version of Go.
const GO_1_18: u32 = 0xffff_fff0;
const GO_1_20: u32 = 0xffff_fff1;
/// Bytes of a name at most.
const NAME: usize = 2048;
/// Functions inlined into one another at most.
const DEPTH: usize = 64;
/// Steps in one table of values at most.
const STEPS: usize = 1 << 20;
/// Relocations that are read at most.
const RELOCATIONS: usize = 1 << 20;
/// Bytes of data that are kept for inlined functions at most.
const INLINED: usize = 64 << 20;

/// The table of one program.
#[derive(Clone, Debug)]
pub struct Table {
    bytes: Arc<[u8]>,
    /// Where the program's code begins.
    text: u64,
    functions: usize,
    names: usize,
    units: usize,
    files: usize,
    values: usize,
    entries: usize,
    /// Whether functions have the line where they begin, and inlined ones can be read.
    inlines: bool,
    /// From where the offsets of other data count.
    data: Option<Arc<[u8]>>,
}

/// One function's entry.
#[derive(Clone, Copy, Debug)]
struct Function<'a> {
    begin: u64,
    entry: &'a [u8],
}

impl Table {
    /// Reads the table from a program; `None` if it has none, or one of another version.
    #[must_use]
    pub fn of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Option<Self> {
        let section = SECTIONS.iter().find_map(|name| file.section_by_name(name))?;
        let at = section.address();
        let mut table = Self::read(section.data().ok()?)?;
        let image = Image::of(file);
        let module = image.module(at, at.checked_add(table.names as u64)?);
        table.text = match (table.text, module) {
            (0, Some(module)) => image.word(module.checked_add(TEXT)?)?,
            (0, None) => file.section_by_name(".text")?.address(),
            // A program that can be loaded anywhere states it by a relocation.
            (text, _) => text,
        };
        if table.inlines {
            let data = module.and_then(|module| image.word(module.checked_add(DATA)?));
            table.data = data.and_then(|data| image.from(data)).map(Arc::from);
        }
        Some(table)
    }

    /// Reads the table itself; inlined functions are in other parts of the program, and are then not known.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let magic = u32_at(bytes, 0)?;
        let (quantum, pointer) = (*bytes.get(6)?, *bytes.get(7)?);
        if !matches!(magic, GO_1_18 | GO_1_20) || quantum != 1 || pointer != 8 {
            return None;
        }
        let offset = |n: usize| {
            let value = usize::try_from(u64_at(bytes, 8 + 8 * n)?).ok()?;
            (value < bytes.len()).then_some(value)
        };
        let entries = offset(7)?;
        let functions = offset(0)?;
        let space = (bytes.len() - entries) / 8;
        Some(Self {
            text: u64_at(bytes, 24)?,
            functions: (functions < space).then_some(functions)?,
            names: offset(3)?,
            units: offset(4)?,
            files: offset(5)?,
            values: offset(6)?,
            entries,
            inlines: magic == GO_1_20,
            data: None,
            bytes: bytes.into(),
        })
    }

    /// How many bytes it has.
    #[must_use]
    pub fn kept(&self) -> u64 {
        (self.bytes.len() + self.data.as_ref().map_or(0, |data| data.len())) as u64
    }

    fn row(&self, index: usize) -> Option<(u64, usize)> {
        let at = self.entries + index * 8;
        let begin = self.text.checked_add(u32_at(&self.bytes, at)?.into())?;
        Some((begin, u32_at(&self.bytes, at + 4)? as usize))
    }

    fn function(&self, address: u64) -> Option<Function<'_>> {
        // By halves; the row after the last one is the end of all.
        let (mut low, mut high) = (0, self.functions);
        while low < high {
            let middle = low.midpoint(high);
            if self.row(middle)?.0 <= address { low = middle + 1 } else { high = middle }
        }
        let (begin, offset) = self.row(low.checked_sub(1)?)?;
        if address >= self.row(low)?.0 {
            return None;
        }
        Some(Function { begin, entry: self.bytes.get(self.entries.checked_add(offset)?..)? })
    }

    /// Where the function around an address is.
    #[must_use]
    pub fn range(&self, address: u64) -> Option<Range<u64>> {
        let begin = self.function(address)?.begin;
        // The next row is after it.
        let (mut low, mut high) = (0, self.functions);
        while low < high {
            let middle = low.midpoint(high);
            if self.row(middle)?.0 <= begin { low = middle + 1 } else { high = middle }
        }
        Some(begin..self.row(low)?.0)
    }

    /// The functions at an address, innermost first: several where some are inlined.
    #[must_use]
    pub fn frames(&self, address: u64) -> Vec<Named> {
        let Some(function) = self.function(address) else { return Vec::new() };
        let mut frames = Vec::new();
        let mut at = address;
        while frames.len() < DEPTH {
            let index = self.inlined_at(function, at);
            let inlined = index.and_then(|index| self.inlined(function, index));
            let Some((name, parent)) = inlined else { break };
            frames.push(Named { name: name.into(), place: self.place(function, at) });
            let Some(parent) = function.begin.checked_add(parent.into()) else { break };
            at = parent;
        }
        if let Some(name) = u32_at(function.entry, 4).and_then(|offset| self.name(offset)) {
            frames.push(Named { name: name.into(), place: self.place(function, at) });
        } else {
            frames.clear();
        }
        frames
    }

    fn name(&self, offset: u32) -> Option<&str> {
        text(self.bytes.get(self.names.checked_add(offset as usize)?..)?)
    }

    /// Offsets in an entry: entries have no first line until 1.19.
    fn behind(&self) -> (usize, usize) {
        if self.inlines { (43, 44) } else { (39, 40) }
    }

    /// The number of the inlined function at an address.
    fn inlined_at(&self, function: Function<'_>, at: u64) -> Option<usize> {
        const INLINED_AT: u32 = 2;
        if !self.inlines || u32_at(function.entry, 28)? <= INLINED_AT {
            return None;
        }
        let table = u32_at(function.entry, self.behind().1 + 4 * INLINED_AT as usize)?;
        usize::try_from(self.value(table, function, at)?).ok()
    }

    /// The name of an inlined function, and where in the function it was called.
    fn inlined(&self, function: Function<'_>, index: usize) -> Option<(&str, u32)> {
        const TREE: usize = 3;
        const ENTRY: usize = 16;
        let (count, tables) = self.behind();
        if usize::from(*function.entry.get(count)?) <= TREE {
            return None;
        }
        let before = usize::try_from(u32_at(function.entry, 28)?).ok()?;
        let at = tables.checked_add(before.checked_add(TREE)?.checked_mul(4)?)?;
        let offset = u32_at(function.entry, at).filter(|offset| *offset != u32::MAX)? as usize;
        let entry = offset.checked_add(index.checked_mul(ENTRY)?)?;
        let data = self.data.as_deref()?;
        Some((
            self.name(u32_at(data, entry.checked_add(4)?)?)?,
            u32_at(data, entry.checked_add(8)?)?,
        ))
    }

    /// The file and the line at an address.
    fn place(&self, function: Function<'_>, at: u64) -> Option<Place> {
        let line = self.value(u32_at(function.entry, 24)?, function, at)?;
        let file = self.value(u32_at(function.entry, 20)?, function, at)?;
        let unit = u32_at(function.entry, 32)? as usize;
        let index = unit.checked_add(usize::try_from(file).ok()?)?;
        let offset = u32_at(&self.bytes, self.units.checked_add(index.checked_mul(4)?)?)?;
        let name = text(self.bytes.get(self.files.checked_add(offset as usize)?..)?)?;
        Some(Place { file: name.into(), line: u32::try_from(line).ok()? })
    }

    /// The value that a table of values has for an address: pairs of differences, of the value (signed) and of the
    /// address, until a value does not change.
    fn value(&self, table: u32, function: Function<'_>, at: u64) -> Option<i32> {
        if table == 0 {
            return None;
        }
        let mut rest = self.bytes.get(self.values.checked_add(table as usize)?..)?;
        let (mut address, mut value) = (function.begin, -1i32);
        for step in 0..STEPS {
            let change = number(&mut rest)?;
            if change == 0 && step > 0 {
                return None;
            }
            let signed = (change >> 1) as i32 ^ -((change & 1) as i32);
            value = value.wrapping_add(signed);
            address = address.checked_add(number(&mut rest)?.into())?;
            if at < address {
                return (value >= 0).then_some(value);
            }
        }
        None
    }
}

/// Offsets in the program's own description of itself (`moduledata`): the beginning of the code, and the
/// beginning of data for functions. The same from Go 1.20 to 1.26; until 1.19 only the first is needed.
const TEXT: u64 = 176;
const DATA: u64 = 320;

/// The parts of a file by their addresses, with the values that the loader puts in.
struct Image<'a> {
    sections: Vec<(u64, &'a [u8], bool)>,
    /// Relocated values by address, in position-independent programs.
    relocated: HashMap<u64, u64>,
}

impl<'a> Image<'a> {
    fn of<R: ReadRef<'a>>(file: &object::File<'a, R>) -> Self {
        let wanted = |name: &str| {
            name.contains("data") || name.starts_with(".go") || name.starts_with(".noptr")
        };
        let sections = file.sections().filter_map(|section| {
            let name = section.name().ok().filter(|name| wanted(name))?;
            let changes =
                name.starts_with(".data") || name.starts_with(".noptr") || name == ".go.module";
            Some((section.address(), section.data().ok()?, changes))
        });
        let relocations = file.dynamic_relocations().into_iter().flatten().take(RELOCATIONS);
        let relocated = relocations.filter_map(|(at, relocation)| {
            let RelocationFlags::Elf { r_type: kind } = relocation.flags() else { return None };
            let own = matches!(relocation.target(), RelocationTarget::Absolute);
            let value = u64::try_from(relocation.addend()).ok()?;
            (own && kind == object::elf::R_X86_64_RELATIVE).then_some((at, value))
        });
        Self { sections: sections.collect(), relocated: relocated.collect() }
    }

    fn from(&self, address: u64) -> Option<&'a [u8]> {
        let found = self
            .sections
            .iter()
            .find(|(at, bytes, _)| address >= *at && address - at < bytes.len() as u64);
        let (at, bytes, _) = found?;
        let part = bytes.get(usize::try_from(address - at).ok()?..)?;
        part.get(..part.len().min(INLINED))
    }

    fn word(&self, address: u64) -> Option<u64> {
        let stored = self.relocated.get(&address).copied();
        stored.or_else(|| u64_at(self.from(address)?, 0))
    }

    /// The description: it begins with the addresses of the table and of the table's names.
    fn module(&self, table: u64, names: u64) -> Option<u64> {
        let is = |at: u64| {
            self.word(at) == Some(table)
                && at.checked_add(8).and_then(|at| self.word(at)) == Some(names)
        };
        let relocated = self.relocated.iter().filter(|(_, value)| **value == table);
        if let Some(at) = relocated.map(|(at, _)| *at).find(|at| is(*at)) {
            return Some(at);
        }
        let changing = self.sections.iter().filter(|(.., changes)| *changes);
        changing
            .flat_map(|(at, bytes, _)| (*at..).step_by(8).zip(bytes.chunks_exact(8)))
            .find_map(|(at, chunk)| (u64_at(chunk, 0) == Some(table) && is(at)).then_some(at))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The text until the next zero.
fn text(bytes: &[u8]) -> Option<&str> {
    let part = bytes.get(..bytes.len().min(NAME))?;
    let end = part.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(part.get(..end)?).ok().filter(|text| !text.is_empty())
}

/// A number of seven bits in each byte, the least first.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 127).checked_shl(shift).unwrap_or(0);
        if byte & 128 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table of two functions, of which the first has one inlined from 0x10 to 0x20: `main.a` (line 5, at 0x30 line 6),
    /// `main.inner` (line 9), `main.b`.
    fn made() -> Table {
        let mut bytes = vec![0; 72];
        bytes[..4].copy_from_slice(&GO_1_20.to_le_bytes());
        (bytes[6], bytes[7]) = (1, 8);
        let mut part = |n: usize, content: &[u8]| {
            let at = bytes.len() as u64;
            bytes[8 + 8 * n..16 + 8 * n].copy_from_slice(&at.to_le_bytes());
            bytes.extend_from_slice(content);
        };
        part(3, b"\0main.a\0main.inner\0main.b\0");
        part(4, &[0; 4]);
        part(5, b"/src/a.go\0");
        // Values: files 0 for 0x100 bytes; lines 5, 9, 5, 6; inlined -1, 0, -1.
        part(
            6,
            &[
                0, 2, 0x80, 2, 0, 12, 0x10, 8, 0x10, 7, 0x10, 2, 0x50, 0, 0, 0x10, 2, 0x10, 1,
                0x60, 0,
            ],
        );
        let mut entries = Vec::new();
        for (begin, offset) in [(0u32, 24u32), (0x80, 88), (0x100, 0)] {
            entries.extend(begin.to_le_bytes());
            entries.extend(offset.to_le_bytes());
        }
        for (begin, name) in [(0u32, 1u32), (0x80, 19)] {
            let mut entry = Vec::new();
            for word in [begin, name, 0, 0, 0, 1, 5, 3, 0, 1] {
                entry.extend(word.to_le_bytes());
            }
            entry.extend([0, 0, 0, 4]);
            let inlined = if begin == 0 { 14u32 } else { 0 };
            for word in [0, 0, inlined, u32::MAX, u32::MAX] {
                entry.extend(word.to_le_bytes());
            }
            entries.extend(entry);
        }
        // The fourth piece of other data of the second function is after the end.
        entries.extend([0; 4]);
        part(7, &entries);
        bytes[8..16].copy_from_slice(&2u64.to_le_bytes());
        let mut table = Table::read(&bytes).unwrap();
        table.text = 0x40_0000;
        table
    }

    #[test]
    fn frames_are_named_with_lines() {
        let table = made();
        let names = |at: u64| -> Vec<(String, u32)> {
            let frames = table.frames(0x40_0000 + at);
            let line = |named: &Named| named.place.as_ref().map_or(0, |place| place.line);
            frames.iter().map(|named| (named.name.to_string(), line(named))).collect()
        };
        assert_eq!(names(0x8), [("main.a".to_owned(), 5)]);
        assert_eq!(names(0x90).first().map(|(name, _)| name.as_str()), Some("main.b"));
        assert_eq!(names(0x100), []);
        assert_eq!(table.range(0x40_0008), Some(0x40_0000..0x40_0080));
    }

    #[test]
    fn read_of_another_version_or_shorter_table_is_none() {
        let whole = made().bytes.to_vec();
        assert!(Table::read(&whole).is_some());
        for at in [0, 6, 7] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            assert!(Table::read(&damaged).is_none(), "{at}");
        }
        for end in 0..72 {
            assert!(Table::read(&whole[..end]).is_none(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn damaged_tables(at in 0usize..400, value: u8, address in 0u64..0x200, data: Vec<u8>) {
            let mut bytes = made().bytes.to_vec();
            let at = at % bytes.len();
            bytes[at] = value;
            if let Some(mut table) = Table::read(&bytes) {
                table.data = Some(data.into());
                prop_assert!(table.frames(table.text.wrapping_add(address)).len() <= DEPTH + 1);
                let _ = table.range(address);
            }
        }

        #[test]
        fn any_table(mut bytes: Vec<u8>, address: u64) {
            bytes.resize(bytes.len().max(80), 0);
            bytes[..8].copy_from_slice(&[0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8]);
            if let Some(table) = Table::read(&bytes) {
                let _ = table.frames(address);
            }
        }
    }
}
