//! `matchConditions` of webhooks and policies.

use super::inputs::{Inputs, evaluate};
use crate::cel::{Budget, Expression};
use crate::machinery::json::{list, string};
use serde_json::Value;

/// Conditions that must all be true.
#[derive(Debug)]
pub struct Conditions {
    all: Vec<Result<Expression, String>>,
    /// `failurePolicy: Ignore`: an evaluation error counts as false. Otherwise it rejects the request.
    lenient: bool,
}

impl Conditions {
    /// Parses `matchConditions`. `lenient`: `failurePolicy: Ignore`.
    pub fn read(all: &Value, lenient: bool) -> Self {
        let all = list(all).iter();
        Self {
            all: all
                .map(|condition| Expression::read(string(condition, "expression").trim()))
                .collect(),
            lenient,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether all conditions are true. Returns evaluation errors.
    pub fn hold(&self, inputs: &Inputs<'_>) -> Result<bool, String> {
        if self.is_empty() {
            return Ok(true);
        }
        let scope = inputs.scope(&Budget::conditions());
        let mut failures = Vec::new();
        for condition in &self.all {
            let outcome = match condition {
                Ok(expression) => evaluate(expression, &scope),
                Err(why) => Err(format!("compilation error: {why}")),
            };
            match outcome {
                Ok(Value::Bool(true)) => {}
                // A false condition takes precedence over errors of the others.
                Ok(_) => return Ok(false),
                Err(why) => failures.push(why),
            }
        }
        match failures.as_slice() {
            [] => Ok(true),
            _ if self.lenient => Ok(false),
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }
}
