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
//! own published numbers, without its fence and without a call. When the kernel leaves the counter,
//! the next read notices.
//!
//! There are two orders, and the types show which one applies:
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
//! [`realtime_bounded`] is the wall clock with the kernel's bound of its error.
//!
//! - [`guide::which_function`]: the function to call
//! - [`guide::design`]: why each layer is sound
//! - [`guide::hazards`]: fork, signals, namespaces, filters, virtual machines
//!
//! Nothing happens until the first read: no constructor, no thread, no calibration. The first read
//! takes 25 to 50 us, and a delay by the scheduler more on a busy machine. Targets without support (anything
//! but Linux on x86-64, x86 and aarch64) use the standard library's clocks.
//!
//! Optional features: `tracing-subscriber` (time stamps for log lines), `governor` (the clock of
//! rate limiters), `compat` (drop-in modules with the interfaces of other clocks).
#![cfg_attr(docsrs, feature(doc_cfg))]

mod anchor;
#[cfg(target_has_atomic = "64")]
mod bounded;
#[cfg(target_has_atomic = "64")]
mod cached;
#[cfg(feature = "tracing-subscriber")]
mod civil;
mod clock;
mod clocks;
#[cfg(all(feature = "compat", target_has_atomic = "64"))]
pub mod compat;
#[cfg(engine)]
mod discover;
#[cfg(engine)]
mod eligible;
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
#[cfg(target_has_atomic = "64")]
mod mock;
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
#[cfg(feature = "tracing-subscriber")]
pub mod tracing;
#[cfg(target_has_atomic = "64")]
mod updater;
#[cfg(engine)]
mod view;
#[cfg(target_os = "linux")]
mod wiped;

pub use anchor::Anchor;
#[cfg(target_has_atomic = "64")]
pub use bounded::realtime_bounded;
#[cfg(target_has_atomic = "64")]
pub use cached::CachedClock;
pub use clock::{Clock, CoarseClock, FastClock, OrderedClock, SystemClock};
pub use clocks::{
    boottime_ns, boottime_ordered_ns, distrust_counter, monotonic_coarse_ns, monotonic_ns,
    monotonic_ordered_ns, monotonic_raw_ns, monotonic_raw_ordered_ns, realtime_coarse_ns,
    realtime_ns, realtime_ordered_ns, restrict, source, tai_ns, tai_ordered_ns, trust_counter,
};
pub use fast_instant::FastInstant;
pub use instant::Instant;
#[cfg(target_has_atomic = "64")]
pub use mock::MockClock;
pub use slow::{Slowness, is_slow};
pub use source::Source;
#[cfg(engine)]
pub use synchrony::test_counters;
pub use synchrony::{Refused, Synchrony};
pub use tick_scale::{TickAnchor, TickScale};
pub use ticks::Ticks;
#[cfg(target_has_atomic = "64")]
pub use updater::Updater;
