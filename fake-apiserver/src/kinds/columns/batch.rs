//! Rows of jobs and autoscalers.

use super::workload::{CONTAINERS, IMAGES, SELECTOR, containers_of};
use super::{AGE, NAME, Printer, age, at, boolean, count, integer, name, or, selector_text, since, text};
use crate::machinery::meta;
use jiff::Timestamp;
use serde_json::{Value, json};

/// How many metrics a cell shows.
const SHOWN: usize = 2;

pub(crate) static CRON_JOB: Printer = Printer {
    columns: &[
        NAME,
        text("Schedule"),
        text("Timezone"),
        boolean("Suspend"),
        integer("Active"),
        text("Last Schedule"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    row: |o, now| {
        let job = &o["spec"]["jobTemplate"];
        let last = o["status"]["lastScheduleTime"].as_str();
        vec![
            name(o),
            at(o, "/spec/schedule"),
            or(o["spec"]["timeZone"].as_str().unwrap_or_default(), "<none>"),
            json!(if o["spec"]["suspend"] == true {
                "True"
            } else {
                "False"
            }),
            json!(count(&o["status"]["active"])),
            json!(last.map_or_else(|| "<none>".to_owned(), |last| since(last, now))),
            age(o, now),
            containers_of(job, "name"),
            containers_of(job, "image"),
            selector_text(&job["spec"]["selector"]),
        ]
    },
    null_when_empty: false,
};

pub(crate) static JOB: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Completions"),
        text("Duration"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    row: |o, now| {
        vec![
            name(o),
            json!(job_status(o)),
            json!(completions(o)),
            json!(duration(o, now)),
            age(o, now),
            containers_of(o, "name"),
            containers_of(o, "image"),
            selector_text(&o["spec"]["selector"]),
        ]
    },
    null_when_empty: false,
};

fn job_status(job: &Value) -> &'static str {
    let is = |wanted: &str| {
        let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .into_iter()
            .any(|one| one["type"] == wanted && one["status"] == "True")
    };
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if meta::is_deleting(job) => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let done = job["status"]["succeeded"].as_i64().unwrap_or_default();
    let parallel = job["spec"]["parallelism"].as_i64().unwrap_or_default();
    match job["spec"]["completions"].as_i64() {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallel > 1 => format!("{done}/1 of {parallel}"),
        None => format!("{done}/1"),
    }
}

fn duration(job: &Value, now: Timestamp) -> String {
    let Some(start) = job["status"]["startTime"].as_str() else {
        return String::new();
    };
    let end = job["status"]["completionTime"].as_str();
    since(start, end.and_then(|end| end.parse().ok()).unwrap_or(now))
}

pub(crate) static AUTOSCALER: Printer = Printer {
    columns: &[
        NAME,
        text("Reference"),
        text("Targets"),
        text("MinPods"),
        text("MaxPods"),
        text("Replicas"),
        AGE,
    ],
    row: |o, now| {
        let spec = &o["spec"];
        let word = |field: &str| spec["scaleTargetRef"][field].as_str().unwrap_or_default();
        let number = |value: &Value| value.as_i64().map(|number| number.to_string());
        vec![
            name(o),
            json!(format!("{}/{}", word("kind"), word("name"))),
            json!(targets(o)),
            json!(number(&spec["minReplicas"]).unwrap_or_else(|| "<unset>".to_owned())),
            json!(number(&spec["maxReplicas"]).unwrap_or_else(|| "0".to_owned())),
            json!(number(&o["status"]["currentReplicas"]).unwrap_or_else(|| "0".to_owned())),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

/// What is measured, as `current/wanted`.
fn targets(autoscaler: &Value) -> String {
    let wanted = autoscaler["spec"]["metrics"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if wanted.is_empty() {
        return "<none>".to_owned();
    }
    let current = &autoscaler["status"]["currentMetrics"];
    let all: Vec<String> = wanted
        .iter()
        .enumerate()
        .map(|(i, metric)| target(metric, &current[i]))
        .collect();
    let shown = all[..all.len().min(SHOWN)].join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

fn target(metric: &Value, current: &Value) -> String {
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
