//! Conditions under which somebody is asked about a request (`matchConditions`).

use super::inputs::{Inputs, evaluate};
use crate::cel::{Budget, Expression};
use crate::machinery::json::{list, string};
use serde_json::Value;

/// Conditions that must all hold.
#[derive(Debug)]
pub(crate) struct Conditions {
    all: Vec<Result<Expression, String>>,
    /// One that cannot be evaluated counts as one that does not hold; otherwise the request is refused.
    lenient: bool,
}

impl Conditions {
    pub(super) fn read(all: &Value, lenient: bool) -> Self {
        let all = list(all).iter();
        Self {
            all: all
                .map(|condition| Expression::read(string(condition, "expression").trim()))
                .collect(),
            lenient,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether all conditions hold. Why that cannot be said, otherwise.
    pub(crate) fn hold(&self, inputs: &Inputs<'_>) -> Result<bool, String> {
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
                // One that does not hold decides, whatever the others are.
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
