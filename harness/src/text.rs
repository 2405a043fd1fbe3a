//! Functions for texts: read files that the user names, find characters that no output may contain, and replace words. Does not know the
//! content.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _};
use std::path::Path;

/// Maximum size in bytes of a file that is read: larger than any file that a user or this program writes.
const LIMIT: u64 = 256 << 20;

/// Reads a text file.
///
/// Returns an error for anything except a regular file, because reading a pipe may never end.
pub fn read_text_file(path: &Path) -> std::io::Result<String> {
    let found = std::fs::metadata(path)?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        let why = "it is a pipe, a socket or a device; write the text into an ordinary file";
        return Err(Error::new(ErrorKind::InvalidInput, why));
    }
    let mut text = String::new();
    let length = File::open(path)?
        .take(LIMIT + 1)
        .read_to_string(&mut text)
        .map_err(|error| match error.kind() {
            ErrorKind::InvalidData => Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"),
            _ => error,
        })?;
    if u64::try_from(length).is_ok_and(|length| length > LIMIT) {
        let why = format!("it has more than {} MiB", LIMIT >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// Whether a character controls a terminal, changes the order of surrounding text (bidirectional controls), or is invalid in XML 1.0. False
/// for line feed and tab.
pub fn is_unprintable(letter: char) -> bool {
    let is_control = letter.is_control() && !matches!(letter, '\n' | '\t');
    let is_bidirectional = matches!(letter, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_control || is_bidirectional || matches!(letter, '\u{fffe}' | '\u{ffff}')
}

/// Replaces each word of a text. `is_part`: whether a character is part of a word. `replacement` must return an empty string for an
/// empty word.
pub fn replace_words<'a>(
    text: &'a str,
    is_part: impl Fn(char) -> bool,
    replacement: impl Fn(&'a str) -> &'a str,
) -> String {
    let pieces = text.split_inclusive(|c| !is_part(c));
    let replaced = pieces.flat_map(|piece| {
        let word = piece.trim_end_matches(|c| !is_part(c));
        [replacement(word), &piece[word.len()..]]
    });
    replaced.collect()
}
