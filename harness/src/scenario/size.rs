//! Sizes in cases: a Kubernetes quantity, plus or minus some bytes.

use std::fmt;
use std::str::FromStr;

use capacity_types::{ByteConversion, Quantity};
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A size in bytes, such as `10Gi`. `10Gi+1` and `10Gi-1` are one byte more and less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    text: String,
    bytes: i128,
}

impl Size {
    /// Parses the text of a size: `QUANTITY`, `QUANTITY+BYTES` or `QUANTITY-BYTES`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            |part: &str| format!("`{part}` is not a size; write a quantity such as 10Gi, 256G or 10Gi+1");
        let sign = text
            .char_indices()
            .skip(1)
            .find(|&(at, c)| (c == '+' || c == '-') && !text[..at].ends_with(['e', 'E']));
        let Some((at, sign)) = sign else {
            let quantity: Quantity = text.parse().map_err(|_| wrong(text))?;
            return Ok(Size {
                text: text.to_owned(),
                bytes: quantity.bytes(ByteConversion::Exact),
            });
        };
        let base: Quantity = text[..at].parse().map_err(|_| wrong(text))?;
        let offset: i128 = text[at + 1..].parse().map_err(|_| wrong(text))?;
        let sum = match sign {
            '+' => base.bytes(ByteConversion::Exact).checked_add(offset),
            _ => base.bytes(ByteConversion::Exact).checked_sub(offset),
        };
        let bytes = sum.ok_or_else(|| wrong(text))?;
        Ok(Size {
            text: bytes.to_string(),
            bytes,
        })
    }

    /// The size as a Kubernetes quantity.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The size as a number of bytes; fractions are rounded up.
    pub fn bytes(&self) -> i128 {
        self.bytes
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A non-negative size of at most 2^64-1 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes {
    size: Size,
    count: u64,
}

impl Bytes {
    /// The size as a number of bytes.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl FromStr for Bytes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Size::parse(text)?.try_into()
    }
}

impl TryFrom<Size> for Bytes {
    type Error = String;
    fn try_from(size: Size) -> Result<Self, String> {
        match u64::try_from(size.bytes) {
            Ok(count) => Ok(Bytes { size, count }),
            Err(_) => Err(format!(
                "`{size}` is not a number of bytes from 0 to 2^64-1; write one such as 10Gi"
            )),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.size.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Size::deserialize(deserializer)?
            .try_into()
            .map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as 10Gi, 256G, 10Gi+1 or a number of bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        Size::parse(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Size, E> {
        Ok(Size {
            text: number.to_string(),
            bytes: number.into(),
        })
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Size, E> {
        Ok(Size {
            text: number.to_string(),
            bytes: number.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_add_or_subtract_exact_bytes() {
        for (text, bytes) in [
            ("256G", 256_000_000_000),
            ("256G+1", 256_000_000_001),
            ("10Gi-1", 10_737_418_239),
            ("1e3", 1000),
            ("0", 0),
        ] {
            assert_eq!(Size::parse(text).unwrap().bytes(), bytes, "{text}");
        }
    }

    #[test]
    fn invalid_sizes_are_errors() {
        let huge = format!("1+{}", i128::MAX);
        for text in ["lots", "", "10Gi+x", "1 Gi", &huge] {
            assert!(Size::parse(text).unwrap_err().contains("not a size"), "{text}");
        }
    }
}
