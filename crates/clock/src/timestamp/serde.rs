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
    }
}
