//! `reserve` and `unreserve`: an extender of the scheduler holds devices for claims to come.

use fake_csi::{Reservation, ReservedVolume};
use serde::Deserialize;

use super::Resolved;
use crate::plan::Action;
use crate::plan::scope::Scope;
use crate::plan::vocabulary::names;
use crate::scenario::Bytes;

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

/// The parameter in which external-provisioner sends the name of a claim to the driver (`--extra-create-metadata`).
const CLAIM_NAME: &str = "csi.storage.k8s.io/pvc/name";

pub(super) fn resolve(scope: &mut Scope<'_>, spec: &ReserveSpec) -> Resolved {
    if !scope.reservations.insert(spec.name.clone()) {
        return Err(format!(
            "reservation `{}` was used before; give it another `name`",
            spec.name
        ));
    }
    let segments = spec.segments.iter().map(|text| scope.segments.parse(text));
    let volumes = spec.claims.iter().map(|claim| reserved(scope, claim));
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
            "there was no reservation `{name}`; name one that was made"
        ));
    }
    let note = format!("the extender ends reservation {name}");
    Ok(vec![(Action::Unreserve(name.to_owned()), note)])
}

fn reserved(scope: &Scope<'_>, spec: &ReservedClaimSpec) -> Result<ReservedVolume, String> {
    let parameters = scope.classes.get(&spec.class).cloned().ok_or_else(|| {
        let known = names(&scope.classes);
        format!("class `{}` is not defined; classes: {known}", spec.class)
    })?;
    Ok(ReservedVolume {
        holder: [(CLAIM_NAME.to_owned(), spec.name.clone())].into(),
        bytes: spec.size.count(),
        parameters,
    })
}
