//! Time stamps for `tracing-subscriber`'s log lines. Needs the feature `tracing-subscriber`.

use crate::clocks;
use crate::instant::Instant;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

pub use crate::civil::Precision;

/// The wall clock in UTC: `2026-03-01T09:05:07.123456Z`.
///
/// Microseconds by default; truncated, not rounded. Nothing is allocated. The clock is read ordered,
/// because one log has lines of several threads: a line that was written after another thread's line
/// was seen does not have an earlier time.
///
/// ```
/// use clocksmith::tracing::{Precision, Rfc3339};
///
/// let subscriber = tracing_subscriber::fmt()
///     .with_timer(Rfc3339::new(Precision::Milliseconds))
///     .finish();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rfc3339 {
    precision: Precision,
}

impl Rfc3339 {
    /// With this precision.
    #[must_use]
    pub const fn new(precision: Precision) -> Self {
        Self { precision }
    }
}

impl FormatTime for Rfc3339 {
    fn format_time(&self, w: &mut Writer<'_>) -> core::fmt::Result {
        w.write_str(crate::civil::rfc3339(clocks::realtime_ordered_ns(), self.precision).as_str())
    }
}

/// The time since a moment, in seconds: `   7.123456s`.
///
/// Microseconds by default; truncated, not rounded. Nothing is allocated. Read ordered, as
/// [`Rfc3339`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uptime {
    begin: Instant,
    precision: Precision,
}

impl Uptime {
    /// Since now.
    #[must_use]
    pub fn new() -> Self {
        Self::since(Instant::now(), Precision::default())
    }

    /// Since that moment, with this precision. From [`Instant::ZERO`] on it is, on Linux, the time since
    /// the machine started, less the time that it slept.
    #[must_use]
    pub const fn since(begin: Instant, precision: Precision) -> Self {
        Self { begin, precision }
    }
}

impl Default for Uptime {
    /// Since now.
    fn default() -> Self {
        Self::new()
    }
}

impl FormatTime for Uptime {
    fn format_time(&self, w: &mut Writer<'_>) -> core::fmt::Result {
        let ns = clocks::monotonic_ordered_ns().saturating_sub(self.begin.as_nanos());
        w.write_str(crate::civil::seconds(ns, self.precision).as_str())
    }
}
