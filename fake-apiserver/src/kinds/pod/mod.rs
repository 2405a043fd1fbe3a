//! Pods: defaults and validation.

mod cells;
pub(super) mod containers;
mod defaults;
mod files;
mod label_keys;
mod parts;
mod placement;
mod privileged;
mod quality;
pub(super) mod resources;
mod spec;
mod states;
mod status;
mod update;
mod volumes;

pub use placement::tolerations;
pub(crate) use privileged::forbid_privileged;

use super::resource_definition::not_supported;
use super::volume::claim_spec_default;
use super::{
    Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext, Subresource,
};
use crate::config::admission::Plugin;
use crate::config::options::ServerOptions;
use crate::kinds::columns::Cell::{At, Of, TextOr};
use crate::kinds::columns::{AGE, NAME, text, wide};
use crate::machinery::selector::{Selectable, selectable};
use crate::machinery::{json, metadata};
use serde_json::{Value, json};

pub(super) static POD: ResourceDefinition = ResourceDefinition {
    kind: "Pod",
    metadata_checks: MetadataChecks::core_v1_checks(2).with_status_passes(1, true),
    plural: "pods",
    short_names: &["po"],
    categories: &["all"],
    status: true,
    subresources: &[
        Subresource::Attach,
        Subresource::Binding,
        Subresource::EphemeralContainers,
        Subresource::Eviction,
        Subresource::Exec,
        Subresource::Log,
        Subresource::PortForward,
        Subresource::Proxy,
        Subresource::Resize,
    ],
    generation: Generation::FromCreation,
    status_resets: &[
        &["spec"],
        &["metadata", "deletionTimestamp"],
        &["metadata", "ownerReferences"],
    ],
    grace: pod_grace,
    template: Some(""),
    returns_deleted: true,
    hooks: Hooks {
        default: pod_default,
        create: pod_create,
        update: |new, old, setting| {
            add_default_tolerations(new, setting);
            keep_priority(new, old, setting);
        },
        validate: spec::validate,
        validate_create: spec::validate_create,
        separate_status: |new, old| {
            metadata::set(new, "deletionTimestamp", None);
            let owners = old["metadata"].get("ownerReferences");
            metadata::set(new, "ownerReferences", owners.cloned());
            json::member(new, "status")
                .entry("qosClass")
                .or_insert_with(|| old["status"]["qosClass"].clone());
        },
        validate_status: status::validate,
        parts: parts::PARTS,
        validate_update: update::validate,
        ..NO_HOOKS
    },
    selectable: &[
        selectable("spec.nodeName", &["/spec/nodeName"]),
        selectable("spec.host", &["/spec/nodeName"]),
        selectable("spec.restartPolicy", &["/spec/restartPolicy"]),
        selectable("spec.schedulerName", &["/spec/schedulerName"]),
        selectable("spec.serviceAccountName", &["/spec/serviceAccountName"]),
        Selectable {
            absent: "false",
            ..selectable("spec.hostNetwork", &["/spec/hostNetwork"])
        },
        selectable("status.phase", &["/status/phase"]),
        selectable("status.podIP", &["/status/podIP"]),
        selectable("status.podIPs", &["/status/podIP"]),
        selectable("status.nominatedNodeName", &["/status/nominatedNodeName"]),
    ],
    unknown_label: not_supported,
    columns: &[
        NAME,
        text("Ready", Of(cells::ready)),
        text("Status", Of(cells::status)),
        text("Restarts", At(cells::restarts)),
        AGE,
        wide("IP", TextOr("/status/podIP", "<none>")),
        wide("Node", TextOr("/spec/nodeName", "<none>")),
        wide("Nominated Node", TextOr("/status/nominatedNodeName", "<none>")),
        wide("Readiness Gates", Of(|_| json!("<none>"))),
    ],
    ..PLAIN
};

fn pod_default(object: &mut Value) {
    template_default(object);
    json::default_member(&mut object["spec"], "enableServiceLinks", true);
    let has_ports_of_host = object["spec"]["hostNetwork"] == true;
    for list in ["/spec/containers", "/spec/initContainers"] {
        for container in json::entries(object, list) {
            default_requests_to_limits(container);
            if has_ports_of_host {
                default_host_ports(container);
            }
        }
    }
    status::default(object);
}

/// Sets defaults that pods and pod templates have in common.
pub(super) fn template_default(object: &mut Value) {
    let spec = json::member(object, "spec");
    for (name, value) in [
        ("dnsPolicy", json!("ClusterFirst")),
        ("restartPolicy", json!("Always")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
        ("terminationGracePeriodSeconds", json!(30)),
    ] {
        spec.entry(name).or_insert(value);
    }
    // Sets the deprecated field `serviceAccount` together with `serviceAccountName`.
    if let Some(account) = spec
        .get("serviceAccountName")
        .or(spec.get("serviceAccount"))
        .cloned()
    {
        spec.insert("serviceAccount".to_owned(), account.clone());
        spec.insert("serviceAccountName".to_owned(), account);
    }
    for list in [
        "/spec/containers",
        "/spec/initContainers",
        "/spec/ephemeralContainers",
    ] {
        for container in json::entries(object, list) {
            container_default(container);
            defaults::container(container);
        }
    }
    for volume in json::entries(object, "/spec/volumes") {
        defaults::volume(volume);
        if let Some(template) = volume.pointer_mut("/ephemeral/volumeClaimTemplate") {
            claim_spec_default(&mut template["spec"]);
        }
    }
}

fn container_default(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let policy = defaults::pull_policy(image);
    let Some(container) = container.as_object_mut() else {
        return;
    };
    for (name, value) in [
        ("imagePullPolicy", json!(policy)),
        ("resources", json!({})),
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
    ] {
        container.entry(name).or_insert(value);
    }
}

/// Sets unset requests of a container to its limits. Called for pods only, not for pod templates.
fn default_requests_to_limits(container: &mut Value) {
    if let Some(limits) = container["resources"]["limits"].as_object().cloned() {
        let requests = json::member(&mut container["resources"], "requests");
        for (name, amount) in limits {
            requests.entry(name).or_insert(amount);
        }
    }
}

/// With `hostNetwork`, sets unset host ports to the container ports.
fn default_host_ports(container: &mut Value) {
    for port in json::entries(container, "/ports") {
        let number = port["containerPort"].clone();
        if number.is_number() {
            json::default_member(port, "hostPort", number);
        }
    }
}

/// The grace period of a pod's deletion. It is 0 for pods that are not bound or have finished, and for all pods if the options say that the
/// cluster has no kubelets.
fn pod_grace(pod: &Value, options: &ServerOptions, requested: Option<i64>) -> Option<i64> {
    let spec = &pod["spec"];
    let is_unbound = json::string(spec, "nodeName").is_empty();
    let is_finished = ["Succeeded", "Failed"].contains(&json::string(&pod["status"], "phase"));
    if is_unbound || is_finished || options.kubelet_less {
        return Some(0);
    }
    let default = spec["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    match requested.unwrap_or(default) {
        // A negative grace period, which old clients may have stored, has the effect of 1 second.
        ..0 => Some(1),
        seconds => Some(seconds),
    }
}

fn pod_create(object: &mut Value, setting: &StrategyContext<'_>) {
    let class = quality::qos_class(&object["spec"]);
    object["status"] = json!({"phase": "Pending", "qosClass": class});
    let spec = json::member(object, "spec");
    let by_admission = [
        (
            Plugin::Priority,
            "preemptionPolicy",
            json!("PreemptLowerPriority"),
        ),
        (Plugin::Priority, "priority", json!(0)),
        (Plugin::ServiceAccount, "serviceAccount", json!("default")),
        (Plugin::ServiceAccount, "serviceAccountName", json!("default")),
    ];
    for (plugin, name, value) in by_admission {
        if setting.options.admission.has(plugin) {
            spec.entry(name).or_insert(value);
        }
    }
    if spec
        .get("schedulingGates")
        .is_some_and(|gates| *gates != json!([]))
    {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
            "lastTransitionTime": setting.now, "message": "Scheduling is blocked due to non-empty scheduling gates",
        });
        object["status"]["conditions"] = json!([condition]);
    }
    // A negative grace period is replaced by 1 second.
    if object["spec"]["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0)
    {
        object["spec"]["terminationGracePeriodSeconds"] = 1.into();
    }
    add_default_tolerations(object, setting);
    label_keys::merge_label_keys(object);
}

/// The DefaultTolerationSeconds admission plugin: adds tolerations for nodes that are not ready or unreachable.
fn add_default_tolerations(object: &mut Value, setting: &StrategyContext<'_>) {
    if !setting.options.admission.has(Plugin::DefaultTolerationSeconds) {
        return;
    }
    let tolerations = json::member(object, "spec")
        .entry("tolerations")
        .or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |t: &Value| {
            (t["key"] == key || t["key"].is_null()) && (t["effect"] == "NoExecute" || t["effect"].is_null())
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            );
        }
    }
}

/// The Priority admission plugin: if an update omits the fields that the plugin set at creation, restores them.
fn keep_priority(new: &mut Value, old: &Value, setting: &StrategyContext<'_>) {
    if !setting.options.admission.has(Plugin::Priority) {
        return;
    }
    for field in ["priority", "preemptionPolicy"] {
        if let Some(value) = old["spec"].get(field) {
            json::default_member(&mut new["spec"], field, value.clone());
        }
    }
}
