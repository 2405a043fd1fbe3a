//! The rules of the API designs in the KEP. A changed rule describes another design, for which the finding on that rule must fail.

/// The rules of the API designs. Tests of this crate change one rule at a time.
#[derive(Clone, Debug)]
pub struct DesignRules {
    /// Whether tracking is enabled if `capacityTracking` is unset. In the KEP, unset means false.
    pub unset_means_tracked: bool,
    /// A pool without topology and node list applies to the whole cluster.
    pub pool_without_nodes_is_for_all: bool,
    /// A pool with a topology and a node list is invalid.
    pub both_are_rejected: bool,
    /// The node list of a pool is a set: duplicates are invalid.
    pub nodes_are_a_set: bool,
    /// When a `<fallback>` entry of a pool applies to a volume.
    pub fallback: Fallback,
    /// A `<fallback>` entry applies to inline volumes as well.
    pub fallback_serves_inline: bool,
    /// The scheduler checks inline volumes like claims.
    pub inline_is_checked: bool,
    /// Whether a capacity entry expires at or after its `expiryTime`.
    pub expiry: Expiry,
    /// Of two pools with the same spec, the newer one applies.
    pub newest_applies: bool,
    /// A pool applies only to the driver that it names.
    pub driver_must_match: bool,
    /// The spec of a pool is immutable.
    pub spec_is_immutable: bool,
    /// Patches merge pools of a CSIDriver by name, and classes of a pool by class (strategic merge patch).
    pub lists_are_merged: bool,
    /// How publishers write their part of a shared object.
    pub writes: Write,
    /// Deleting the CSIDriver also deletes its status.
    pub status_is_deleted_with_driver: bool,
    /// With the feature gate off, the API server drops the fields of the gate.
    pub gate_drops_fields: bool,
    /// A central publisher without a prefix for topology keys publishes nothing.
    pub prefix_is_required: bool,
    /// Nodes with the same labels form a single segment.
    pub segments_are_distinct: bool,
    /// For inline volumes, GetCapacity is called without parameters and topology.
    pub inline_request_is_empty: bool,
    /// A publisher calls GetCapacity after volumes were created or deleted, and periodically.
    pub volumes_and_time_trigger_calls: bool,
    /// `fsSize` is passed only to drivers that request pod information.
    pub size_needs_pod_info: bool,
    /// `fsSize` together with a driver-specific size is invalid.
    pub two_sizes_are_rejected: bool,
    /// If a pod has static and dynamic bindings on a node, only the static bindings are scored; the two scores are not added.
    pub scores_are_not_summed: bool,
    /// In the flat design, each term of a node selector requires its own object.
    pub terms_become_objects: bool,
}

/// When a `<fallback>` entry, which is meant for all other classes, applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The entry applies if the pool has no entry for the class.
    WithoutEntry,
    /// The entry never applies.
    Never,
    /// The entry applies even if the pool has an entry for the class.
    First,
}

/// When a capacity entry expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The entry is invalid from `expiryTime` on.
    AtExpiryTime,
    /// The entry is still valid at `expiryTime`.
    AfterExpiryTime,
    /// The entry never expires.
    Never,
}

/// How a publisher changes its part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// A PATCH that contains only the publisher's part, without a previous GET.
    Patch,
    /// GET, and PUT of the whole object with the resourceVersion that was read.
    Put,
}

impl Default for DesignRules {
    fn default() -> Self {
        Self {
            unset_means_tracked: false,
            pool_without_nodes_is_for_all: true,
            both_are_rejected: true,
            nodes_are_a_set: true,
            fallback: Fallback::WithoutEntry,
            fallback_serves_inline: true,
            inline_is_checked: true,
            expiry: Expiry::AtExpiryTime,
            newest_applies: true,
            driver_must_match: true,
            spec_is_immutable: true,
            lists_are_merged: true,
            writes: Write::Patch,
            status_is_deleted_with_driver: true,
            gate_drops_fields: true,
            prefix_is_required: true,
            segments_are_distinct: true,
            inline_request_is_empty: true,
            volumes_and_time_trigger_calls: true,
            size_needs_pod_info: true,
            two_sizes_are_rejected: true,
            scores_are_not_summed: true,
            terms_become_objects: true,
        }
    }
}
