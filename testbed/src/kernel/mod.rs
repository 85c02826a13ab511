//! Where kernels come from.
//!
//! - [`catalogue`]: which kernels the testbed knows, and by which package names
//! - [`apt`]: package lists and downloads, with apt state of the testbed's own
//! - [`package`]: extracting single files from a package
//! - [`image`]: unpacking a compressed x86 kernel image, which halves the time of a boot
//! - [`store`]: all of that once per kernel, kept in the cache

pub mod apt;
pub mod catalogue;
pub mod image;
pub mod package;
pub mod store;
