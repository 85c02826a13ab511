//! A vDSO that gives a program another clock.
//!
//! A program finds the kernel's vDSO by an address in its auxiliary vector. Whoever starts a program
//! can put another image into its memory and its address into the vector; every program takes it: static
//! ones, Go, the JVM. [`IMAGE`] is such an image, [`layout`] is what lies in memory beside it, and
//! [`timeline`] is the clock in it, which anything else can use as well.
//!
//! Nothing here does I/O or a system call; the image does (`image/main.rs`).
#![cfg_attr(not(any(test, loom)), no_std)]

// One arithmetic for two clocks: the file is the library's, which older compilers build.
#[allow(dead_code, clippy::manual_is_multiple_of)]
mod discipline;
pub mod layout;
mod sync;
pub mod timeline;

/// The image, an ELF file whose one segment is loaded as it is; `None` where it is not available:
/// anything but Linux on x86-64.
#[cfg(image)]
pub const IMAGE: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/image.so")));
/// The image; not available for this target.
#[cfg(not(image))]
pub const IMAGE: Option<&[u8]> = None;
