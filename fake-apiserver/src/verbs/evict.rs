//! pods/NAME/eviction: deletes a pod if its PodDisruptionBudget allows it (policy/v1 Eviction).

use super::call::{Answer, Call};
use super::delete_options::DeleteOptions;
use super::dynamic_admission::WriteAdmission;
use super::read::existing;
use super::remove::remove;
use super::subresource_body;
use crate::kinds::{EVICTION, POD_DISRUPTION_BUDGET, Part};
use crate::machinery::error_list::{Cause, ErrorList};
use crate::machinery::selector::LabelSelector;
use crate::machinery::status::{Details, Status};
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::patch::managed::FieldManager;
use crate::store::Txn;
use serde_json::{Value, json};
use std::sync::Arc;

/// Retry-After, in seconds, if the status of the PodDisruptionBudget is outdated.
const RETRY_SECONDS: u32 = 10;
/// The delete option that allows deleting objects which cannot be decoded.
const IGNORES_ERRORS: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
/// Maximum number of evictions in `status.disruptedPods` of a PodDisruptionBudget.
const DISRUPTED_MAX: usize = 2000;

pub(super) fn evict(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let eviction = subresource_body::read(txn, call, &EVICTION, Some("policy/v1beta1"))?;
    let eviction = subresource_body::admit(txn, call, &EVICTION, eviction)?;
    let named = metadata::text(&eviction, "name");
    if named != call.target.name() {
        return Err(Status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let mut options = eviction["deleteOptions"].clone();
    // An Eviction implies the apiVersion and kind of its delete options, so sent values are ignored.
    for name in ["apiVersion", "kind"] {
        json::assign(&mut options, name, Value::Null);
    }
    if options[IGNORES_ERRORS] == true {
        let mut errors = ErrorList::default();
        let why = "can not be set for pod eviction, try after removing the option";
        errors.invalid(format!("deleteOptions.{IGNORES_ERRORS}"), true, why);
        return Err(Status::invalid(EVICTION.group_kind(), named, errors));
    }
    let options = DeleteOptions::read(&call.params, &options)?;
    txn.dry_run |= options.dry_run;
    WriteAdmission::create(&call.target).validate(txn, &eviction)?;
    let pod = existing(txn, call)?;
    if is_protected(pod.value()) {
        consume_disruption(txn, &pod)?;
    }
    let pod = add_disruption_condition(txn, call, &pod);
    remove(txn, &call.target, &pod, &options)?;
    Ok(Answer::Status(Status::created()))
}

fn add_disruption_condition(txn: &mut Txn<'_>, call: &Call, pod: &Arc<Object>) -> Arc<Object> {
    let mut changed = pod.value().clone();
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": *txn.now,
    });
    let list = json::member(&mut changed, "status")
        .entry("conditions")
        .or_insert(Value::Null);
    match list.as_array_mut() {
        Some(list) => {
            list.retain(|present| present["type"] != "DisruptionTarget");
            list.push(condition);
        }
        None => *list = json!([condition]),
    }
    metadata::set(&mut changed, "managedFields", Some(pod.managed_fields().into()));
    txn.put(&call.target.kind, &call.target.key(), changed)
}

/// Whether PodDisruptionBudgets apply to the pod: they do not if it is pending, terminated or being deleted.
fn is_protected(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    !["Succeeded", "Failed", "Pending"].contains(&phase) && !metadata::is_deleting(pod)
}

/// Consumes one allowed disruption of the PodDisruptionBudget that selects the pod, if any.
fn consume_disruption(txn: &mut Txn<'_>, pod: &Object) -> Result<(), Status> {
    let budgets = budgets(txn, pod.value());
    let [budget] = budgets.as_slice() else {
        if budgets.is_empty() {
            return Ok(());
        }
        let text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(Status::internal(text));
    };
    let (spec, status) = (&budget.value()["spec"], &budget.value()["status"]);
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    let (healthy, desired) = (count("currentHealthy"), count("desiredHealthy"));
    if !is_ready(pod.value()) {
        // For an unhealthy pod, unhealthyPodEvictionPolicy decides whether it can be evicted without counting as a disruption.
        let always = spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
        if always || (healthy >= desired && desired > 0) {
            return Ok(());
        }
    }
    check_budget(budget, healthy, desired)?;
    let mut changed = budget.value().clone();
    changed["status"]["disruptionsAllowed"] = json!(count("disruptionsAllowed") - 1);
    if count("disruptionsAllowed") == 1 {
        let condition = json!({
            "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
            "lastTransitionTime": *txn.now, "observedGeneration": status["observedGeneration"],
        });
        changed["status"]["conditions"] = json!([condition]);
    }
    let name = metadata::text(pod.value(), "name").to_owned();
    let now = (*txn.now).into();
    json::member(&mut changed["status"], "disruptedPods").insert(name, now);
    let writer = FieldManager {
        kind: &POD_DISRUPTION_BUDGET,
        manager: "kube-apiserver",
        part: Part::Status,
    };
    writer.track(&txn.now, Some(budget), &mut changed);
    let key = POD_DISRUPTION_BUDGET.key(
        Some(metadata::text(budget.value(), "namespace")),
        metadata::text(budget.value(), "name"),
    );
    txn.put(&POD_DISRUPTION_BUDGET, &key, changed);
    Ok(())
}

fn check_budget(budget: &Object, healthy: i64, desired: i64) -> Result<(), Status> {
    let name = metadata::text(budget.value(), "name");
    let status = &budget.value()["status"];
    let generation = budget.value()["metadata"]["generation"]
        .as_i64()
        .unwrap_or_default();
    if status["observedGeneration"].as_i64().unwrap_or_default() < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(too_many_requests(why, RETRY_SECONDS));
    }
    let forbidden = |why: &str| Status::forbidden(POD_DISRUPTION_BUDGET.group_resource(), name, why);
    let allowed = status["disruptionsAllowed"].as_i64().unwrap_or_default();
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    if status["disruptedPods"]
        .as_object()
        .is_some_and(|pods| pods.len() > DISRUPTED_MAX)
    {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        let why =
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently");
        return Err(too_many_requests(why, 0));
    }
    Ok(())
}

/// A 429 response; with Retry-After if `retry_after_seconds` is not 0.
fn too_many_requests(why: String, retry_after_seconds: u32) -> Status {
    let cause = Cause {
        reason: "DisruptionBudget",
        message: why,
        field: String::new(),
    };
    let text = "Cannot evict pod as it would violate the pod's disruption budget.";
    Status {
        details: Some(Box::new(Details {
            causes: vec![cause],
            retry_after_seconds,
            ..Details::default()
        })),
        ..Status::failure(429, "TooManyRequests", text)
    }
}

/// The PodDisruptionBudgets that select a pod. A budget without selector selects no pod.
fn budgets(txn: &Txn<'_>, pod: &Value) -> Vec<Arc<Object>> {
    let selects = |budget: &Value| {
        let selector = &budget["spec"]["selector"];
        !selector.is_null()
            && LabelSelector::from_object(selector).is_some_and(|selector| selector.matches(pod))
    };
    txn.in_namespace(&POD_DISRUPTION_BUDGET, Some(metadata::text(pod, "namespace")))
        .into_iter()
        .filter(|budget| selects(budget.value()))
        .collect()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|each| each["type"] == "Ready" && each["status"] == "True")
}
