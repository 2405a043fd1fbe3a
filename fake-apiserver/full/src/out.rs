//! Output to stdout and stderr. Write errors are ignored.

use std::io::Write;

pub(super) fn stdout(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).ok();
}

pub(super) fn stderr_line(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).ok();
}
