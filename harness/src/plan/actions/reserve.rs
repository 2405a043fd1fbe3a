//! The `reserve` and `unreserve` actions: a scheduler extender reserves devices for PVCs that are created later.

use fake_csi::{Reservation, ReservedVolume};
use serde::Deserialize;

use super::Resolved;
use crate::plan::Action;
use crate::plan::scope::Scope;
use crate::plan::vocabulary::join_names;
use crate::scenario::Bytes;

/// A reservation by a scheduler extender (Dell CSI bare-metal proposal, AvailableCapacityReservation): one device per PVC, in each of the
/// segments.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReserveSpec {
    /// Name of the reservation, for `unreserve`.
    pub name: String,
    /// Topology segments (usually nodes) in which devices are reserved.
    pub segments: Vec<String>,
    /// PVCs for which devices are reserved.
    pub claims: Vec<ReservedClaimSpec>,
}

/// A PVC for which a device is reserved. The driver identifies it by the parameter `csi.storage.k8s.io/pvc/name`, which the publisher must
/// send with CreateVolume.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservedClaimSpec {
    /// metadata.name of the PVC.
    pub name: String,
    /// StorageClass of the PVC.
    pub class: String,
    /// Size of the PVC.
    pub size: Bytes,
}

/// CreateVolume parameter in which external-provisioner sends the name of the PVC (`--extra-create-metadata`).
const CLAIM_NAME: &str = "csi.storage.k8s.io/pvc/name";

pub(super) fn resolve(scope: &mut Scope<'_>, spec: &ReserveSpec) -> Resolved {
    if !scope.reservations.insert(spec.name.clone()) {
        return Err(format!(
            "an earlier reservation has the name `{}`; choose another `name`",
            spec.name
        ));
    }
    let segments = spec.segments.iter().map(|text| scope.segments.parse(text));
    let volumes = spec.claims.iter().map(|claim| reserved_volume(scope, claim));
    let reservation = Reservation {
        name: spec.name.clone(),
        segments: segments.collect::<Result<_, _>>()?,
        volumes: volumes.collect::<Result<_, _>>()?,
    };
    let claims: Vec<&str> = spec.claims.iter().map(|claim| claim.name.as_str()).collect();
    let note = format!(
        "the extender reserves for {} on {}",
        claims.join(", "),
        spec.segments.join(", ")
    );
    Ok(vec![(Action::Reserve(reservation), note)])
}

pub(super) fn resolve_end(scope: &mut Scope<'_>, name: &str) -> Resolved {
    if !scope.reservations.contains(name) {
        return Err(format!(
            "no earlier `reserve` has the name `{name}`; use the name of an earlier reservation"
        ));
    }
    let note = format!("the extender ends reservation {name}");
    Ok(vec![(Action::Unreserve(name.to_owned()), note)])
}

fn reserved_volume(scope: &Scope<'_>, spec: &ReservedClaimSpec) -> Result<ReservedVolume, String> {
    let parameters = scope.classes.get(&spec.class).cloned().ok_or_else(|| {
        let known = join_names(&scope.classes);
        format!("class `{}` is not defined; classes: {known}", spec.class)
    })?;
    Ok(ReservedVolume {
        holder: [(CLAIM_NAME.to_owned(), spec.name.clone())].into(),
        bytes: spec.size.count(),
        parameters,
    })
}
