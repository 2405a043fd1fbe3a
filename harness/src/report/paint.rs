//! Terminal colours. Colour is never the only carrier of information.

use std::io::IsTerminal;

/// Whether to colour output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(bool);

impl Paint {
    /// Never colours.
    pub const PLAIN: Paint = Paint(false);

    /// Colours if the stream is a terminal and neither `NO_COLOR` nor a dumb terminal forbids it.
    pub fn of(stream: &impl IsTerminal) -> Self {
        let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Paint(stream.is_terminal() && !forbidden)
    }

    /// Errors and failures.
    pub fn bad(self, text: &str) -> String {
        self.wrap(text, "31;1")
    }

    /// Success.
    pub fn good(self, text: &str) -> String {
        self.wrap(text, "32")
    }

    /// Less important text.
    pub fn dim(self, text: &str) -> String {
        self.wrap(text, "2")
    }

    /// Emphasis.
    pub fn strong(self, text: &str) -> String {
        self.wrap(text, "1")
    }

    fn wrap(self, text: &str, code: &str) -> String {
        if self.0 {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
