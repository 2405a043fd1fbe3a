//! The rules for conditions under which a webhook or policy is asked, and for expressions as such.

use crate::cel::Expression;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use serde_json::Value;
use std::collections::HashSet;

/// Conditions that one webhook or policy may have.
const CONDITIONS_MAX: usize = 64;

/// The rules for conditions that know such variables.
pub(super) fn conditions(all: &Value, known: &[String], at: &str, faults: &mut Faults) {
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
            expression(text, known, &["bool"], &field, faults);
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

/// The rules for an expression of one of these types that may use these variables.
pub(super) fn expression(text: &str, known: &[String], types: &[&str], at: &str, faults: &mut Faults) {
    let checked = Expression::read(text).and_then(|expression| {
        expression.check(known)?;
        let wrong = expression.check_type(types);
        wrong.map_err(|of| match types {
            [one] => format!("must evaluate to {one} but got {of}"),
            several => format!("must evaluate to one of [{}] but got {of}", several.join(" ")),
        })
    });
    if let Err(why) = checked {
        faults.invalid(at, text, &why);
    }
}

/// The variables of the expressions of all webhooks and policies.
pub(super) fn variables() -> Vec<String> {
    let names = [
        "object",
        "oldObject",
        "request",
        "namespaceObject",
        "authorizer",
        "authorizer.requestResource",
    ];
    names.map(str::to_owned).into()
}
