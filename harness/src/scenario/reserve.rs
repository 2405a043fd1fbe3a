//! Devices that an extender of the scheduler holds for claims to come, as a case file says it.

use serde::Deserialize;

use super::Bytes;

/// An extender's reservation (Dell CSI bare-metal proposal, AvailableCapacityReservation): one device per claim, on each of the segments.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReserveSpec {
    /// Its name, for `unreserve`.
    pub name: String,
    /// The segments, in general nodes, that it reserves in.
    pub segments: Vec<String>,
    /// The claims that it is for.
    pub claims: Vec<ReservedClaimSpec>,
}

/// A claim that a device is held for. The driver knows it by `csi.storage.k8s.io/pvc/name`, so the publisher must pass that on.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservedClaimSpec {
    /// metadata.name of the claim.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Its size.
    pub size: Bytes,
}
