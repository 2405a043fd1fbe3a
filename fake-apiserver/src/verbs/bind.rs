//! Bindings assign a pod to a node, once. Clients create a Binding at pods/NAME/binding or at `bindings`.

use super::call::{Answer, Call, Target};
use super::dynamic_admission::WriteAdmission;
use super::subresource_body;
use super::write::{UID, check_precondition};
use crate::kinds::{BINDING, POD, Part, Subresource};
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::{GroupResource, Status};
use crate::machinery::{json, metadata};
use crate::store::Txn;
use serde_json::{Value, json};

const BOUND: GroupResource<'static> = GroupResource {
    group: "",
    kind: "pods/binding",
};

/// Handles a create request for pods/NAME/binding.
pub(super) fn bind(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let binding = subresource_body::read(txn, call, &BINDING, None)?;
    let binding = subresource_body::admit(txn, call, &BINDING, binding)?;
    let target = &call.target;
    if metadata::text(&binding, "name") != target.name() {
        return Err(Status::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    bind_to_node(txn, call, target, &binding)
}

/// Handles a create request for `bindings`, whose body names the pod. The uid in the body is ignored: any pod with this name is bound.
pub(super) fn bind_named(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let mut binding = subresource_body::read(txn, call, &BINDING, None)?;
    metadata::set(&mut binding, "uid", None);
    let name = metadata::text(&binding, "name").to_owned();
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let binding = subresource_body::admit(txn, call, &BINDING, binding)?;
    let target = Target {
        kind: POD.clone(),
        name: Some(name),
        part: Part::Sub(Subresource::Binding),
        namespace: call.target.namespace.clone(),
    };
    bind_to_node(txn, call, &target, &binding)
}

fn bind_to_node(txn: &mut Txn<'_>, call: &Call, target: &Target, binding: &Value) -> Result<Answer, Status> {
    validate(binding)?;
    WriteAdmission::create(&call.target).validate(txn, binding)?;
    let key = target.key();
    let old = txn.get(&target.kind, &key);
    let old = old.ok_or_else(|| Status::not_found(target.kind.group_resource(), target.name()))?;
    let mut pod = old.value().clone();
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    for field in [UID, ("resourceVersion", "ResourceVersion")] {
        check_precondition(
            target,
            field,
            (binding, metadata::text(&pod, field.0)),
            txn.dry_run,
        )?;
    }
    refuse_bound(&pod, node)?;
    pod["spec"]["nodeName"] = node.into();
    for field in ["annotations", "labels"] {
        for (key, value) in json::string_members(&binding["metadata"][field]) {
            json::member(&mut pod["metadata"], field).insert(key.to_owned(), value.into());
        }
    }
    set_scheduled_condition(&mut pod, &txn.now);
    txn.put(&target.kind, &key, pod);
    Ok(Answer::Status(Status::created()))
}

/// Validates a Binding (`ValidatePodBinding`). Like kube-apiserver, returns the messages without field paths.
fn validate(binding: &Value) -> Result<(), Status> {
    let mut errors = ErrorList::default();
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !kind.is_empty() && kind != "Node" {
        errors.not_supported("target.kind", kind, &["Node", "<empty>"]);
    }
    if binding["target"]["name"].as_str().unwrap_or_default().is_empty() {
        errors.required("target.name", "");
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(Status::internal(errors.to_string())),
    }
}

fn refuse_bound(pod: &Value, node: &str) -> Result<(), Status> {
    let name = metadata::text(pod, "name");
    let conflict = |why: &str| Err(Status::conflict(BOUND, name, why));
    if metadata::is_deleting(pod) {
        return conflict(&format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    if let Some(bound) = node_of(pod) {
        return conflict(&format!("pod {name} is already assigned to node {bound:?}"));
    }
    if pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty())
    {
        return conflict(&format!(
            "pod {name} has non-empty .spec.schedulingGates, cannot be assigned to {node}"
        ));
    }
    Ok(())
}

/// The value of `spec.nodeName`; `None` if the pod is not bound.
pub(super) fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())
}

/// Sets the PodScheduled condition to True.
fn set_scheduled_condition(pod: &mut Value, now: &str) {
    let condition =
        json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    let list = json::member(pod, "status")
        .entry("conditions")
        .or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else { return };
    match list.iter_mut().find(|c| c["type"] == "PodScheduled") {
        Some(present) => *present = condition,
        None => list.push(condition),
    }
}
