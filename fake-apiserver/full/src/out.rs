//! Output to stdout and stderr. Write errors are ignored.

use std::io::Write;

/// Writes a text to stdout.
pub(super) fn stdout(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).ok();
}

/// Writes a line to stderr.
pub(super) fn stderr_line(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).ok();
}
