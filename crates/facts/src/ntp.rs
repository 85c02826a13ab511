//! The kernel's NTP discipline, as `adjtimex(2)` reports it, or what `timedatectl` and `chronyc tracking` say of it.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// State of the kernel's clock discipline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NtpState {
    /// Whether `STA_UNSYNC` is clear.
    pub synchronized: bool,
    /// Frequency correction in parts per million (`freq` / 65536). This and the other figures are those of
    /// `adjtimex(2)`; `None` where a program's text alone tells of the state.
    pub frequency_ppm: Option<f64>,
    /// Offset still to be slewed, in nanoseconds.
    pub offset_ns: Option<i64>,
    /// Length of the tick in microseconds (10000 is nominal for `USER_HZ` 100).
    pub tick_us: Option<i64>,
    /// Estimated error in microseconds.
    pub estimated_error_us: Option<i64>,
    /// Maximum error in microseconds.
    pub maximum_error_us: Option<i64>,
}

impl NtpState {
    /// What the text of `timedatectl` or of `chronyc tracking` says.
    ///
    /// # Errors
    /// It has none of the lines that tell: `System clock synchronized:` (`NTP synchronized:` before systemd 239),
    /// `Leap status     :`.
    pub fn told(text: &str) -> Result<Self, String> {
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(left, _)| left.trim() == name).map(|(_, value)| value.trim())
        };
        let names = ["System clock synchronized", "NTP synchronized"];
        let synchronized = match (names.into_iter().find_map(value), value("Leap status")) {
            (Some("yes"), _) => true,
            (Some("no"), _) => false,
            (_, Some("Not synchronised")) => false,
            (_, Some("Normal" | "Insert second" | "Delete second")) => true,
            _ => return Err("no line says whether the clock is synchronised".to_owned()),
        };
        Ok(Self::only(synchronized))
    }

    /// A state of which nothing is known but whether the clock is synchronised.
    #[must_use]
    pub fn only(synchronized: bool) -> Self {
        Self {
            synchronized,
            frequency_ppm: None,
            offset_ns: None,
            tick_us: None,
            estimated_error_us: None,
            maximum_error_us: None,
        }
    }
}

/// The fields of `struct timex` that are kept, raw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timex {
    /// Status bits.
    pub status: i64,
    /// Frequency correction in 1/65536 ppm.
    pub freq: i64,
    /// Offset, in ns where the status has `STA_NANO`, else in us.
    pub offset: i64,
    /// Tick length in us.
    pub tick: i64,
    /// Estimated error in us.
    pub esterror: i64,
    /// Maximum error in us.
    pub maxerror: i64,
}

const STA_UNSYNC: i64 = 0x40;
const STA_NANO: i64 = 0x2000;

impl Timex {
    /// Parses `name: value` lines as [`Timex`] displays them.
    ///
    /// # Errors
    /// Names a field that is not there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fields: BTreeMap<&str, i64> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter_map(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)))
            .collect();
        let field =
            |name: &str| fields.get(name).copied().ok_or_else(|| format!("no field {name:?}"));
        Ok(Self {
            status: field("status")?,
            freq: field("freq")?,
            offset: field("offset")?,
            tick: field("tick")?,
            esterror: field("esterror")?,
            maxerror: field("maxerror")?,
        })
    }
}

impl fmt::Display for Timex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, freq, offset, tick, esterror, maxerror } = self;
        writeln!(f, "status: {status}\nfreq: {freq}\noffset: {offset}\ntick: {tick}")?;
        writeln!(f, "esterror: {esterror}\nmaxerror: {maxerror}")
    }
}

impl From<Timex> for NtpState {
    fn from(timex: Timex) -> Self {
        let nanoseconds = timex.status & STA_NANO != 0;
        Self {
            synchronized: timex.status & STA_UNSYNC == 0,
            // Both are exact in f64: |freq| is at most 500 * 65536.
            frequency_ppm: Some(timex.freq as f64 / 65536.0),
            offset_ns: Some(if nanoseconds {
                timex.offset
            } else {
                timex.offset.saturating_mul(1000)
            }),
            tick_us: Some(timex.tick),
            estimated_error_us: Some(timex.esterror),
            maximum_error_us: Some(timex.maxerror),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_follow_the_status() {
        let timex = Timex { status: STA_UNSYNC, freq: -65536, offset: 7, ..Timex::default() };
        let state = NtpState::from(timex);
        assert!(!state.synchronized);
        assert_eq!((state.frequency_ppm, state.offset_ns), (Some(-1.0), Some(7000)));
        let state = NtpState::from(Timex { status: STA_NANO, ..timex });
        assert!(state.synchronized);
        assert_eq!(state.offset_ns, Some(7));
        assert!(Timex::parse("status: 1\n").unwrap_err().contains("freq"));
    }

    #[test]
    fn told_reads_each_wording() {
        let says = |text: &str| NtpState::told(text).map(|state| state.synchronized);
        assert_eq!(
            says("  Universal time: x\nSystem clock synchronized: no\n  NTP service: active\n"),
            Ok(false)
        );
        assert_eq!(
            says("     NTP enabled: yes\nNTP synchronized: yes\n RTC in local TZ: no\n"),
            Ok(true)
        );
        assert_eq!(
            says("Reference ID    : 00000000 ()\nLeap status     : Not synchronised\n"),
            Ok(false)
        );
        assert_eq!(says("Leap status     : Normal\n"), Ok(true));
        assert!(says("506 Cannot talk to daemon\n").is_err() && says("").is_err());
    }

    proptest! {
        #[test]
        fn text_survives(status: i64, freq: i64, offset: i64, tick: i64, esterror: i64, maxerror: i64) {
            let timex = Timex { status, freq, offset, tick, esterror, maxerror };
            prop_assert_eq!(Timex::parse(&timex.to_string()), Ok(timex));
            let _ = NtpState::from(timex);
        }

        #[test]
        fn any_text(text in "[a-z:0-9 \n-]{0,120}") {
            let _ = Timex::parse(&text);
        }
    }
}
