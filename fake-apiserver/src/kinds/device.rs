//! resource.k8s.io (dynamic resource allocation): stored with defaults; no device is allocated.

use super::{
    Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StatusMetadata, StrategyContext,
};
use crate::config::release::ServedReleases;
use crate::kinds::columns::Cell::{Of, Text};
use crate::kinds::columns::{AGE, NAME, count, text};
use crate::machinery::selector::selectable;
use crate::machinery::{json, metadata};
use serde_json::Value;

const RESOURCE: ResourceDefinition = ResourceDefinition {
    group: "resource.k8s.io",
    returns_deleted: true,
    life: ServedReleases::since(34),
    ..PLAIN
};

pub(super) static DEVICE_CLASS: ResourceDefinition = ResourceDefinition {
    kind: "DeviceClass",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "deviceclasses",
    namespaced: false,
    generation: Generation::FromCreation,
    ..RESOURCE
};

pub(super) static RESOURCE_CLAIM: ResourceDefinition = ResourceDefinition {
    kind: "ResourceClaim",
    metadata_checks: MetadataChecks::core_v1_checks(2).with_status_passes(1, true),
    plural: "resourceclaims",
    status_metadata: StatusMetadata::Described,
    status: true,
    hooks: Hooks {
        default: claim_default,
        ..NO_HOOKS
    },
    columns: &[NAME, text("State", Of(claim_state)), AGE],
    ..RESOURCE
};

pub(super) static RESOURCE_CLAIM_TEMPLATE: ResourceDefinition = ResourceDefinition {
    kind: "ResourceClaimTemplate",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "resourceclaimtemplates",
    hooks: Hooks {
        default: |template| requests_default(template, "/spec/spec/devices/requests"),
        ..NO_HOOKS
    },
    ..RESOURCE
};

pub(super) static RESOURCE_SLICE: ResourceDefinition = ResourceDefinition {
    kind: "ResourceSlice",
    plural: "resourceslices",
    namespaced: false,
    generation: Generation::FromCreation,
    hooks: Hooks {
        create: set_taint_times,
        update: |slice, _, setting| set_taint_times(slice, setting),
        ..NO_HOOKS
    },
    selectable: &[
        selectable("spec.nodeName", &["/spec/nodeName"]),
        selectable("spec.driver", &["/spec/driver"]),
    ],
    unknown_label: |label| {
        format!("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}")
    },
    columns: &[
        NAME,
        text("Node", Text("/spec/nodeName")),
        text("Driver", Text("/spec/driver")),
        text("Pool", Text("/spec/pool/name")),
        AGE,
    ],
    ..RESOURCE
};

fn claim_default(claim: &mut Value) {
    requests_default(claim, "/spec/devices/requests");
    json::entries(claim, "/status/allocation/devices/results").for_each(tolerations_default);
}

fn requests_default(object: &mut Value, requests: &str) {
    for request in json::entries(object, requests) {
        if let Some(exactly) = request.get_mut("exactly").filter(|exactly| exactly.is_object()) {
            request_default(exactly);
        }
        json::entries(request, "/firstAvailable").for_each(request_default);
    }
}

fn request_default(request: &mut Value) {
    json::default_member(request, "allocationMode", "ExactCount");
    let is_counted = request["allocationMode"] == "ExactCount";
    if is_counted && request["count"].as_i64().unwrap_or_default() == 0 {
        request["count"] = 1.into();
    }
    tolerations_default(request);
}

fn tolerations_default(object: &mut Value) {
    for toleration in json::entries(object, "/tolerations") {
        json::default_member(toleration, "operator", "Equal");
    }
}

/// Sets the time of a taint to the current time if it is unset.
fn set_taint_times(slice: &mut Value, setting: &StrategyContext<'_>) {
    for device in json::entries(slice, "/spec/devices") {
        for taint in json::entries(device, "/taints") {
            json::default_member(taint, "timeAdded", setting.now);
        }
    }
}

fn claim_state(claim: &Value) -> Value {
    let (is_gone, status) = (metadata::is_deleting(claim), &claim["status"]);
    let is_allocated = status["allocation"].is_object();
    let states = [
        ("deleted", is_gone),
        ("pending", !is_gone && !is_allocated),
        ("allocated", is_allocated),
        ("reserved", is_allocated && count(&status["reservedFor"]) > 0),
    ];
    let states = states.iter().filter(|(_, is)| *is).map(|(state, _)| *state);
    states.collect::<Vec<_>>().join(",").into()
}
