//! The kernel's NTP discipline, as `adjtimex(2)`, or `timedatectl` and `chronyc tracking`, report it.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// State of the kernel's clock discipline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NtpState {
    /// Whether `STA_UNSYNC` is clear.
    pub synchronized: bool,
    /// Frequency correction in parts per million (`freq` / 65536). This and the other figures are those of
    /// `adjtimex(2)`; `None` if only a program's text shows the state.
    pub frequency_ppm: Option<f64>,
    /// Offset still to be slewed, in nanoseconds.
    pub offset_ns: Option<i64>,
    /// Length of the tick in microseconds (10000 is nominal for `USER_HZ` 100).
    pub tick_us: Option<i64>,
    /// Estimated error in microseconds.
    pub estimated_error_us: Option<i64>,
    /// Maximum error in microseconds.
    pub maximum_error_us: Option<i64>,
    /// The status bits (`STA_*` of `<sys/timex.h>`).
    pub status: Option<i64>,
    /// The return value of the call: 0 `TIME_OK`, 1 to 4 a leap second, 5 `TIME_ERROR`.
    pub clock_state: Option<i64>,
    /// Time constant of the kernel's phase-locked loop.
    pub constant: Option<i64>,
    /// TAI minus UTC in seconds, as set in the kernel; 0 where no program set it.
    pub tai_s: Option<i64>,
}

/// The initial value of the kernel's error bounds, and their limit, in microseconds: `NTP_PHASE_LIMIT` in
/// `include/linux/timex.h` (all versions since 2.6.28; before, 16.384 s).
pub(crate) const ERROR_LIMIT_US: i64 = 16_000_000;
/// The largest frequency correction in parts per million: `MAXFREQ` in `include/linux/timex.h`.
const FREQUENCY_LIMIT_PPM: f64 = 500.0;
/// The limits of the tick length that the kernel accepts, in microseconds at `USER_HZ` 100: within 10 % of the
/// nominal one (`timekeeping_validate_timex()`).
const TICK_LIMITS_US: [i64; 2] = [9_000, 11_000];

impl NtpState {
    /// Whether the rate is corrected as far as the kernel allows: by its frequency (chronyd and phc2sys also change the
    /// tick, and can correct more).
    #[must_use]
    pub fn is_at_its_limit(&self) -> bool {
        let tick = self.tick_us.unwrap_or(10_000);
        let most = self.frequency_ppm.is_some_and(|ppm| ppm.abs() > FREQUENCY_LIMIT_PPM - 0.1);
        self.is_at_the_limit_of_ticks() || most && tick == 10_000
    }

    /// Whether the length of the tick is at the kernel's limit: only chronyd, phc2sys and an administrator change it.
    #[must_use]
    pub fn is_at_the_limit_of_ticks(&self) -> bool {
        self.tick_us.is_some_and(|tick| TICK_LIMITS_US.contains(&tick))
    }

    /// The bound of the error in microseconds that a program recently set; `None` if the kernel's own bound grew to
    /// its limit, or is not known.
    #[must_use]
    pub fn stated_error_us(&self) -> Option<i64> {
        self.maximum_error_us.filter(|us| *us < ERROR_LIMIT_US)
    }

    /// The state in the text of `timedatectl` or of `chronyc tracking`.
    ///
    /// # Errors
    /// Returns an error if the text has none of the lines that state it: `System clock synchronized:` (`NTP
    /// synchronized:` before systemd 239), `Leap status     :`.
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

    /// A state of which only the synchronisation is known.
    #[must_use]
    pub fn only(synchronized: bool) -> Self {
        Self {
            synchronized,
            frequency_ppm: None,
            offset_ns: None,
            tick_us: None,
            estimated_error_us: None,
            maximum_error_us: None,
            status: None,
            clock_state: None,
            constant: None,
            tai_s: None,
        }
    }
}

/// The stored fields of `struct timex`, raw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timex {
    /// Status bits.
    pub status: i64,
    /// Frequency correction in 1/65536 ppm.
    pub freq: i64,
    /// Offset, in ns if the status has `STA_NANO`, otherwise in us.
    pub offset: i64,
    /// Tick length in us.
    pub tick: i64,
    /// Estimated error in us.
    pub esterror: i64,
    /// Maximum error in us.
    pub maxerror: i64,
    /// The return value of the call; bundles of older versions do not have it.
    pub state: Option<i64>,
    /// Time constant of the phase-locked loop; as for `state`.
    pub constant: Option<i64>,
    /// TAI minus UTC in seconds; as for `state`.
    pub tai: Option<i64>,
}

const STA_UNSYNC: i64 = 0x40;
const STA_NANO: i64 = 0x2000;

impl Timex {
    /// Parses `name: value` lines as [`Timex`] displays them.
    ///
    /// # Errors
    /// Returns an error that names a missing field.
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
            state: fields.get("state").copied(),
            constant: fields.get("constant").copied(),
            tai: fields.get("tai").copied(),
        })
    }
}

impl fmt::Display for Timex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, freq, offset, tick, esterror, maxerror, .. } = self;
        writeln!(f, "status: {status}\nfreq: {freq}\noffset: {offset}\ntick: {tick}")?;
        writeln!(f, "esterror: {esterror}\nmaxerror: {maxerror}")?;
        let later = [("state", self.state), ("constant", self.constant), ("tai", self.tai)];
        for (name, value) in later {
            if let Some(value) = value {
                writeln!(f, "{name}: {value}")?;
            }
        }
        Ok(())
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
            status: Some(timex.status),
            clock_state: timex.state,
            constant: timex.constant,
            tai_s: timex.tai,
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
    fn limit_is_the_frequency_or_the_tick() {
        let of = |freq: i64, tick| NtpState::from(Timex { freq, tick, ..Timex::default() });
        assert!(of(500 * 65536, 10_000).is_at_its_limit());
        assert!(of(-500 * 65536, 10_000).is_at_its_limit());
        assert!(!of(499 * 65536, 10_000).is_at_its_limit());
        // chronyd: 1,500 ppm by the tick, the rest by the frequency.
        assert!(!of(-500 * 65536, 10_015).is_at_its_limit());
        assert!(of(0, 11_000).is_at_its_limit() && !NtpState::only(true).is_at_its_limit());
        let error = |us| NtpState::from(Timex { maxerror: us, ..Timex::default() });
        assert_eq!(error(ERROR_LIMIT_US).stated_error_us(), None);
        assert_eq!(error(20_000).stated_error_us(), Some(20_000));
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
        fn text_survives(
            status: i64,
            freq: i64,
            offset: i64,
            tick: i64,
            errors: (i64, i64),
            later: (Option<i64>, Option<i64>, Option<i64>),
        ) {
            let (esterror, maxerror) = errors;
            let (state, constant, tai) = later;
            let timex = Timex { status, freq, offset, tick, esterror, maxerror, state, constant, tai };
            prop_assert_eq!(Timex::parse(&timex.to_string()), Ok(timex));
            let _ = NtpState::from(timex);
        }

        #[test]
        fn any_text(text in "[a-z:0-9 \n-]{0,120}") {
            let _ = Timex::parse(&text);
        }
    }
}
