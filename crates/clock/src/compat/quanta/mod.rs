//! The interface of `quanta` 0.13: `use clocksmith::compat::quanta::{Clock, Instant}`.
//!
//! Differences: there is no calibration, so no call waits for one. Raw values are nanoseconds
//! already. Arithmetic saturates and never panics. A recent time without an upkeep thread is the kernel's last tick,
//! even in a forked child; and it never goes backward.
//!
//! `Instant::now` and `Clock::now` are ordered between threads, which the originals are not: programs hand
//! these moments from thread to thread. `Clock::raw` is unordered, as the original is: it is for intervals
//! that begin and end in one thread.
//!
//! ```
//! use clocksmith::compat::quanta::{Clock, Instant};
//!
//! let clock = Clock::new();
//! let begin = clock.raw();
//! println!("{:?}", clock.delta(begin, clock.raw()));
//! println!("{:?}", Instant::now().elapsed());
//! ```

mod clock;
mod instant;
mod upkeep;

pub use clock::{Clock, IntoNanoseconds, Mock, set_recent, with_clock};
pub use instant::Instant;
pub use upkeep::{Error, Handle, Upkeep};
