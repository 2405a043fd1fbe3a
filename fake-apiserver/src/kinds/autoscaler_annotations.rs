//! What autoscaling/v2 has and autoscaling/v1 has no fields for: there it is in annotations, each in a form of its own.
//!
//! Owns these forms. How they are written stands in `internal_types.txt`, how they are read here.

use super::internal_form;
use crate::machinery::go;
use crate::machinery::json::{self, list, string};
use serde_json::{Map, Value, json};

/// What an annotation holds, by the annotation.
pub(super) struct Held {
    /// The part of an autoscaler, and the field there.
    pub(super) part: &'static str,
    pub(super) field: &'static str,
    pub(super) annotation: &'static str,
    write: fn(&Value) -> String,
    read: fn(Value) -> Value,
}

pub(super) const HELD: [Held; 4] = [
    Held {
        part: "spec",
        field: "metrics",
        annotation: "autoscaling.alpha.kubernetes.io/metrics",
        write: |metrics| internal_form::shown("[]v1.MetricSpec", metrics),
        read: |metrics| {
            list(&metrics)
                .iter()
                .map(|metric| metric_of(metric, "target"))
                .collect()
        },
    },
    Held {
        part: "spec",
        field: "behavior",
        annotation: "autoscaling.alpha.kubernetes.io/behavior",
        write: |behavior| internal_form::shown("HorizontalPodAutoscalerBehavior", behavior),
        read: with_small_first_letters,
    },
    Held {
        part: "status",
        field: "currentMetrics",
        annotation: "autoscaling.alpha.kubernetes.io/current-metrics",
        write: |metrics| internal_form::shown("[]v1.MetricStatus", metrics),
        read: |metrics| {
            list(&metrics)
                .iter()
                .map(|metric| metric_of(metric, "current"))
                .collect()
        },
    },
    Held {
        part: "status",
        field: "conditions",
        annotation: "autoscaling.alpha.kubernetes.io/conditions",
        write: |conditions| internal_form::shown("[]v1.HorizontalPodAutoscalerCondition", conditions),
        read: |conditions| conditions,
    },
];

impl Held {
    /// The text of the annotation; none where there is nothing to hold.
    pub(super) fn text(&self, value: &Value) -> Option<String> {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        (!is_empty).then(|| (self.write)(value))
    }

    /// What the text of an annotation says; none where it is no JSON.
    pub(super) fn value(&self, text: &str) -> Option<Value> {
        serde_json::from_str(text).ok().map(self.read)
    }
}

/// A metric of autoscaling/v1, as v2 has it. `side` is what is wanted, or what there is.
fn metric_of(metric: &Value, side: &str) -> Value {
    let of = string(metric, "type");
    let member = go::member_name(of);
    let held = &metric[&member];
    let [value, average] = ["Value", "AverageValue"].map(|name| held[format!("{side}{name}")].clone());
    let average = match held["averageValue"].clone() {
        Value::Null => average,
        average => average,
    };
    let utilization = held[format!("{side}AverageUtilization")].clone();
    // Of an object, a value is always told: none beside an average is no value.
    let is_none = !average.is_null() && value == "0";
    let value = if is_none { Value::Null } else { value };
    let kind = match (utilization.is_null(), average.is_null()) {
        (false, _) => "Utilization",
        (true, false) => "AverageValue",
        (true, true) => "Value",
    };
    let mut amounts = json!({"averageUtilization": utilization, "averageValue": average, "value": value});
    if side == "target" {
        amounts["type"] = kind.into();
    }
    let mut new = match of {
        "Resource" | "ContainerResource" => json!({"name": held["name"], "container": held["container"]}),
        _ => {
            let selector = match &held["metricSelector"] {
                Value::Null => &held["selector"],
                selector => selector,
            };
            let described = if of == "Object" {
                &held["target"]
            } else {
                &Value::Null
            };
            json!({
                "metric": set(&json!({"name": held["metricName"], "selector": selector})),
                "describedObject": described,
            })
        }
    };
    new[side] = set(&amounts);
    let mut whole = json!({"type": of});
    json::assign(&mut whole, &member, set(&new));
    whole
}

/// The members of an object that are there.
fn set(object: &Value) -> Value {
    let members = object.as_object().into_iter().flatten();
    let there = members.filter(|(_, value)| !value.is_null());
    there
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// The server's own form of a value in that of the API.
fn with_small_first_letters(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let there = members.into_iter().filter(|(_, value)| !value.is_null());
            let renamed =
                there.map(|(name, value)| (go::member_name(&name), with_small_first_letters(value)));
            renamed.collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.into_iter().map(with_small_first_letters).collect(),
        other => other,
    }
}
