//! Whether the rules of a schema hold for an object.
//!
//! Owns the order, the budget and the texts. What does not hold for a value that did not change is a warning only.

use super::evaluate::evaluate;
use super::failure::Failure;
use super::rule::Rule;
use super::tree::Rules;
use super::value::Val;
use crate::machinery::faults::Faults;
use crate::structural::{Before, Schema, Trail, entry_before, is_same, member_before};
use serde_json::Value;

/// What the rules of one object may cost together.
const BUDGET: i64 = 10_000_000;
/// Bytes of a message that an expression makes.
const MESSAGE_MAX: usize = 5 * 1024;
const SPENT: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) faults: Faults,
    pub(crate) warnings: Vec<String>,
}

/// Judges an object; `before` is what it was.
pub(crate) fn validate(value: &Value, schema: &Schema, rules: &Rules, before: Before<'_>) -> Outcome {
    let mut walk = Walk {
        outcome: Outcome::default(),
        budget: BUDGET,
        trail: Trail::default(),
    };
    let place = Place {
        schema,
        before,
        is_old: before.is_some_and(|before| is_same(value, before, Some(schema))),
    };
    walk.visit(value, rules, place);
    walk.outcome
}

/// A place in an object.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Schema,
    before: Before<'a>,
    /// The value, or the nearest value around it that can be found again, did not change.
    is_old: bool,
}

impl<'a> Place<'a> {
    /// The place of a part.
    fn part(self, value: &Value, schema: &'a Schema, before: Before<'a>) -> Self {
        Self {
            schema,
            before,
            is_old: match before {
                Some(before) => is_same(value, before, Some(schema)),
                None => self.is_old,
            },
        }
    }
}

struct Walk {
    outcome: Outcome,
    /// What may still be spent; less than nothing ends the walk.
    budget: i64,
    trail: Trail,
}

impl Walk {
    fn visit(&mut self, value: &Value, rules: &Rules, place: Place<'_>) {
        if value.is_null() {
            return;
        }
        for rule in &rules.own {
            if self.budget < 0 {
                return;
            }
            self.judge(value, rule, place);
        }
        for rules in &rules.all_of {
            self.visit(value, rules, place);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    self.member(name, member, rules, place);
                }
            }
            Value::Array(items) => {
                let (Some(rules), Some(inner)) = (rules.items.as_deref(), place.schema.items.as_deref())
                else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    let before = entry_before(place.before, place.schema, item);
                    let part = place.part(item, inner, before);
                    self.below(|trail, look| trail.entry(index, look), item, rules, part);
                }
            }
            _ => {}
        }
    }

    fn member(&mut self, name: &str, value: &Value, rules: &Rules, place: Place<'_>) {
        let before = member_before(place.before, name);
        let property = place.schema.properties.get(name);
        if let (Some(rules), Some(inner)) = (rules.properties.get(name), property) {
            let part = place.part(value, inner, before);
            self.below(|trail, look| trail.member(name, look), value, rules, part);
        } else if let (None, Some(rules), Some(inner)) = (
            property,
            rules.additional.as_deref(),
            place.schema.additional_schema(),
        ) {
            let part = place.part(value, inner, before);
            self.below(|trail, look| trail.key(name, look), value, rules, part);
        }
    }

    fn below(
        &mut self,
        go: impl FnOnce(&mut Trail, &mut dyn FnMut(&mut Trail)),
        value: &Value,
        rules: &Rules,
        place: Place<'_>,
    ) {
        if self.budget < 0 {
            return;
        }
        let mut trail = std::mem::take(&mut self.trail);
        go(&mut trail, &mut |trail| {
            self.trail = std::mem::take(trail);
            self.visit(value, rules, place);
            *trail = std::mem::take(&mut self.trail);
        });
        self.trail = trail;
    }

    fn judge(&mut self, value: &Value, rule: &Rule, place: Place<'_>) {
        if rule.uses_old && place.before.is_none() && !rule.optional_old {
            return;
        }
        let of = place.schema.of;
        if self.budget == 0 {
            return self.give_up(of, SPENT);
        }
        let (outcome, cost) = evaluate(
            &rule.program,
            &rule.program.expression,
            variables(value, rule, place),
        );
        self.budget -= i64::try_from(cost).unwrap_or(i64::MAX);
        if self.budget < 0 {
            return self.give_up(of, SPENT);
        }
        match outcome {
            Ok(Val::Bool(true)) => {}
            Ok(_) => self.report(value, rule, place),
            Err(Failure::TooExpensive) => {
                let why = format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call \
                     cost exceeds limit for rule: {}",
                    rule.shown()
                );
                self.give_up(of, &why);
            }
            Err(Failure::Failed(why)) if why.starts_with("no such overload") => {
                let why = format!(
                    "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                    rule.shown()
                );
                self.invalid(of, &why);
            }
            Err(Failure::Failed(why)) => {
                self.invalid(of, &format!("{why} evaluating rule: {}", rule.shown()));
            }
        }
    }

    fn invalid(&mut self, of: &str, why: &str) {
        let field = self.field("");
        self.outcome.faults.invalid(field, of, why);
    }

    fn give_up(&mut self, of: &str, why: &str) {
        self.invalid(of, why);
        self.budget = -1;
    }

    /// Where a fault is.
    fn field(&self, below: &str) -> String {
        match (self.trail.is_root(), below.is_empty()) {
            (true, true) => "<nil>".to_owned(),
            (_, true) => self.trail.as_str().to_owned(),
            (_, false) => self.trail.to(below),
        }
    }

    /// A rule does not hold.
    fn report(&mut self, value: &Value, rule: &Rule, place: Place<'_>) {
        let message = self.message(value, rule, place).unwrap_or_else(|| rule.said());
        let field = self.field(&rule.field_path);
        let mut found = Faults::default();
        let is_part = matches!(place.schema.of, "object" | "array");
        match rule.reason.as_str() {
            "FieldValueForbidden" => found.forbidden(field, &message),
            "FieldValueRequired" => found.required(field, &message),
            "FieldValueDuplicate" if is_part => found.duplicate_as(field, ""),
            "FieldValueDuplicate" => found.duplicate(field, value.clone()),
            _ if is_part => found.broken(field, &message),
            _ => found.invalid(field, value.clone(), &message),
        }
        if !rule.uses_old && place.is_old {
            let causes = found.into_causes().into_iter();
            let told = causes.map(|cause| format!("{}: {}", cause.field, cause.message));
            self.outcome.warnings.extend(told);
        } else {
            self.outcome.faults.append(found);
        }
    }

    /// What the rule's own expression says; none if it says nothing that can be told.
    fn message(&mut self, value: &Value, rule: &Rule, place: Place<'_>) -> Option<String> {
        let program = rule.message_program.as_ref()?;
        let (outcome, cost) = evaluate(program, &program.expression, variables(value, rule, place));
        self.budget -= i64::try_from(cost).unwrap_or(i64::MAX);
        let Ok(Val::Text(text)) = outcome else {
            return None;
        };
        let text = text.trim();
        let fits = !text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n');
        fits.then(|| text.to_owned())
    }
}

fn variables<'a>(value: &'a Value, rule: &Rule, place: Place<'a>) -> Vec<(&'static str, Val<'a>)> {
    let of = |value| Val::of(value, Some(place.schema));
    let old = place.before.map(of);
    let old = match rule.optional_old {
        true => Val::optional(old),
        false => old.unwrap_or(Val::Null),
    };
    vec![("self", of(value)), ("oldSelf", old)]
}
