//! resource.k8s.io: dynamic resource allocation, stored and shown; nothing allocates.

use super::core::not_supported;
use super::{Generation, Kind, PLAIN, Selectable};
use crate::config::release::Life;
use crate::kinds::columns;

const RESOURCE: Kind = Kind {
    group: "resource.k8s.io",
    returns_deleted: true,
    life: Life::since(34),
    ..PLAIN
};

pub(super) static DEVICE_CLASS: Kind = Kind {
    kind: "DeviceClass",
    plural: "deviceclasses",
    singular: "deviceclass",
    namespaced: false,
    generation: Generation::FromCreation,
    ..RESOURCE
};

pub(super) static RESOURCE_CLAIM: Kind = Kind {
    kind: "ResourceClaim",
    plural: "resourceclaims",
    singular: "resourceclaim",
    status: true,
    printer: &columns::RESOURCE_CLAIM,
    ..RESOURCE
};

pub(super) static RESOURCE_CLAIM_TEMPLATE: Kind = Kind {
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    singular: "resourceclaimtemplate",
    ..RESOURCE
};

pub(super) static RESOURCE_SLICE: Kind = Kind {
    kind: "ResourceSlice",
    plural: "resourceslices",
    singular: "resourceslice",
    namespaced: false,
    generation: Generation::FromCreation,
    selectable: &[
        Selectable {
            label: "spec.nodeName",
            pointers: &["/spec/nodeName"],
        },
        Selectable {
            label: "spec.driver",
            pointers: &["/spec/driver"],
        },
    ],
    unknown_label: not_supported,
    printer: &columns::RESOURCE_SLICE,
    ..RESOURCE
};
