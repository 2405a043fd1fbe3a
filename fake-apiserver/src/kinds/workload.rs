//! Owners of pods and their companions: stored and shown, with defaults and rules left out.

use super::{Generation, Kind, PLAIN};
use crate::printer;
use crate::release::Life;

/// A row with a status and a generation, as all workloads have them.
const WORKLOAD: Kind = Kind {
    group: "apps",
    categories: &["all"],
    status: true,
    generation: Generation::FromCreation,
    ..PLAIN
};

pub(super) static DAEMON_SET: Kind = Kind {
    kind: "DaemonSet",
    plural: "daemonsets",
    singular: "daemonset",
    short_names: &["ds"],
    printer: &printer::DAEMON_SET,
    ..WORKLOAD
};

pub(super) static DEPLOYMENT: Kind = Kind {
    kind: "Deployment",
    plural: "deployments",
    singular: "deployment",
    short_names: &["deploy"],
    printer: &printer::DEPLOYMENT,
    ..WORKLOAD
};

pub(super) static REPLICA_SET: Kind = Kind {
    kind: "ReplicaSet",
    plural: "replicasets",
    singular: "replicaset",
    short_names: &["rs"],
    printer: &printer::REPLICA_SET,
    ..WORKLOAD
};

pub(super) static STATEFUL_SET: Kind = Kind {
    kind: "StatefulSet",
    plural: "statefulsets",
    singular: "statefulset",
    short_names: &["sts"],
    printer: &printer::STATEFUL_SET,
    ..WORKLOAD
};

pub(super) static REPLICATION_CONTROLLER: Kind = Kind {
    group: "",
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    singular: "replicationcontroller",
    short_names: &["rc"],
    printer: &printer::REPLICA_SET,
    ..WORKLOAD
};

pub(super) static SERVICE: Kind = Kind {
    kind: "Service",
    plural: "services",
    singular: "service",
    short_names: &["svc"],
    categories: &["all"],
    status: true,
    create_on_update: true,
    returns_deleted: true,
    printer: &printer::SERVICE,
    ..PLAIN
};

pub(super) static POD_DISRUPTION_BUDGET: Kind = Kind {
    group: "policy",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    singular: "poddisruptionbudget",
    short_names: &["pdb"],
    status: true,
    generation: Generation::FromCreation,
    unconditional_update: false,
    printer: &printer::POD_DISRUPTION_BUDGET,
    life: Life::since(21),
    ..PLAIN
};
