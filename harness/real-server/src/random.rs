//! Random strings for tokens and unique names.

/// A string of random lower-case letters and digits.
pub(crate) fn random(length: usize) -> String {
    const CHARACTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let character = |_| char::from(CHARACTERS[rand::random_range(0..CHARACTERS.len())]);
    (0..length).map(character).collect()
}
