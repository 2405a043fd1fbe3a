//! Whether the expressions of a policy make sense for the types that it is about.

use crate::kinds::{Api, Kind, Shape};
use crate::machinery::json::{list, string, texts};
use crate::rules::{Declarations, Expression, ObjectForm, Returns};
use serde_json::{Value, json};

/// Types that are looked at.
const TYPES_MAX: usize = 10;

/// Warnings about the expressions of a policy (`ExpressionWarning`).
pub(crate) fn warnings(policy: &Value, api: &Api) -> Vec<Value> {
    let kinds = kinds(policy, api);
    let mut found = Vec::new();
    for (i, validation) in list(&policy["spec"]["validations"]).iter().enumerate() {
        for member in ["expression", "messageExpression"] {
            let text = string(validation, member);
            let complaints: Vec<String> = match text {
                "" => Vec::new(),
                text => kinds
                    .iter()
                    .filter_map(|kind| complaint(policy, kind, text, api))
                    .collect(),
            };
            if !complaints.is_empty() {
                found.push(json!({
                    "fieldRef": format!("spec.validations[{i}].{member}"),
                    "warning": complaints.join("\n"),
                }));
            }
        }
    }
    found
}

/// The kinds that a policy names, without wildcards.
fn kinds(policy: &Value, api: &Api) -> Vec<Kind> {
    let mut found: Vec<Kind> = Vec::new();
    for rule in list(&policy["spec"]["matchConstraints"]["resourceRules"]) {
        let all = |name: &str| {
            let mut all = texts(&rule[name]);
            all.sort_unstable();
            all
        };
        let (groups, versions) = (all("apiGroups"), all("apiVersions"));
        if groups.contains(&"*") || versions.contains(&"*") {
            continue;
        }
        for group in &groups {
            for version in &versions {
                let named = all("resources")
                    .into_iter()
                    .filter(|resource| !resource.contains(['*', '/']));
                let kinds = named.filter_map(|resource| api.catalogue.find(group, version, resource));
                found.extend(kinds.cloned());
            }
        }
    }
    found.sort_by_key(|kind| (kind.group, kind.version, kind.kind));
    found.dedup();
    found.truncate(TYPES_MAX);
    found
}

fn complaint(policy: &Value, kind: &Kind, text: &str, api: &Api) -> Option<String> {
    let spec = &policy["spec"];
    let params = &spec["paramKind"];
    let params_of = api
        .catalogue
        .find_kind(string(params, "apiVersion"), string(params, "kind"));
    let params = params
        .is_object()
        .then(|| params_of.map_or(ObjectForm::Any, form));
    let variables: Vec<(&str, Expression)> = list(&spec["variables"])
        .iter()
        .filter_map(|variable| {
            let read = Expression::read(string(variable, "expression")).ok()?;
            Some((string(variable, "name"), read))
        })
        .collect();
    let expression = Expression::read(text).ok()?;
    let mut known = Declarations::new().about(form(kind)).with_params(params);
    for (name, variable) in &variables {
        // What is wrong with a variable is wrong where it is used.
        drop(known.compute(name, variable));
    }
    let why = expression.check(&known, Returns::Anything).err()?;
    Some(format!("{}, Kind={}: {why}\n", gv(kind), kind.kind))
}

/// Group and version as texts have them: with a slash, even where there is no group.
fn gv(kind: &Kind) -> String {
    format!("{}/{}", kind.group, kind.version)
}

fn form(kind: &Kind) -> ObjectForm<'_> {
    match kind.shape() {
        Shape::Typed(of) => ObjectForm::Typed(of),
        Shape::Defined(defined) => ObjectForm::Defined(&defined.schema),
    }
}
