//! Validation of a pod's status, as written by kubelets, schedulers and test clients.
//!
//! Owns pod IPs, conditions and device claims. Container statuses are validated in `states`.

use super::states;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, list, string};
use crate::machinery::{ip, names};
use serde_json::{Value, json};

/// Condition types of Kubernetes itself, whose names are not validated.
const SYSTEM: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];

/// Synchronizes `podIP` and `podIPs`: the older field `podIP` equals the first entry of `podIPs`.
pub(super) fn default(pod: &mut Value) {
    let Some(status) = pod.get_mut("status").filter(|status| status.is_object()) else {
        return;
    };
    let (one, first) = (string(status, "podIP"), &status["podIPs"][0]);
    if !one.is_empty() && *one != first["ip"] {
        let all = json!([{"ip": one}]);
        json::assign(status, "podIPs", all);
    } else if one.is_empty() && !string(first, "ip").is_empty() {
        let one = first["ip"].clone();
        json::assign(status, "podIP", one);
    }
}

pub(super) fn validate(new: &Value, old: &Value, errors: &mut ErrorList) {
    let (status, before) = (&new["status"], &old["status"]);
    conditions(status, errors);
    nominated_node_name(status, old, errors);
    observed_generation(status, "status", errors);
    errors.require_unchanged("status.qosClass", &status["qosClass"], &before["qosClass"]);
    states::validate_restarts(status, old, errors);
    addresses(status, before, "podIPs", errors);
    host_addresses(status, before, errors);
}

fn conditions(status: &Value, errors: &mut ErrorList) {
    for (i, condition) in list(&status["conditions"]).iter().enumerate() {
        let (at, kind) = (format!("status.conditions[{i}]"), string(condition, "type"));
        observed_generation(condition, &at, errors);
        if !SYSTEM.contains(&kind) {
            errors.invalid_all(&format!("{at}.Type"), kind, names::qualified_name(kind));
        }
    }
}

fn observed_generation(observer: &Value, at: &str, errors: &mut ErrorList) {
    let generation = &observer["observedGeneration"];
    if generation.as_i64().is_some_and(|number| number < 0) {
        let (field, why) = (
            format!("{at}.observedGeneration"),
            "must be a non-negative integer",
        );
        errors.invalid(field, generation.clone(), why);
    }
}

fn nominated_node_name(status: &Value, old: &Value, errors: &mut ErrorList) {
    let (node, field) = (string(status, "nominatedNodeName"), "status.nominatedNodeName");
    if node.is_empty() || node == string(&old["status"], "nominatedNodeName") {
        return;
    }
    errors.invalid_all(field, node, names::subdomain(node));
    if !string(&old["spec"], "nodeName").is_empty() {
        errors.forbidden(field, "may not be set on pods that are already bound to a node");
    }
}

/// Validates the IPs in the status list `name`: at most one per IP family. Unchanged IPs are not validated.
fn addresses(status: &Value, before: &Value, name: &str, errors: &mut ErrorList) {
    let texts = |status: &Value| -> Vec<String> {
        let entries = list(&status[name]).iter();
        entries.map(|entry| string(entry, "ip").to_owned()).collect()
    };
    let (now, before, at) = (texts(status), texts(before), format!("status.{name}"));
    for (i, address) in now
        .iter()
        .enumerate()
        .filter(|(_, address)| !before.contains(address))
    {
        errors.invalid_all(&format!("{at}[{i}]"), address, ip::validate_any_notation(address));
    }
    if now.len() < 2 {
        return;
    }
    let families: Vec<Option<bool>> = now
        .iter()
        .map(|address| ip::parse(address).map(ip::is_ipv4))
        .collect();
    if let Some(i) = families.iter().position(Option::is_none) {
        let why = format!(
            "failed to check for dual stack with error:invalid IP[{i}]: {}",
            now[i]
        );
        errors.internal(at.as_str(), &why);
    }
    let is_of_both = families.contains(&Some(true)) && families.contains(&Some(false));
    if now.len() > 2 || families.contains(&None) || !is_of_both {
        let shown: Vec<String> = now
            .iter()
            .map(|ip| format!("{{\"IP\":{}}}", Value::from(ip.as_str())))
            .collect();
        let why = "may specify no more than one IP for each IP family";
        errors.invalid_as(at, &format!("[{}]", shown.join(",")), why);
    }
}

fn host_addresses(status: &Value, before: &Value, errors: &mut ErrorList) {
    let Some(first) = list(&status["hostIPs"]).first() else {
        return;
    };
    let first = string(first, "ip");
    if string(status, "hostIP") != first {
        errors.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`");
    }
    addresses(status, before, "hostIPs", errors);
}
