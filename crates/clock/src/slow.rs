//! Whether the kernel's clock is slow to read here: one test of about a millisecond, for programs that want to warn when
//! they start.
//!
//! A clock that user space can read costs a fraction of a system call. One that it cannot read costs a system call and
//! the reading of the clocksource, whichever that is; and one whose counter a hypervisor traps costs the trap, which is
//! most of both. So the test compares a read with a real system call for the same time, by the best of many short
//! batches taken in turn: other load on the machine makes some batches longer, but never the best one shorter. It
//! assumes no absolute time, and does not depend on how busy the machine is.

use core::fmt;

/// The result of [`is_slow`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Slowness {
    /// Whether a read costs as much as a system call; `None` if the test does not show it.
    pub slow: Option<bool>,
    /// A read of `CLOCK_MONOTONIC` by `clock_gettime(2)` of the C library, in nanoseconds; 0 if it was not measured.
    pub read_ns: f64,
    /// The same by a system call, in nanoseconds; 0 if it was not measured.
    pub call_ns: f64,
    name: Name,
    forbidden: bool,
}

/// The name of a clocksource: at most 31 bytes (`CS_NAME_LEN`, `kernel/time/clocksource.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Name {
    bytes: [u8; 31],
    length: usize,
}

impl Name {
    #[cfg(any(engine, test))]
    fn new(text: &[u8]) -> Self {
        let text = text.trim_ascii();
        let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-,.:@".contains(byte);
        let mut name = Self::default();
        if text.len() <= name.bytes.len() && text.iter().all(known) {
            name.bytes[..text.len()].copy_from_slice(text);
            name.length = text.len();
        }
        name
    }

    fn text(&self) -> &str {
        self.bytes.get(..self.length).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or("")
    }
}

/// Below this share of the cost of a system call no system call was made: the vDSO took 0.1 to 0.4 of one on processors of
/// 2013 to 2023, with and without mitigations.
const WITHOUT: f64 = 0.5;
/// From here on one was made.
const WITH: f64 = 0.75;

impl Slowness {
    /// The name of the clocksource in sysfs; empty if that is not readable.
    #[must_use]
    pub fn clocksource(&self) -> &str {
        self.name.text()
    }

    fn new(read_ns: f64, call_ns: f64, name: Name) -> Self {
        let measured = read_ns > 0.0 && call_ns > 0.0 && (read_ns / call_ns).is_finite();
        let slow = match read_ns / call_ns {
            _ if !measured => None,
            share if share < WITHOUT => Some(false),
            share if share >= WITH => Some(true),
            _ => None,
        };
        let [read_ns, call_ns] = if measured { [read_ns, call_ns] } else { [0.0; 2] };
        Self { slow, read_ns, call_ns, name, forbidden: false }
    }

    /// No test: this thread must not read the counter (`PR_SET_TSC`), and the C library would.
    #[cfg(any(all(engine, not(miri)), test))]
    fn forbidden(name: Name) -> Self {
        Self { forbidden: true, ..Self::new(0.0, 0.0, name) }
    }
}

/// The reason, as one sentence without a full stop.
impl fmt::Display for Slowness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.forbidden {
            return f.write_str(
                "reading the counter is forbidden here (PR_SET_TSC), and where the clock is read in user space, reading it is \
                 fatal",
            );
        }
        if self.read_ns == 0.0 {
            return f.write_str("the cost of a read could not be measured");
        }
        write!(
            f,
            "a read of the clock takes {:.0} ns, a system call {:.0} ns",
            self.read_ns, self.call_ns
        )?;
        f.write_str(match self.slow {
            Some(false) => ": the clock is read in user space",
            Some(true) => ": each read enters the kernel, or the counter is trapped",
            None => ": this does not show whether each read enters the kernel",
        })?;
        match self.clocksource() {
            "" => Ok(()),
            name => write!(f, " (clocksource {name})"),
        }
    }
}

/// Tests whether reading the kernel's clock is slow here, as it is if the clocksource is `hpet` or `acpi_pm`, or a
/// hypervisor traps the counter. Takes about a millisecond, or ten milliseconds if a read takes tens of microseconds.
/// No allocation, no thread, no signal. It is about `std::time` and `clock_gettime(2)`: the functions of this crate may
/// be quicker.
///
/// ```
/// let test = clocksmith::is_slow();
/// if test.slow == Some(true) {
///     eprintln!("warning: {test}; `clocksmith why` shows the cause");
/// }
/// ```
#[must_use]
pub fn is_slow() -> Slowness {
    #[cfg(all(engine, not(miri)))]
    return measure::test();
    #[cfg(not(all(engine, not(miri))))]
    Slowness::new(0.0, 0.0, Name::default())
}

#[cfg(all(engine, not(miri)))]
mod measure {
    use super::{Name, Slowness};
    use crate::eligible;
    use crate::kernel::{self, ClockId};

    /// Reads of a batch.
    const READS: u32 = 16;
    /// Batches of each kind, at most, and at least.
    const MOST: u32 = 64;
    const LEAST: u32 = 4;
    /// When enough time has passed for the least.
    const ENOUGH_NS: u64 = 3_000_000;

    type Read = fn(ClockId) -> Option<u64>;

    pub(super) fn test() -> Slowness {
        let mut text = [0; 32];
        let name = Name::new(eligible::current(&mut text));
        if !kernel::counter_is_allowed() {
            return Slowness::forbidden(name);
        }
        let (mut read, mut call) = (u64::MAX, u64::MAX);
        let begin = kernel::time(ClockId::Monotonic);
        for round in 0..MOST {
            let (Some(one), Some(other)) = (batch(kernel::time), batch(kernel::time_by_call))
            else {
                return Slowness::new(0.0, 0.0, name);
            };
            (read, call) = (read.min(one), call.min(other));
            let now = kernel::time(ClockId::Monotonic).unwrap_or(0);
            if round + 1 >= LEAST && now.saturating_sub(begin.unwrap_or(0)) > ENOUGH_NS {
                break;
            }
        }
        let ns = |batch: u64| batch as f64 / f64::from(READS);
        Slowness::new(ns(read), ns(call), name)
    }

    /// The nanoseconds of a batch, from the first read to the last: the time is read by the same clock.
    fn batch(read: Read) -> Option<u64> {
        let begin = read(ClockId::Monotonic)?;
        let mut end = begin;
        for _ in 0..READS {
            end = read(ClockId::Monotonic)?;
        }
        Some(end.saturating_sub(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn new_a_read_like_a_call_is_slow_and_one_below_half_is_not() {
        let slow = |read, call| Slowness::new(read, call, Name::default()).slow;
        assert_eq!(slow(24.0, 190.0), Some(false));
        assert_eq!(slow(1220.0, 1240.0), Some(true));
        // A trapped counter in user space, and without one in the kernel.
        assert_eq!(slow(2000.0, 200.0), Some(true));
        assert_eq!(slow(60.0, 100.0), None);
        assert_eq!(slow(0.0, 100.0), None);
        assert_eq!(slow(100.0, 0.0), None);
    }

    #[test]
    fn display_names_costs_and_clocksource() {
        let test = Slowness::new(1220.0, 1240.0, Name::new(b"hpet\n"));
        assert_eq!(
            test.to_string(),
            "a read of the clock takes 1220 ns, a system call 1240 ns: each read enters the kernel, \
             or the counter is trapped (clocksource hpet)"
        );
        let none = Slowness::new(0.0, 0.0, Name::new(b"\x1b[2J"));
        assert_eq!(none.to_string(), "the cost of a read could not be measured");
        assert_eq!(none.clocksource(), "");
        let forbidden = Slowness::forbidden(Name::new(b"tsc\n"));
        assert!(forbidden.to_string().starts_with("reading the counter is forbidden here"));
        assert_eq!((forbidden.slow, forbidden.clocksource()), (None, "tsc"));
    }

    #[test]
    fn is_slow_here_has_costs_and_a_reason() {
        let test = is_slow();
        assert!(!test.to_string().is_empty());
        if cfg!(all(engine, not(miri))) {
            assert!(test.read_ns > 0.0 && test.call_ns > 0.0, "{test:?}");
        }
    }

    proptest! {
        #[test]
        fn any_costs_and_names(read in any::<f64>(), call in any::<f64>(), name in any::<Vec<u8>>()) {
            let test = Slowness::new(read, call, Name::new(&name));
            prop_assert!(!test.to_string().chars().any(char::is_control));
            prop_assert!(test.slow.is_none() || test.read_ns > 0.0);
        }
    }
}
