//! Reports a lack of memory in a sentence, instead of an abort.
//!
//! The standard library ends a program without a way to say why (`handle_alloc_error`). Nothing here allocates once
//! memory is refused.

use std::alloc::{GlobalAlloc, Layout, System};

#[global_allocator]
static MEMORY: Memory = Memory;

struct Memory;

// SAFETY: hands every call on to the system's allocator with the same arguments, and ends the program instead of
// returning null.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise for `layout` is the one that is asked for.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer is of the same allocator with the same layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(pointer, layout, size) }, size)
    }
}

fn given(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        refused(size);
    }
    pointer
}

#[cold]
fn refused(size: usize) -> ! {
    let mut digits = [0; 20];
    let parts: [&[u8]; 3] = [
        b"clocksmith: out of memory (",
        decimal(size, &mut digits),
        b" bytes were requested). Raise the limit of this process (ulimit -v) or of its control group (memory.max), or \
          read less at once\n",
    ];
    for part in parts {
        // SAFETY: the pointer and the length are of a live slice; nothing is allocated.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: ends the process; nothing of this program runs after it.
    unsafe { libc::_exit(2) }
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

    #[test]
    fn numbers_are_written_in_decimal() {
        for (number, text) in
            [(0, "0"), (7_717_040, "7717040"), (usize::MAX, "18446744073709551615")]
        {
            assert_eq!(decimal(number, &mut [0; 20]), text.as_bytes());
        }
    }

    #[test]
    fn lack_of_memory_is_reported() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "memory::tests::child", "--ignored", "--nocapture"]);
        let output = child.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("out of memory (70368744177664 bytes"), "{said}");
        assert!(said.contains("ulimit -v"), "{said}");
    }

    #[test]
    #[ignore = "ends for want of memory; run by the test above"]
    fn child() {
        std::hint::black_box(Vec::<u8>::with_capacity(1 << 46));
    }
}
