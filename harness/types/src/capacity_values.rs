//! The capacity fields of a CSIStorageCapacity object, in bytes.

use std::fmt;

use crate::quantity::format_bytes;
use crate::{ByteConversion, Quantity};

/// `capacity` and `maximumVolumeSize` of a CSIStorageCapacity object, in whole bytes. `None`: the field is unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapacityValues {
    /// `capacity` of the object, in bytes.
    pub capacity: Option<i128>,
    /// `maximumVolumeSize` of the object, in bytes.
    pub maximum: Option<i128>,
}

impl CapacityValues {
    /// Parses `capacity` and `maximumVolumeSize` as quantities. An invalid quantity counts as unset.
    pub fn parse(capacity: Option<&str>, maximum: Option<&str>) -> Self {
        let bytes = |text: Option<&str>| {
            let quantity = text?.parse::<Quantity>().ok()?;
            Some(quantity.bytes(ByteConversion::Exact))
        };
        CapacityValues {
            capacity: bytes(capacity),
            maximum: bytes(maximum),
        }
    }

    /// Size of the largest volume that fits: `maximumVolumeSize`, or `capacity` if the maximum is unset. `None` if both are unset.
    pub fn largest_volume(self) -> Option<i128> {
        self.maximum.or(self.capacity)
    }

    /// Whether no volume fits. KEP-1472, API documentation of the type: an unset or zero capacity is equivalent to no object.
    pub fn is_empty(self) -> bool {
        self.largest_volume().is_none_or(|bytes| bytes <= 0)
    }
}

/// Formats the values as `5Gi`, `5Gi (maximum 1Gi)` or `unset`.
impl fmt::Display for CapacityValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.capacity {
            Some(bytes) => f.write_str(&format_bytes(bytes))?,
            None => f.write_str("unset")?,
        }
        match self.maximum {
            Some(bytes) => write!(f, " (maximum {})", format_bytes(bytes)),
            None => Ok(()),
        }
    }
}
