//! The rules for conditions under which a webhook or policy is asked, and for expressions as such.

use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use crate::rules::{Declarations, Expression, Returns};
use serde_json::Value;
use std::collections::HashSet;

/// Conditions that one webhook or policy may have.
const CONDITIONS_MAX: usize = 64;

/// The rules for conditions that know such variables.
pub(super) fn conditions(all: &Value, known: &Declarations<'_>, at: &str, faults: &mut Faults) {
    let all = list(all);
    if all.len() > CONDITIONS_MAX {
        faults.too_many(at, all.len(), CONDITIONS_MAX);
    }
    let mut named = HashSet::new();
    for (i, condition) in all.iter().enumerate() {
        let (text, field) = (
            string(condition, "expression").trim(),
            format!("{at}[{i}].expression"),
        );
        if text.is_empty() {
            faults.required(field, "");
        } else {
            expression(text, known, Returns::Bool, &field, faults);
        }
        let (name, field) = (string(condition, "name"), format!("{at}[{i}].name"));
        if name.is_empty() {
            faults.required(field, "");
            continue;
        }
        faults.complain(&field, name, names::qualified(name));
        if !named.insert(name) {
            faults.duplicate(field, name);
        }
    }
}

/// The rules for an expression.
pub(super) fn expression(
    text: &str,
    known: &Declarations<'_>,
    returns: Returns,
    at: &str,
    faults: &mut Faults,
) {
    let read = Expression::read(text);
    let judged = match &read {
        Ok(expression) => expression.check(known, returns),
        Err(why) => Err(why.clone()),
    };
    if let Err(why) = judged {
        faults.invalid(at, text, &why);
    }
}
