//! Writing to standard output and standard error. Where nobody reads, nothing is lost.

use std::io::Write;

/// Writes a text to standard output.
pub(super) fn say(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).ok();
}

/// Writes a line to standard error.
pub(super) fn tell(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).ok();
}
