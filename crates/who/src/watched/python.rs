//! Finds the Python function that a sampled stack was executing.
//!
//! The interpreter's loop keeps two pointers: one to the frame of the function that it runs, and one to the next
//! instruction. Both are in registers or in the loop's own stack frame; the unwind tables of the functions that the
//! loop has called state where the registers are saved. The next instruction is inside the function's code object,
//! which lives as long as the function. So the function of a sample can be named later, without stopping the program.
//! The frame leads to the code object.
//!
//! Other words of the loop may also point to instructions, of a caller or of a function that has ended. So a word
//! counts only if it is in a known location (a register, or a slot of the loop's stack frame, for one call in the
//! loop), and a location counts only if frames confirm it: usually, the frame of the same sample is at the instruction
//! before the word.
//!
//! Each layout applies to one version of CPython. No layout is guessed for other versions.

mod layout;
mod lines;
mod objects;

use super::bounded::Bounded;
use super::process::Process;
use super::runtime;
use crate::unwind::registers::Frame;
use layout::{Layout, STATED};
use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Homes that are kept at most.
const HOMES: usize = 1 << 14;
/// Words of one stack at most.
const WORDS: usize = 256;
/// The largest number of bytes between an instruction and the next one, with the interpreter's inline cache.
const STEP: u64 = 24;
/// Samples whose frames are all read; later, one of `LATER` is.
const FIRST: u64 = 256;
const LATER: u64 = 8;
/// Confirmations that make a home known at once, and not only at the end.
const ENOUGH: u32 = 8;

/// A function of a script, and the line in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Script {
    /// The function, with the file's name.
    pub name: Arc<str>,
    /// The file, as the interpreter has it.
    pub file: Arc<str>,
    /// The line; 0 if it is not known.
    pub line: u32,
}

/// A function's code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Code {
    name: Arc<str>,
    file: Arc<str>,
    first_line: u32,
    instructions: Range<u64>,
    table: Arc<[u8]>,
}

/// A place in the loop's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Home {
    /// A register that a callee keeps.
    Register(u8),
    /// A word of its part of the stack.
    Stack(u16),
}

/// How often frames have confirmed a home: that they were at the instruction before its word, and that they had the code
/// around it. A frame is read a little later than the sample was taken, so the program may have continued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Votes {
    exact: u32,
    code: u32,
}

/// The state of the loop in a sample: a home with its word, and where in the loop it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    at: u64,
    words: Vec<(Home, u64)>,
    /// The code of the frames among the words.
    frames: Vec<(Home, Arc<Code>)>,
}

/// The interpreter in a process.
#[derive(Debug)]
pub struct Python {
    layout: Layout,
    code_type: u64,
    frame_type: Option<u64>,
    main: Range<u64>,
    /// By the address of the code object.
    code: HashMap<u64, Arc<Code>>,
    /// By the beginning of the instructions, which functions of equal code may share (3.10).
    by_instruction: BTreeMap<u64, Vec<Arc<Code>>>,
    /// Homes of the next instruction, and of the frame.
    homes: HashMap<(u64, Home), Votes>,
    frame_homes: HashMap<(u64, Home), u32>,
    samples: u64,
    /// Samples in which the loop was found, but no function, and in which the loop was not found.
    unnamed: u64,
    outside: u64,
}

/// The names of the interpreter's loop.
pub const LOOPS: [&str; 2] = ["_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx"];

impl Python {
    /// Finds the interpreter.
    ///
    /// # Errors
    /// Returns the reason if functions cannot be named, and how to get names.
    pub fn find(process: &Process) -> Result<Self, String> {
        let pid = process.pid;
        let version = process.maps.iter().find_map(runtime::python_version);
        let Some(version) = version else {
            return Err(format!("process {pid}: the version of Python is not known"));
        };
        if !process.can_read() {
            return Err(format!(
                "process {pid}: functions of Python are not named: its memory may not be read; {}",
                another_way(version)
            ));
        }
        let named = format!("{}.{}", version.0, version.1);
        let unknown = |why: &str| {
            Err(format!(
                "process {pid}: functions of Python {named} are not named: {why}; {}",
                another_way(version)
            ))
        };
        // The program is small if the interpreter is a separate library.
        let found = process.images(runtime::is_python).find_map(|(file, bias)| {
            let symbols = exported(file.file.try_clone().ok()?)?;
            Some((symbols, file, bias))
        });
        let Some((symbols, file, bias)) = found else {
            return unknown("the interpreter exports no PyCode_Type");
        };
        let layout = layout::of(version).or_else(|| {
            let at = symbols.get("_PyRuntime")?.0.wrapping_add(bias);
            let bytes = process.read(at, STATED * 8)?;
            let words: Vec<u64> = bytes.chunks_exact(8).filter_map(to_word).collect();
            layout::stated(version, &words)
        });
        let Some(layout) = layout else {
            return unknown("the layout of this version's objects is not known");
        };
        let place = |name: &str| symbols.get(name).map(|(at, _)| at.wrapping_add(bias));
        let (Some(code_type), Some((main, length))) =
            (place("PyCode_Type"), LOOPS.iter().find_map(|name| symbols.get(*name)).copied())
        else {
            return unknown("the interpreter does not export its loop");
        };
        let frame_type = place("PyFrame_Type");
        if layout.frame_is_object && frame_type.is_none() {
            return unknown("the interpreter exports no PyFrame_Type");
        }
        // If the loop has parts, the tables know the one with the symbol.
        let part = file.function(main).map_or(main..main.saturating_add(length), |function| {
            function.begin.min(main)..function.end.max(main.saturating_add(length))
        });
        Ok(Self {
            layout,
            code_type,
            frame_type: frame_type.filter(|_| layout.frame_is_object),
            main: part.start.wrapping_add(bias)..part.end.wrapping_add(bias),
            code: HashMap::new(),
            by_instruction: BTreeMap::new(),
            homes: HashMap::new(),
            frame_homes: HashMap::new(),
            samples: 0,
            unnamed: 0,
            outside: 0,
        })
    }

    /// The state of the innermost loop on a stack; `memory` is the sample's part of the stack.
    pub fn state(&mut self, frames: &[Frame], memory: &[u8]) -> Option<State> {
        let found = frames.iter().find(|frame| self.main.contains(&frame.address));
        let Some(frame) = found else {
            self.outside += 1;
            return None;
        };
        let kept = (0u8..).zip(frame.kept);
        let registers = kept.filter_map(|(n, value)| Some((Home::Register(n), value?)));
        let slots = memory.get(frame.slots.clone()).unwrap_or_default();
        let slots = slots.chunks_exact(8).take(WORDS).enumerate();
        // A saved register is the caller's, which may be the loop as well.
        let own = slots.filter(|(n, _)| !frame.saved.contains(&(frame.slots.start + n * 8)));
        let slots = own
            .filter_map(|(n, chunk)| Some((Home::Stack(u16::try_from(n).ok()?), to_word(chunk)?)));
        let words = registers.chain(slots).filter(|(_, word)| *word > 4096).collect();
        Some(State { at: frame.address, words, frames: Vec::new() })
    }

    /// Records a state: code objects by the frames in it, and which homes they confirm.
    pub fn learn(&mut self, process: &Process, state: &mut State) {
        self.samples += 1;
        if self.samples > FIRST
            && !self.samples.is_multiple_of(LATER)
            && self.function(state).is_some()
        {
            return;
        }
        let mut frames: Vec<(Home, Arc<Code>, Option<u64>)> = Vec::new();
        for (home, word) in &state.words {
            if let Some((code, reached)) = self.frame(process, *word) {
                frames.push((*home, code, reached));
            }
        }
        for (home, word) in &state.words {
            let mut of = frames.iter().filter(|(_, code, _)| is_next(code, *word)).peekable();
            let key = (state.at, *home);
            if of.peek().is_none() || (self.homes.len() >= HOMES && !self.homes.contains_key(&key))
            {
                continue;
            }
            let exact = of.find(|(.., reached)| {
                reached.and_then(|reached| word.checked_sub(reached)).is_some_and(|by| by <= STEP)
            });
            if let Some((home, ..)) = exact {
                *self.frame_homes.entry((state.at, *home)).or_default() += 1;
            }
            let votes = self.homes.entry(key).or_default();
            votes.exact += u32::from(exact.is_some());
            votes.code += 1;
        }
        state.frames = frames.into_iter().map(|(home, code, _)| (home, code)).collect();
    }

    /// The function of a state by the home of the next instruction, if that is known so far.
    #[must_use]
    pub fn function(&self, state: &State) -> Option<Script> {
        let known = self.most_confirmed(state).filter(|(votes, _)| votes.exact >= ENOUGH);
        known.and_then(|(_, found)| found)
    }

    /// Returns the function of a state by all recorded states.
    #[must_use]
    pub fn function_at_last(&mut self, state: &State) -> Option<Script> {
        let found = self.most_confirmed(state).and_then(|(_, found)| found);
        self.unnamed += u64::from(found.is_none());
        found
    }

    fn most_confirmed(&self, state: &State) -> Option<(Votes, Option<Script>)> {
        let votes = |home: Home| self.homes.get(&(state.at, home)).copied();
        let known =
            state.words.iter().filter_map(|(home, word)| Some((votes(*home)?, home, *word)));
        // Of equal ones a register counts first.
        let (votes, _, word) =
            known.max_by_key(|(votes, home, _)| (*votes, std::cmp::Reverse(**home)))?;
        let (_, sharing) = self.by_instruction.range(..word).next_back()?;
        let code = match sharing.as_slice() {
            [code] => Some(code),
            _ => {
                let own = state.frames.iter().filter(|(_, code)| sharing.contains(code));
                let votes = |home: Home| self.frame_homes.get(&(state.at, home)).copied();
                own.max_by_key(|(home, _)| votes(*home)).map(|(_, code)| code)
            }
        };
        let found = code.filter(|code| is_next(code, word)).map(|code| self.script(code, word));
        Some((votes, found))
    }

    fn script(&self, code: &Code, word: u64) -> Script {
        let offset = word - code.instructions.start - 1;
        let line = self.layout.lines.line(&code.table, code.first_line, offset);
        Script {
            name: Arc::clone(&code.name),
            file: Arc::clone(&code.file),
            line: line.unwrap_or(0),
        }
    }

    /// How many samples have shown no function: those whose loop was not on the known part of the stack, and those
    /// whose function was not.
    #[must_use]
    pub fn missing(&self) -> (u64, u64) {
        (self.outside, self.unnamed)
    }
}

/// Whether a word is the address of an instruction after the first one.
fn is_next(code: &Code, word: u64) -> bool {
    word > code.instructions.start && word <= code.instructions.end
}

fn to_word(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.first_chunk::<8>()?))
}

/// Returns how to name functions of a version that cannot be read.
fn another_way(version: (u32, u32)) -> String {
    if version >= (3, 12) {
        format!("{} makes it write a map of them", runtime::X_PERF)
    } else {
        "this version writes no map of them; a profiler of Python (py-spy) may name them".to_owned()
    }
}

/// Addresses and sizes of the interpreter's symbols, if the file has the interpreter.
fn exported(file: std::fs::File) -> Option<HashMap<String, (u64, u64)>> {
    const WANTED: [&str; 5] = [
        "PyCode_Type",
        "PyFrame_Type",
        "_PyRuntime",
        "_PyEval_EvalFrameDefault",
        "PyEval_EvalFrameEx",
    ];
    let bounded = Bounded::new(file)?;
    let elf = object::File::parse(&bounded).ok()?;
    let symbols = elf.dynamic_symbols().filter(ObjectSymbol::is_definition);
    let found: HashMap<String, (u64, u64)> = symbols
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| WANTED.contains(name))?;
            Some((name.to_owned(), (symbol.address(), symbol.size())))
        })
        .collect();
    found.contains_key("PyCode_Type").then_some(found)
}

#[cfg(test)]
mod tests;
