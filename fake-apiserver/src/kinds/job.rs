//! Jobs and CronJobs: stored and printed; no controller runs them.

use super::workload::{CONTAINERS, IMAGES, SELECTOR};
use super::{
    Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext, pod,
    workload_rules,
};
use crate::config::release::ServedReleases;
use crate::kinds::ages::since;
use crate::kinds::columns::Cell::{At, Labels, Of, Text, TextOr};
use crate::kinds::columns::{AGE, Cell, NAME, boolean, integer, join_container_fields, text, wide};
use crate::machinery::selector::selectable;
use crate::machinery::{json, metadata};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Label keys for the uid of a Job on its pods: the current key and the legacy key.
const CONTROLLER: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const JOB_NAME: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

const BATCH: ResourceDefinition = ResourceDefinition {
    group: "batch",
    categories: &["all"],
    status: true,
    generation: Generation::FromCreation,
    template: Some("/spec/template"),
    ..PLAIN
};

pub(super) static CRON_JOB: ResourceDefinition = ResourceDefinition {
    kind: "CronJob",
    template: Some("/spec/jobTemplate/spec/template"),
    metadata_checks: MetadataChecks::core_v1_checks(1).with_status_passes(0, false),
    plural: "cronjobs",
    short_names: &["cj"],
    hooks: Hooks {
        default: cron_job_default,
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Schedule", Text("/spec/schedule")),
        text("Timezone", TextOr("/spec/timeZone", "<none>")),
        boolean(
            "Suspend",
            Of(|o| {
                if o["spec"]["suspend"] == true {
                    "True"
                } else {
                    "False"
                }
                .into()
            }),
        ),
        integer("Active", Cell::Count("/status/active")),
        text("Last Schedule", At(last_schedule)),
        AGE,
        wide(
            "Containers",
            Of(|o| join_container_fields(cron_containers(o), "name")),
        ),
        wide(
            "Images",
            Of(|o| join_container_fields(cron_containers(o), "image")),
        ),
        wide("Selector", Labels("/spec/jobTemplate/spec/selector")),
    ],
    life: ServedReleases::since(21),
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

pub(super) static JOB: ResourceDefinition = ResourceDefinition {
    kind: "Job",
    metadata_checks: MetadataChecks::core_v1_checks(2).with_status_passes(1, true),
    plural: "jobs",
    orphans_by_default: Some(Some(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
         propagationPolicy=Orphan to suppress this warning",
    )),
    hooks: Hooks {
        default: job_default,
        create: job_create,
        validate_update: workload_rules::validate_update,
        ..NO_HOOKS
    },
    selectable: &[selectable("status.successful", &["/status/succeeded"])],
    unknown_label: |label| format!("field label {label:?} not supported for Job"),
    columns: &[
        NAME,
        text("Status", Of(job_status)),
        text("Completions", Of(completions)),
        text("Duration", At(duration)),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    ..BATCH
};

fn job_default(object: &mut Value) {
    let spec = &object["spec"];
    let once = spec["completions"].is_null() && spec["parallelism"].is_null();
    let retries = match spec["backoffLimitPerIndex"] {
        Value::Null => 6,
        _ => i32::MAX,
    };
    let replaced = match spec["podFailurePolicy"] {
        Value::Null => "TerminatingOrFailed",
        _ => "Failed",
    };
    if once {
        json::default_member(&mut object["spec"], "completions", 1);
    }
    for (name, value) in [
        ("parallelism", json!(1)),
        ("backoffLimit", json!(retries)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("manualSelector", json!(false)),
        ("podReplacementPolicy", json!(replaced)),
    ] {
        json::default_member(&mut object["spec"], name, value);
    }
    if let Some(template) = object.pointer_mut("/spec/template") {
        pod::template_default(template);
    }
    default_labels(object);
}

/// Without `manualSelector`, a Job's pods get labels unique to the Job. If the Job and its template have equal labels, the Job gets the
/// unique labels too, because in kube-apiserver the labels of Job and template are one Go map.
fn job_create(object: &mut Value, _: &StrategyContext<'_>) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let is_shared = object["metadata"]["labels"] == object["spec"]["template"]["metadata"]["labels"];
    add_generated_labels(object);
    if is_shared {
        metadata::set(object, "labels", None);
        default_labels(object);
    }
}

/// The labels of a Job default to the labels of its pod template.
fn default_labels(job: &mut Value) {
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    if json::string_members(&job["metadata"]["labels"]).next().is_none() && labels.is_object() {
        let labels = labels.clone();
        metadata::set(job, "labels", Some(labels));
    }
}

/// Adds the generated labels to the pod template and to the selector.
fn add_generated_labels(object: &mut Value) {
    let uid = metadata::text(object, "uid").to_owned();
    let name = metadata::text(object, "name").to_owned();
    let template = json::member(object, "spec")
        .entry("template")
        .or_insert_with(|| json!({}));
    json::member(template, "metadata");
    let labels = json::member(&mut template["metadata"], "labels");
    for (names, value) in [(CONTROLLER, &uid), (JOB_NAME, &name)] {
        for label in names {
            labels.entry(label).or_insert_with(|| value.as_str().into());
        }
    }
    json::member(&mut object["spec"], "selector");
    json::member(&mut object["spec"]["selector"], "matchLabels")
        .entry(CONTROLLER[0])
        .or_insert_with(|| uid.into());
}

fn last_schedule(cron_job: &Value, now: Timestamp) -> Value {
    let last = cron_job["status"]["lastScheduleTime"].as_str();
    last.map_or_else(|| "<none>".into(), |last| since(last, now).into())
}

fn cron_containers(cron_job: &Value) -> &Value {
    &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
}

/// Conditions for the STATUS column of a Job, in order of precedence.
const JOB_STATES: [(&str, &str); 6] = [
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
];

fn job_status(job: &Value) -> Value {
    let is = |wanted: &str| match wanted {
        "" => metadata::is_deleting(job),
        wanted => {
            let mut conditions = json::list(&job["status"]["conditions"]).iter();
            conditions.any(|one| one["type"] == wanted && one["status"] == "True")
        }
    };
    let state = JOB_STATES.iter().find(|(condition, _)| is(condition));
    state.map_or("Running", |(_, shown)| shown).into()
}

fn completions(job: &Value) -> Value {
    let done = job["status"]["succeeded"].as_i64().unwrap_or_default();
    let parallel = job["spec"]["parallelism"].as_i64().unwrap_or_default();
    let text = match job["spec"]["completions"].as_i64() {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallel > 1 => format!("{done}/1 of {parallel}"),
        None => format!("{done}/1"),
    };
    text.into()
}

fn duration(job: &Value, now: Timestamp) -> Value {
    let Some(start) = job["status"]["startTime"].as_str() else {
        return "".into();
    };
    let end = job["status"]["completionTime"].as_str();
    since(start, end.and_then(|end| end.parse().ok()).unwrap_or(now)).into()
}
