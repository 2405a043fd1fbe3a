//! What is wrong with a case file: the message, the place, and the line that is meant. Knows neither keys of the format nor the reader.

use std::fmt;
use std::path::Path;

use serde_saphyr::Location;

/// Something is wrong with a case file: what, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, as it was named.
    pub source: String,
    /// Line and column, from 1; none where the file as a whole is meant.
    pub place: Option<(u64, u64)>,
    /// What is wrong and what to do.
    pub message: String,
    /// The line that is meant, where there is one.
    pub line: Option<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((line, column)) = self.place else {
            return write!(f, "{}: {}", self.source, self.message);
        };
        write!(f, "{}:{line}:{column}: {}", self.source, self.message)?;
        if let Some(text) = &self.line {
            let number = line.to_string();
            let (text, caret) = around(text, usize::try_from(column).unwrap_or(usize::MAX));
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

/// A line as far as it fits on a screen, and how many characters of that stand before the column, which counts from 1.
fn around(line: &str, column: usize) -> (String, usize) {
    /// Characters that are shown of a long line.
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
    /// An error about a place in a text.
    pub fn at(source: &str, text: &str, location: Location, message: impl Into<String>) -> Self {
        Self::in_text(
            source,
            text,
            Some((location.line(), location.column())),
            message.into(),
        )
    }

    pub(super) fn in_text(source: &str, text: &str, place: Option<(u64, u64)>, message: String) -> Self {
        let place = place.filter(|(line, _)| *line > 0);
        let nth = |line: u64| text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?);
        let line = place.and_then(|(line, _)| nth(line)).map(str::to_owned);
        ScenarioError {
            source: source.to_owned(),
            place,
            message,
            line,
        }
    }

    /// An error about a whole file.
    pub fn whole(source: &Path, message: impl Into<String>) -> Self {
        let source = source.display().to_string();
        ScenarioError {
            source,
            place: None,
            message: message.into(),
            line: None,
        }
    }
}
