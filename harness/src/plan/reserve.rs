//! What an extender of the scheduler does at the driver: holding devices for claims, and letting them go.

use fake_csi::{Reservation, ReservedVolume};

use super::Action;
use super::scope::Scope;
use super::vocabulary::names;
use crate::scenario::{ReserveSpec, ReservedClaimSpec};

/// The parameter in which external-provisioner sends the name of a claim to the driver (`--extra-create-metadata`).
const CLAIM_NAME: &str = "csi.storage.k8s.io/pvc/name";

impl Scope<'_> {
    pub(super) fn reserve(&mut self, spec: &ReserveSpec) -> Result<Vec<(Action, String)>, String> {
        if !self.reservations.insert(spec.name.clone()) {
            return Err(format!(
                "reservation `{}` was used before; give it another `name`",
                spec.name
            ));
        }
        let segments = spec.segments.iter().map(|text| self.segments.parse(text));
        let volumes = spec.claims.iter().map(|claim| self.reserved(claim));
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

    pub(super) fn unreserve(&self, name: &str) -> Result<Vec<(Action, String)>, String> {
        if !self.reservations.contains(name) {
            return Err(format!(
                "there was no reservation `{name}`; name one that was made"
            ));
        }
        let note = format!("the extender ends reservation {name}");
        Ok(vec![(Action::Unreserve(name.to_owned()), note)])
    }

    fn reserved(&self, spec: &ReservedClaimSpec) -> Result<ReservedVolume, String> {
        let parameters = self.classes.get(&spec.class).cloned().ok_or_else(|| {
            let known = names(&self.classes);
            format!("class `{}` is not defined; classes: {known}", spec.class)
        })?;
        Ok(ReservedVolume {
            holder: [(CLAIM_NAME.to_owned(), spec.name.clone())].into(),
            bytes: spec.size.count(),
            parameters,
        })
    }
}
