//! Frames, code objects and texts in the interpreter's memory. The program may have written anything there: sizes have
//! limits, types are compared, and words that do not fit are not an object.

use super::super::maps::Mapping;
use super::super::process::Process;
use super::super::runtime;
use super::layout::{Instructions, Reached, Texts};
use super::{Code, Python};
use std::sync::Arc;

/// Instructions of a function at most, in bytes; more is damage.
const INSTRUCTIONS: u64 = 1 << 25;
/// Bytes of a table of lines at most.
const TABLE: u64 = 1 << 20;
/// Characters of a name at most.
const NAME: u64 = 4096;
/// Functions that are kept at most.
const FUNCTIONS: usize = 1 << 16;

impl Python {
    /// The code of a frame, if there is a frame at an address, and the instruction that it is at.
    pub(super) fn frame(&mut self, process: &Process, at: u64) -> Option<(Arc<Code>, Option<u64>)> {
        if !at.is_multiple_of(8) || !is_data(process, at) {
            return None;
        }
        if let Some(kind) = self.frame_type
            && process.word(at.checked_add(self.layout.kind)?)? != kind
        {
            return None;
        }
        let code = process.word(at.checked_add(self.layout.frame_code)?)? & !self.layout.marks;
        if !code.is_multiple_of(8) || !is_data(process, code) {
            return None;
        }
        if process.word(code.checked_add(self.layout.kind)?)? != self.code_type {
            return None;
        }
        let code = self.code_object(process, code)?;
        let reached = match self.layout.reached {
            Reached::Address(offset) => at.checked_add(offset).and_then(|at| process.word(at)),
            Reached::Offset { at: offset, unit } => {
                // Before the first instruction it is -1.
                let index = at.checked_add(offset).and_then(|at| process.word(at));
                let index = index.and_then(|index| u64::try_from(index as i32).ok());
                index.and_then(|index| code.instructions.start.checked_add(index * unit))
            }
        };
        let reached = reached.filter(|reached| code.instructions.contains(reached));
        Some((code, reached))
    }

    fn code_object(&mut self, process: &Process, at: u64) -> Option<Arc<Code>> {
        let layout = self.layout;
        let word = |offset: u64| process.word(at.checked_add(offset)?);
        let instructions = match layout.instructions {
            Instructions::Apart(offset) => {
                let bytes = word(offset)?;
                let size = process.word(bytes.checked_add(layout.size)?)?;
                let begin = bytes.checked_add(layout.bytes)?;
                (size <= INSTRUCTIONS).then_some(begin..begin.checked_add(size)?)?
            }
            Instructions::Inside(offset) => {
                let size =
                    word(layout.size)?.checked_mul(2).filter(|size| *size <= INSTRUCTIONS)?;
                let begin = at.checked_add(offset)?;
                begin..begin.checked_add(size)?
            }
        };
        let first_line = u32::try_from(word(layout.first_line)? & 0xffff_ffff).ok()?;
        // The code object at this address may have been replaced since.
        let known = self
            .code
            .get(&at)
            .filter(|known| known.instructions == instructions && known.first_line == first_line);
        if let Some(known) = known {
            return Some(Arc::clone(known));
        }
        if self.code.len() >= FUNCTIONS {
            return None;
        }
        let name = self.text(process, word(layout.name)?)?;
        let file = self.text(process, word(layout.file)?)?;
        let short = file.rsplit('/').next().unwrap_or(&file);
        let table = word(layout.table)?;
        let code = Arc::new(Code {
            name: format!("{name} ({short})").into(),
            file: file.as_str().into(),
            first_line,
            instructions,
            table: self.bytes(process, table).unwrap_or_default().into(),
        });
        if let Some(old) = self.code.insert(at, Arc::clone(&code))
            && let Some(sharing) = self.by_instruction.get_mut(&old.instructions.start)
        {
            sharing.retain(|code| *code != old);
        }
        self.by_instruction.entry(code.instructions.start).or_default().push(Arc::clone(&code));
        Some(code)
    }

    /// A string of bytes.
    fn bytes(&self, process: &Process, at: u64) -> Option<Vec<u8>> {
        let size = process.word(at.checked_add(self.layout.size)?)?;
        let size = usize::try_from(size.min(TABLE)).ok()?;
        process.read(at.checked_add(self.layout.bytes)?, size)
    }

    /// A text; characters that cannot be read are shown as a question mark.
    fn text(&self, process: &Process, at: u64) -> Option<String> {
        let word = |offset: u64| process.word(at.checked_add(offset)?);
        let read = |offset: u64, length: u64| {
            process.read(at.checked_add(offset)?, usize::try_from(length).ok()?)
        };
        let (length, begin, width) = match self.layout.texts {
            Texts::Bytes => (word(self.layout.size)?, self.layout.bytes, 1),
            Texts::Ascii { length, at } => (word(length)?, at, 1),
            Texts::Compact { length, state, ascii, others } => {
                // Bits of the state: 2 of interning, 3 of the width, compact, ASCII.
                let state = word(state)?;
                let begin = match (state >> 5 & 1, state >> 6 & 1) {
                    (1, 1) => ascii,
                    (1, _) => others,
                    _ => return Some("?".to_owned()),
                };
                (word(length)?, begin, state >> 2 & 7)
            }
        };
        let length = Some(length).filter(|length| *length <= NAME)?;
        let text: String = match width {
            1 if self.layout.texts == Texts::Bytes => {
                String::from_utf8_lossy(&read(begin, length)?).into_owned()
            }
            1 => read(begin, length)?.into_iter().map(char::from).collect(),
            2 => {
                let bytes = read(begin, length * 2)?;
                let units =
                    bytes.chunks_exact(2).filter_map(|unit| Some(*unit.first_chunk::<2>()?));
                let units = units.map(|unit| u32::from(u16::from_le_bytes(unit)));
                units.map(|unit| char::from_u32(unit).unwrap_or('?')).collect()
            }
            4 => {
                let bytes = read(begin, length * 4)?;
                let units =
                    bytes.chunks_exact(4).filter_map(|unit| Some(*unit.first_chunk::<4>()?));
                units.map(|unit| char::from_u32(u32::from_le_bytes(unit)).unwrap_or('?')).collect()
            }
            _ => return Some("?".to_owned()),
        };
        Some(if text.contains('\0') { "?".to_owned() } else { text })
    }
}

/// Whether an address is in memory that holds data of the program's own making, or of the interpreter's (modules that
/// are part of it).
fn is_data(process: &Process, address: u64) -> bool {
    let own = |mapping: &Mapping| {
        let name = mapping.name.as_str();
        name.is_empty()
            || name == "[heap]"
            || name.starts_with("[anon")
            || runtime::is_python(mapping)
    };
    process.mapping(address).is_some_and(|mapping| !mapping.executable && own(mapping))
}
