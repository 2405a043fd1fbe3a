//! CreateVolume calls and existing volumes, by volume name.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use super::is_volume_of;
use crate::world::{Claim, Instance};

/// A CreateVolume call.
#[derive(Clone, Debug)]
pub struct CreateVolumeCall {
    /// The caller.
    pub by: Instance,
    /// `CreateVolumeRequest.name`.
    pub name: String,
    /// `capacity_range.required_bytes`.
    pub bytes: Option<i64>,
    /// Whether `volume_content_source` names a volume.
    pub is_clone: bool,
    /// The first preferred topology. Empty: no accessibility requirements.
    pub preferred_segment: Segment,
    /// Whether the requirements allow other segments.
    pub allows_other_segments: bool,
    /// The result.
    pub result: CreateVolumeResult,
    /// Whether the driver's storage certainly lacks capacity for it.
    pub exceeds_capacity: bool,
}

/// The result of a CreateVolume call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateVolumeResult {
    /// The volume exists.
    Created {
        /// `volume_id`.
        id: String,
        /// The topology segment of the created volume.
        segment: Segment,
        /// Whether the caller received the response.
        is_received: bool,
    },
    /// RESOURCE_EXHAUSTED.
    Exhausted,
    /// Another error after which no volume exists.
    Failed,
    /// An error without a specific cause, after which no volume exists.
    Internal {
        /// Whether the error was injected.
        is_injected: bool,
    },
    /// An error or a missing response after which a volume may exist.
    Unknown,
}

/// A volume that exists in the driver's storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExistingVolume {
    /// `volume_id`.
    pub(super) id: String,
    /// The caller that created it.
    pub(super) by: Instance,
    /// Whether the creating program has not restarted since the creation.
    pub(super) is_known: bool,
    /// Whether the driver returned RESOURCE_EXHAUSTED for it later, as if it did not exist: the caller then tries other segments,
    /// which fail as well.
    pub(super) is_reported_exhausted: bool,
}

/// The volume and the last call with one volume name.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) volume: Option<ExistingVolume>,
    /// The last call, while its program runs and the PVC's node is unchanged.
    pub(super) last: Option<CreateVolumeCall>,
}

/// CreateVolume calls and existing volumes.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<String, Entry>,
    /// UIDs of PVCs whose selected node was cleared since the last quiescence: it may be selected again.
    deselected: BTreeSet<String>,
}

impl Ledger {
    /// Records a CreateVolume call.
    pub fn create_volume(&mut self, call: CreateVolumeCall) {
        let entry = self.entries.entry(call.name.clone()).or_default();
        match (&call.result, &mut entry.volume) {
            (CreateVolumeResult::Created { id, .. }, volume) => {
                *volume = Some(ExistingVolume {
                    id: id.clone(),
                    by: call.by.clone(),
                    is_known: true,
                    is_reported_exhausted: false,
                });
            }
            (CreateVolumeResult::Exhausted, Some(volume)) => volume.is_reported_exhausted = true,
            _ => {}
        }
        entry.last = Some(call);
    }

    /// Records a DeleteVolume call.
    pub fn volume_deleted(&mut self, id: &str) {
        self.entries
            .retain(|_, entry| entry.volume.as_ref().is_none_or(|volume| volume.id != id));
    }

    /// Records that a program starts or exits: state that only it knew is lost.
    pub(crate) fn restarted(&mut self, instance: &Instance) {
        for entry in self.entries.values_mut() {
            entry.last.take_if(|last| last.by == *instance);
            if let Some(volume) = entry.volume.as_mut().filter(|volume| volume.by == *instance) {
                volume.is_known = false;
            }
        }
    }

    /// Records that the selected node of a PVC changed or was cleared.
    pub(crate) fn node_changed(&mut self, claim: &Claim) {
        for (_, entry) in self
            .entries
            .iter_mut()
            .filter(|(name, _)| is_volume_of(name, claim))
        {
            if entry
                .last
                .take_if(|last| last.result == CreateVolumeResult::Exhausted)
                .is_some()
            {
                self.deselected.insert(claim.uid.clone());
            }
        }
    }

    /// The last call whose result the caller does not know.
    pub(crate) fn unknown_result(&self, name: &str) -> Option<&CreateVolumeCall> {
        let last = self.entries.get(name)?.last.as_ref()?;
        let is_unknown = matches!(
            last.result,
            CreateVolumeResult::Unknown
                | CreateVolumeResult::Created {
                    is_received: false,
                    ..
                }
        );
        is_unknown.then_some(last)
    }

    /// Whether a volume with this name exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.volume.is_some())
    }

    /// At quiescence a cleared PVC has another node, or none.
    pub(crate) fn settle(&mut self) {
        self.deselected.clear();
    }

    /// Whether a PVC keeps a selected node without capacity.
    pub(super) fn retains_node(&self, claim: &Claim) -> bool {
        let is_exhausted = |entry: &Entry| {
            let last = entry.last.as_ref();
            last.is_some_and(|last| last.result == CreateVolumeResult::Exhausted)
        };
        !self.deselected.contains(&claim.uid) && self.of_claim(claim).any(is_exhausted)
    }

    /// Whether the driver returned RESOURCE_EXHAUSTED for an existing volume of the PVC.
    pub(super) fn is_reported_exhausted(&self, claim: &Claim) -> bool {
        let is_reported_exhausted = |entry: &Entry| {
            entry
                .volume
                .as_ref()
                .is_some_and(|volume| volume.is_reported_exhausted)
        };
        self.of_claim(claim).any(is_reported_exhausted)
    }

    fn of_claim(&self, claim: &Claim) -> impl Iterator<Item = &Entry> {
        let own = self.entries.iter().filter(|(name, _)| is_volume_of(name, claim));
        own.map(|(_, entry)| entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }
}
