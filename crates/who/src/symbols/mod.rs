//! Names of functions: of files by blazesym, of code made at run time by the runtime's own map, of the
//! kernel by its list. An edge, except for the two parsers.

mod apart;
pub mod kallsyms;
pub mod pclntab;
pub mod perf_map;

use crate::watched::{Mapped, Process, ours};
use apart::{Apart, At};
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use kallsyms::KernelSymbols;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// A function of a file.
    Native,
    /// A function of the vDSO.
    Vdso,
    /// Code that a runtime made, with its name.
    Jit,
    /// Code that a runtime made, without a name.
    Unnamed,
    /// A function that an interpreter runs.
    Interpreted,
    /// A function of the kernel.
    Kernel,
}

/// One function on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Its name, demangled; or the module and an offset.
    pub name: Arc<str>,
    /// The file it comes from, without directories.
    pub module: Arc<str>,
    /// Its kind.
    pub kind: FrameKind,
    /// The line of its source, if that is known.
    pub place: Option<Place>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The file, as the program's makers named it.
    pub file: Arc<str>,
    /// The line, from 1 on; 0 if only the file is known.
    pub line: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// The name that is shown for code that a runtime made, if it has no name of its own.
pub const UNNAMED: &str = "[unnamed code]";

/// A function at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: Arc<str>,
    /// The line of the address in it, if that is known.
    pub place: Option<Place>,
}

type Names = Arc<[Named]>;

/// Finds names, and remembers them.
#[derive(Debug)]
pub struct Symbols {
    kernel: KernelSymbols,
    /// By file and offset.
    known: HashMap<((u64, u64), u64), Names>,
    /// Lookups in other processes.
    apart: Apart,
}

/// Where the source is, by debugging information.
fn place(info: Option<&CodeInfo<'_>>) -> Option<Place> {
    let info = info?;
    let file = info.to_path().to_string_lossy().as_ref().into();
    Some(Place { file, line: info.line.unwrap_or(0) })
}

/// The path to an open file.
fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder()
        .enable_code_info(true)
        .enable_auto_reload(false)
        .enable_inlined_fns(true)
        .enable_demangling(true)
        .build()
}

/// The functions at a place of a file, from its debugging information if `debug` allows that and it can be read,
/// otherwise from its symbols.
fn own_names(symbolizer: &Symbolizer, file: &File, debug: bool, offset: u64) -> Option<Names> {
    let of = |debug| {
        let mut elf = Elf::new(path(file));
        elf.debug_syms = debug;
        try_names(symbolizer, elf, Input::FileOffset(offset))
    };
    match of(debug) {
        Err(_) if debug => of(false).ok()?,
        found => found.ok()?,
    }
}

/// The functions at a place of a file.
fn names_of(symbolizer: &Symbolizer, file: Elf, input: Input<u64>) -> Option<Names> {
    try_names(symbolizer, file, input).ok()?
}

fn try_names(
    symbolizer: &Symbolizer,
    file: Elf,
    input: Input<u64>,
) -> Result<Option<Names>, blazesym::Error> {
    let Symbolized::Sym(symbol) = symbolizer.symbolize_single(&Source::Elf(file), input)? else {
        return Ok(None);
    };
    let outer = Named { name: Arc::from(&*symbol.name), place: place(symbol.code_info.as_deref()) };
    let inlined = symbol.inlined.iter().rev().map(|inlined| Named {
        name: Arc::from(&*inlined.name),
        place: place(inlined.code_info.as_ref()),
    });
    Ok(Some(inlined.chain([outer]).collect()))
}

impl Default for Symbols {
    fn default() -> Self {
        let text = clocksmith_facts::given::text("/proc/kallsyms").unwrap_or_default();
        Self { kernel: KernelSymbols::parse(&text), known: HashMap::new(), apart: Apart::default() }
    }
}

impl Symbols {
    /// The kernel's functions.
    #[must_use]
    pub fn kernel(&self) -> &KernelSymbols {
        &self.kernel
    }

    /// The functions at an address of a process, innermost first: several if some are inlined.
    pub fn frames(&mut self, process: &Process, address: u64) -> Vec<Frame> {
        if let Some(ours) = process.ours.as_ref().filter(|_| process.in_ours(address)) {
            let function = ours.vdso.exact_function(address);
            let name = function.map_or("clocksmith run", |function| function.name.as_str()).into();
            return vec![Frame {
                name,
                module: ours::MODULE.into(),
                kind: FrameKind::Vdso,
                place: None,
            }];
        }
        if process.in_vdso(address) {
            let function = process.vdso.as_ref().and_then(|vdso| vdso.function(address));
            let name = function.map_or("[vdso]", |function| function.name.as_str()).into();
            return vec![Frame {
                name,
                module: "[vdso]".into(),
                kind: FrameKind::Vdso,
                place: None,
            }];
        }
        if let Some((mapping, file, offset)) = process.file(address) {
            let module: Arc<str> = mapping.base_name().into();
            let names = match self.known.get(&(file.id, offset)) {
                Some(names) => Arc::clone(names),
                None => {
                    let names = self.look_up(file, offset, &module);
                    self.known.insert((file.id, offset), Arc::clone(&names));
                    names
                }
            };
            return names
                .iter()
                .map(|named| Frame {
                    name: Arc::clone(&named.name),
                    module: Arc::clone(&module),
                    kind: FrameKind::Native,
                    place: named.place.clone(),
                })
                .collect();
        }
        let module: Arc<str> = "[code made at run time]".into();
        let frame = match process.perf_map.name(address) {
            Some(name) => {
                let module = perf_map::place(name).map_or(module, Arc::from);
                Frame {
                    name: perf_map::readable(name).into(),
                    module,
                    kind: FrameKind::Jit,
                    place: None,
                }
            }
            None => Frame { name: UNNAMED.into(), module, kind: FrameKind::Unnamed, place: None },
        };
        vec![frame]
    }

    fn look_up(&mut self, file: &Mapped, offset: u64, module: &str) -> Names {
        let address = file.address(offset);
        // Go's own table also has the functions that the compiler has inlined, and is in every program.
        let go = file.go().zip(address).map(|(table, address)| table.frames(address));
        if let Some(frames) = go.filter(|frames| !frames.is_empty()) {
            return frames.into();
        }
        let at = At { offset, address };
        let found = self.apart.names(&file.file, file.id, module, file.own, at);
        found.unwrap_or_else(|| {
            // Without a symbol, the unwind tables define where a function begins.
            let begin = address.and_then(|address| file.function(address));
            let begin = begin.map(|function| function.begin).or(address).unwrap_or(offset);
            [Named { name: format!("{module}+{begin:#x}").into(), place: None }].into()
        })
    }

    /// Returns the data that was left out, by file.
    #[must_use]
    pub fn gaps(&self) -> &[String] {
        &self.apart.gaps
    }

    /// A kernel frame.
    #[must_use]
    pub fn kernel_frame(&self, address: u64) -> Option<Frame> {
        let name = self.kernel.name(address)?.into();
        Some(Frame { name, module: "[kernel]".into(), kind: FrameKind::Kernel, place: None })
    }
}
