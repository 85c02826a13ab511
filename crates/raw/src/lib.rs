//! The processor's counter, and the clocks that are computed from it.
//!
//! - [`counter`]: reads the counter, unordered or ordered
//! - [`clock_id`]: the ids of `clock_gettime(2)`
//! - [`exchange`]: whether the counters of two CPUs agree
//! - [`discipline`]: the arithmetic of a clock that follows the kernel's
//! - [`timeline`]: a clock that all threads of a process share, and that cannot go back
//! - [`maps`], `vdso_elf` (feature `elf`): where the kernel's own vDSO is, and its functions
//! - [`layout`], `IMAGE` (feature `image`): a vDSO that gives a program another clock, and its memory
//!
//! A program finds the kernel's vDSO by an address in its auxiliary vector. The process that starts a program
//! can put another image into its memory and the image's address into the vector. Every program uses it:
//! static ones, Go, the JVM. `build.rs` compiles this crate a second time to make that image, with the module
//! `image` in it.
//!
//! No standard library, no I/O, no system call outside of `image`.
#![cfg_attr(not(any(test, clocksmith_loom)), no_std)]
#![cfg_attr(in_image, no_main)]

#[cfg(feature = "elf")]
extern crate alloc;

pub mod clock_id;
pub mod counter;
#[cfg(target_has_atomic = "64")]
pub mod discipline;
#[cfg(target_has_atomic = "64")]
pub mod exchange;
#[cfg(in_image)]
mod image;
pub mod layout;
#[cfg(not(in_image))]
pub mod maps;
#[cfg(target_has_atomic = "64")]
pub mod sync;
#[cfg(target_has_atomic = "64")]
pub mod timeline;
#[cfg(feature = "elf")]
pub mod vdso_elf;

/// The image, an ELF file whose one segment is loaded as it is; `None` if it is not available:
/// anything but Linux on x86-64, and without the feature `image`.
#[cfg(image)]
pub const IMAGE: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/image.so")));
/// The image; not available for this target.
#[cfg(not(any(image, in_image)))]
pub const IMAGE: Option<&[u8]> = None;
