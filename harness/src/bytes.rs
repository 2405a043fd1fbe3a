//! Numbers of bytes as people read them.

/// Bytes in the largest unit that divides them, such as `10Gi`: exact, as the API's quantities are.
pub fn format_bytes(bytes: i128) -> String {
    const UNITS: [(&str, i128); 12] = [
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
    let unit = UNITS.iter().find(|(_, size)| bytes != 0 && bytes % size == 0);
    unit.map_or_else(
        || bytes.to_string(),
        |(name, size)| format!("{}{name}", bytes / size),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spelled_in_the_largest_exact_unit() {
        for (bytes, text) in [
            (0, "0"),
            (1 << 30, "1Gi"),
            (256_000_000_000, "256G"),
            (1023, "1023"),
            (3000, "3k"),
        ] {
            assert_eq!(format_bytes(bytes), text);
        }
    }
}
