//! Pods: the defaults and rules that a scheduler's tests meet.

use super::core::not_supported;
use super::pod_defaults;
use super::volume::claim_spec_default;
use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Selectable, Setting, Subresource};
use crate::faults::Faults;
use crate::meta;
use crate::names;
use crate::printer;
use crate::quantity::Quantity;
use serde_json::{Value, json};
use std::collections::HashSet;

pub(super) static POD: Kind = Kind {
    kind: "Pod",
    plural: "pods",
    singular: "pod",
    short_names: &["po"],
    categories: &["all"],
    status: true,
    subresources: &[Subresource::Binding, Subresource::Eviction],
    generation: Generation::FromCreation,
    returns_deleted: true,
    hooks: Hooks {
        default: pod_default,
        create: pod_create,
        validate: pod_validate,
        validate_update: pod_validate_update,
        ..NO_HOOKS
    },
    selectable: &[
        Selectable {
            label: "spec.nodeName",
            pointers: &["/spec/nodeName"],
        },
        Selectable {
            label: "spec.host",
            pointers: &["/spec/nodeName"],
        },
        Selectable {
            label: "spec.restartPolicy",
            pointers: &["/spec/restartPolicy"],
        },
        Selectable {
            label: "spec.schedulerName",
            pointers: &["/spec/schedulerName"],
        },
        Selectable {
            label: "spec.serviceAccountName",
            pointers: &["/spec/serviceAccountName"],
        },
        Selectable {
            label: "spec.hostNetwork",
            pointers: &["/spec/hostNetwork"],
        },
        Selectable {
            label: "status.phase",
            pointers: &["/status/phase"],
        },
        Selectable {
            label: "status.podIP",
            pointers: &["/status/podIP"],
        },
        Selectable {
            label: "status.podIPs",
            pointers: &["/status/podIP"],
        },
        Selectable {
            label: "status.nominatedNodeName",
            pointers: &["/status/nominatedNodeName"],
        },
    ],
    unknown_label: not_supported,
    printer: &printer::POD,
    ..PLAIN
};

fn pod_default(object: &mut Value) {
    meta::member(object, "status")
        .entry("phase")
        .or_insert_with(|| "Pending".into());
    template_default(object);
}

/// Fills in the spec of a pod, or of a template for pods.
pub(super) fn template_default(object: &mut Value) {
    let spec = meta::member(object, "spec");
    for (name, value) in [
        ("dnsPolicy", json!("ClusterFirst")),
        ("enableServiceLinks", json!(true)),
        ("restartPolicy", json!("Always")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
        ("terminationGracePeriodSeconds", json!(30)),
    ] {
        spec.entry(name).or_insert(value);
    }
    // The old name of the field is still written beside the new one.
    if let Some(account) = spec
        .get("serviceAccountName")
        .or(spec.get("serviceAccount"))
        .cloned()
    {
        spec.insert("serviceAccount".to_owned(), account.clone());
        spec.insert("serviceAccountName".to_owned(), account);
    }
    for list in ["/spec/containers", "/spec/initContainers"] {
        for container in meta::entries(object, list) {
            container_default(container);
            pod_defaults::container(container);
        }
    }
    for volume in meta::entries(object, "/spec/volumes") {
        pod_defaults::volume(volume);
        if let Some(template) = volume.pointer_mut("/ephemeral/volumeClaimTemplate") {
            claim_spec_default(&mut template["spec"]);
        }
    }
}

fn container_default(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let tag = image.rsplit('/').next().and_then(|last| last.split_once(':'));
    let floating = !image.contains('@') && tag.is_none_or(|(_, tag)| tag == "latest");
    let Some(container) = container.as_object_mut() else {
        return;
    };
    for (name, value) in [
        (
            "imagePullPolicy",
            json!(if floating { "Always" } else { "IfNotPresent" }),
        ),
        ("resources", json!({})),
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
    ] {
        container.entry(name).or_insert(value);
    }
    // What is limited but not requested is requested up to its limit.
    if let Some(limits) = container["resources"]["limits"].as_object().cloned() {
        let requests = meta::member(&mut container["resources"], "requests");
        for (name, amount) in limits {
            requests.entry(name).or_insert(amount);
        }
    }
}

/// What the strategy and the admission plugins ServiceAccount (name only), Priority and DefaultTolerationSeconds
/// set. No token volume is added: nothing mounts it.
fn pod_create(object: &mut Value, _: &Setting<'_>) {
    let class = quality(&object["spec"]);
    object["status"] = json!({"phase": "Pending", "qosClass": class});
    let spec = meta::member(object, "spec");
    for (name, value) in [
        ("preemptionPolicy", json!("PreemptLowerPriority")),
        ("priority", json!(0)),
        ("serviceAccount", json!("default")),
        ("serviceAccountName", json!("default")),
    ] {
        spec.entry(name).or_insert(value);
    }
    let Some(tolerations) = spec
        .entry("tolerations")
        .or_insert_with(|| json!([]))
        .as_array_mut()
    else {
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

/// The quality of service class: by what the containers request of cpu and memory.
fn quality(spec: &Value) -> &'static str {
    let mut guaranteed = true;
    let mut asks = false;
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            for resource in ["cpu", "memory"] {
                let amount = |side: &str| {
                    let text = container["resources"][side][resource].as_str();
                    text.and_then(|t| t.parse::<Quantity>().ok())
                        .filter(|q| !q.is_zero())
                };
                let (request, limit) = (amount("requests"), amount("limits"));
                asks |= request.is_some() || limit.is_some();
                guaranteed &= limit.is_some() && request == limit;
            }
        }
    }
    match (asks, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Fields of a container that have one of a few values. All have defaults, so that they are never missing.
const CONTAINER_CHOICES: [(&str, &[&str]); 2] = [
    ("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    ("imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
];
/// Such fields of the spec.
const SPEC_CHOICES: [(&str, &[&str]); 2] = [
    ("restartPolicy", &["Always", "OnFailure", "Never"]),
    (
        "dnsPolicy",
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    ),
];

fn pod_validate(object: &Value, faults: &mut Faults) {
    let spec = &object["spec"];
    let containers = spec["containers"].as_array().map_or(&[][..], Vec::as_slice);
    if containers.is_empty() {
        faults.required("spec.containers", "");
    }
    let mut seen = HashSet::new();
    for (i, container) in containers.iter().enumerate() {
        unique_name(container, format!("spec.containers[{i}].name"), &mut seen, faults);
        if container["image"].as_str().unwrap_or_default().is_empty() {
            faults.required(format!("spec.containers[{i}].image"), "");
        }
        for (field, supported) in CONTAINER_CHOICES {
            let chosen = container[field].as_str().unwrap_or_default();
            faults.one_of(&format!("spec.containers[{i}].{field}"), chosen, supported);
        }
    }
    for (field, supported) in SPEC_CHOICES {
        let chosen = spec[field].as_str().unwrap_or_default();
        faults.one_of(&format!("spec.{field}"), chosen, supported);
    }
    let volumes = spec["volumes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut seen = HashSet::new();
    for (i, volume) in volumes.iter().enumerate() {
        unique_name(volume, format!("spec.volumes[{i}].name"), &mut seen, faults);
    }
}

/// The name of a container or volume is a label that no other before it has.
fn unique_name<'a>(item: &'a Value, field: String, seen: &mut HashSet<&'a str>, faults: &mut Faults) {
    let name = item["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        faults.required(field, "");
    } else if !seen.insert(name) {
        faults.duplicate(field, name);
    } else {
        meta::complain(faults, &field, name, names::label(name));
    }
}

/// Almost nothing of a pod's spec may change; binding goes through its own subresource.
fn pod_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let mut allowed = old["spec"].clone();
    for open in [
        "activeDeadlineSeconds",
        "tolerations",
        "schedulingGates",
        "terminationGracePeriodSeconds",
    ] {
        meta::assign(&mut allowed, open, new["spec"][open].clone());
    }
    for list in ["containers", "initContainers"] {
        let images: Vec<Value> = new["spec"][list]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| c["image"].clone())
            .collect();
        meta::entries(&mut allowed, &format!("/{list}"))
            .zip(images)
            .for_each(|(container, image)| container["image"] = image);
    }
    if new["spec"] != allowed {
        let text = "pod updates may not change fields other than `spec.containers[*].image`,\
            `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
            existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
            previously negative)";
        faults.forbidden("spec", text);
    }
}
