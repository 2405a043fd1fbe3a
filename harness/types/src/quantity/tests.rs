//! Tests of quantities: values, malformed texts, and properties.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Quantity {
    text.parse().unwrap()
}

/// The expected values were computed by `Quantity.Value()` in Kubernetes 1.36.
#[test]
fn wrapping_values_equal_those_of_kubernetes() {
    let max = i64::MAX;
    for (text, expected) in [
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
        ("9999999999999999999Ki", max),
        ("8Ei", max),
        ("100Ei", max),
        ("8796093022208Mi", max),
        ("7Ei", 8_070_450_532_247_928_832),
        ("9.2E", 9_200_000_000_000_000_000),
        ("9223P", 9_223_000_000_000_000_000),
        ("9.3E", 0),
        ("9224P", 0),
        ("10E", 0),
        ("100E", 0),
        ("1e19", 0),
        ("1e20", 0),
        ("9223372036854775807", max),
        ("9223372036854775808", i64::MIN),
        ("12345678901234567890", -6_101_065_172_474_983_726),
        ("18446744073709551616", 0),
        ("18446744073709551617", 1),
        ("-9223372036854775808", 0),
    ] {
        assert_eq!(
            read(text).bytes(ByteConversion::Wrapping),
            expected.into(),
            "{text}"
        );
    }
}

#[test]
fn exact_values_do_not_overflow() {
    for (text, expected) in [
        ("100E", 100_000_000_000_000_000_000),
        ("9223372036854775808", 9_223_372_036_854_775_808),
        ("-9223372036854775808", -9_223_372_036_854_775_808),
        ("1e19", 10_000_000_000_000_000_000),
        ("8Ei", i64::MAX.into()),
        ("1024100m", 1025),
        ("1e-30", 1),
        (".5", 1),
        ("5.", 5),
        ("+7k", 7000),
    ] {
        assert_eq!(read(text).bytes(ByteConversion::Exact), expected, "{text}");
    }
    assert!(read("1e90").bytes(ByteConversion::Exact) > i64::MAX.into());
}

#[test]
fn malformed_texts_are_rejected() {
    let long = "1".repeat(LENGTH_MAX + 1);
    for text in [
        "", ".", "+", "Gi", "1.2.3", "1gi", "1 Gi", "1e", "1e1.5", "0x1", "1é", &long,
    ] {
        assert!(text.parse::<Quantity>().is_err(), "{text}");
    }
}

#[test]
fn quantities_are_compared_by_value() {
    for (less, more) in [
        ("1", "1500m"),
        ("-1", "0"),
        ("1G", "1Gi"),
        ("999m", "1"),
        ("1023Mi", "1Gi"),
    ] {
        assert!(read(less) < read(more), "{less} {more}");
    }
    for (left, right) in [("1024Mi", "1Gi"), ("1e3", "1k"), ("1000m", "1"), ("+2k", "2000")] {
        assert_eq!(read(left), read(right));
    }
}

#[test]
fn only_the_exact_number_of_bytes_is_equal() {
    for (text, bytes) in [
        ("1024", 1024),
        ("1Ki", 1024),
        ("0.5Ki", 512),
        ("1.5G", 1_500_000_000),
        ("15E8", 1_500_000_000),
        (".5k", 500),
        ("0.0", 0),
        ("1000m", 1),
    ] {
        assert!(read(text).equals_bytes(bytes), "{text}");
    }
    for (text, bytes) in [("1500m", 1), ("1500m", 2), ("1Gi", 1_000_000_000), ("-1", 1)] {
        assert!(!read(text).equals_bytes(bytes), "{text}");
    }
}

proptest! {
    #[test]
    fn canonical_form_parses_to_the_same_value(bytes in 0..=i64::MAX.unsigned_abs()) {
        prop_assert!(read(&format_canonical(bytes)).equals_bytes(bytes));
        prop_assert!(!read(&format_canonical(bytes)).equals_bytes(bytes + 1));
    }

    #[test]
    fn readable_form_parses_to_the_same_value(bytes in any::<i64>()) {
        prop_assert_eq!(read(&format_bytes(bytes.into())).bytes(ByteConversion::Exact), bytes.into());
    }

    #[test]
    fn integers_parse_to_themselves(value in any::<i64>()) {
        let quantity = read(&value.to_string());
        prop_assert_eq!(quantity.bytes(ByteConversion::Exact), value.into());
    }

    #[test]
    fn exact_and_wrapping_values_agree_below_the_overflow(value in 0_i64..1 << 40, milli in 0_u16..1000, binary in any::<bool>()) {
        let text = format!("{value}.{milli:03}{}", if binary { "Ki" } else { "k" });
        let quantity = read(&text);
        prop_assert_eq!(quantity.bytes(ByteConversion::Exact), quantity.bytes(ByteConversion::Wrapping));
    }

    #[test]
    fn values_are_rounded_away_from_zero(milli in any::<i32>()) {
        let quantity = read(&format!("{milli}m"));
        let exact = f64::from(milli) / 1000.0;
        let expected = if exact < 0.0 { exact.floor() } else { exact.ceil() };
        prop_assert_eq!(quantity.bytes(ByteConversion::Exact), expected as i128);
    }

    #[test]
    fn leading_and_trailing_zeros_do_not_change_the_value(value in 1_u32.., zeros in 0_usize..5) {
        let spelled = format!("{}{value}.{}", "0".repeat(zeros), "0".repeat(zeros));
        prop_assert_eq!(read(&spelled).nanos(), read(&value.to_string()).nanos());
        prop_assert_eq!(read(&format!("{value}Ki")).nanos(), read(&(u64::from(value) * 1024).to_string()).nanos());
        prop_assert_eq!(read(&format!("{value}k")).nanos(), read(&format!("{value}e3")).nanos());
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "[-+]?[0-9.]{0,40}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,20}") {
        let _ = text.parse::<Quantity>().map(|quantity| quantity.bytes(ByteConversion::Wrapping));
    }
}
