//! What the documents say of their designs, rule by rule. A design without one of these rules is another design, and its finding says so.

/// The rules. Each is taken away once by the tests of this crate.
#[derive(Clone, Debug)]
pub struct Documents {
    /// `capacityTracking` counts where it is true; unset is false.
    pub unset_tracks: bool,
    /// A pool with neither a topology nor nodes is for the whole cluster.
    pub pool_without_nodes_is_for_all: bool,
    /// A pool with both a topology and nodes is refused.
    pub both_are_refused: bool,
    /// The list of nodes is a set: a name that stands twice is refused.
    pub nodes_are_a_set: bool,
    /// When an entry for `<fallback>` counts.
    pub fallback: Fallback,
    /// It counts for inline volumes too.
    pub fallback_serves_inline: bool,
    /// Inline volumes are looked up like claims.
    pub inline_is_checked: bool,
    /// When an entry with an `expiryTime` counts no more.
    pub expiry: Expiry,
    /// Of two pools with the same spec the one that was made later counts.
    pub newest_counts: bool,
    /// A pool counts for the driver that it names only.
    pub driver_must_match: bool,
    /// The spec of a pool can't be changed.
    pub spec_is_fixed: bool,
    /// Pools of a CSIDriver are merged by name, and classes of a pool by class.
    pub lists_are_merged: bool,
    /// How writers write.
    pub writes: Write,
    /// Deleting the CSIDriver takes its status along.
    pub status_goes_with_driver: bool,
    /// With its gate off the API server drops every new field.
    pub gate_drops_fields: bool,
    /// A central publisher without a prefix of topology keys publishes nothing.
    pub prefix_is_needed: bool,
    /// Segments that several nodes share count once.
    pub segments_are_distinct: bool,
    /// The publisher of inline volumes asks without parameters and without topology.
    pub inline_request_is_empty: bool,
    /// A publisher asks again when volumes come and go, and from time to time.
    pub volumes_and_time_are_followed: bool,
    /// `fsSize` goes to drivers that ask for pod information, and to no others.
    pub size_needs_pod_info: bool,
    /// `fsSize` beside a size of the driver's own is refused.
    pub two_sizes_are_refused: bool,
    /// Static bindings alone are scored on a node that has one, and no sum of both scores is made.
    pub scores_are_not_summed: bool,
    /// Terms of a node selector become an object each in the flat design.
    pub terms_become_objects: bool,
}

/// When an entry for any other class counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Where the pool has no entry for the class.
    WithoutEntry,
    /// Never.
    Never,
    /// Before the entry for the class.
    First,
}

/// When an entry ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// From its `expiryTime` on.
    FromThen,
    /// After it.
    AfterThen,
    /// Never.
    Never,
}

/// How a writer changes its part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// PATCH of its own part, without reading.
    Patch,
    /// GET, and PUT of the whole object at the version that was read.
    Put,
}

impl Default for Documents {
    fn default() -> Self {
        Self {
            unset_tracks: false,
            pool_without_nodes_is_for_all: true,
            both_are_refused: true,
            nodes_are_a_set: true,
            fallback: Fallback::WithoutEntry,
            fallback_serves_inline: true,
            inline_is_checked: true,
            expiry: Expiry::FromThen,
            newest_counts: true,
            driver_must_match: true,
            spec_is_fixed: true,
            lists_are_merged: true,
            writes: Write::Patch,
            status_goes_with_driver: true,
            gate_drops_fields: true,
            prefix_is_needed: true,
            segments_are_distinct: true,
            inline_request_is_empty: true,
            volumes_and_time_are_followed: true,
            size_needs_pod_info: true,
            two_sizes_are_refused: true,
            scores_are_not_summed: true,
            terms_become_objects: true,
        }
    }
}
