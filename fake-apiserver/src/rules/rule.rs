//! One rule: its expression, and what is said where it does not hold.

use super::program::Program;
use crate::machinery::json;
use serde_json::Value;

/// A rule that was read.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) program: Program,
    text: String,
    message: String,
    pub(super) message_program: Option<Program>,
    pub(super) reason: String,
    /// Where the fault is, below the value that the rule is about; empty for there.
    pub(super) field_path: String,
    /// It compares with what was there before.
    pub(super) uses_old: bool,
    /// What was there before may be missing.
    pub(super) optional_old: bool,
}

impl Rule {
    /// Reads a rule; none where there is no expression, or none that can be read.
    pub(super) fn read(rule: &Value) -> Option<Self> {
        let text = |name: &str| json::string(rule, name).trim().to_owned();
        let program = Program::read(&text("rule")).ok()?;
        let message_program = Program::read(&text("messageExpression")).ok();
        Some(Self {
            uses_old: program.uses("oldSelf"),
            program,
            text: text("rule"),
            message: text("message"),
            message_program,
            reason: text("reason"),
            field_path: text("fieldPath").trim_start_matches('.').to_owned(),
            optional_old: rule["optionalOldSelf"] == true,
        })
    }

    /// The rule as texts name it.
    pub(super) fn shown(&self) -> &str {
        match self.message.is_empty() {
            true => &self.text,
            false => &self.message,
        }
    }

    /// What is said where the rule does not hold, unless an expression says it.
    pub(super) fn said(&self) -> String {
        match self.message.is_empty() {
            true => format!("failed rule: {}", self.text),
            false => self.message.clone(),
        }
    }
}
