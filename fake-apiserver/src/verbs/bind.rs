//! pods/NAME/binding: assigns a pod to a node, once.

use super::body::no_body;
use super::call::{Answer, Call, Payload};
use super::consult::Write;
use super::decode;
use super::options::dry_run;
use super::read::existing;
use super::write::wrong_uid;
use crate::kinds::POD;
use crate::machinery::faults::Faults;
use crate::machinery::status::{GroupResource, Status};
use crate::machinery::{json, metadata};
use crate::store::Txn;
use serde_json::{Value, json};

const BINDING: GroupResource<'static> = GroupResource {
    group: "",
    kind: "pods/binding",
};

pub(super) fn bind(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    txn.dry_run = dry_run(&call.params.all("dryRun"), "CreateOptions")?;
    let Payload::Object(binding) = &call.payload else {
        return Err(no_body());
    };
    let mut binding = binding.value.clone();
    decode::identify_as("v1", "Binding", &binding)?;
    let write = Write::create(&call.target);
    write.mutate(txn, &mut binding, |_, _| Ok(()))?;
    let name = call.target.name();
    validate(&binding, name)?;
    write.approve(txn, &binding)?;
    let binding = &binding;
    let old = existing(txn, call)?;
    let mut pod = Value::clone(&old.value);
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    refuse_bound(&pod, binding, node)?;
    pod["spec"]["nodeName"] = node.into();
    for field in ["annotations", "labels"] {
        for (key, value) in json::pairs(&binding["metadata"][field]) {
            json::member(&mut pod["metadata"], field).insert(key.to_owned(), value.into());
        }
    }
    scheduled(&mut pod, &txn.now);
    txn.put(&call.target.kind, &call.target.key(), pod);
    Ok(Answer::Status(Status::created()))
}

fn validate(binding: &Value, name: &str) -> Result<(), Status> {
    let named = metadata::text(binding, "name");
    if named != name {
        return Err(Status::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    let mut faults = Faults::default();
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !kind.is_empty() && kind != "Node" {
        faults.not_supported("target.kind", kind, &["Node", "<empty>"]);
    }
    if binding["target"]["name"].as_str().unwrap_or_default().is_empty() {
        faults.required("target.name", "");
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        GroupResource {
            group: "",
            kind: "Binding",
        },
        name,
        faults,
    ))
}

fn refuse_bound(pod: &Value, binding: &Value, node: &str) -> Result<(), Status> {
    let name = metadata::text(pod, "name");
    let conflict = |why: &str| Err(Status::conflict(BINDING, name, why));
    let uid = metadata::text(binding, "uid");
    if !uid.is_empty() && uid != metadata::text(pod, "uid") {
        let kind = POD.resource();
        let why = wrong_uid(
            &POD,
            &POD.key(Some(metadata::text(pod, "namespace")), name),
            uid,
            metadata::text(pod, "uid"),
        );
        return Err(Status::conflict(kind, name, &why));
    }
    if metadata::is_deleting(pod) {
        return conflict(&format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    if let Some(bound) = pod["spec"]["nodeName"].as_str().filter(|bound| !bound.is_empty()) {
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

/// Sets the PodScheduled condition.
fn scheduled(pod: &mut Value, now: &str) {
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
