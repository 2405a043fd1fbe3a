//! HorizontalPodAutoscalers: stored and printed; no controller scales anything.
//!
//! Stored as autoscaling/v2. Objects converted to autoscaling/v1 lack all metrics except CPU utilization, for which v1 has a field.

use fake_apiserver::extension::json;
use fake_apiserver::extension::resource::Cell::{Digits, Number, Of};
use fake_apiserver::extension::resource::ServedReleases;
use fake_apiserver::extension::resource::{AGE, NAME, join_first, text};
use fake_apiserver::extension::resource::{Hooks, NO_HOOKS, PLAIN, ResourceDefinition, StorageConversion};
use serde_json::{Value, json};

const ANY_AUTOSCALER: ResourceDefinition = ResourceDefinition {
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    group: "autoscaling",
    short_names: &["hpa"],
    categories: &["all"],
    status: true,
    hooks: Hooks { default, ..NO_HOOKS },
    columns: &[
        NAME,
        text("Reference", Of(scale_target)),
        text("Targets", Of(|o| targets_cell(o).into())),
        text("MinPods", Digits("/spec/minReplicas", "<unset>")),
        text("MaxPods", Number("/spec/maxReplicas")),
        text("Replicas", Number("/status/currentReplicas")),
        AGE,
    ],
    ..PLAIN
};

pub(super) static HORIZONTAL_POD_AUTOSCALER: ResourceDefinition = ResourceDefinition {
    version: "v2",
    life: ServedReleases::since(23),
    ..ANY_AUTOSCALER
};

pub(super) static HORIZONTAL_POD_AUTOSCALER_V1: ResourceDefinition = ResourceDefinition {
    view: Some(StorageConversion {
        stored: &HORIZONTAL_POD_AUTOSCALER,
        from_stored: autoscaler_as_v1,
        to_stored: autoscaler_from_v1,
        renamed: &[],
    }),
    ..ANY_AUTOSCALER
};

fn default(object: &mut Value) {
    let spec = json::member_or_insert_null(object, "spec");
    json::default_member(spec, "minReplicas", 1);
    if json::list(&spec["metrics"]).is_empty() {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        json::assign(spec, "metrics", json!([metric]));
    }
}

/// Where CPU utilization, the only metric of v1, is stored. Each entry: section of the object, list field of v2, percentage field of v1,
/// field of a v2 metric (`target` or `current`), and JSON pointer to the percentage in a v2 metric.
const CPU: [(&str, &str, &str, &str, &str); 2] = [
    (
        "spec",
        "metrics",
        "targetCPUUtilizationPercentage",
        "target",
        "/resource/target/averageUtilization",
    ),
    (
        "status",
        "currentMetrics",
        "currentCPUUtilizationPercentage",
        "current",
        "/resource/current/averageUtilization",
    ),
];

fn is_cpu(metric: &Value, value: &str) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && !metric.pointer(value).is_none_or(Value::is_null)
}

fn autoscaler_as_v1(stored: &Value) -> Value {
    let mut object = stored.clone();
    object["apiVersion"] = "autoscaling/v1".into();
    for (part, list, field, _, value) in CPU {
        let mut metrics = json::list(&object[part][list]).iter();
        let cpu = metrics.find(|metric| is_cpu(metric, value));
        if let Some(found) = cpu.and_then(|metric| metric.pointer(value).cloned()) {
            object[part][field] = found;
        }
        json::assign(&mut object[part], list, Value::Null);
    }
    json::assign(&mut object["spec"], "behavior", Value::Null);
    json::assign(&mut object["status"], "conditions", Value::Null);
    json::member(&mut object, "status")
        .entry("currentReplicas")
        .or_insert_with(|| 0.into());
    object
}

fn autoscaler_from_v1(shown: &Value) -> Value {
    let mut object = shown.clone();
    object["apiVersion"] = "autoscaling/v2".into();
    for (part, list, field, side, value) in CPU {
        let percent_field = object[part].as_object_mut().and_then(|part| part.remove(field));
        let has_metric = |object: &Value| {
            json::list(&object[part][list])
                .iter()
                .any(|metric| is_cpu(metric, value))
        };
        if let Some(percent) = percent_field.filter(|percent| !percent.is_null() && !has_metric(&object)) {
            let mut metric = json!({"type": "Resource", "resource": {"name": "cpu"}});
            metric["resource"][side] = json!({"averageUtilization": percent});
            if side == "target" {
                metric["resource"][side]["type"] = "Utilization".into();
            }
            if let Some(metrics) = json::member(&mut object, part)
                .entry(list)
                .or_insert_with(|| json!([]))
                .as_array_mut()
            {
                metrics.push(metric);
            }
        }
    }
    object
}

/// Maximum number of metrics in the TARGETS column of an autoscaler.
const METRICS_SHOWN: usize = 2;

fn scale_target(autoscaler: &Value) -> Value {
    let of = &autoscaler["spec"]["scaleTargetRef"];
    format!("{}/{}", json::string(of, "kind"), json::string(of, "name")).into()
}

/// The value of the TARGETS column: `current/target` of each metric.
fn targets_cell(autoscaler: &Value) -> String {
    let wanted = json::list(&autoscaler["spec"]["metrics"]).iter();
    let current = &autoscaler["status"]["currentMetrics"];
    let all: Vec<String> = wanted
        .enumerate()
        .map(|(i, metric)| format_metric_target(metric, &current[i]))
        .collect();
    if all.is_empty() {
        return "<none>".to_owned();
    }
    join_first(&all, METRICS_SHOWN, ", ")
}

fn format_metric_target(metric: &Value, current: &Value) -> String {
    let of = metric["type"].as_str().unwrap_or_default();
    let mut member = of.to_owned();
    if let Some(first) = member.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let (metric, current) = (&metric[&member], &current[&member]["current"]);
    let is_resource = ["Resource", "ContainerResource"].contains(&of);
    let prefix = match metric["name"].as_str() {
        Some(name) if is_resource => format!("{name}: "),
        _ => String::new(),
    };
    let shown = |side: &Value| {
        let percent = side["averageUtilization"].as_i64().filter(|_| is_resource);
        let average = side["averageValue"].as_str();
        percent
            .map(|percent| format!("{percent}%"))
            .or(average.map(str::to_owned))
            .or(side["value"].as_str().map(str::to_owned))
    };
    let unknown = || "<unknown>".to_owned();
    format!(
        "{prefix}{}/{}",
        shown(current).unwrap_or_else(unknown),
        shown(&metric["target"]).unwrap_or_else(unknown)
    )
}
