//! `matchConditions` of webhooks and policies.

use crate::activation::{Activation, evaluate};
use fake_apiserver::extension::json::{list, string};
use fake_apiserver_cel::{Budget, Expression};
use serde_json::Value;

/// The `matchConditions` of one webhook or policy: all must be true.
#[derive(Debug)]
pub struct MatchConditions {
    all: Vec<Result<Expression, String>>,
    /// `failurePolicy: Ignore`: if a condition cannot be evaluated, the request does not match. Otherwise the error rejects the request.
    ignores_failures: bool,
}

impl MatchConditions {
    /// Parses `matchConditions`. `ignores_failures`: `failurePolicy: Ignore`.
    pub fn read(all: &Value, ignores_failures: bool) -> Self {
        let all = list(all).iter();
        Self {
            all: all
                .map(|condition| Expression::read(string(condition, "expression").trim()))
                .collect(),
            ignores_failures,
        }
    }

    /// Whether `matchConditions` is empty, so that all requests match.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether all match conditions are true. Returns an evaluation error unless some condition is false or failures are ignored.
    pub fn all_true(&self, activation: &Activation<'_>) -> Result<bool, String> {
        if self.is_empty() {
            return Ok(true);
        }
        let scope = activation.scope(&Budget::for_match_conditions());
        let mut failures = Vec::new();
        for condition in &self.all {
            let outcome = match condition {
                Ok(expression) => evaluate(expression, &scope),
                Err(why) => Err(format!("compilation error: {why}")),
            };
            match outcome {
                Ok(Value::Bool(true)) => {}
                // A false condition takes precedence over evaluation errors of other conditions.
                Ok(_) => return Ok(false),
                Err(why) => failures.push(why),
            }
        }
        match failures.as_slice() {
            [] => Ok(true),
            _ if self.ignores_failures => Ok(false),
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }
}
