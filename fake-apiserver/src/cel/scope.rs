//! The variables of expressions that are evaluated together.

use super::authority::{Authority, Check};
use super::budget::{Budget, State};
use super::functions::FUNCTIONS;
use kube_cel::cel::{Context, ExecutionError, Value};
use std::sync::Arc;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Error(String),
    /// It cost more than one evaluation may.
    TooExpensive,
    /// The expressions before it left nothing of the budget.
    Spent,
}

/// Characters of the text of an evaluation error at most: some contain the value that caused them.
const ERROR: usize = 512;

/// The variables of expressions, and what their evaluation may cost.
pub(crate) struct Scope<'a> {
    pub(super) context: Context<'static>,
    pub(super) budget: Budget,
    authority: Option<&'a dyn Authority>,
    /// Members of `variables` without a value, and why.
    pub(super) failures: Vec<(String, String)>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(budget: &Budget) -> Self {
        let mut context = FUNCTIONS.new_inner_scope();
        context.add_variable_from_value(State::VARIABLE, Value::Opaque(budget.0.clone()));
        Self {
            context,
            budget: budget.clone(),
            authority: None,
            failures: Vec::new(),
        }
    }

    pub(crate) fn bind(&mut self, name: &str, value: Value) {
        self.context.add_variable_from_value(name, value);
    }

    /// Binds `authorizer`, and its `requestResource` to the action of a request.
    pub(crate) fn authorize(&mut self, authority: &'a dyn Authority, request: Check) {
        self.authority = Some(authority);
        self.bind("authorizer", Value::Opaque(Arc::new(Check::default())));
        self.bind("authorizer.requestResource", Value::Opaque(Arc::new(request)));
    }

    /// Makes the decisions that an evaluation lacked; returns whether there were any.
    pub(super) fn decide(&self) -> bool {
        self.budget.0.decisions.decide(self.authority)
    }

    pub(super) fn explain(&self, why: &ExecutionError) -> String {
        let failure = match why {
            ExecutionError::UndeclaredReference(name) => {
                self.failures.iter().find(|(known, _)| known == name.as_str())
            }
            _ => None,
        };
        failure.map_or_else(|| shown(why), |(_, why)| why.clone())
    }
}

/// The text of an evaluation error, in the words of cel-go for the most frequent ones.
fn shown(why: &ExecutionError) -> String {
    match why {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        other => other.to_string().chars().take(ERROR).collect(),
    }
}
