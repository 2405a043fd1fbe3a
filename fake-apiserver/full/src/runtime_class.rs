//! The admission plugin RuntimeClass: rejects pods whose RuntimeClass does not exist, and sets overhead, node selector and tolerations.

use crate::forbidden;
use fake_apiserver::Status;
use fake_apiserver::extension::{AdmissionPlugin, Amounts, Attributes, Kind, Object, Transaction, json};
use serde_json::Value;
use std::sync::Arc;

const OVERHEAD: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

pub(crate) struct RuntimeClass;

impl AdmissionPlugin for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
    }

    fn admit(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        pod: &mut Value,
    ) -> Result<(), Status> {
        match request.kind.is_resource("", "pods") {
            true => apply_runtime_class(txn, request.kind, pod),
            false => Ok(()),
        }
    }

    fn validate(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        pod: &Value,
    ) -> Result<(), Status> {
        match request.kind.is_resource("", "pods") && request.old.is_none() {
            true => check(txn, request.kind, pod),
            false => Ok(()),
        }
    }
}

fn find_runtime_class(txn: &dyn Transaction, name: &str) -> Option<Arc<Object>> {
    let kind = txn.kind("node.k8s.io", "runtimeclasses")?;
    txn.object(&kind, None, name).filter(|_| !name.is_empty())
}

/// Rejects a pod with `overhead` if its RuntimeClass defines no overhead.
fn check(txn: &dyn Transaction, kind: &Kind, pod: &Value) -> Result<(), Status> {
    let name = json::string(&pod["spec"], "runtimeClassName");
    let class = find_runtime_class(txn, name);
    let is_given = class.is_some_and(|class| !class.value()["overhead"]["podFixed"].is_null());
    if is_given || pod["spec"]["overhead"].is_null() {
        return Ok(());
    }
    let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
    Err(forbidden(kind, pod, why))
}

/// Copies the overhead, node selector and tolerations of the RuntimeClass to a pod that names the RuntimeClass.
fn apply_runtime_class(txn: &dyn Transaction, kind: &Kind, pod: &mut Value) -> Result<(), Status> {
    let name = json::string(&pod["spec"], "runtimeClassName").to_owned();
    let class = find_runtime_class(txn, &name);
    if class.is_none() && !name.is_empty() {
        let why = format!("pod rejected: RuntimeClass {name:?} not found");
        return Err(forbidden(kind, pod, &why));
    }
    let fixed = class.as_ref().map(|class| &class.value()["overhead"]["podFixed"]);
    set_overhead(kind, pod, fixed.unwrap_or(&Value::Null))?;
    match class {
        Some(class) => set_scheduling(kind, pod, &class.value()["scheduling"]),
        None => Ok(()),
    }
}

fn set_overhead(kind: &Kind, pod: &mut Value, fixed: &Value) -> Result<(), Status> {
    let own = &pod["spec"]["overhead"];
    let is_set = json::string_members(own).next().is_some();
    if !fixed.is_null() {
        if is_set && Amounts::read(own) != Amounts::read(fixed) {
            return Err(forbidden(kind, pod, OVERHEAD));
        }
        json::assign(&mut pod["spec"], "overhead", fixed.clone());
    }
    Ok(())
}

fn set_scheduling(kind: &Kind, pod: &mut Value, scheduling: &Value) -> Result<(), Status> {
    for (key, wanted) in json::string_members(&scheduling["nodeSelector"]) {
        let own = pod["spec"]["nodeSelector"][key].as_str();
        if let Some(own) = own.filter(|own| *own != wanted) {
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {own}"
            );
            return Err(forbidden(kind, pod, &why));
        }
        json::member(&mut pod["spec"], "nodeSelector").insert(key.to_owned(), wanted.into());
    }
    let more = json::list(&scheduling["tolerations"]);
    if !more.is_empty() {
        let mut all = json::list(&pod["spec"]["tolerations"]).to_vec();
        let new: Vec<Value> = more.iter().filter(|one| !all.contains(one)).cloned().collect();
        all.extend(new);
        json::assign(&mut pod["spec"], "tolerations", all.into());
    }
    Ok(())
}
