//! Workloads (apps/v1 and ReplicationControllers): stored and printed, with defaults and pod validation; no controller runs them.

use super::resource_definition::not_supported;
use super::volume::claim_spec_default;
use super::{
    Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, Subresource, pod, workload_rules,
};
use crate::kinds::columns::Cell::{Labels, Number, Of};
use crate::kinds::columns::{AGE, Column, NAME, integer, join_container_fields, text, wide};
use crate::machinery::selector::{Selectable, selectable};
use crate::machinery::{json, metadata, names};
use serde_json::{Value, json};

/// Properties common to all workloads: status and generation.
const WORKLOAD: ResourceDefinition = ResourceDefinition {
    group: "apps",
    categories: &["all"],
    status: true,
    generation: Generation::FromCreation,
    template: Some("/spec/template"),
    ..PLAIN
};

/// Additional fields for field selectors of ReplicaSets and ReplicationControllers.
const REPLICAS: &[Selectable] = &[selectable("status.replicas", &["/status/replicas"])];

pub(super) static CONTROLLER_REVISION: ResourceDefinition = ResourceDefinition {
    kind: "ControllerRevision",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "controllerrevisions",
    categories: &[],
    status: false,
    generation: Generation::None,
    template: None,
    columns: &[
        NAME,
        text("Controller", Of(controller)),
        text("Revision", Number("/revision")),
        AGE,
    ],
    ..WORKLOAD
};

pub(super) static DAEMON_SET: ResourceDefinition = ResourceDefinition {
    kind: "DaemonSet",
    plural: "daemonsets",
    short_names: &["ds"],
    columns: &[
        NAME,
        integer("Desired", Number("/status/desiredNumberScheduled")),
        integer("Current", Number("/status/currentNumberScheduled")),
        integer("Ready", Number("/status/numberReady")),
        integer("Up-to-date", Number("/status/updatedNumberScheduled")),
        integer("Available", Number("/status/numberAvailable")),
        text("Node Selector", Labels("/spec/template/spec/nodeSelector")),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    hooks: Hooks {
        default: daemon_set_default,
        validate: |object, errors| workload_rules::validate(object, "daemonset", errors),
        validate_update: workload_rules::validate_update,
        ..NO_HOOKS
    },
    ..WORKLOAD
};

pub(super) static DEPLOYMENT: ResourceDefinition = ResourceDefinition {
    kind: "Deployment",
    plural: "deployments",
    generation_of: &["/spec", "/metadata/annotations"],
    status_resets: &[&["spec"], &["metadata", "labels"]],
    short_names: &["deploy"],
    columns: &[
        NAME,
        text("Ready", Of(ready)),
        text("Up-to-date", Number("/status/updatedReplicas")),
        text("Available", Number("/status/availableReplicas")),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    subresources: &[Subresource::Scale],
    hooks: Hooks {
        default: deployment_default,
        separate_status: |new, old| metadata::set(new, "labels", old["metadata"].get("labels").cloned()),
        validate: |object, errors| workload_rules::validate(object, "deployment", errors),
        validate_update: workload_rules::validate_update,
        ..NO_HOOKS
    },
    ..WORKLOAD
};

pub(super) static REPLICA_SET: ResourceDefinition = ResourceDefinition {
    kind: "ReplicaSet",
    plural: "replicasets",
    short_names: &["rs"],
    columns: REPLICA_COLUMNS,
    subresources: &[Subresource::Scale],
    hooks: Hooks {
        default: default_replicas,
        validate: |object, errors| workload_rules::validate(object, "deployment", errors),
        validate_update: workload_rules::validate_update,
        ..NO_HOOKS
    },
    selectable: REPLICAS,
    ..WORKLOAD
};

pub(super) static STATEFUL_SET: ResourceDefinition = ResourceDefinition {
    kind: "StatefulSet",
    plural: "statefulsets",
    name_rule: names::dns_label,
    short_names: &["sts"],
    columns: &[NAME, text("Ready", Of(ready)), AGE, CONTAINERS, IMAGES],
    subresources: &[Subresource::Scale],
    hooks: Hooks {
        default: stateful_set_default,
        validate: |object, errors| workload_rules::validate(object, "statefulset", errors),
        validate_update: workload_rules::validate_update,
        ..NO_HOOKS
    },
    ..WORKLOAD
};

pub(super) static REPLICATION_CONTROLLER: ResourceDefinition = ResourceDefinition {
    group: "",
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    registry: Some("controllers"),
    short_names: &["rc"],
    columns: REPLICA_COLUMNS,
    subresources: &[Subresource::Scale],
    orphans_by_default: Some(None),
    hooks: Hooks {
        default: replication_controller_default,
        validate: workload_rules::validate_labels,
        ..NO_HOOKS
    },
    selectable: REPLICAS,
    unknown_label: not_supported,
    ..WORKLOAD
};

/// Sets defaults of the spec and of the pod template.
fn spec_default(object: &mut Value, members: &[(&str, Value)]) {
    for (name, value) in members {
        json::default_member(&mut object["spec"], name, value.clone());
    }
    if let Some(template) = object.pointer_mut("/spec/template") {
        pod::template_default(template);
    }
}

fn daemon_set_default(object: &mut Value) {
    default_rolling_update(object, &json!({"maxUnavailable": 1, "maxSurge": 0}));
    // In kube-apiserver's internal type, `maxUnavailable` and `maxSurge` are no pointers, so unset values become 0.
    if let Some(Value::Object(rolling)) = object.pointer_mut("/spec/updateStrategy/rollingUpdate") {
        for name in ["maxUnavailable", "maxSurge"] {
            rolling.entry(name).or_insert_with(|| 0.into());
        }
    }
    spec_default(object, &[("revisionHistoryLimit", json!(10))]);
}

/// Sets an unset update strategy to RollingUpdate, with the default parameters `rolling`.
fn default_rolling_update(object: &mut Value, rolling: &Value) {
    let strategy = json::member(json::member_or_insert_null(object, "spec"), "updateStrategy");
    let kind = strategy.entry("type").or_insert_with(|| "RollingUpdate".into());
    if kind == "RollingUpdate" {
        let own = strategy.entry("rollingUpdate").or_insert(Value::Null);
        for (name, value) in rolling.as_object().into_iter().flatten() {
            if own.get(name).is_none() {
                json::member_or_insert_null(own, name).clone_from(value);
            }
        }
    }
}

fn deployment_default(object: &mut Value) {
    let rolling = json!({"maxUnavailable": "25%", "maxSurge": "25%"});
    let strategy = &object["spec"]["strategy"];
    let strategy = match strategy["type"].as_str() {
        None | Some("" | "RollingUpdate") => {
            let given = strategy["rollingUpdate"].as_object().cloned().unwrap_or_default();
            let mut merged = rolling;
            merged
                .as_object_mut()
                .into_iter()
                .for_each(|members| members.extend(given.clone()));
            json!({"type": "RollingUpdate", "rollingUpdate": merged})
        }
        Some(_) => strategy.clone(),
    };
    json::assign(&mut object["spec"], "strategy", strategy);
    spec_default(
        object,
        &[
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
            ("progressDeadlineSeconds", json!(600)),
        ],
    );
}

fn default_replicas(object: &mut Value) {
    spec_default(object, &[("replicas", json!(1))]);
}

/// Sets an unset selector and unset labels to the labels of the pod template.
fn replication_controller_default(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.is_object() {
        json::default_member(&mut object["spec"], "selector", labels.clone());
        json::default_member(&mut object["metadata"], "labels", labels);
    }
    default_replicas(object);
}

fn stateful_set_default(object: &mut Value) {
    let strategy = json::member(json::member_or_insert_null(object, "spec"), "updateStrategy");
    // An `updateStrategy` with a type but without `rollingUpdate` gets no defaults.
    if strategy.get("type").is_none_or(|kind| *kind == "") || strategy.contains_key("rollingUpdate") {
        default_rolling_update(object, &json!({"partition": 0}));
    }
    for claim in json::entries(object, "/spec/volumeClaimTemplates") {
        claim["apiVersion"] = "v1".into();
        claim["kind"] = "PersistentVolumeClaim".into();
        claim["status"] = json!({"phase": "Pending"});
        claim_spec_default(&mut claim["spec"]);
    }
    let retention = json::member(
        json::member_or_insert_null(object, "spec"),
        "persistentVolumeClaimRetentionPolicy",
    );
    for when in ["whenDeleted", "whenScaled"] {
        let policy = retention.entry(when).or_insert(Value::Null);
        if ["", "null"].contains(&policy.as_str().unwrap_or("null")) {
            *policy = "Retain".into();
        }
    }
    spec_default(
        object,
        &[
            ("replicas", json!(1)),
            ("podManagementPolicy", json!("OrderedReady")),
            ("revisionHistoryLimit", json!(10)),
        ],
    );
}

fn controller(object: &Value) -> Value {
    let Some(owner) = metadata::controller(object) else {
        return "<none>".into();
    };
    let group = json::string(owner, "apiVersion")
        .split_once('/')
        .map(|(group, _)| format!(".{group}"));
    let kind = json::string(owner, "kind").to_lowercase();
    format!(
        "{kind}{}/{}",
        group.unwrap_or_default(),
        json::string(owner, "name")
    )
    .into()
}

/// The values of one field of all containers in the pod template of a workload.
fn template_containers(workload: &Value, field: &str) -> Value {
    join_container_fields(&workload["spec"]["template"]["spec"]["containers"], field)
}

pub(super) const CONTAINERS: Column = wide("Containers", Of(|o| template_containers(o, "name")));

pub(super) const IMAGES: Column = wide("Images", Of(|o| template_containers(o, "image")));

pub(super) const SELECTOR: Column = wide("Selector", Labels("/spec/selector"));

static REPLICA_COLUMNS: &[Column] = &[
    NAME,
    integer("Desired", Number("/spec/replicas")),
    integer("Current", Number("/status/replicas")),
    integer("Ready", Number("/status/readyReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

/// The READY cell: `ready/desired` pods.
fn ready(workload: &Value) -> Value {
    let ready = workload["status"]["readyReplicas"].as_i64().unwrap_or_default();
    let wanted = workload["spec"]["replicas"].as_i64().unwrap_or_default();
    format!("{ready}/{wanted}").into()
}
