//! Evaluation of CEL validation rules (`x-kubernetes-validations`) for an object.
//!
//! Owns the order of rules and the error messages. Ratcheting: if the value of a failing rule is unchanged, the failure is only a warning,
//! unless the rule uses `oldSelf`.

use super::correlated::{OldValue, entry as entry_before, is_same, member as member_before};
use super::trail::Trail;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json;
use fake_apiserver::extension::schema::Schema;
use fake_apiserver_cel::{self as cel, Budget, Expression, Failure, Scope};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Maximum size of an evaluated `messageExpression` in bytes (upstream: `maxEvaluatedMessageExpressionSizeBytes`).
const MESSAGE: usize = 5 * 1024;
const SPENT: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// A rule of `x-kubernetes-validations`, with parsed expressions.
#[derive(Debug)]
struct Rule {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
    /// `fieldPath`: the path of the error, relative to the validated value; empty if the error concerns the validated value itself.
    field_path: String,
    uses_old: bool,
    optional_old: bool,
}

/// The CEL rules of a schema and of its nested schemas.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    own: Vec<Rule>,
    all_of: Vec<Rules>,
    properties: BTreeMap<String, Rules>,
    additional: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

impl Rule {
    /// Parses a CEL rule. None if the expression is invalid: CRDs stored by an older release may contain such rules.
    fn read(rule: &Value) -> Option<Self> {
        let text = |name: &str| json::string(rule, name).trim();
        let expression = Expression::read(text("rule")).ok()?;
        Some(Self {
            uses_old: expression.uses("oldSelf"),
            expression,
            message: text("message").to_owned(),
            message_expression: match text("messageExpression") {
                "" => None,
                text => Expression::read(text).ok(),
            },
            reason: text("reason").to_owned(),
            field_path: text("fieldPath").trim_start_matches('.').to_owned(),
            optional_old: rule["optionalOldSelf"] == true,
        })
    }

    /// The text that identifies the CEL rule in error messages: its `message` or, if the rule has none, its expression.
    fn shown(&self) -> &str {
        match self.message.as_str() {
            "" => self.expression.text(),
            message => message,
        }
    }
}

impl Rules {
    /// Parses `x-kubernetes-validations` of a schema and of its nested schemas.
    pub(crate) fn read(schema: &Value) -> Self {
        let inner = |name: &str| {
            let rules = schema[name].is_object().then(|| Self::read(&schema[name]));
            rules.filter(|rules| !rules.is_empty()).map(Box::new)
        };
        let properties = schema["properties"].as_object().into_iter().flatten();
        let own = json::list(&schema["x-kubernetes-validations"]).iter();
        let all_of = json::list(&schema["allOf"]).iter().map(Self::read);
        Self {
            own: own.filter_map(Rule::read).collect(),
            all_of: all_of.filter(|rules| !rules.is_empty()).collect(),
            properties: properties
                .map(|(name, schema)| (name.clone(), Self::read(schema)))
                .filter(|(_, rules)| !rules.is_empty())
                .collect(),
            additional: inner("additionalProperties"),
            items: inner("items"),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty()
            && self.all_of.is_empty()
            && self.properties.is_empty()
            && self.additional.is_none()
            && self.items.is_none()
    }

    /// Evaluates the CEL rules for an object. `before`: the stored object of an update. Returns warnings.
    pub(crate) fn validate(
        &self,
        value: &Value,
        schema: &Schema,
        before: OldValue<'_>,
        errors: &mut ErrorList,
    ) -> Vec<String> {
        let mut walk = Walk {
            errors,
            warnings: Vec::new(),
            budget: Budget::for_validation(),
            is_over: false,
        };
        let node = Node {
            schema,
            before,
            is_old: before.is_some_and(|before| is_same(value, before, Some(schema))),
        };
        walk.visit(value, self, node, &mut Trail::default());
        walk.warnings
    }
}

/// A value inside the validated custom resource, with its schema and old value.
#[derive(Clone, Copy)]
struct Node<'a> {
    schema: &'a Schema,
    before: OldValue<'a>,
    /// Whether the value is unchanged. If there is no old value to compare with: whether the nearest enclosing value with an old value is
    /// unchanged.
    is_old: bool,
}

impl<'a> Node<'a> {
    fn part(self, value: &Value, schema: &'a Schema, before: OldValue<'a>) -> Self {
        Self {
            schema,
            before,
            is_old: before.map_or(self.is_old, |before| is_same(value, before, Some(schema))),
        }
    }
}

struct Walk<'f> {
    errors: &'f mut ErrorList,
    warnings: Vec<String>,
    budget: Budget,
    is_over: bool,
}

impl Walk<'_> {
    fn visit(&mut self, value: &Value, rules: &Rules, node: Node<'_>, trail: &mut Trail) {
        if value.is_null() || self.is_over {
            return;
        }
        self.evaluate_own_rules(value, &rules.own, node, trail);
        for rules in &rules.all_of {
            self.visit(value, rules, node, trail);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    self.member(name, member, rules, node, trail);
                }
            }
            Value::Array(items) => {
                let schema = node.schema.items.as_deref();
                let Some((rules, schema)) = rules.items.as_deref().zip(schema) else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    let before = entry_before(node.before, node.schema, item);
                    let part = node.part(item, schema, before);
                    trail.entry(index, |trail| self.visit(item, rules, part, trail));
                }
            }
            _ => {}
        }
    }

    fn member(&mut self, name: &str, value: &Value, rules: &Rules, node: Node<'_>, trail: &mut Trail) {
        let before = member_before(node.before, name);
        if let Some(schema) = node.schema.properties.get(name) {
            if let Some(rules) = rules.properties.get(name) {
                let part = node.part(value, schema, before);
                trail.member(name, |trail| self.visit(value, rules, part, trail));
            }
        } else if let (Some(rules), Some(schema)) = (&rules.additional, node.schema.additional_schema()) {
            let part = node.part(value, schema, before);
            trail.key(name, |trail| self.visit(value, rules, part, trail));
        }
    }

    fn evaluate_own_rules(&mut self, value: &Value, rules: &[Rule], node: Node<'_>, trail: &Trail) {
        if rules.is_empty() {
            return;
        }
        let mut scope = Scope::new(&self.budget);
        scope.bind("self", to_cel(value, Some(node.schema)));
        let old = node.before.map(|before| to_cel(before, Some(node.schema)));
        for rule in rules {
            if self.is_over || (rule.uses_old && old.is_none() && !rule.optional_old) {
                continue;
            }
            if rule.uses_old {
                let old = match rule.optional_old {
                    true => cel::optional(old.clone()),
                    false => old.clone().unwrap_or(cel::Value::Null),
                };
                scope.bind("oldSelf", old);
            }
            self.rule(value, rule, &scope, node, trail);
        }
    }

    fn rule(&mut self, value: &Value, rule: &Rule, scope: &Scope<'_>, node: Node<'_>, trail: &Trail) {
        let shown = rule.shown();
        let why = match rule.expression.evaluate(scope) {
            Ok(Value::Bool(true)) => return,
            Ok(Value::Bool(false)) => return self.report(value, rule, scope, node, trail),
            Ok(_) => format!("cel expression must evaluate to a bool evaluating rule: {shown}"),
            Err(Failure::Error(why)) => format!("{why} evaluating rule: {shown}"),
            Err(failure) => {
                self.is_over = true;
                match failure {
                    Failure::TooExpensive if !self.budget.is_spent() => format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call \
                         cost exceeds limit for rule: {shown}"
                    ),
                    _ => SPENT.to_owned(),
                }
            }
        };
        self.errors.invalid(field(trail, ""), node.schema.of, &why);
    }

    /// Adds the error of a CEL rule that evaluated to false.
    fn report(&mut self, value: &Value, rule: &Rule, scope: &Scope<'_>, node: Node<'_>, trail: &Trail) {
        let message = message(rule, scope).unwrap_or_else(|| match rule.message.as_str() {
            "" => format!("failed rule: {}", rule.shown()),
            message => message.to_owned(),
        });
        let field = field(trail, &rule.field_path);
        let mut found = ErrorList::default();
        let is_part = matches!(node.schema.of, "object" | "array");
        match rule.reason.as_str() {
            "FieldValueForbidden" => found.forbidden(field, &message),
            "FieldValueRequired" => found.required(field, &message),
            "FieldValueDuplicate" if is_part => found.duplicate_as(field, ""),
            "FieldValueDuplicate" => found.duplicate(field, value.clone()),
            _ if is_part => found.invalid_without_value(field, &message),
            _ => found.invalid(field, value.clone(), &message),
        }
        if !rule.uses_old && node.is_old {
            let causes = found.into_causes().into_iter();
            let warnings = causes.map(|cause| format!("{}: {}", cause.field, cause.message));
            self.warnings.extend(warnings);
        } else {
            self.errors.append(found);
        }
    }
}

fn field(trail: &Trail, below: &str) -> String {
    match (trail.is_root(), below) {
        (true, "") => "<nil>".to_owned(),
        (false, "") => trail.as_str().to_owned(),
        (_, below) => trail.member_path(below),
    }
}

/// The evaluated `messageExpression`; None if the evaluation fails or the result is not a valid message.
fn message(rule: &Rule, scope: &Scope<'_>) -> Option<String> {
    let text = rule.message_expression.as_ref()?.evaluate(scope).ok()?;
    let text = text.as_str()?.trim();
    let fits = !text.is_empty() && text.len() <= MESSAGE && !text.contains('\n');
    fits.then(|| text.to_owned())
}

/// Converts the value of `self` or `oldSelf` to CEL: numbers and strings by type and format in their schema.
fn to_cel(value: &Value, schema: Option<&Schema>) -> cel::Value {
    let Some(schema) = schema else {
        return cel::from_json(value);
    };
    match value {
        Value::Number(number) if schema.of == "number" => number.as_f64().unwrap_or_default().into(),
        Value::String(text) => {
            let converted = match schema.format() {
                "date-time" => cel::convert("timestamp", text),
                "date" => cel::convert("timestamp", &format!("{text}T00:00:00Z")),
                "duration" => cel::convert("duration", text),
                "byte" => STANDARD.decode(text).ok().map(cel::Value::from),
                _ => None,
            };
            converted.unwrap_or_else(|| text.as_str().into())
        }
        Value::Array(items) => {
            let inner = schema.items.as_deref();
            let items = items.iter().map(|item| to_cel(item, inner));
            items.collect::<Vec<_>>().into()
        }
        Value::Object(members) => {
            let members = members.iter();
            let members: HashMap<&str, cel::Value> = members
                .map(|(name, member)| (name.as_str(), to_cel(member, schema.member(name))))
                .collect();
            members.into()
        }
        other => cel::from_json(other),
    }
}
