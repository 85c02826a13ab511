//! Which Python function a stack is in.
//!
//! The interpreter's loop keeps a pointer to the next instruction of the function that it runs, in a
//! register or on its stack; that pointer lies inside the function's code object, which lives as long
//! as the function. So a sample's own registers and stack name the function even when they are looked
//! at later, without stopping the program. Code objects are found through the interpreter's frames that
//! the same stacks point to.
//!
//! The layout belongs to one version of CPython; others are not guessed at.

use super::bounded::Bounded;
use super::process::Process;
use super::runtime;
use object::{Object, ObjectSymbol};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where things stand in the interpreter's objects, in bytes.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// In a frame: its code object.
    frame_code: u64,
    /// In a code object: the number of instructions (of 2 bytes).
    code_size: u64,
    qualname: u64,
    filename: u64,
    instructions: u64,
    /// In a compact ASCII string: its length, its state, its bytes.
    string_length: u64,
    string_state: u64,
    string_bytes: u64,
}

/// CPython 3.11: Include/cpython/code.h, Include/internal/pycore_frame.h,
/// Include/cpython/unicodeobject.h.
const PYTHON_3_11: Layout = Layout {
    frame_code: 32,
    code_size: 16,
    qualname: 128,
    filename: 112,
    instructions: 184,
    string_length: 16,
    string_state: 32,
    string_bytes: 48,
};

/// The type of an object stands behind its reference count.
const OBJECT_TYPE: u64 = 8;
/// Instructions of a function at most; more is damage.
const INSTRUCTIONS: u64 = 1 << 24;
/// Frames that one stack is searched for.
const TRIES: usize = 64;

/// The interpreter in a process.
#[derive(Debug)]
pub struct Python {
    layout: Layout,
    code_type: u64,
    /// Begin of instructions: their end, and the function.
    code: BTreeMap<u64, (u64, Arc<str>)>,
}

impl Python {
    /// Finds the interpreter.
    ///
    /// # Errors
    /// Why functions cannot be named, and what would help.
    pub fn find(process: &Process) -> Result<Self, String> {
        let pid = process.pid;
        let version = process.maps.iter().find_map(runtime::python_version);
        let Some((major, minor)) = version else {
            return Err(format!("process {pid}: the version of Python is not known"));
        };
        if (major, minor) != (3, 11) {
            return Err(format!(
                "process {pid}: functions of Python {major}.{minor} are named only where it writes a \
                 map of them: {} (3.12 and later)",
                runtime::X_PERF
            ));
        }
        // The program is small where the interpreter is a library of its own.
        let code_type = process.images(runtime::is_python).find_map(|(file, bias)| {
            Some(exported(file.file.try_clone().ok()?)?.wrapping_add(bias))
        });
        let Some(code_type) = code_type else {
            return Err(format!("process {pid}: the interpreter does not export PyCode_Type"));
        };
        Ok(Self { layout: PYTHON_3_11, code_type, code: BTreeMap::new() })
    }

    /// The function whose instructions hold an address.
    fn at(&self, address: u64) -> Option<&Arc<str>> {
        let (_, (end, name)) = self.code.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }

    /// The function that a sample's words (registers first, then the stack) show.
    #[must_use]
    pub fn function(&self, words: &[u64]) -> Option<Arc<str>> {
        words.iter().find_map(|word| self.at(*word)).map(Arc::clone)
    }

    /// Learns code objects from frames that the words point to.
    pub fn learn(&mut self, process: &Process, words: &[u64]) {
        let mut tries = 0;
        for word in words {
            if word % 8 != 0 || !is_data(process, *word) {
                continue;
            }
            tries += 1;
            if tries > TRIES {
                return;
            }
            let frame = word.wrapping_add(self.layout.frame_code);
            let Some(code) = process.word(frame).filter(|code| code % 8 == 0) else { continue };
            self.add(process, code);
        }
    }

    fn add(&mut self, process: &Process, code: u64) -> Option<()> {
        let layout = self.layout;
        let begin = code.checked_add(layout.instructions)?;
        if self.code.contains_key(&begin) || !is_data(process, code) {
            return None;
        }
        if process.word(code.wrapping_add(OBJECT_TYPE))? != self.code_type {
            return None;
        }
        let size = process.word(code + layout.code_size).filter(|size| *size < INSTRUCTIONS)?;
        let name = self.string(process, process.word(code + layout.qualname)?)?;
        let file = self.string(process, process.word(code + layout.filename)?)?;
        let file = file.rsplit('/').next().unwrap_or(&file);
        let name = format!("{name} ({file})").into();
        self.code.insert(begin, (begin + 2 * size, name));
        Some(())
    }

    /// A string; characters that are not ASCII are stored otherwise, and shown as a question mark.
    fn string(&self, process: &Process, at: u64) -> Option<String> {
        /// Bits of the state: compact, ASCII.
        const COMPACT_ASCII: u64 = 1 << 5 | 1 << 6;
        let length = process.word(at.checked_add(self.layout.string_length)?)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= 4096)?;
        let state = process.word(at.checked_add(self.layout.string_state)?)?;
        if state & COMPACT_ASCII != COMPACT_ASCII {
            return Some("?".to_owned());
        }
        let bytes = process.read(at.checked_add(self.layout.string_bytes)?, length)?;
        String::from_utf8(bytes).ok()
    }
}

/// Where a file says that the type of code objects stands.
fn exported(file: std::fs::File) -> Option<u64> {
    let bounded = Bounded::new(file)?;
    let elf = object::File::parse(&bounded).ok()?;
    elf.dynamic_symbols()
        .find(|symbol| symbol.is_definition() && symbol.name() == Ok("PyCode_Type"))
        .map(|symbol| symbol.address())
}

/// Whether an address is in memory that holds data of the program's own making.
fn is_data(process: &Process, address: u64) -> bool {
    process.mapping(address).is_some_and(|mapping| {
        let name = mapping.name.as_str();
        !mapping.executable && (name.is_empty() || name == "[heap]" || name.starts_with("[anon"))
    })
}
