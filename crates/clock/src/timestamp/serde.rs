//! Reading and writing a [`Timestamp`]. The format is a promise; its documentation is the type's.

use super::Timestamp;
use crate::civil::Precision;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

impl Serialize for Timestamp {
    /// RFC 3339 with nine digits in formats that people read, otherwise a `u64` of nanoseconds since 1970.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(self.rfc3339(Precision::Nanoseconds).as_str())
        } else {
            serializer.serialize_u64(self.as_unix_nanos())
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    /// Reads the text that was written; in formats that people read also any other text of RFC 3339. A number there is
    /// refused: it has no unit.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Text)
        } else {
            u64::deserialize(deserializer).map(Self::from_unix_nanos)
        }
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date and time such as \"2026-03-01T09:05:07.123Z\" (RFC 3339)")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }
}

/// A [`Timestamp`] as a number of nanoseconds since 1970, in every format: `#[serde(with = "clocksmith::unix_nanos")]`.
///
/// For fields with `#[serde(flatten)]` and in enums that are untagged or tagged internally, in formats that people do
/// not read: serde keeps such fields in memory before it gives them to their types, and that memory claims to be
/// readable by people. A number is then treated as one of JSON, without a unit, and refused.
///
/// For JSON, if its readers want numbers. They have 19 digits: JavaScript rounds them.
///
/// ```
/// use clocksmith::{Timestamp, unix_nanos};
/// use serde::de::value::{Error, U64Deserializer};
/// use serde::de::IntoDeserializer as _;
///
/// let number: U64Deserializer<Error> = 7u64.into_deserializer();
/// assert_eq!(unix_nanos::deserialize(number)?, Timestamp::from_unix_nanos(7));
/// # Ok::<(), Error>(())
/// ```
pub mod unix_nanos {
    use super::{Deserialize, Deserializer, Serializer, Timestamp};

    /// Writes the number.
    ///
    /// # Errors
    ///
    /// Returns the error of the format.
    pub fn serialize<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(moment.as_unix_nanos())
    }

    /// Reads the number.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no 64-bit number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        u64::deserialize(deserializer).map(Timestamp::from_unix_nanos)
    }

    /// The same for an `Option`: `#[serde(with = "clocksmith::unix_nanos::option")]`.
    pub mod option {
        use super::{Deserialize, Deserializer, Serializer, Timestamp};

        /// Writes the number, or nothing.
        ///
        /// # Errors
        ///
        /// Returns the error of the format.
        pub fn serialize<S: Serializer>(
            moment: &Option<Timestamp>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match moment {
                Some(moment) => serializer.serialize_some(&moment.as_unix_nanos()),
                None => serializer.serialize_none(),
            }
        }

        /// Reads the number, if there is one.
        ///
        /// # Errors
        ///
        /// Returns an error if there is something other than a 64-bit number.
        pub fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            let number = Option::<u64>::deserialize(deserializer)?;
            Ok(number.map(Timestamp::from_unix_nanos))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer as _;
    use serde::de::value::{Error, U64Deserializer};

    #[test]
    fn people_read_text_and_programs_numbers() {
        let moment = Timestamp::from_unix_nanos(1_772_355_907_123_456_789);
        let json = serde_json::to_string(&moment).unwrap();
        assert_eq!(json, "\"2026-03-01T09:05:07.123456789Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
        let east = serde_json::from_str::<Timestamp>("\"2026-03-01T10:05:07.123456789+01:00\"");
        assert_eq!(east.unwrap(), moment);
        let number = serde_json::from_str::<Timestamp>("1772355907").unwrap_err();
        assert!(number.to_string().contains("RFC 3339"), "{number}");
        let none = serde_json::from_str::<Timestamp>("\"2026-02-30T00:00:00Z\"").unwrap_err();
        assert!(none.to_string().contains("does not exist"), "{none}");
    }

    /// A format that people do not read.
    struct Binary(u64);

    impl<'de> Deserializer<'de> for Binary {
        type Error = Error;

        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let number: U64Deserializer<Error> = self.0.into_deserializer();
            number.deserialize_any(visitor)
        }

        fn is_human_readable(&self) -> bool {
            false
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }

    #[test]
    fn number_of_a_binary_format_is_nanoseconds() {
        let moment = Timestamp::deserialize(Binary(7)).unwrap();
        assert_eq!(moment, Timestamp::from_unix_nanos(7));
        assert_eq!(unix_nanos::deserialize(Binary(7)).unwrap(), moment);
    }

    /// What serde has kept of a binary format for `flatten` says that people read it.
    #[test]
    fn kept_number_needs_a_fixed_form() {
        let kept = || -> U64Deserializer<Error> { 7u64.into_deserializer() };
        assert!(kept().is_human_readable() && Timestamp::deserialize(kept()).is_err());
        assert_eq!(unix_nanos::deserialize(kept()).unwrap(), Timestamp::from_unix_nanos(7));
    }

    #[test]
    fn numbers_return_in_json() {
        for moment in [Timestamp::from_unix_nanos(1_772_355_907_123_456_789), Timestamp::MAX] {
            let json = unix_nanos::serialize(&moment, serde_json::value::Serializer).unwrap();
            assert_eq!(json, moment.as_unix_nanos());
            assert_eq!(unix_nanos::deserialize(json).unwrap(), moment);
            for option in [Some(moment), None] {
                let json =
                    unix_nanos::option::serialize(&option, serde_json::value::Serializer).unwrap();
                assert_eq!(json.is_null(), option.is_none());
                assert_eq!(unix_nanos::option::deserialize(json).unwrap(), option);
            }
        }
        assert!(unix_nanos::deserialize(serde_json::Value::from(-1)).is_err());
    }
}
