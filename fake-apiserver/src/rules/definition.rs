//! Whether the rules of a schema make sense.
//!
//! Owns what must hold of rules when a definition is written, with the texts of the real server.

use super::check::check;
use super::declared::Declared;
use super::estimate::estimate;
use super::program::Program;
use super::types::CelType;
use crate::machinery::faults::Faults;
use crate::machinery::stack::with_stack;
use crate::machinery::{go, json};
use crate::structural::{ListType, Schema, unreadable};
use serde_json::Value;
use std::cell::LazyCell;
use std::cmp::Reverse;

/// What one rule may cost by estimate, for all values that it is about.
const RULE_COST_MAX: u64 = 10_000_000;
/// What all rules of a schema may cost together.
const TOTAL_COST_MAX: u64 = 100_000_000;
/// Of the rules that cost too much together, so many are named.
const NAMED: usize = 4;
const SHARE: &str =
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];
const REMEDY: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// Reports what is wrong with the expressions of a schema, which is at `at`, and with what they cost.
pub(crate) fn validate(text: &Value, at: &str, faults: &mut Faults) {
    let schema = Schema::read(text);
    let mut total = Total::default();
    let place = Place {
        count: Some(1),
        is_root: true,
        lost: None,
    };
    visit(text, &schema, at, &place, &mut total, faults);
    if total.cost <= TOTAL_COST_MAX {
        return;
    }
    total.most.sort_by_key(|(_, cost)| Reverse(*cost));
    for (at, _) in total.most.iter().take(NAMED) {
        faults.forbidden(at, SHARE);
    }
    let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    faults.forbidden(at, &too_expensive(name, total.cost, TOTAL_COST_MAX));
}

/// What the rules of a schema cost together.
#[derive(Default)]
struct Total {
    cost: u64,
    /// Where those are that cost much, and what they cost.
    most: Vec<(String, u64)>,
}

impl Total {
    fn add(&mut self, at: String, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
        if cost >= TOTAL_COST_MAX / 100 {
            self.most.push((at, cost));
        }
    }
}

/// What is known of a place in a schema.
#[derive(Clone)]
struct Place {
    /// How many values there can be; none if only the size of a request bounds them.
    count: Option<u64>,
    is_root: bool,
    /// Where values cannot be found again in what was there before.
    lost: Option<String>,
}

impl Place {
    fn below(&self, schema: &Schema, count: Option<i64>, lost: Option<&str>) -> Self {
        let count = count.map(|count| u64::try_from(count).unwrap_or_default());
        Self {
            count: self
                .count
                .zip(count)
                .map(|(one, other)| one.saturating_mul(other)),
            is_root: schema.embedded,
            lost: self.lost.clone().or_else(|| lost.map(str::to_owned)),
        }
    }
}

fn visit(text: &Value, schema: &Schema, at: &str, place: &Place, total: &mut Total, faults: &mut Faults) {
    for (index, rule) in json::list(&text["x-kubernetes-validations"]).iter().enumerate() {
        Judge {
            rule,
            declared: Declared::Value(schema, place.is_root),
            at: &format!("{at}.x-kubernetes-validations[{index}]"),
            place,
        }
        .judge(total, faults);
    }
    let checks = schema.checks.as_deref();
    let lost = schema.atomic.then_some(at);
    for (name, inner) in &schema.properties {
        let at = format!("{at}.properties[{name}]");
        let place = place.below(inner, Some(1), lost);
        visit(
            &text["properties"][name.as_str()],
            inner,
            &at,
            &place,
            total,
            faults,
        );
    }
    if let Some(inner) = schema.additional_schema() {
        let at = format!("{at}.additionalProperties");
        let place = place.below(inner, checks.and_then(|checks| checks.properties_max), lost);
        visit(&text["additionalProperties"], inner, &at, &place, total, faults);
    }
    if let Some(inner) = schema.items.as_deref() {
        let lost = (!matches!(schema.list, ListType::Map(_))).then_some(at);
        let at = format!("{at}.items");
        let place = place.below(inner, checks.and_then(|checks| checks.items_max), lost);
        visit(&text["items"], inner, &at, &place, total, faults);
    }
}

/// Reports what is wrong with the rules of one schema but for their expressions.
pub(crate) fn validate_words(schema: &Value, at: &str, faults: &mut Faults) {
    // Only paths need it. Of a schema that can't be read, none is judged.
    let read = LazyCell::new(|| unreadable(schema).is_none().then(|| Schema::read(schema)));
    let is_path = |path: &str| read.as_ref().is_none_or(|schema| leads_somewhere(path, schema));
    let rules = json::list(&schema["x-kubernetes-validations"]);
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        words(rule, is_path, &at, faults);
    }
}

fn words(rule: &Value, is_path: impl Fn(&str) -> bool, at: &str, faults: &mut Faults) {
    let text = json::string(rule, "rule");
    let message = rule["message"].as_str();
    let trimmed = message.unwrap_or_default().trim();
    if text.trim().is_empty() {
        faults.required(format!("{at}.rule"), "rule is not specified");
    } else if message.is_some_and(|message| !message.is_empty()) && trimmed.is_empty() {
        faults.invalid(format!("{at}.message"), message, "must be non-empty if specified");
    } else if trimmed.contains(['\n', '\r']) {
        faults.invalid(format!("{at}.message"), message, "must not contain line breaks");
    } else if text.trim().contains(['\n', '\r']) && trimmed.is_empty() {
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
        if !path.is_empty() && path.trim().is_empty() {
            faults.invalid(path_at.clone(), path, "must be non-empty if specified");
        }
        if path.contains(['\n', '\r']) {
            faults.invalid(path_at.clone(), path, "must not contain line breaks");
        }
        if !path.is_empty() && !is_path(path) {
            faults.invalid(path_at, path, "must be a valid path");
        }
    }
}

/// Whether a path of members (`.name`, or `['name']`) leads to something that the schema declares.
fn leads_somewhere(path: &str, schema: &Schema) -> bool {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(quoted) = rest.strip_prefix("['") {
            let Some((inner, after)) = quoted.split_once("']") else {
                return false;
            };
            (name, rest) = (inner, after);
        } else if let Some(plain) = rest.strip_prefix('.') {
            let end = plain.find(['.', '[', ']']).unwrap_or(plain.len());
            (name, rest) = plain.split_at(end);
        } else {
            return false;
        }
        let is_declared = !schema.properties.is_empty();
        let inner = match is_declared {
            true => schema.properties.get(name),
            false => schema.additional_schema(),
        };
        let Some(inner) = inner.filter(|_| !name.is_empty()) else {
            return false;
        };
        schema = inner;
    }
    true
}

/// A rule whose expressions are judged.
struct Judge<'a> {
    rule: &'a Value,
    declared: Declared<'a>,
    at: &'a str,
    place: &'a Place,
}

/// The name that the types of the schema go by.
const SELF_TYPE: &str = "selfType0";

impl Judge<'_> {
    fn judge(&self, total: &mut Total, faults: &mut Faults) {
        let rule_at = format!("{}.rule", self.at);
        let program = match Program::read(json::string(self.rule, "rule")) {
            Ok(program) => program,
            Err(why) => return faults.invalid_as(rule_at, &self.shown(), &why),
        };
        match self.cost(&program, &CelType::Bool) {
            Ok(cost) => {
                let count = self.place.count.unwrap_or_else(|| self.declared.cardinality());
                let cost = cost.saturating_mul(count);
                afford(&rule_at, "estimated rule cost", cost, faults);
                total.add(rule_at.clone(), cost);
            }
            Err(None) => {
                let why = "cel expression must evaluate to a bool";
                faults.invalid_as(rule_at.clone(), &self.shown(), why);
            }
            Err(Some(why)) => faults.invalid_as(rule_at.clone(), &self.shown(), &why),
        }
        self.message(total, faults);
        if program.uses("oldSelf") {
            if let Some(lost) = &self.place.lost {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}"
                );
                faults.invalid(rule_at, json::string(self.rule, "rule"), &why);
            }
        } else if let Some(optional) = self.rule["optionalOldSelf"].as_bool() {
            let why = "may not be set if oldSelf is not used in rule";
            faults.invalid(format!("{}.optionalOldSelf", self.at), optional, why);
        }
    }

    fn message(&self, total: &mut Total, faults: &mut Faults) {
        let text = json::string(self.rule, "messageExpression");
        if text.is_empty() {
            return;
        }
        let at = format!("{}.messageExpression", self.at);
        let why = match Program::read(text).map(|program| self.cost(&program, &CelType::Text)) {
            Ok(Ok(cost)) => {
                afford(&at, "estimated messageExpression cost", cost, faults);
                return total.add(at, cost);
            }
            Ok(Err(None)) => "messageExpression must evaluate to a string".to_owned(),
            Ok(Err(Some(why))) | Err(why) => format!("messageExpression {why}"),
        };
        faults.invalid_as(at, &self.shown(), &why);
    }

    /// The rule as the real server keeps it.
    fn shown(&self) -> String {
        let text = |name: &str| go::json(json::string(self.rule, name));
        let reason = self.rule["reason"]
            .as_str()
            .map_or_else(|| "null".to_owned(), go::json);
        format!(
            "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
            text("rule"),
            text("message"),
            text("messageExpression"),
            text("fieldPath"),
            self.rule["optionalOldSelf"]
        )
    }

    /// What an expression costs at most that is to yield a type. Why it is none, or nothing if it yields another.
    fn cost(&self, program: &Program, wanted: &CelType<'_>) -> Result<u64, Option<String>> {
        let of = CelType::of(self.declared, SELF_TYPE).unwrap_or(CelType::Dyn);
        let old = match self.rule["optionalOldSelf"] == true {
            true => CelType::optional(of.clone()),
            false => of.clone(),
        };
        let checked = check(program, vec![("self", of), ("oldSelf", old)]).map_err(Some)?;
        match checked.of == *wanted {
            true => {
                let estimated = || estimate(&program.expression, &checked, self.declared);
                Ok(with_stack(program.depth, estimated).max)
            }
            false => Err(None),
        }
    }
}

fn afford(at: &str, name: &str, cost: u64, faults: &mut Faults) {
    if cost > RULE_COST_MAX {
        faults.forbidden(at, &too_expensive(name, cost, RULE_COST_MAX));
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
