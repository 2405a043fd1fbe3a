//! Tests of quantities: canonical forms recorded from kube-apiserver, and properties of all quantities.

use fake_apiserver::quantity::{Quantity, QuantityError};
use proptest::prelude::*;

fn parse(text: &str) -> Quantity {
    text.parse().expect("the text is a valid quantity")
}

/// Quantities with their canonical form, recorded from kube-apiserver 1.36.
const MEASURED: [(&str, &str); 31] = [
    ("0", "0"),
    ("1", "1"),
    ("500", "500"),
    ("999", "999"),
    ("1023", "1023"),
    ("1k", "1k"),
    ("1Ki", "1Ki"),
    ("1025", "1025"),
    ("1500", "1500"),
    ("2000", "2k"),
    ("2Ki", "2Ki"),
    ("4000Ki", "4000Ki"),
    ("1000000", "1M"),
    ("1500000000", "1500M"),
    ("1536Mi", "1536Mi"),
    ("1Gi", "1Gi"),
    ("1024Mi", "1Gi"),
    ("1000M", "1G"),
    ("100Gi", "100Gi"),
    ("1Ti", "1Ti"),
    ("1Pi", "1Pi"),
    ("256G", "256G"),
    ("-5", "-5"),
    ("1073741824", "1073741824"),
    ("9223372036854775807", "9223372036854775807"),
    ("8Ei", "9223372036854775807"),
    ("100Ei", "9223372036854775807"),
    ("1.5", "1500m"),
    ("1500m", "1500m"),
    ("12e6", "12e6"),
    ("1e19", "10e18"),
];

/// Quantities with their canonical form, derived from the rules of resource.Quantity: a quantity in canonical form is unchanged.
const BY_RULE: [(&str, &str); 14] = [
    ("0Gi", "0"),
    ("1000", "1k"),
    ("1024", "1024"),
    ("-2048Mi", "-2Gi"),
    ("0.5Ki", "512"),
    ("1.5Gi", "1536Mi"),
    ("1.1Ki", "1126400m"),
    ("0.5m", "500u"),
    ("0.1n", "1n"),
    ("1e-10", "1e-9"),
    ("100e-3", "100e-3"),
    ("1000E", "1e21"),
    ("1.234", "1.234"),
    ("+5Gi", "+5Gi"),
];

#[test]
fn quantities_are_canonicalized_as_by_kube_apiserver() {
    for (sent, shown) in MEASURED.iter().chain(&BY_RULE) {
        assert_eq!(parse(sent).to_string(), *shown, "{sent}");
    }
}

/// Quantities with their `Quantity.Value()`, recorded from kube-scheduler 1.36.
const VALUES: [(&str, i64); 33] = [
    ("1m", 1),
    ("999m", 1),
    ("1n", 1),
    ("0.1", 1),
    ("5e-1", 1),
    ("1001m", 2),
    ("1500m", 2),
    ("-1m", -1),
    ("-1500m", -2),
    ("1.1Ki", 1127),
    ("0.5Ki", 512),
    ("1.5Gi", 1_610_612_736),
    ("1e3", 1000),
    ("1E3", 1000),
    ("0", 0),
    ("9999999999999999999Ki", i64::MAX),
    ("8Ei", i64::MAX),
    ("9Ei", i64::MAX),
    ("100Ei", i64::MAX),
    ("8796093022208Mi", i64::MAX),
    ("7Ei", 8_070_450_532_247_928_832),
    ("9.2E", 9_200_000_000_000_000_000),
    ("9223P", 9_223_000_000_000_000_000),
    ("9.3E", 0),
    ("9224P", 0),
    ("10E", 0),
    ("1e19", 0),
    ("9223372036854775807", i64::MAX),
    ("9223372036854775808", i64::MIN),
    ("12345678901234567890", -6_101_065_172_474_983_726),
    ("18446744073709551616", 0),
    ("18446744073709551617", 1),
    ("-9223372036854775808", 0),
];

#[test]
fn values_equal_those_of_quantity_value_in_kube_scheduler() {
    for (text, value) in VALUES {
        assert_eq!(parse(text).value(), value, "{text}");
    }
}

#[test]
fn malformed_quantities_return_the_error_of_kube_apiserver() {
    for text in ["", "lots", "1.2.3", "1 Gi", "Gi1x", "--1", "1e", "0x10"] {
        assert!(
            matches!(
                text.parse::<Quantity>(),
                Err(QuantityError::Format | QuantityError::Suffix)
            ),
            "{text}"
        );
    }
    for text in ["1Zi", "1K", "1e", "1kk", "1Gii", "1ee3"] {
        assert!(text.parse::<Quantity>().is_err(), "{text}");
    }
    assert_eq!("1".repeat(60).parse::<Quantity>(), Err(QuantityError::TooLong));
}

/// Generates texts of quantities, most of them valid.
fn quantities() -> impl Strategy<Value = String> {
    let suffix = prop::sample::select(vec![
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-3",
        "E6", "e12",
    ]);
    ("[+-]?", "[0-9]{1,16}", "(\\.[0-9]{0,6})?", suffix)
        .prop_map(|(sign, whole, rest, s)| format!("{sign}{whole}{rest}{s}"))
}

proptest! {
    #[test]
    fn canonical_form_preserves_the_number_and_is_stable(text in quantities()) {
        let quantity = parse(&text);
        let again = parse(&quantity.to_string());
        prop_assert_eq!(&quantity, &again);
        prop_assert_eq!(again.to_string(), quantity.to_string());
    }

    #[test]
    fn quantities_compare_like_their_numbers(a in -1_000_000_i64..1_000_000, b in -1_000_000_i64..1_000_000, up in 0_usize..6) {
        let suffix = ["", "Ki", "Mi", "Gi", "k", "M"][up];
        let (x, y) = (parse(&format!("{a}{suffix}")), parse(&format!("{b}{suffix}")));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        let factor = [1, 1 << 10, 1 << 20, 1 << 30, 1000, 1_000_000][up];
        prop_assert_eq!(&x, &Quantity::from_integer(a * factor));
        prop_assert_eq!(x.value(), a * factor);
    }

    #[test]
    fn comparison_is_transitive_across_notations(a in quantities(), b in quantities(), c in quantities()) {
        let mut sorted = [parse(&a), parse(&b), parse(&c)];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[0] <= sorted[2]);
    }

    #[test]
    fn parser_never_panics(text in "[-+0-9.eEinumkKMGTP]{0,80}|\\PC{0,20}") {
        if let Ok(quantity) = text.parse::<Quantity>() {
            let _shown = (quantity.to_string(), quantity.value(), quantity.clone().cmp(&quantity));
        }
    }
}
