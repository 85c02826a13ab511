//! Which native functions below a function of a script are the interpreter's or the virtual machine's own, and which are
//! of an extension: a module of Python in C, a library of JNI, an addon of Node. Pure.

use crate::symbols::{Frame, FrameKind};
use crate::watched::jdk_library;

/// Files of machines, by the beginning of their names.
const FILES: [&str; 14] = [
    "libpython",
    "libpypy",
    // Calls of C functions from scripts go through these.
    "libffi.so",
    "_ctypes.",
    "_cffi_backend.",
    "libnode.so",
    "libuv.so",
    "libv8",
    "libjulia",
    "libluajit",
    "libcoreclr.so",
    "libclrjit.so",
    "libSystem.",
    "libmono",
];

/// Modules of Python's standard library that are files of their own.
const PYTHON: [&str; 12] = [
    "_asyncio",
    "_datetime",
    "_lsprof",
    "_multiprocessing",
    "_posixsubprocess",
    "_queue",
    "_random",
    "_socket",
    "_ssl",
    "_uuid",
    "select",
    "time",
];

/// Whether the function at a place of a stack is the machine's, below a function of the language that it runs.
pub(super) fn is_of_machine(at: usize, frames: &[Frame]) -> bool {
    let script = |frame: &&Frame| {
        matches!(frame.kind, FrameKind::Interpreted | FrameKind::Jit | FrameKind::Unnamed)
    };
    let Some(frame) = frames.get(at).filter(|frame| frame.kind == FrameKind::Native) else {
        return false;
    };
    let caller = frames.get(at..).unwrap_or_default().iter().find(script);
    match caller.map(|caller| caller.kind) {
        // Above all functions of scripts, or below code of a machine that is not known: that one's.
        None | Some(FrameKind::Unnamed) => frames.iter().any(|frame| script(&frame)),
        Some(_) => !is_extension(&frame.module),
    }
}

fn is_extension(module: &str) -> bool {
    let library = module.contains(".so") || module.ends_with(".node");
    let name = module.split('.').next().unwrap_or(module);
    let python = PYTHON.contains(&name) || FILES.iter().any(|file| module.starts_with(file));
    library && !python && !jdk_library(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_is_a_library_that_is_not_of_the_machine() {
        for module in [
            "meter.cpython-311-x86_64-linux-gnu.so",
            "fast.so",
            "addon.node",
            "libpricing.so",
            "libwidgets.so.2",
        ] {
            assert!(is_extension(module), "{module}");
        }
        for module in [
            "python3.11",
            "libpython3.11.so.1.0",
            "_datetime.cpython-310-x86_64-linux-gnu.so",
            "time.cpython-36m-x86_64-linux-gnu.so",
            "_ctypes.cpython-311-x86_64-linux-gnu.so",
            "libffi.so.8.1.2",
            "libjvm.so",
            "libnio.so",
            "node",
        ] {
            assert!(!is_extension(module), "{module}");
        }
    }
}
