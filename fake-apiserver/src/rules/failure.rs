//! Why an expression has no value.

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// The evaluation went wrong; with the text.
    Failed(String),
    /// It cost more than a call may.
    TooExpensive,
}

impl Failure {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// No function fits these arguments.
    pub(super) fn no_overload() -> Self {
        Self::new("no such overload")
    }
}
