//! Reports a lack of memory in a sentence, instead of an abort; and limits the memory of this process.
//!
//! The standard library ends a program without a way to state the reason (`handle_alloc_error`). Nothing here allocates
//! once memory is refused.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;

/// The allocator of a program.
pub struct Memory {
    program: &'static str,
    /// The advice for the user if memory is refused, as a sentence.
    advice: &'static str,
}

impl Memory {
    /// For `#[global_allocator]`.
    #[must_use]
    pub const fn new(program: &'static str, advice: &'static str) -> Self {
        Self { program, advice }
    }

    fn given(&self, pointer: *mut u8, size: usize) -> *mut u8 {
        if pointer.is_null() {
            self.refused(size);
        }
        pointer
    }

    #[cold]
    fn refused(&self, size: usize) -> ! {
        let mut digits = [0; 20];
        let parts: [&[u8]; 6] = [
            self.program.as_bytes(),
            b": out of memory (",
            decimal(size, &mut digits),
            b" bytes were requested). ",
            self.advice.as_bytes(),
            b"\n",
        ];
        for part in parts {
            // SAFETY: the pointer and the length are of a live slice; nothing is allocated.
            unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
        }
        // SAFETY: ends the process; no code of this program runs after it.
        unsafe { libc::_exit(2) }
    }
}

// SAFETY: forwards every call to the system's allocator with the same arguments, and ends the program instead of
// returning null.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantee for `layout` is the required one.
        self.given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        self.given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer is of the same allocator with the same layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        self.given(unsafe { System.realloc(pointer, layout, size) }, size)
    }
}

/// Limits the further memory of this process, in bytes. Code and files are not counted.
///
/// # Errors
/// Returns an error if the memory in use is unknown (there is no `/proc`), or if the kernel refuses the limit.
pub fn limit(more: u64) -> io::Result<()> {
    let sizes = std::fs::read_to_string("/proc/self/statm")?;
    // statm: size, resident, shared, text, lib, data.
    let pages = sizes.split_ascii_whitespace().nth(5).and_then(|pages| pages.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm has no sixth number"))?;
    let bytes = pages.saturating_mul(rustix::param::page_size() as u64).saturating_add(more);
    let Rlimit { current, maximum } = getrlimit(Resource::Data);
    let current = Some(current.map_or(bytes, |current| current.min(bytes)));
    Ok(setrlimit(Resource::Data, Rlimit { current, maximum })?)
}

/// A number in decimal digits.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 || at == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static MEMORY: Memory = Memory::new("test", "Take less.");

    #[test]
    fn numbers_are_written_in_decimal() {
        for (number, text) in
            [(0, "0"), (7_717_040, "7717040"), (usize::MAX, "18446744073709551615")]
        {
            assert_eq!(decimal(number, &mut [0; 20]), text.as_bytes());
        }
    }

    fn said_by(child: &str) -> String {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", child, "--ignored", "--nocapture"]);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        said
    }

    #[test]
    fn lack_of_memory_is_reported() {
        let said = said_by("memory::tests::child");
        assert!(said.contains("test: out of memory (70368744177664 bytes"), "{said}");
        assert!(said.contains("requested). Take less.\n"), "{said}");
    }

    #[test]
    #[ignore = "ends for want of memory; run by the test above"]
    fn child() {
        std::hint::black_box(Vec::<u8>::with_capacity(1 << 46));
    }

    #[test]
    fn limit_refuses_what_is_beyond() {
        let said = said_by("memory::tests::limited");
        assert!(said.contains("out of memory (1073741824 bytes"), "{said}");
    }

    #[test]
    #[ignore = "ends for want of memory; run by the test above"]
    fn limited() {
        limit(256 << 20).unwrap();
        std::hint::black_box(vec![1_u8; 64 << 20]);
        std::hint::black_box(vec![1_u8; 1 << 30]);
    }
}
