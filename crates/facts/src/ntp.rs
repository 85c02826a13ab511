//! The kernel's NTP discipline, as `adjtimex(2)` reports it.

use serde::Serialize;

/// State of the kernel's clock discipline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NtpState {
    /// Whether `STA_UNSYNC` is clear.
    pub synchronized: bool,
    /// Frequency correction in parts per million (`freq` / 65536).
    pub frequency_ppm: f64,
    /// Offset still to be slewed, in nanoseconds.
    pub offset_ns: i64,
    /// Length of the tick in microseconds (10000 is nominal for `USER_HZ` 100).
    pub tick_us: i64,
    /// Estimated error in microseconds.
    pub estimated_error_us: i64,
    /// Maximum error in microseconds.
    pub maximum_error_us: i64,
}
