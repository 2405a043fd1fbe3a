//! A CEL expression: parsed once, evaluated many times.

use super::budget::Budget;
use super::rewrite::{Rewrite, static_type, undeclared};
use super::scope::{Failure, Scope};
use super::{depth, value};
use fake_apiserver::extension::stack::{SHALLOW, with_stack};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{IdedExpr, Value};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A parsed CEL expression, which can be evaluated many times.
#[derive(Debug)]
pub struct Expression {
    tree: IdedExpr,
    depth: usize,
    text: String,
    /// The static type of the result; None if only evaluation can determine the type.
    of: Option<&'static str>,
    variables: BTreeSet<String>,
    members: BTreeSet<Vec<String>>,
}

impl Expression {
    /// Parses an expression. Returns the compiler's error message on failure.
    pub fn read(text: &str) -> Result<Self, String> {
        let depth = depth::nesting_depth(text)?;
        let parsed = with_stack(depth.max(SHALLOW + 1), || {
            catch_unwind(AssertUnwindSafe(|| Self::parse(text, depth)))
        });
        parsed
            .unwrap_or_else(|_| Err("the parser failed".to_owned()))
            .map_err(|why| failed(&why))
    }

    fn parse(text: &str, depth: usize) -> Result<Self, String> {
        let parser = Parser::new()
            .enable_optional_syntax(true)
            .max_recursion_depth(u16::MAX);
        let mut tree = parser.parse(text).map_err(|why| why.to_string())?;
        let of = static_type(&tree);
        let mut rewrite = Rewrite::default();
        rewrite.visit(&mut tree);
        match rewrite.unsupported {
            Some(why) => Err(why),
            None => Ok(Self {
                tree,
                depth: if rewrite.has_pattern {
                    depth.max(SHALLOW + 1)
                } else {
                    depth
                },
                text: text.to_owned(),
                of,
                variables: rewrite.variables,
                members: rewrite.members,
            }),
        }
    }

    /// Whether the expression refers to this variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.variables.contains(variable)
    }

    /// Checks that all variables of the expression are in `known`. Otherwise returns the compiler's error message.
    pub fn check_variables(&self, known: &[impl AsRef<str>]) -> Result<(), String> {
        let mut used = self.variables.iter();
        let other = used.find(|name| !known.iter().any(|known| known.as_ref() == *name));
        other.map_or(Ok(()), |name| Err(failed(&undeclared(name))))
    }

    /// Checks that the static type, if known, is in `types` (empty: any type). Otherwise returns the static type as error.
    pub fn check_type(&self, types: &[&str]) -> Result<(), &'static str> {
        let wrong = self.of.filter(|of| !types.is_empty() && !types.contains(of));
        wrong.map_or(Ok(()), Err)
    }

    /// The member paths that the expression selects, each starting with the variable.
    pub fn members(&self) -> impl Iterator<Item = &[String]> {
        self.members.iter().map(Vec::as_slice)
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression and converts the result to JSON.
    pub fn evaluate(&self, scope: &Scope<'_>) -> Result<Json, Failure> {
        self.evaluate_with(scope, |value| value::to_json(&value))
    }

    pub(super) fn value(&self, scope: &Scope<'_>) -> Result<Value, Failure> {
        self.evaluate_with(scope, Ok)
    }

    fn evaluate_with<T>(
        &self,
        scope: &Scope<'_>,
        finish: impl Fn(Value) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let budget: &Budget = &scope.budget;
        if budget.is_spent() {
            return Err(Failure::Spent);
        }
        budget.start_call();
        loop {
            let resolve = || Value::resolve(&self.tree, &scope.context);
            let resolve = || resolve().map_err(|why| scope.explain(&why)).and_then(&finish);
            let outcome = with_stack(self.depth, || catch_unwind(AssertUnwindSafe(resolve)));
            if budget.is_spent() || budget.is_call_spent() {
                return Err(Failure::TooExpensive);
            }
            if !scope.decide() {
                let outcome = outcome.unwrap_or_else(|_| Err("the evaluation failed".to_owned()));
                return outcome.map_err(Failure::Error);
            }
        }
    }
}

fn failed(why: &str) -> String {
    format!("compilation failed: {why}")
}

impl Scope<'_> {
    /// Binds `variables.NAME` to the value of an expression. If the evaluation fails, expressions that use the variable report the error.
    pub fn bind_computed(&mut self, name: &str, expression: &Result<Expression, String>) {
        let value = match expression {
            Ok(expression) => expression.value(self),
            Err(why) => Err(Failure::Error(why.clone())),
        };
        let variable = format!("variables.{name}");
        match value {
            Ok(value) => self.bind(&variable, value),
            Err(failure) => {
                let why = match failure {
                    Failure::Error(why) => why,
                    Failure::TooExpensive | Failure::Spent => "actual cost limit exceeded".to_owned(),
                };
                let why = format!("composited variable \"{name}\" fails to evaluate: {why}");
                self.failures.push((variable, why));
            }
        }
    }
}
