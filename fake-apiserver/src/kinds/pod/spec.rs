//! Validation of a pod spec (`ValidatePodSpec` of core/v1), in kube-apiserver's order.

use super::{containers, placement, resources, volumes};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use crate::machinery::{metadata, names};
use serde_json::Value;

/// Validates a pod, for both create and update.
pub(super) fn validate(pod: &Value, errors: &mut ErrorList) {
    spec(&pod["spec"], metadata::text(pod, "name"), "spec", errors);
    containers::validate_images(&pod["spec"], errors);
}

/// Validates a new pod by the rules that apply to create only, in addition to `validate`.
pub(super) fn validate_create(pod: &Value, errors: &mut ErrorList) {
    let spec = &pod["spec"];
    let some = |name: &str| spec[name].as_array().is_some_and(|list| !list.is_empty());
    if some("ephemeralContainers") {
        errors.forbidden("spec.ephemeralContainers", "cannot be set on create");
    }
    if !string(spec, "nodeName").is_empty() && some("schedulingGates") {
        errors.forbidden(
            "spec.nodeName",
            "cannot be set until all schedulingGates have been cleared",
        );
    }
}

/// Validates the spec of a pod or pod template; `pod` is the name of the pod.
pub(in crate::kinds) fn spec(spec: &Value, pod: &str, at: &str, errors: &mut ErrorList) {
    let mountable = volumes::validate(&spec["volumes"], pod, &format!("{at}.volumes"), errors);
    containers::validate(spec, at, &mountable, errors);
    containers::validate_host_network_ports(spec, at, errors);
    policies(spec, at, errors);
    metadata::validate_labels(&spec["nodeSelector"], &format!("{at}.nodeSelector"), errors);
    placement::affinity(&spec["affinity"], &format!("{at}.affinity"), errors);
    for (i, gate) in list(&spec["readinessGates"]).iter().enumerate() {
        let kind = string(gate, "conditionType");
        let field = format!("{at}.readinessGates[{i}].conditionType");
        errors.invalid_all(&field, kind, names::qualified_name(kind));
    }
    placement::gates(&spec["schedulingGates"], &format!("{at}.schedulingGates"), errors);
    let field = format!("{at}.topologySpreadConstraints");
    placement::topology_spread(&spec["topologySpreadConstraints"], &field, errors);
    let rules: [(&str, names::NameRule); 2] = [
        ("serviceAccountName", names::subdomain),
        ("nodeName", names::subdomain),
    ];
    validate_names(spec, &rules, at, errors);
    if let Some(seconds) = spec["activeDeadlineSeconds"]
        .as_i64()
        .filter(|seconds| !(1..=i64::from(i32::MAX)).contains(seconds))
    {
        let text = "must be between 1 and 2147483647, inclusive";
        errors.invalid(format!("{at}.activeDeadlineSeconds"), seconds, text);
    }
    validate_names(
        spec,
        &[("hostname", names::dns_label), ("subdomain", names::dns_label)],
        at,
        errors,
    );
    placement::tolerations(&spec["tolerations"], &format!("{at}.tolerations"), errors);
    validate_names(spec, &[("priorityClassName", names::subdomain)], at, errors);
    if let Some(class) = spec["runtimeClassName"].as_str() {
        errors.invalid_all(&format!("{at}.runtimeClassName"), class, names::subdomain(class));
    }
    if let Some(policy) = spec["preemptionPolicy"].as_str() {
        let field = format!("{at}.preemptionPolicy");
        match policy {
            "" => errors.required(field, ""),
            policy => errors.one_of(&field, policy, &["PreemptLowerPriority", "Never"]),
        }
    }
    resources::overhead(&spec["overhead"], &format!("{at}.overhead"), errors);
}

fn policies(spec: &Value, at: &str, errors: &mut ErrorList) {
    let known = ["Always", "OnFailure", "Never"];
    errors.one_of(
        &format!("{at}.restartPolicy"),
        string(spec, "restartPolicy"),
        &known,
    );
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.one_of(&format!("{at}.dnsPolicy"), string(spec, "dnsPolicy"), &known);
}

fn validate_names(spec: &Value, rules: &[(&str, names::NameRule)], at: &str, errors: &mut ErrorList) {
    for (field, rule) in rules {
        let name = string(spec, field);
        if !name.is_empty() {
            errors.invalid_all(&format!("{at}.{field}"), name, rule(name));
        }
    }
}
