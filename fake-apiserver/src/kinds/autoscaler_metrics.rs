//! The rules for what autoscalers measure, and for references to objects of any kind.

use super::resource_names;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use crate::machinery::quantity::Quantity;
use serde_json::Value;
use std::collections::BTreeSet;

/// What can be measured, where that is said, and the rules for it, in the order in which they are applied.
const SOURCES: [(&str, &str, Rule); 5] = [
    ("Object", "object", object),
    ("External", "external", external),
    ("Pods", "pods", pods),
    ("Resource", "resource", resource),
    ("ContainerResource", "containerResource", container_resource),
];
/// The same by name, as texts list them.
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

const TARGETS: [&str; 3] = ["Utilization", "Value", "AverageValue"];

/// The rules for a source: the source, where it is, and which versions objects may be of.
type Rule = fn(&Value, &str, Version, &mut Faults);

/// Which version a reference may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// It was there before.
    Any,
    /// It may be one of the core group.
    WellFormed,
    WithGroup,
}

/// The rules for the metrics of a spec; `before` is the old one, or null.
pub(super) fn validate(spec: &Value, before: &Value, faults: &mut Faults) {
    let version = object_version(before);
    let metrics = list(&spec["metrics"]);
    for (i, metric) in metrics.iter().enumerate() {
        metric_rules(metric, &format!("spec.metrics[{i}]"), version, faults);
    }
    let mut types = metrics.iter().map(|metric| string(metric, "type"));
    if spec["minReplicas"] == 0 && !types.any(|of| ["Object", "External"].contains(&of)) {
        let text = "must specify at least one Object or External metric to support scaling to zero replicas";
        faults.forbidden("spec.metrics", text);
    }
}

/// Where one of the old metrics is of an object of an impossible version, all may be.
fn object_version(before: &Value) -> Version {
    let broken = |metric: &Value| {
        let mut found = Faults::default();
        let described = &metric["object"]["describedObject"];
        version_rules(described, "", Version::WellFormed, &mut found);
        metric["type"] == "Object" && metric["object"].is_object() && !found.is_empty()
    };
    if list(&before["metrics"]).iter().any(broken) {
        Version::Any
    } else {
        Version::WellFormed
    }
}

fn metric_rules(metric: &Value, at: &str, version: Version, faults: &mut Faults) {
    let of = string(metric, "type");
    let field = format!("{at}.type");
    if of.is_empty() {
        faults.required(field.as_str(), "must specify a metric source type");
    }
    faults.one_of(&field, of, &TYPES);
    let given = SOURCES.iter().filter(|(_, name, _)| metric[*name].is_object());
    // Of several sources, only the first is looked at.
    if let Some((_, name, rule)) = given.clone().next() {
        rule(&metric[*name], &format!("{at}.{name}"), version, faults);
    }
    let mut present: BTreeSet<&str> = given.map(|(_, name, _)| *name).collect();
    let is_one = present.len() == 1;
    match SOURCES.iter().find(|(known, _, _)| *known == of) {
        Some((_, name, _)) => {
            if !present.remove(name) {
                let text = "must populate information for the given metric source";
                faults.required(format!("{at}.{name}"), text);
            }
        }
        None => faults.one_of(&field, of, &TYPES),
    }
    if !is_one {
        for name in present {
            faults.forbidden(
                format!("{at}.{name}"),
                "must populate the given metric source only",
            );
        }
    }
}

fn object(source: &Value, at: &str, version: Version, faults: &mut Faults) {
    reference(
        &source["describedObject"],
        &format!("{at}.describedObject"),
        version,
        faults,
    );
    identifier(source, at, faults);
    target(source, at, faults);
    if !has(source, "value") && !has(source, "averageValue") {
        let text = "must set either a target value or averageValue";
        faults.required(format!("{at}.target.averageValue"), text);
    }
}

fn external(source: &Value, at: &str, _: Version, faults: &mut Faults) {
    identifier(source, at, faults);
    target(source, at, faults);
    match (has(source, "value"), has(source, "averageValue")) {
        (false, false) => {
            let text = "must set either a target value for metric or a per-pod target";
            faults.required(format!("{at}.target.averageValue"), text);
        }
        (true, true) => {
            let text = "may not set both a target value for metric and a per-pod target";
            faults.forbidden(format!("{at}.target.value"), text);
        }
        _ => {}
    }
}

fn pods(source: &Value, at: &str, _: Version, faults: &mut Faults) {
    identifier(source, at, faults);
    target(source, at, faults);
    if !has(source, "averageValue") {
        let text = "must specify a positive target averageValue";
        faults.required(format!("{at}.target.averageValue"), text);
    }
}

fn resource(source: &Value, at: &str, _: Version, faults: &mut Faults) {
    if string(source, "name").is_empty() {
        faults.required(format!("{at}.name"), "must specify a resource name");
    }
    utilization(source, at, faults);
}

fn container_resource(source: &Value, at: &str, _: Version, faults: &mut Faults) {
    let field = format!("{at}.name");
    match string(source, "name") {
        "" => faults.required(field, "must specify a resource name"),
        name => resource_names::of_container(name, &field, faults),
    }
    let field = format!("{at}.container");
    match string(source, "container") {
        "" => faults.required(field, "must specify a container"),
        name => faults.complain(&field, name, names::label(name)),
    }
    utilization(source, at, faults);
}

/// A target that is a share of what was asked for, or an amount.
fn utilization(source: &Value, at: &str, faults: &mut Faults) {
    target(source, at, faults);
    match (has(source, "averageUtilization"), has(source, "averageValue")) {
        (false, false) => {
            let text = "must set either a target raw value or a target utilization";
            faults.required(format!("{at}.target.averageUtilization"), text);
        }
        (true, true) => {
            let text = "may not set both a target raw value and a target utilization";
            faults.forbidden(format!("{at}.target.averageValue"), text);
        }
        _ => {}
    }
}

/// Whether the target of a source has such a member.
fn has(source: &Value, name: &str) -> bool {
    !source["target"][name].is_null()
}

fn target(source: &Value, at: &str, faults: &mut Faults) {
    let (target, at) = (&source["target"], format!("{at}.target"));
    let of = string(target, "type");
    if of.is_empty() {
        faults.required(format!("{at}.type"), "must specify a metric target type");
    }
    if !TARGETS.contains(&of) {
        let text = "must be either Utilization, Value, or AverageValue";
        faults.invalid(format!("{at}.type"), of, text);
    }
    for name in ["value", "averageValue"] {
        let quantity = target[name]
            .as_str()
            .and_then(|text| text.parse::<Quantity>().ok());
        if let Some(small) = quantity.filter(|quantity| quantity.is_negative() || quantity.is_zero()) {
            faults.invalid(format!("{at}.{name}"), small.to_string(), "must be positive");
        }
    }
    if let Some(small) = target["averageUtilization"].as_i64().filter(|share| *share < 1) {
        faults.invalid(
            format!("{at}.averageUtilization"),
            small,
            "must be greater than 0",
        );
    }
}

fn identifier(source: &Value, at: &str, faults: &mut Faults) {
    let field = format!("{at}.metric.name");
    match string(&source["metric"], "name") {
        "" => faults.required(field, "must specify a metric name"),
        name => faults.complain(&field, name, names::path_segment(name)),
    }
}

/// The rules for a reference to an object of any kind.
pub(super) fn reference(of: &Value, at: &str, version: Version, faults: &mut Faults) {
    for name in ["kind", "name"] {
        faults.needed(&format!("{at}.{name}"), string(of, name), names::path_segment);
    }
    version_rules(of, at, version, faults);
}

fn version_rules(of: &Value, at: &str, version: Version, faults: &mut Faults) {
    let sent = string(of, "apiVersion");
    let field = format!("{at}.apiVersion");
    if version == Version::Any {
        return;
    }
    if sent.split('/').count() > 2 {
        let text = format!("unexpected GroupVersion string: {sent}");
        faults.invalid(field, sent, &text);
    } else if version == Version::WithGroup && sent.split_once('/').is_none_or(|(group, _)| group.is_empty())
    {
        faults.invalid(field, sent, "apiVersion must specify API group");
    }
}
