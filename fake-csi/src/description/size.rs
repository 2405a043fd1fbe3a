//! Sizes in bytes with optional suffix: `10Gi`, `256G`, `1024`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de};

/// Suffixes of sizes, as in Kubernetes quantities.
const SUFFIXES: [(&str, u64); 13] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("Ei", 1 << 60),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000),
    ("", 1),
];

/// A number of bytes. Deserialized from an integer or a string with a suffix; serialized as an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Size(pub u64);

/// The text is not a valid size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a size; write a whole number below 2^64, optionally with a suffix such as Gi or G")]
pub struct SizeError(String);

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Size, SizeError> {
        let error = || SizeError(text.to_owned());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, suffix) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| error())?;
        let unit = SUFFIXES.iter().find(|(known, _)| *known == suffix);
        unit.and_then(|(_, unit)| number.checked_mul(*unit))
            .map(Size)
            .ok_or_else(error)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Size;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a size such as 10Gi, 256G or 1024")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
        Ok(Size(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
        let negative = || E::custom(SizeError(bytes.to_string()));
        u64::try_from(bytes).map(Size).map_err(|_| negative())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn suffixes_multiply_the_number() {
        for (text, bytes) in [
            ("0", 0),
            ("7", 7),
            ("10Gi", 10 << 30),
            ("256G", 256_000_000_000),
            ("2k", 2000),
            ("15Ei", 15 << 60),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in [
            "",
            "Gi",
            "-1",
            "+1",
            "1.5Gi",
            "1 Gi",
            "1gi",
            "1K",
            "16Ei",
            "18446744073709551616",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn serialized_size_parses_to_the_same_size(bytes: u64) {
            let text = serde_json::to_string(&Size(bytes)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Size>(&text).unwrap(), Size(bytes));
            prop_assert_eq!(bytes.to_string().parse(), Ok(Size(bytes)));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text: String) {
            if let Ok(size) = text.parse::<Size>() {
                prop_assert!(text.starts_with(|first: char| first.is_ascii_digit()), "{text:?} gave {size:?}");
            }
        }
    }
}
