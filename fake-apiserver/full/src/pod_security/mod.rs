//! The admission plugin PodSecurity: rejects pods that violate the `enforce` standard in the labels of their namespace, and warns about
//! violations of the `warn` standard.
//!
//! Decides which requests are checked, and formats the messages. `standard` has the checks, `policy` parses the labels. There are no
//! exemptions, as in kube-apiserver without a plugin configuration. The audit mode is ignored.

mod checks;
mod policy;
mod standard;
mod subject;

use self::policy::{Level, Policy, Standard};
use crate::forbidden;
use fake_apiserver::Status;
use fake_apiserver::extension::{
    AdmissionPlugin, Attributes, Kind, Object, Part, Subresource, Transaction, json, metadata,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Maximum number of pods that are checked when a namespace changes.
const PODS_MAX: usize = 3000;

pub(crate) struct PodSecurity;

impl AdmissionPlugin for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }

    /// Rejects invalid namespace labels, and pods that violate the `enforce` standard of their namespace. Warns about pods and pod
    /// templates that violate the `warn` standard, and about existing pods when the standard of a namespace becomes stricter.
    fn validate(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        new: &Value,
    ) -> Result<(), Status> {
        let (kind, old) = (request.kind, request.old);
        let Some(at) = kind.pod_template() else {
            return match request.part {
                Part::Main if kind.is_resource("", "namespaces") => check_namespace(txn, kind, new, old),
                _ => Ok(()),
            };
        };
        let is_pod = at.is_empty();
        let is_checked = match request.part {
            Part::Main => true,
            Part::Sub(Subresource::EphemeralContainers | Subresource::Resize) => is_pod,
            _ => false,
        };
        let is_same = || is_pod && old.is_some_and(|old| has_unchanged_images(new, old));
        if !is_checked || is_same() {
            return Ok(());
        }
        let namespaces = txn.kind("", "namespaces");
        let namespace = namespaces.and_then(|kind| txn.object(&kind, None, metadata::text(new, "namespace")));
        let Some(namespace) = namespace else {
            return Ok(());
        };
        let (policy, _) = Policy::of(&namespace.value()["metadata"]["labels"]);
        let pod = new.pointer(at).unwrap_or(&Value::Null);
        if is_pod && let Some(found) = format_violations(policy.enforce, pod) {
            let why = format!("violates PodSecurity \"{}\": {found}", policy.enforce);
            return Err(forbidden(kind, new, &why));
        }
        // If the `warn` and `enforce` standards are equal, a pod that violates the `warn` standard was rejected above.
        let is_enforced = is_pod && policy.warn == policy.enforce;
        if !is_enforced && let Some(found) = format_violations(policy.warn, pod) {
            txn.warn(format!("would violate PodSecurity \"{}\": {found}", policy.warn));
        }
        Ok(())
    }
}

/// Formats a pod's violations of a standard, each followed by its detail in parentheses; None without violations.
fn format_violations(standard: Standard, pod: &Value) -> Option<String> {
    let found = standard::violations(standard, pod);
    let details = found
        .iter()
        .map(|found| format!("{} ({})", found.reason, found.detail));
    (!found.is_empty()).then(|| details.collect::<Vec<_>>().join(", "))
}

/// Whether a pod update changes no container image. Mutable fields other than images do not affect the checks.
fn has_unchanged_images(new: &Value, old: &Value) -> bool {
    let images = |pod: &Value, list: &str| -> Vec<Value> {
        let containers = json::list(&pod["spec"][list]).iter();
        containers.map(|container| container["image"].clone()).collect()
    };
    let stay = ["containers", "initContainers"]
        .iter()
        .all(|list| images(new, list) == images(old, list));
    let known = json::list(&old["spec"]["ephemeralContainers"]);
    stay && json::list(&new["spec"]["ephemeralContainers"])
        .iter()
        .all(|container| {
            let is_known =
                |known: &Value| known["name"] == container["name"] && known["image"] == container["image"];
            known.iter().any(is_known)
        })
}

/// Validates the labels of a namespace. Existing pods that violate a stricter standard are not deleted but cause warnings.
fn check_namespace(
    txn: &mut dyn Transaction,
    kind: &Kind,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let (policy, errors) = Policy::of(&new["metadata"]["labels"]);
    let before = old.map(|old| Policy::of(&old["metadata"]["labels"]));
    let is_known = before.as_ref().is_some_and(|(_, known)| *known == errors);
    let name = metadata::text(new, "name");
    if !errors.is_empty() && !is_known {
        return Err(Status::invalid(kind.group_kind(), name, errors));
    }
    let (now, Some((Policy { enforce: before, .. }, _))) = (policy.enforce, before) else {
        return Ok(());
    };
    let is_stricter = now.version != before.version || now.level > before.level;
    if is_stricter && now.level != Level::Privileged {
        let pods = txn.kind("", "pods").map(|kind| txn.objects(&kind, Some(name)));
        for text in warnings(name, now, pods.unwrap_or_default()) {
            txn.warn(text);
        }
    }
    Ok(())
}

/// Warnings about existing pods that violate the new standard of a namespace. Pods with the same violations share a warning, which names
/// the first pod and the number of other pods.
fn warnings(namespace: &str, standard: Standard, pods: Vec<Arc<Object>>) -> Vec<String> {
    let mut messages = Vec::new();
    let all = pods.len();
    let pods = one_of_each_controller_first(pods);
    if all > PODS_MAX {
        messages.push(format!(
            "new PodSecurity enforce level only checked against the first {PODS_MAX} of {all} existing pods"
        ));
    }
    let mut against: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for pod in pods.iter().take(PODS_MAX) {
        let found = standard::violations(standard, pod.value());
        if found.is_empty() {
            continue;
        }
        let reasons: Vec<&str> = found.iter().map(|found| found.reason).collect();
        let name = metadata::text(pod.value(), "name");
        let (first, count) = against
            .entry(reasons.join(", "))
            .or_insert_with(|| (name.to_owned(), 0));
        if name < first.as_str() {
            name.clone_into(first);
        }
        *count += 1;
    }
    if !against.is_empty() {
        messages.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{standard}\""
        ));
    }
    let mut lines: Vec<String> = against
        .into_iter()
        .map(|(reasons, (name, count))| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            _ => format!("{name} (and {} other pods): {reasons}", count - 1),
        })
        .collect();
    lines.sort();
    messages.extend(lines);
    messages
}

/// Moves one pod of each controller to the front, since pods of a controller usually have the same violations.
fn one_of_each_controller_first(pods: Vec<Arc<Object>>) -> Vec<Arc<Object>> {
    let mut seen = HashSet::new();
    let (mut first, rest): (Vec<_>, Vec<_>) = pods.into_iter().partition(|pod| {
        let controller = metadata::controller(pod.value());
        controller.is_none_or(|controller| seen.insert(json::string(controller, "uid").to_owned()))
    });
    first.extend(rest);
    first
}
