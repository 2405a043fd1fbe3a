//! Scheduler extenders that the harness plays, as a case file says them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// An HTTP service that the scheduler is configured to call (`KubeSchedulerConfiguration.extenders`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtenderSpec {
    /// Its name in the journal.
    pub name: String,
    /// It holds a device for each claim of a pod on every node of the call, makes the scheduler call again, and then keeps the
    /// nodes where it holds them (Dell CSI bare-metal proposal). The driver knows a claim by its name, so the publisher must pass that on.
    #[serde(default)]
    pub reserves: bool,
    /// It keeps the nodes for which the CSIStorageCapacity objects have room, whether or not CSIDriver says that the driver tracks capacity.
    #[serde(default)]
    pub by_capacity: bool,
    /// Nodes that it refuses, each with its reason.
    #[serde(default)]
    pub refuses: BTreeMap<String, String>,
    /// Its scores, 0 to 10, by node; unset: it does not score.
    #[serde(default)]
    pub prefers: BTreeMap<String, i64>,
    /// Multiplies its scores.
    #[serde(default = "ExtenderSpec::default_weight")]
    pub weight: i64,
    /// It binds the pods that pass it, in the scheduler's place.
    #[serde(default)]
    pub binds: bool,
    /// Calls have the names of nodes (`nodeCacheCapable`) instead of whole nodes.
    #[serde(default)]
    pub by_name: bool,
    /// The scheduler may go on without it.
    #[serde(default)]
    pub ignorable: bool,
    /// It answers every call with HTTP 500.
    #[serde(default)]
    pub fails: bool,
    /// Only pods that request this extended resource concern it.
    pub resource: Option<String>,
}

impl ExtenderSpec {
    fn default_weight() -> i64 {
        1
    }
}
