//! Scheduler extenders in a case file; the harness implements them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A scheduler extender (`KubeSchedulerConfiguration.extenders`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtenderSpec {
    /// Name of the extender in the journal.
    pub name: String,
    /// Reserves a device for each PVC of a pod on every node of the call, fails the call, and filters for reserved nodes on the retry
    /// (Dell CSI bare-metal proposal). The driver identifies PVCs by name, so the publisher must pass it on.
    #[serde(default)]
    pub reserves: bool,
    /// Filters nodes by the capacity of CSIStorageCapacity objects, whether or not CSIDriver has `storageCapacity: true`.
    #[serde(default)]
    pub by_capacity: bool,
    /// Rejected nodes, each with its reason.
    #[serde(default)]
    pub refuses: BTreeMap<String, String>,
    /// Scores from 0 to 10, by node; unset: does not score.
    #[serde(default)]
    pub prefers: BTreeMap<String, i64>,
    /// Weight of its scores.
    #[serde(default = "ExtenderSpec::default_weight")]
    pub weight: i64,
    /// Binds the pods that pass it, instead of the scheduler.
    #[serde(default)]
    pub binds: bool,
    /// Calls contain node names (`nodeCacheCapable`) instead of Node objects.
    #[serde(default)]
    pub by_name: bool,
    /// The scheduler may continue without it.
    #[serde(default)]
    pub ignorable: bool,
    /// Answers every call with HTTP 500.
    #[serde(default)]
    pub fails: bool,
    /// Restricts the extender to pods that request this extended resource.
    pub resource: Option<String>,
}

impl ExtenderSpec {
    fn default_weight() -> i64 {
        1
    }
}
