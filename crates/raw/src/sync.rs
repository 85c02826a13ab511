//! Atomics: the processor's, or those of the model checker.

#[cfg(not(clocksmith_loom))]
pub use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(clocksmith_loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
