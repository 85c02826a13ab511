//! Names of functions: of files by blazesym, of code made at run time by the runtime's own map, of the
//! kernel by its list. An edge, but for the two parsers.

pub mod kallsyms;
pub mod perf_map;

use crate::watched::bounded::{Copies, Mappable};
use crate::watched::{Mapped, Process};
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use kallsyms::KernelSymbols;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// What a frame is.
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
    /// What it is.
    pub kind: FrameKind,
}

type Names = Arc<[Arc<str>]>;

/// Finds names, and remembers them.
#[derive(Debug)]
pub struct Symbols {
    symbolizer: Symbolizer,
    kernel: KernelSymbols,
    /// By file and offset.
    known: HashMap<((u64, u64), u64), Names>,
    /// Files as they are mapped, by device and inode; `None` for those that are not looked into.
    mappable: HashMap<(u64, u64), Option<Arc<Mappable>>>,
    copies: Copies,
}

/// The way to an open file.
fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

impl Default for Symbols {
    fn default() -> Self {
        let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let symbolizer = Symbolizer::builder()
            .enable_code_info(false)
            .enable_auto_reload(false)
            .enable_inlined_fns(true)
            .enable_demangling(true)
            .build();
        Self {
            symbolizer,
            kernel: KernelSymbols::parse(&text),
            known: HashMap::new(),
            mappable: HashMap::new(),
            copies: Copies::default(),
        }
    }
}

impl Symbols {
    /// The kernel's functions.
    #[must_use]
    pub fn kernel(&self) -> &KernelSymbols {
        &self.kernel
    }

    /// The functions at an address of a process, innermost first: several where some are inlined.
    pub fn frames(&mut self, process: &Process, address: u64) -> Vec<Frame> {
        if process.in_vdso(address) {
            let function = process.vdso.as_ref().and_then(|vdso| vdso.function(address));
            let name = function.map_or("[vdso]", |function| function.name.as_str()).into();
            return vec![Frame { name, module: "[vdso]".into(), kind: FrameKind::Vdso }];
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
                .map(|name| Frame {
                    name: Arc::clone(name),
                    module: Arc::clone(&module),
                    kind: FrameKind::Native,
                })
                .collect();
        }
        let module: Arc<str> = "[code made at run time]".into();
        let frame = match process.perf_map.name(address) {
            Some(name) => {
                let module = perf_map::place(name).map_or(module, Arc::from);
                Frame { name: perf_map::readable(name).into(), module, kind: FrameKind::Jit }
            }
            None => Frame { name: "[unnamed code]".into(), module, kind: FrameKind::Unnamed },
        };
        vec![frame]
    }

    fn look_up(&mut self, file: &Mapped, offset: u64, module: &str) -> Names {
        let copies = &mut self.copies;
        let mappable = self
            .mappable
            .entry(file.id)
            .or_insert_with(|| copies.mappable(&file.file).map(Arc::new));
        let found = mappable.clone().and_then(|mappable| {
            let other = mappable.names.other.as_ref().zip(file.address(offset));
            // A file that names another one is read without what it names.
            let other = other.and_then(|(other, address)| {
                self.names(Elf::new(path(other)), Input::VirtOffset(address))
            });
            other.or_else(|| self.name_in(&mappable, offset))
        });
        found.unwrap_or_else(|| [Arc::from(format!("{module}+{offset:#x}"))].into())
    }

    /// The functions at an offset of a file by its own names.
    pub(crate) fn name_in(&self, file: &Mappable, offset: u64) -> Option<Names> {
        let mut own = Elf::new(path(&file.file));
        own.debug_syms = file.names.debug;
        self.names(own, Input::FileOffset(offset))
    }

    fn names(&self, file: Elf, input: Input<u64>) -> Option<Names> {
        match self.symbolizer.symbolize_single(&Source::Elf(file), input) {
            Ok(Symbolized::Sym(symbol)) => {
                let inlined = symbol.inlined.iter().rev().map(|inlined| Arc::from(&*inlined.name));
                Some(inlined.chain([Arc::from(&*symbol.name)]).collect())
            }
            _ => None,
        }
    }

    /// A kernel frame.
    #[must_use]
    pub fn kernel_frame(&self, address: u64) -> Option<Frame> {
        let name = self.kernel.name(address)?.into();
        Some(Frame { name, module: "[kernel]".into(), kind: FrameKind::Kernel })
    }
}
