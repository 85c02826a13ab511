//! The same moment in the types of others. To them it is exact, and always possible; from them, exact to the nanosecond, or
//! out of range.

use super::{OutOfRange, Timestamp};

#[cfg(any(feature = "jiff", feature = "jiff-02", feature = "time", feature = "chrono"))]
impl Timestamp {
    /// From nanoseconds since 1970.
    fn of_wide(ns: i128) -> Result<Self, OutOfRange> {
        u64::try_from(ns).map(Self::from_unix_nanos).map_err(|_| OutOfRange(()))
    }
}

#[cfg(feature = "std")]
mod std_time {
    use super::{OutOfRange, Timestamp};
    use crate::instant::nanos;
    use core::time::Duration;
    use std::time::SystemTime;

    impl From<Timestamp> for SystemTime {
        #[inline]
        fn from(moment: Timestamp) -> Self {
            // Every platform's `SystemTime` reaches to 2554.
            Self::UNIX_EPOCH + Duration::from_nanos(moment.as_unix_nanos())
        }
    }

    impl TryFrom<SystemTime> for Timestamp {
        type Error = OutOfRange;

        /// Fails before 1970 and after July 2554.
        #[inline]
        fn try_from(time: SystemTime) -> Result<Self, OutOfRange> {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).ok().and_then(nanos);
            since.map(Self::from_unix_nanos).ok_or(OutOfRange(()))
        }
    }
}

/// The conversions of a version of jiff.
#[cfg(any(feature = "jiff", feature = "jiff-02"))]
macro_rules! jiff {
    ($moment:ty) => {
        impl From<Timestamp> for $moment {
            #[inline]
            fn from(moment: Timestamp) -> Self {
                // Its range ends with the year 9999.
                Self::from_nanosecond(moment.as_unix_nanos().into()).unwrap_or(Self::MAX)
            }
        }

        impl TryFrom<$moment> for Timestamp {
            type Error = OutOfRange;

            /// Fails before 1970 and after July 2554.
            #[inline]
            fn try_from(moment: $moment) -> Result<Self, OutOfRange> {
                Self::of_wide(moment.as_nanosecond())
            }
        }
    };
}

#[cfg(feature = "jiff")]
jiff!(jiff::Timestamp);
#[cfg(feature = "jiff-02")]
jiff!(jiff_02::Timestamp);

#[cfg(feature = "chrono")]
impl From<Timestamp> for chrono::DateTime<chrono::Utc> {
    #[inline]
    fn from(moment: Timestamp) -> Self {
        // Its range ends with the year 262142. Not `from_timestamp_nanos`, which ends with 2262.
        let seconds = moment.as_unix_seconds() as i64;
        Self::from_timestamp(seconds, moment.subsec_nanos()).unwrap_or(Self::MAX_UTC)
    }
}

#[cfg(feature = "chrono")]
impl<Z: chrono::TimeZone> TryFrom<chrono::DateTime<Z>> for Timestamp {
    type Error = OutOfRange;

    /// Fails before 1970 and after July 2554. A leap second of chrono's is the first second of the next day, as in Unix
    /// time.
    #[inline]
    fn try_from(moment: chrono::DateTime<Z>) -> Result<Self, OutOfRange> {
        let seconds = i128::from(moment.timestamp()) * 1_000_000_000;
        Self::of_wide(seconds + i128::from(moment.timestamp_subsec_nanos()))
    }
}

#[cfg(feature = "time")]
impl From<Timestamp> for time::OffsetDateTime {
    #[inline]
    fn from(moment: Timestamp) -> Self {
        // Its range ends with the year 9999, or later.
        Self::from_unix_timestamp_nanos(moment.as_unix_nanos().into()).unwrap_or(Self::UNIX_EPOCH)
    }
}

#[cfg(feature = "time")]
impl TryFrom<time::OffsetDateTime> for Timestamp {
    type Error = OutOfRange;

    /// Fails before 1970 and after July 2554.
    #[inline]
    fn try_from(moment: time::OffsetDateTime) -> Result<Self, OutOfRange> {
        Self::of_wide(moment.unix_timestamp_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every moment there and back, and neighbours of both ends of the range.
    macro_rules! there_and_back {
        ($name:ident, $type:ty, $of_wide:expr) => {
            proptest! {
                #[test]
                fn $name(ns: u64, wide in -(1i128 << 66)..1i128 << 66) {
                    let of_wide: fn(i128) -> Option<$type> = $of_wide;
                    for ns in [ns, 0, u64::MAX] {
                        let moment = Timestamp::from_unix_nanos(ns);
                        let theirs = <$type>::from(moment);
                        prop_assert_eq!(Some(theirs), of_wide(ns.into()));
                        prop_assert_eq!(Timestamp::try_from(theirs), Ok(moment));
                    }
                    for wide in [wide, -1, 1i128 << 64] {
                        let Some(theirs) = of_wide(wide) else { continue };
                        let ours = Timestamp::try_from(theirs).ok().map(|moment| moment.as_unix_nanos());
                        prop_assert_eq!(ours, u64::try_from(wide).ok());
                    }
                }
            }
        };
    }

    #[cfg(feature = "std")]
    there_and_back!(system_times_return, std::time::SystemTime, |wide| {
        use std::time::{Duration, SystemTime};
        let apart = wide.unsigned_abs();
        let apart = Duration::new((apart / 1_000_000_000) as u64, (apart % 1_000_000_000) as u32);
        let epoch = SystemTime::UNIX_EPOCH;
        if wide < 0 { epoch.checked_sub(apart) } else { epoch.checked_add(apart) }
    });

    #[cfg(feature = "jiff")]
    there_and_back!(jiff_s_return, jiff::Timestamp, |wide| jiff::Timestamp::from_nanosecond(wide)
        .ok());

    #[cfg(feature = "jiff-02")]
    there_and_back!(jiff_02_s_return, jiff_02::Timestamp, |wide| {
        jiff_02::Timestamp::from_nanosecond(wide).ok()
    });

    #[cfg(feature = "chrono")]
    there_and_back!(chrono_s_return, chrono::DateTime<chrono::Utc>, |wide| {
        let seconds = i64::try_from(wide.div_euclid(1_000_000_000)).ok()?;
        let ns = wide.rem_euclid(1_000_000_000) as u32;
        chrono::DateTime::from_timestamp(seconds, ns)
    });

    #[cfg(feature = "time")]
    there_and_back!(time_s_return, time::OffsetDateTime, |wide| {
        time::OffsetDateTime::from_unix_timestamp_nanos(wide).ok()
    });

    #[cfg(feature = "chrono")]
    #[test]
    fn leap_second_of_chrono_is_the_next_second() {
        let leap = chrono::DateTime::from_timestamp(1_483_228_799, 1_500_000_000).unwrap();
        let next = Timestamp::from_unix_nanos(1_483_228_800_500_000_000);
        assert_eq!(Timestamp::try_from(leap), Ok(next));
    }

    #[test]
    fn error_says_which_range() {
        assert!(OutOfRange(()).to_string().contains("before 1970"));
    }
}
