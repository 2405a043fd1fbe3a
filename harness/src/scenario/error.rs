//! Errors in case files, with message, position and source line. Does not know the keys of the format or the YAML parser.

use std::fmt;
use std::path::Path;

use serde_saphyr::Location;

/// An error in a case file: where it is, what is wrong, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// Name of the case file, as the user spelled it.
    pub source: String,
    /// Line and column in the case file, both from 1. None if the error concerns the whole file.
    pub position: Option<(u64, u64)>,
    /// What is wrong in the case file and how to fix it.
    pub message: String,
    /// The line of the case file at the position, if known.
    pub line: Option<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((line, column)) = self.position else {
            return write!(f, "{}: {}", self.source, self.message);
        };
        write!(f, "{}:{line}:{column}: {}", self.source, self.message)?;
        if let Some(text) = &self.line {
            let number = line.to_string();
            let (text, caret) = shorten_around(text, usize::try_from(column).unwrap_or(usize::MAX));
            write!(
                f,
                "\n {number} | {text}\n {:width$} | {:caret$}^",
                "",
                "",
                width = number.len()
            )?;
        }
        Ok(())
    }
}

/// Shortens a source line to the width of a terminal. Also returns the number of characters before the column, which counts from 1.
fn shorten_around(line: &str, column: usize) -> (String, usize) {
    /// Maximum number of characters of the source line that an error shows.
    const SHOWN: usize = 160;
    let length = line.chars().count();
    let caret = column.saturating_sub(1).min(length);
    if length <= SHOWN {
        return (line.to_owned(), caret);
    }
    let first = caret.saturating_sub(SHOWN / 2);
    let shown: String = line.chars().skip(first).take(SHOWN).collect();
    let (before, after) = (
        if first > 0 { "…" } else { "" },
        if first + SHOWN < length { "…" } else { "" },
    );
    (
        format!("{before}{shown}{after}"),
        caret - first + before.chars().count(),
    )
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// Creates an error for a position in the text of a case file.
    pub fn at(source: &str, text: &str, location: Location, message: impl Into<String>) -> Self {
        Self::in_text(
            source,
            text,
            Some((location.line(), location.column())),
            message.into(),
        )
    }

    pub(super) fn in_text(source: &str, text: &str, position: Option<(u64, u64)>, message: String) -> Self {
        let position = position.filter(|(line, _)| *line > 0);
        let nth = |line: u64| text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?);
        let line = position.and_then(|(line, _)| nth(line)).map(str::to_owned);
        ScenarioError {
            source: source.to_owned(),
            position,
            message,
            line,
        }
    }

    /// Creates an error that concerns a whole case file.
    pub fn whole(source: &Path, message: impl Into<String>) -> Self {
        let source = source.display().to_string();
        ScenarioError {
            source,
            position: None,
            message: message.into(),
            line: None,
        }
    }
}
