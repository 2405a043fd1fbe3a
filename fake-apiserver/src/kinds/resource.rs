//! resource.k8s.io: dynamic resource allocation, stored and shown; nothing allocates.

use super::row::not_supported;
use super::{Generation, PLAIN, Row};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Of, Text};
use crate::kinds::columns::{AGE, NAME, count, text};
use crate::machinery::metadata;
use crate::machinery::selector::selectable;
use serde_json::Value;

const RESOURCE: Row = Row {
    group: "resource.k8s.io",
    returns_deleted: true,
    life: Life::since(34),
    ..PLAIN
};

pub(super) static DEVICE_CLASS: Row = Row {
    kind: "DeviceClass",
    plural: "deviceclasses",
    singular: "deviceclass",
    namespaced: false,
    generation: Generation::FromCreation,
    ..RESOURCE
};

pub(super) static RESOURCE_CLAIM: Row = Row {
    kind: "ResourceClaim",
    plural: "resourceclaims",
    singular: "resourceclaim",
    status: true,
    columns: &[NAME, text("State", Of(claim_state)), AGE],
    ..RESOURCE
};

pub(super) static RESOURCE_CLAIM_TEMPLATE: Row = Row {
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    singular: "resourceclaimtemplate",
    ..RESOURCE
};

pub(super) static RESOURCE_SLICE: Row = Row {
    kind: "ResourceSlice",
    plural: "resourceslices",
    singular: "resourceslice",
    namespaced: false,
    generation: Generation::FromCreation,
    selectable: &[
        selectable("spec.nodeName", &["/spec/nodeName"]),
        selectable("spec.driver", &["/spec/driver"]),
    ],
    unknown_label: not_supported,
    columns: &[
        NAME,
        text("Node", Text("/spec/nodeName")),
        text("Driver", Text("/spec/driver")),
        text("Pool", Text("/spec/pool/name")),
        AGE,
    ],
    ..RESOURCE
};

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
