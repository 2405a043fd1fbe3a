//! Converts between API quantities and bytes. The crate `capacity-types` parses quantities.

use capacity_types::{ByteConversion, Quantity as Parsed, quantity::format_canonical};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The canonical quantity for a number of bytes, with a binary suffix.
pub(crate) fn from_bytes(bytes: u64) -> Quantity {
    Quantity(format_canonical(bytes))
}

/// Whether a published quantity equals this number of bytes. False for invalid quantities.
pub(crate) fn equals_bytes(quantity: &Quantity, bytes: u64) -> bool {
    parsed(quantity).is_some_and(|quantity| quantity.equals_bytes(bytes))
}

/// Whole bytes of a quantity, rounded up as in Kubernetes. `None` if it is negative, invalid, or above 2^63-1.
pub(crate) fn to_bytes(quantity: &Quantity) -> Option<i64> {
    let bytes = parsed(quantity)?.bytes(ByteConversion::Exact);
    i64::try_from(bytes).ok().filter(|bytes| *bytes >= 0)
}

fn parsed(quantity: &Quantity) -> Option<Parsed> {
    quantity.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity(text.to_owned())
    }

    #[test]
    fn requests_round_up_to_whole_bytes() {
        for (text, bytes) in [
            ("7Gi", Some(7 << 30)),
            ("1500m", Some(2)),
            ("-1", None),
            ("10E", None),
            ("16Ei", Some(i64::MAX)),
            ("1.1.1", None),
            ("9223372036854775807", Some(i64::MAX)),
        ] {
            assert_eq!(to_bytes(&quantity(text)), bytes, "{text}");
        }
    }

    #[test]
    fn an_invalid_quantity_equals_no_number_of_bytes() {
        assert!(equals_bytes(&quantity("1Ki"), 1024));
        assert!(!equals_bytes(&quantity(""), 0));
    }
}
