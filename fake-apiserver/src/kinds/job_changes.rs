//! What may change of a job.

use super::job_rules::INDEXED;
use super::{internal_form, template_rules};
use crate::machinery::faults::Faults;
use crate::machinery::json;
use serde_json::{Value, json};

/// What a job does is settled when it is made. Its spec is judged for the second time, as in the real server.
pub(super) fn validate(new: &Value, old: &Value, faults: &mut Faults) {
    template_rules::JOB.validate(new, faults);
    let (now, before) = (&new["spec"], &old["spec"]);
    let kept = |name: &str, faults: &mut Faults| {
        faults.unchanged(&format!("spec.{name}"), &now[name], &before[name]);
    };
    let kept_as = |name: &str, kind: &str, faults: &mut Faults| {
        internal_form::unchanged(kind, &format!("spec.{name}"), &now[name], &before[name], faults);
    };
    if now["completionMode"] != INDEXED {
        kept("completions", faults);
    } else if now["completions"] != before["completions"]
        && !now["completions"].is_null()
        && now["completions"] != now["parallelism"]
    {
        let why = "can only be modified in tandem with spec.parallelism";
        faults.invalid("spec.completions", now["completions"].clone(), why);
    }
    kept_as("selector", "*LabelSelector", faults);
    template_update(new, old, faults);
    kept("completionMode", faults);
    kept_as("podFailurePolicy", "*PodFailurePolicy", faults);
    for name in ["backoffLimitPerIndex", "managedBy"] {
        kept_as(name, "-", faults);
    }
    kept_as("successPolicy", "*SuccessPolicy", faults);
}

/// Whether a job is suspended and has no pods.
fn is_open(job: &Value) -> bool {
    let (spec, status) = (&job["spec"], &job["status"]);
    let mut conditions = json::list(&status["conditions"]).iter();
    let mut is_told = || conditions.any(|one| one["type"] == "Suspended" && one["status"] == "True");
    let has_pods = status["active"].as_i64().unwrap_or_default() > 0;
    spec["suspend"] == true && !has_pods && (status["startTime"].is_null() || is_told())
}

/// Where the pods of a job may run, and with what, is open as long as there are none.
fn template_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (now, before) = (&new["spec"]["template"], &old["spec"]["template"]);
    let why = "field is immutable";
    if !is_open(old) {
        if now != before {
            let shown = internal_form::shown("PodTemplateSpec", now);
            faults.invalid_as("spec.template", &shown, why);
        }
        return;
    }
    let (now, mut allowed) = (&now["spec"], before["spec"].clone());
    open(&mut allowed, now);
    if *now != allowed {
        faults.invalid_as("spec.template.spec", &internal_form::shown("PodSpec", now), why);
    }
}

/// Takes over what may be changed of the pods.
fn open(allowed: &mut Value, now: &Value) {
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        json::assign(allowed, name, now[name].clone());
    }
    for name in ["containers", "initContainers"] {
        let own = json::list(&now[name]);
        for (allowed, own) in json::entries(allowed, &format!("/{name}")).zip(own) {
            if allowed["name"] == own["name"] {
                json::assign(allowed, "resources", own["resources"].clone());
            }
        }
    }
    let is_empty = |affinity: &Value| affinity.as_object().is_none_or(serde_json::Map::is_empty);
    let mut affinity = match &allowed["affinity"] {
        Value::Null => json!({}),
        affinity => affinity.clone(),
    };
    json::assign(
        &mut affinity,
        "nodeAffinity",
        now["affinity"]["nodeAffinity"].clone(),
    );
    // No affinity is as good as one without members.
    if is_empty(&affinity) && is_empty(&now["affinity"]) {
        affinity.clone_from(&now["affinity"]);
    }
    json::assign(allowed, "affinity", affinity);
}
