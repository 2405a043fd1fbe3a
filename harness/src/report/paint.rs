//! Terminal colours. A colour is never the only way in which information is shown.

use std::io::IsTerminal;

/// Whether terminal output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(bool);

impl Paint {
    /// Terminal output without colours.
    pub const PLAIN: Paint = Paint(false);

    /// Colours if the stream is a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    pub fn of(stream: &impl IsTerminal) -> Self {
        let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Paint(stream.is_terminal() && !forbidden)
    }

    /// Colours text about errors and failures.
    pub fn bad(self, text: &str) -> String {
        self.wrap(text, "31;1")
    }

    /// Colours text about success.
    pub fn good(self, text: &str) -> String {
        self.wrap(text, "32")
    }

    /// Colours less important text.
    pub fn dim(self, text: &str) -> String {
        self.wrap(text, "2")
    }

    /// Emphasizes text.
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
