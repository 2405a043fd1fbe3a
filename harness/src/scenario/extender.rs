//! Scheduler extenders in a case file. The harness implements them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A scheduler extender (`KubeSchedulerConfiguration.extenders`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtenderSpec {
    /// Name of the extender in the journal.
    pub name: String,
    /// Whether the extender reserves devices (Dell CSI bare-metal proposal). On the first filter call for a pod, it reserves a device for
    /// each PVC on every candidate node and fails the call; when the scheduler retries, it filters for nodes with a reservation. The driver
    /// identifies PVCs by name, so the publisher must send the PVC's name with CreateVolume.
    #[serde(default)]
    pub reserves: bool,
    /// Whether the extender filters nodes by the capacity in CSIStorageCapacity objects, even if CSIDriver lacks `storageCapacity: true`.
    #[serde(default)]
    pub by_capacity: bool,
    /// Nodes that the extender filters out, each with the reason: `{n1: too hot}`.
    #[serde(default)]
    pub refuses: BTreeMap<String, String>,
    /// Scores from 0 to 10 by node, as in `{n1: 10}`. Unset: the extender does not score nodes.
    #[serde(default)]
    pub prefers: BTreeMap<String, i64>,
    /// Weight of the extender's scores (default: 1).
    #[serde(default = "ExtenderSpec::default_weight")]
    pub weight: i64,
    /// Whether the extender binds the pods that pass its filter, instead of the scheduler.
    #[serde(default)]
    pub binds: bool,
    /// Whether requests contain node names instead of Node objects (`nodeCacheCapable`).
    #[serde(default)]
    pub by_name: bool,
    /// Whether the scheduler continues if the extender fails.
    #[serde(default)]
    pub ignorable: bool,
    /// Whether the extender responds to every call with HTTP status 500.
    #[serde(default)]
    pub fails: bool,
    /// The scheduler calls the extender only for pods that request this extended resource.
    pub resource: Option<String>,
}

impl ExtenderSpec {
    fn default_weight() -> i64 {
        1
    }
}
