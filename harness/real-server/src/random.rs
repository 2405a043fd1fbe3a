//! Random strings for tokens and unique names.

/// Random lower-case letters and digits.
pub(crate) fn random(length: usize) -> String {
    const SIGNS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let sign = |_| char::from(SIGNS[rand::random_range(0..SIGNS.len())]);
    (0..length).map(sign).collect()
}
