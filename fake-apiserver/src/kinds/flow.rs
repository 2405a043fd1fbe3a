//! flowcontrol.apiserver.k8s.io: stored and shown. Requests are never queued.

use super::{Generation, Kind, PLAIN};
use crate::config::release::Life;
use crate::kinds::columns;

const FLOW_CONTROL: Kind = Kind {
    group: "flowcontrol.apiserver.k8s.io",
    namespaced: false,
    status: true,
    generation: Generation::FromCreation,
    life: Life::since(29),
    ..PLAIN
};

pub(super) static FLOW_SCHEMA: Kind = Kind {
    kind: "FlowSchema",
    plural: "flowschemas",
    singular: "flowschema",
    printer: &columns::FLOW_SCHEMA,
    ..FLOW_CONTROL
};

pub(super) static PRIORITY_LEVEL_CONFIGURATION: Kind = Kind {
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    singular: "prioritylevelconfiguration",
    printer: &columns::PRIORITY_LEVEL,
    ..FLOW_CONTROL
};
