//! Rules for the results of volume calls: failed CreateVolume calls and deleted volumes.

use super::monitor::Monitor;
use super::request::Actor;
use crate::rules;
use crate::violation::{Subject, Violation};
use crate::volumes::{CreateVolumeCall, CreateVolumeResult, is_volume_of};
use crate::world::change::ChangeKind;
use crate::world::{NamespacedName, Volume, World};

impl Monitor {
    pub(super) fn record_failure(&mut self, call: &CreateVolumeCall) {
        let is_failed = matches!(
            call.result,
            CreateVolumeResult::Exhausted | CreateVolumeResult::Failed | CreateVolumeResult::Internal { .. }
        );
        if !is_failed || !self.world.publishers.contains_key(&call.by) {
            return;
        }
        let mut claims = self.world.claims.iter();
        if let Some((claim, _)) = claims.find(|(_, claim)| is_volume_of(&call.name, claim)) {
            let failure = self.unreported_failures.0.entry(claim.clone());
            failure.or_insert_with(|| Some(call.name.clone()));
        }
    }

    /// Failed CreateVolume calls for which no Event was created, if the cluster is quiescent now.
    pub(super) fn missing_failure_events(&self) -> impl Iterator<Item = Violation> {
        let waits = |claim: &NamespacedName| {
            let claim = self.world.claims.get(claim);
            claim.is_some_and(|claim| claim.volume.is_empty() && !claim.is_deleted)
        };
        let failures = self.unreported_failures.0.iter();
        let unreported = failures.filter_map(|(claim, volume)| Some((claim, volume.as_ref()?)));
        let unreported = unreported.filter(move |(claim, _)| waits(claim));
        unreported.map(|(claim, volume)| Violation {
            rule: rules::FAILURE_NOT_REPORTED,
            subject: Subject::Claim(claim.clone()),
            detail: format!("creating {volume} failed, and no event reports the error"),
        })
    }

    /// The violation if a program deletes a volume to which a PVC is bound in every state that the program may have received.
    pub(super) fn volume_deleted(&self, id: &str, by: &Actor) -> Option<Violation> {
        if *by == Actor::User {
            return None;
        }
        let is_free = |world: &World| !is_claimed(world, id);
        let is_right =
            self.recent
                .any_state(&self.world, &[ChangeKind::Claims, ChangeKind::Volumes], is_free);
        (!is_right).then(|| Violation {
            rule: rules::ROLLED_BACK,
            subject: Subject::Volume(id.to_owned()),
            detail: "a PVC is bound to it".to_owned(),
        })
    }
}

/// Whether a PVC is bound to the volume with this id.
fn is_claimed(world: &World, id: &str) -> bool {
    let is_it = |volume: &Volume| volume.handle == id && !volume.is_deleted;
    let mut volumes = world.volumes.iter().filter(|(_, volume)| is_it(volume));
    volumes.any(|(name, volume)| {
        let uid = volume.claim.as_ref().map(|claim| claim.uid.as_str());
        let mut claims = world.claims.values();
        claims.any(|claim| claim.volume == *name && Some(claim.uid.as_str()) == uid && !claim.is_deleted)
    })
}
