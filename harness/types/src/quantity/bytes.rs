//! Text forms of byte sizes: the canonical form of the Kubernetes API, and a readable form.

/// Suffix of a quantity, such as `Gi`, and the factor by which the suffix multiplies.
type Unit = (&'static str, i128);

/// Binary suffixes, largest factor first.
const BINARY: [Unit; 6] = [
    ("Ei", 1 << 60),
    ("Pi", 1 << 50),
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("Mi", 1 << 20),
    ("Ki", 1 << 10),
];

/// Binary and decimal suffixes, in the order of preference for readable sizes.
const ALL: [Unit; 12] = [
    ("Ei", 1 << 60),
    ("Pi", 1 << 50),
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("E", 1_000_000_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("Mi", 1 << 20),
    ("M", 1_000_000),
    ("Ki", 1 << 10),
    ("k", 1_000),
];

/// The canonical form of a quantity with binary suffixes, as Kubernetes stores it: with the largest power of 1024 that divides `bytes`.
/// Below 1024 Kubernetes uses decimal suffixes, so 1000 bytes are `1k`.
pub fn format_canonical(bytes: u64) -> String {
    match bytes {
        1000 => "1k".to_owned(),
        _ => format_with_suffix(&BINARY, bytes.into()),
    }
}

/// Formats bytes with the first binary or decimal suffix that divides them, such as `10Gi` or `256G`: exact and readable.
pub fn format_bytes(bytes: i128) -> String {
    format_with_suffix(&ALL, bytes)
}

/// Formats the number with the first suffix in `units` whose factor divides it without remainder.
fn format_with_suffix(units: &[Unit], bytes: i128) -> String {
    let unit = units.iter().find(|(_, size)| bytes != 0 && bytes % size == 0);
    unit.map_or_else(
        || bytes.to_string(),
        |(suffix, size)| format!("{}{suffix}", bytes / size),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_form_is_that_of_kubernetes() {
        for (bytes, text) in [
            (0, "0"),
            (1, "1"),
            (999, "999"),
            (1000, "1k"),
            (1023, "1023"),
            (1024, "1Ki"),
            (1025, "1025"),
            (1500, "1500"),
            (2000, "2000"),
            (2048, "2Ki"),
            (4_096_000, "4000Ki"),
            (1_000_000, "1000000"),
            (1_500_000_000, "1500000000"),
            (1_610_612_736, "1536Mi"),
            (1 << 30, "1Gi"),
            (100 << 30, "100Gi"),
            (1 << 40, "1Ti"),
            (1 << 50, "1Pi"),
            (i64::MAX.unsigned_abs(), "9223372036854775807"),
        ] {
            assert_eq!(format_canonical(bytes), text);
        }
    }

    #[test]
    fn readable_form_is_exact() {
        for (bytes, text) in [
            (0, "0"),
            (10 << 30, "10Gi"),
            (1536 << 20, "1536Mi"),
            (-(1 << 20), "-1Mi"),
            (256_000_000_000, "256G"),
            (1023, "1023"),
            (3000, "3k"),
            ((10 << 30) + 1, "10737418241"),
        ] {
            assert_eq!(format_bytes(bytes), text);
        }
    }
}
