//! Whether the rules of a schema make sense.
//!
//! Owns what must hold of rules when a definition is written, with the texts of the real server.

use super::check::check;
use super::program::Program;
use super::types::{CelType, count_max};
use crate::machinery::faults::Faults;
use crate::machinery::json;
use crate::structural::{ListType, Schema};
use serde_json::Value;
use std::rc::Rc;

/// What one rule may cost by estimate, for all values that it is about.
const RULE_COST_MAX: u64 = 10_000_000;
/// What all rules of a schema may cost together.
const TOTAL_COST_MAX: u64 = 100_000_000;
const REASONS: [&str; 4] = [
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueDuplicate",
];
const REMEDY: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// Reports what is wrong with the rules of a schema, which is at `at`.
pub(crate) fn validate(text: &Value, at: &str, faults: &mut Faults) {
    let schema = Schema::read(text);
    let mut total = 0;
    let place = Place {
        count: 1,
        is_root: true,
        lost: None,
    };
    visit(text, &schema, at, &place, &mut total, faults);
    if total > TOTAL_COST_MAX {
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        faults.forbidden(at, &too_expensive(name, total, TOTAL_COST_MAX));
    }
}

/// What is known of a place in a schema.
#[derive(Clone)]
struct Place {
    /// How many values there can be.
    count: u64,
    is_root: bool,
    /// Where values cannot be found again in what was there before.
    lost: Option<String>,
}

impl Place {
    fn below(&self, count: u64, lost: Option<&str>) -> Self {
        Self {
            count: self.count.saturating_mul(count),
            is_root: false,
            lost: self.lost.clone().or_else(|| lost.map(str::to_owned)),
        }
    }
}

fn visit(text: &Value, schema: &Schema, at: &str, place: &Place, total: &mut u64, faults: &mut Faults) {
    for (index, rule) in json::list(&text["x-kubernetes-validations"]).iter().enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        let before = faults.len();
        words(rule, &at, faults);
        if faults.len() == before {
            *total = total.saturating_add(rule_cost(rule, schema, &at, place, faults));
        }
    }
    for (name, inner) in &schema.properties {
        let lost = schema.atomic.then_some(at);
        let at = format!("{at}.properties[{name}]");
        visit(
            &text["properties"][name.as_str()],
            inner,
            &at,
            &place.below(1, lost),
            total,
            faults,
        );
    }
    if let Some(inner) = schema.additional_schema() {
        let lost = schema.atomic.then_some(at);
        let at = format!("{at}.additionalProperties");
        let place = place.below(count_max(schema), lost);
        visit(&text["additionalProperties"], inner, &at, &place, total, faults);
    }
    if let Some(inner) = schema.items.as_deref() {
        let lost = (!matches!(schema.list, ListType::Map(_))).then_some(at);
        let at = format!("{at}.items");
        visit(
            &text["items"],
            inner,
            &at,
            &place.below(count_max(schema), lost),
            total,
            faults,
        );
    }
}

/// The rules for everything but expressions.
fn words(rule: &Value, at: &str, faults: &mut Faults) {
    let text = json::string(rule, "rule");
    let message = rule["message"].as_str();
    let trimmed = message.unwrap_or_default().trim();
    if text.trim().is_empty() {
        faults.required(format!("{at}.rule"), "rule is not specified");
    } else if message.is_some_and(|message| !message.is_empty()) && trimmed.is_empty() {
        faults.invalid(format!("{at}.message"), message, "must be non-empty if specified");
    } else if trimmed.contains('\n') {
        faults.invalid(format!("{at}.message"), message, "must not contain line breaks");
    } else if text.trim().contains('\n') && trimmed.is_empty() {
        let why = "message must be specified if rule contains line breaks";
        faults.required(format!("{at}.message"), why);
    }
    let expression = json::string(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let why = "messageExpression must be non-empty if specified";
        faults.required(format!("{at}.messageExpression"), why);
    }
    if let Some(reason) = rule["reason"].as_str() {
        faults.one_of(&format!("{at}.reason"), reason, &REASONS);
    }
    if let Some(path) = rule["fieldPath"].as_str() {
        let path_at = format!("{at}.fieldPath");
        match path {
            _ if path.trim().is_empty() => faults.invalid(path_at, path, "must be non-empty if specified"),
            _ if path.contains('\n') => faults.invalid(path_at, path, "must not contain line breaks"),
            _ if !path.starts_with(['.', '[']) => {
                let why = format!("fieldPath must be a valid path: expected [ or . but got: {path}");
                faults.invalid(path_at, path, &why);
            }
            _ => {}
        }
    }
}

/// The rules for expressions; returns what they cost for all values.
fn rule_cost(rule: &Value, schema: &Schema, at: &str, place: &Place, faults: &mut Faults) -> u64 {
    let of = || CelType::of(schema, place.is_root);
    let old = match rule["optionalOldSelf"] == true {
        true => CelType::Optional(Rc::new(of())),
        false => of(),
    };
    let program = match Program::read(json::string(rule, "rule").trim()) {
        Ok(program) => program,
        Err(why) => {
            faults.invalid(format!("{at}.rule"), rule.clone(), &why);
            return 0;
        }
    };
    let mut total = 0;
    match check(&program, vec![("self", of()), ("oldSelf", old.clone())]) {
        Err(why) => faults.invalid(format!("{at}.rule"), rule.clone(), &why),
        Ok(checked) if !checked.of.meets(&CelType::Bool) => {
            let why = "cel expression must evaluate to a bool";
            faults.invalid(format!("{at}.rule"), rule.clone(), why);
        }
        Ok(checked) => {
            let cost = checked.cost.saturating_mul(place.count);
            afford("rule", "estimated rule cost", cost, at, faults);
            total += cost;
        }
    }
    if program.uses("oldSelf") {
        if let Some(lost) = &place.lost {
            let why =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}");
            faults.invalid(format!("{at}.rule"), json::string(rule, "rule"), &why);
        }
    } else if let Some(optional) = rule["optionalOldSelf"].as_bool() {
        let why = "may not be set if oldSelf is not used in rule";
        faults.invalid(format!("{at}.optionalOldSelf"), optional, why);
    }
    total.saturating_add(message_cost(rule, (of(), old), at, place, faults))
}

fn message_cost(
    rule: &Value,
    (own, old): (CelType<'_>, CelType<'_>),
    at: &str,
    place: &Place,
    faults: &mut Faults,
) -> u64 {
    let text = json::string(rule, "messageExpression").trim();
    if text.is_empty() {
        return 0;
    }
    let place_of = format!("{at}.messageExpression");
    let program = match Program::read(text) {
        Ok(program) => program,
        Err(why) => {
            faults.invalid(place_of, rule.clone(), &format!("messageExpression {why}"));
            return 0;
        }
    };
    match check(&program, vec![("self", own), ("oldSelf", old)]) {
        Err(why) => faults.invalid(place_of, rule.clone(), &format!("messageExpression {why}")),
        Ok(checked) if !checked.of.meets(&CelType::Text(0)) => {
            let why = "messageExpression must evaluate to a string";
            faults.invalid(place_of, rule.clone(), why);
        }
        Ok(checked) => {
            let cost = checked.cost.saturating_mul(place.count);
            afford(
                "messageExpression",
                "estimated messageExpression cost",
                cost,
                at,
                faults,
            );
            return cost;
        }
    }
    0
}

fn afford(member: &str, name: &str, cost: u64, at: &str, faults: &mut Faults) {
    if cost > RULE_COST_MAX {
        faults.forbidden(
            format!("{at}.{member}"),
            &too_expensive(name, cost, RULE_COST_MAX),
        );
    }
}

fn too_expensive(name: &str, cost: u64, most: u64) -> String {
    let factor = cost as f64 / most as f64;
    let factor = match factor {
        _ if factor > 100.0 => "more than 100x".to_owned(),
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    };
    format!("{name} exceeds budget by factor of {factor} {REMEDY}")
}
