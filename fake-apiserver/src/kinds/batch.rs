//! batch and autoscaling: stored and shown; nothing runs them.
//!
//! Autoscalers are stored as autoscaling/v2. What autoscaling/v1 has no fields for goes into annotations there, as in
//! the real server.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Selectable, Setting, View, pod};
use crate::config::release::Life;
use crate::kinds::columns;
use crate::machinery::json;
use crate::machinery::meta;
use serde_json::{Value, json};

const BATCH: Kind = Kind {
    group: "batch",
    categories: &["all"],
    status: true,
    generation: Generation::FromCreation,
    ..PLAIN
};

pub(super) static CRON_JOB: Kind = Kind {
    kind: "CronJob",
    plural: "cronjobs",
    singular: "cronjob",
    short_names: &["cj"],
    hooks: Hooks {
        default: cron_job_default,
        ..NO_HOOKS
    },
    printer: &columns::CRON_JOB,
    life: Life::since(21),
    ..BATCH
};

fn cron_job_default(object: &mut Value) {
    for (name, value) in [
        ("concurrencyPolicy", json!("Allow")),
        ("suspend", json!(false)),
        ("successfulJobsHistoryLimit", json!(3)),
        ("failedJobsHistoryLimit", json!(1)),
    ] {
        json::default_member(&mut object["spec"], name, value);
    }
    if let Some(template) = object.pointer_mut("/spec/jobTemplate/spec/template") {
        pod::template_default(template);
    }
}

pub(super) static JOB: Kind = Kind {
    kind: "Job",
    plural: "jobs",
    singular: "job",
    hooks: Hooks {
        default: job_default,
        create: job_create,
        ..NO_HOOKS
    },
    selectable: &[Selectable {
        label: "status.successful",
        pointers: &["/status/succeeded"],
    }],
    printer: &columns::JOB,
    ..BATCH
};

fn job_default(object: &mut Value) {
    let spec = &object["spec"];
    let once = spec["completions"].is_null() && spec["parallelism"].is_null();
    if once {
        json::default_member(&mut object["spec"], "completions", 1);
    }
    for (name, value) in [
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        json::default_member(&mut object["spec"], name, value);
    }
    if let Some(template) = object.pointer_mut("/spec/template") {
        pod::template_default(template);
    }
}

/// The label by which a job knows its pods.
const CONTROLLER: &str = "batch.kubernetes.io/controller-uid";

/// A job's pods get labels that no other job's have, unless their labels are the business of whoever made the job.
fn job_create(object: &mut Value, _: &Setting<'_>) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    json::default_member(&mut object["spec"], "manualSelector", false);
    let uid = meta::text(object, "uid").to_owned();
    let name = meta::text(object, "name").to_owned();
    let template = json::member(object, "spec")
        .entry("template")
        .or_insert_with(|| json!({}));
    json::member(template, "metadata");
    let labels = json::member(&mut template["metadata"], "labels");
    for (label, value) in [
        (CONTROLLER, &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        labels.insert(label.to_owned(), value.as_str().into());
    }
    let labels = labels.clone();
    // A job without labels of its own bears those of its pods.
    if json::pairs(&object["metadata"]["labels"]).next().is_none() {
        meta::set(object, "labels", Some(labels.into()));
    }
    json::member(&mut object["spec"], "selector");
    json::member(&mut object["spec"]["selector"], "matchLabels").insert(CONTROLLER.to_owned(), uid.into());
}

const ANY_AUTOSCALER: Kind = Kind {
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    singular: "horizontalpodautoscaler",
    group: "autoscaling",
    short_names: &["hpa"],
    generation: Generation::None,
    hooks: Hooks {
        default: |object| json::default_member(&mut object["spec"], "minReplicas", 1),
        ..NO_HOOKS
    },
    printer: &columns::AUTOSCALER,
    ..BATCH
};

pub(super) static HORIZONTAL_POD_AUTOSCALER: Kind = Kind {
    version: "v2",
    life: Life::since(23),
    ..ANY_AUTOSCALER
};

pub(super) static HORIZONTAL_POD_AUTOSCALER_V1: Kind = Kind {
    view: Some(View {
        stored: &HORIZONTAL_POD_AUTOSCALER,
        from_stored: autoscaler_as_v1,
        to_stored: autoscaler_from_v1,
        renamed: &[],
    }),
    ..ANY_AUTOSCALER
};

/// Fields of autoscaling/v2 without a counterpart in v1: where they are, and the annotation that holds them there.
const ONLY_V2: [(&str, &str, &str); 4] = [
    ("spec", "metrics", "autoscaling.alpha.kubernetes.io/metrics"),
    ("spec", "behavior", "autoscaling.alpha.kubernetes.io/behavior"),
    (
        "status",
        "currentMetrics",
        "autoscaling.alpha.kubernetes.io/current-metrics",
    ),
    (
        "status",
        "conditions",
        "autoscaling.alpha.kubernetes.io/conditions",
    ),
];
/// The one metric that v1 has fields for: where it is, what it is called in v1, and its value in v2.
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
        let metrics = object[part].get_mut(list).and_then(Value::as_array_mut);
        let found = metrics.and_then(|metrics| {
            let at = metrics.iter().position(|metric| is_cpu(metric, value))?;
            metrics.remove(at).pointer(value).cloned()
        });
        if let Some(found) = found {
            object[part][field] = found;
        }
    }
    for (part, field, annotation) in ONLY_V2 {
        let taken = object[part].as_object_mut().and_then(|part| part.remove(field));
        if let Some(taken) = taken.filter(|taken| taken.as_array().is_none_or(|list| !list.is_empty())) {
            json::member(&mut object["metadata"], "annotations")
                .insert(annotation.to_owned(), taken.to_string().into());
        }
    }
    object
}

fn autoscaler_from_v1(shown: &Value) -> Value {
    let mut object = shown.clone();
    object["apiVersion"] = "autoscaling/v2".into();
    for (part, field, annotation) in ONLY_V2 {
        let annotations = object["metadata"]
            .get_mut("annotations")
            .and_then(Value::as_object_mut);
        let text = annotations.and_then(|annotations| annotations.remove(annotation));
        let held = text
            .as_ref()
            .and_then(Value::as_str)
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(held) = held {
            json::member(&mut object, part).insert(field.to_owned(), held);
        }
    }
    if object["metadata"]["annotations"]
        .as_object()
        .is_some_and(serde_json::Map::is_empty)
    {
        meta::set(&mut object, "annotations", None);
    }
    for (part, list, field, side, _) in CPU {
        let taken = object[part].as_object_mut().and_then(|part| part.remove(field));
        if let Some(percent) = taken.filter(|percent| !percent.is_null()) {
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
                metrics.insert(0, metric);
            }
        }
    }
    object
}
