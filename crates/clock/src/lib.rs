//! The kernel's own time on Linux, at the cost of one counter read.
//!
//! ```
//! let begin = clocksmith::Instant::now();
//! let took = begin.elapsed();
//! let time = clocksmith::monotonic_ns(); // CLOCK_MONOTONIC, exactly
//! println!("{took:?} by {}", clocksmith::source());
//! # assert!(clocksmith::monotonic_ns() >= time);
//! ```
//!
//! [`monotonic_ns`] returns the time of `clock_gettime(CLOCK_MONOTONIC)`, computed from the kernel's
//! own published numbers, without its fence and without a call. When the kernel stops using the
//! counter, the next read takes that into account.
//!
//! Reads are ordered or unordered, and the types show which applies:
//!
//! | | ordered, as `std::time::Instant` is | unordered |
//! |---|---|---|
//! | function | [`monotonic_ordered_ns`], [`realtime_ordered_ns`] | [`monotonic_ns`], [`realtime_ns`] |
//! | type | [`Instant`] | [`FastInstant`] |
//! | [`Clock`] | [`SystemClock`] | [`FastClock`] |
//! | for | moments that threads or async tasks hand to each other | intervals that begin and end in one thread |
//! | a read costs | about 0.8 of the vDSO's | about one `rdtsc`, 0.44 of the vDSO's |
//!
//! (Costs are ratios, back to back, on an AMD Zen 5 guest that uses its TSC.)
//!
//! [`Timestamp`] is the wall clock as a value, like `std::time::SystemTime`; [`realtime_bounded`] is the wall clock with the
//! kernel's bound of its error. [`vmclock`] reports whether this machine was migrated or restored.
//!
//! - [`guide::which_function`]: the function to call
//! - [`guide::design`]: why each layer is sound
//! - [`guide::hazards`]: fork, signals, namespaces, filters, virtual machines
//!
//! Nothing happens until the first read: no constructor, no thread, no calibration. The first read takes 25 to 50 us,
//! plus any delay by the scheduler on a busy machine. Targets without support (anything
//! but Linux on x86-64, x86 and aarch64) use the standard library's clocks.
//!
//! # Features
//!
//! | feature | | needs |
//! |---|---|---|
//! | `std` (default) | [`Anchor`], [`Updater`] and `spawn_updater`, [`MockClock`], [`trust_counter`], `SystemTime`, clocks for `Arc` | |
//! | `compat` | drop-in modules with the interfaces of minstant, quanta, fastant and coarsetime | `std` |
//! | `tracing-subscriber` | time stamps for log lines | `std` |
//! | `governor` | the clock of rate limiters | `std` |
//! | `jiff`, `jiff-02`, `chrono` | conversions of [`Timestamp`], with the versions 1, 0.2 and 0.4 of these crates | |
//! | `time` | likewise, with version 0.3 of `time` | Rust 1.88 from `time` 0.3.46 on |
//! | `serde` | reading and writing a [`Timestamp`] | |
//!
//! `compat`, `tracing-subscriber` and `governor` switch `std` on; everything but `std` is off by default. The crate builds with
//! Rust 1.85 and later.
//!
//! # Without the standard library
//!
//! With `default-features = false` the crate is `no_std`: it uses `core` and the C library
//! (`libc`), and does not allocate. That works on Linux on x86-64, x86 and aarch64, where the crate
//! has clocks of its own; other targets need `std`. Everything is available except what the table
//! lists at `std`. Without an operating system there is no kernel whose time could be read: the
//! counter alone and the arithmetic are in the crate `clocksmith-raw`, which is `no_std` on every
//! target.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

#[cfg(not(any(engine, feature = "std")))]
compile_error!(
    "clocksmith has no clock of its own for this target: it uses the standard library's, with the feature `std`"
);

#[cfg(feature = "std")]
mod anchor;
#[cfg(target_has_atomic = "64")]
mod bounded;
#[cfg(target_has_atomic = "64")]
mod cached;
mod civil;
mod clock;
mod clocks;
#[cfg(all(feature = "compat", target_has_atomic = "64"))]
pub mod compat;
#[cfg(engine)]
mod discover;
#[cfg(engine)]
mod eligible;
// Tests compile it everywhere.
#[cfg(all(feature = "std", any(not(engine), test)))]
#[cfg_attr(engine, allow(dead_code, reason = "this target has better clocks"))]
mod elsewhere;
#[cfg(engine)]
mod engine;
mod fast_instant;
#[cfg(feature = "governor")]
pub mod governor;
pub mod guide;
mod instant;
#[cfg(engine)]
mod kernel;
#[cfg(engine)]
mod line;
#[cfg(engine)]
mod memory;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod mock;
mod operators;
#[cfg(engine)]
mod page;
#[cfg(engine)]
mod paravirt;
#[cfg(target_has_atomic = "64")]
mod slots;
mod slow;
mod source;
mod synchrony;
mod tick_scale;
mod ticks;
mod timestamp;
#[cfg(feature = "tracing-subscriber")]
pub mod tracing;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod updater;
#[cfg(engine)]
mod view;
pub mod vmclock;
#[cfg(any(engine, all(target_os = "linux", feature = "std")))]
mod wiped;

#[cfg(feature = "std")]
pub use anchor::Anchor;
#[cfg(target_has_atomic = "64")]
pub use bounded::realtime_bounded;
#[cfg(target_has_atomic = "64")]
pub use cached::CachedClock;
pub use civil::Precision;
pub use clock::{Clock, CoarseClock, FastClock, OrderedClock, SystemClock};
#[cfg(feature = "std")]
pub use clocks::trust_counter;
pub use clocks::{
    boottime_ns, boottime_ordered_ns, distrust_counter, monotonic_coarse_ns, monotonic_ns,
    monotonic_ordered_ns, monotonic_raw_ns, monotonic_raw_ordered_ns, realtime_coarse_ns,
    realtime_ns, realtime_ordered_ns, restrict, source, tai_ns, tai_ordered_ns,
};
pub use fast_instant::FastInstant;
pub use instant::Instant;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use mock::MockClock;
pub use slow::{Slowness, is_slow};
pub use source::{NotASource, Source};
#[cfg(all(engine, feature = "std"))]
pub use synchrony::test_counters;
pub use synchrony::{Refused, Synchrony};
pub use tick_scale::{TickAnchor, TickScale};
pub use ticks::Ticks;
#[cfg(feature = "serde")]
pub use timestamp::unix_nanos;
pub use timestamp::{Backward, NotATimestamp, OutOfRange, Rfc3339Text, Timestamp};
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use updater::Updater;
