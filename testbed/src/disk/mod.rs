//! Whole installed systems on disk images: a boot loader that reads its own configuration, systemd,
//! a distribution's kernel. An administrator's changes of the kernel's command line can be made on
//! a real system here, and reverted, and interrupted at any moment.
//!
//! - [`system`]: which systems there are: packages, settings, boot loader
//! - [`bootstrap`]: a system's files, from the distribution's packages
//! - [`partition`]: the partition tables
//! - [`build`](mod@build): files to bootable image
//! - [`image`]: built images, kept in the cache
//! - [`power`]: the emulator's arguments
//! - [`wire`]: talking to the agent inside
//! - [`guest`]: a running system, for tests: [`Disk`]

pub mod bootstrap;
pub mod build;
pub mod guest;
pub mod image;
pub mod partition;
pub mod power;
pub mod system;
pub mod wire;

pub use guest::{Disk, Setup};
pub use system::System;
pub use wire::Answer;
