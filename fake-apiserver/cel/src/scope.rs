//! The variables and the budget that a group of expressions shares.

use super::budget::{Budget, State};
use super::decisions::{Authorizer, Check};
use super::functions::FUNCTIONS;
use kube_cel::cel::{Context, ExecutionError, Value};
use std::sync::Arc;

/// Why a CEL expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The evaluation of the expression failed with this message.
    Error(String),
    /// The evaluation exceeded its own cost limit.
    TooExpensive,
    /// Earlier expressions exhausted the budget.
    Spent,
}

/// Maximum length of an evaluation error, in characters: some errors contain the invalid value.
const ERROR: usize = 512;

/// The variables and the cost budget for the evaluation of CEL expressions.
pub struct Scope<'a> {
    pub(super) context: Context<'static>,
    pub(super) budget: Budget,
    authorizer: Option<&'a dyn Authorizer>,
    /// Members of `variables` whose expression failed, with the error.
    pub(super) failures: Vec<(String, String)>,
}

impl<'a> Scope<'a> {
    /// A scope without variables. Evaluations in the scope charge `budget`.
    pub fn new(budget: &Budget) -> Self {
        let mut context = FUNCTIONS.new_inner_scope();
        context.add_variable_from_value(State::VARIABLE, Value::Opaque(budget.0.clone()));
        Self {
            context,
            budget: budget.clone(),
            authorizer: None,
            failures: Vec::new(),
        }
    }

    /// Sets a variable for expressions that are evaluated in this scope.
    pub fn bind(&mut self, name: &str, value: Value) {
        self.context.add_variable_from_value(name, value);
    }

    /// Binds `authorizer`, and `authorizer.requestResource` to the attributes of the request.
    pub fn bind_authorizer(&mut self, authorizer: &'a dyn Authorizer, request: Check) {
        self.authorizer = Some(authorizer);
        self.bind("authorizer", Value::Opaque(Arc::new(Check::default())));
        self.bind("authorizer.requestResource", Value::Opaque(Arc::new(request)));
    }

    /// Decides the authorization checks that the evaluation recorded; returns whether there were any. If so, the expression must be
    /// evaluated again.
    pub(super) fn decide(&self) -> bool {
        self.budget.0.decisions.decide(self.authorizer)
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

/// The message of an evaluation error; the most frequent errors have cel-go's message.
fn shown(why: &ExecutionError) -> String {
    match why {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        other => other.to_string().chars().take(ERROR).collect(),
    }
}
