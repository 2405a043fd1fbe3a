//! Records CreateVolume calls and existing volumes, by volume name.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use super::is_volume_of;
use crate::world::{Claim, Instance};

/// A CreateVolume call and its result.
#[derive(Clone, Debug)]
pub struct CreateVolumeCall {
    /// The provisioner that made the call.
    pub by: Instance,
    /// `CreateVolumeRequest.name`.
    pub name: String,
    /// `capacity_range.required_bytes`.
    pub bytes: Option<i64>,
    /// Whether `volume_content_source` is a volume.
    pub is_clone: bool,
    /// The first preferred topology. Empty: the request has no accessibility requirements.
    pub preferred_segment: Segment,
    /// Whether the accessibility requirements allow segments other than the preferred one.
    pub allows_other_segments: bool,
    /// The result of the call.
    pub result: CreateVolumeResult,
    /// Whether the driver's storage certainly lacks capacity for the volume.
    pub exceeds_capacity: bool,
}

/// The result of a CreateVolume call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateVolumeResult {
    /// The driver created the volume, or it existed already.
    Created {
        /// `volume_id`.
        id: String,
        /// The topology segment of the created volume.
        segment: Segment,
        /// Whether the caller received the response.
        is_received: bool,
    },
    /// The driver returned RESOURCE_EXHAUSTED.
    Exhausted,
    /// The driver returned another error after which no volume exists.
    Failed,
    /// The driver returned INTERNAL, after which no volume exists.
    Internal {
        /// Whether a fault rule injected the error.
        is_injected: bool,
    },
    /// The driver returned an error, or no response arrived, so that a volume may exist.
    Unknown,
}

/// A volume that a CreateVolume call has created and no DeleteVolume call has deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExistingVolume {
    /// `volume_id`.
    pub(super) id: String,
    /// The provisioner that created the volume.
    pub(super) by: Instance,
    /// Whether the provisioner that created the volume still knows the volume, because it has not restarted since.
    pub(super) is_known: bool,
    /// Whether the driver has later returned RESOURCE_EXHAUSTED for the volume, as if it did not exist. The provisioner then tries other
    /// segments, which fail as well.
    pub(super) is_reported_exhausted: bool,
}

/// For one volume name: the existing volume and the last CreateVolume call.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeEntry {
    pub(super) volume: Option<ExistingVolume>,
    /// The last call. `None` after a restart of the provisioner or a change of the PVC's selected node.
    pub(super) last: Option<CreateVolumeCall>,
}

/// CreateVolume calls and existing volumes.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<String, VolumeEntry>,
    /// UIDs of PVCs whose selected node was removed since the last quiescence. The scheduler may select the same node again.
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

    /// Records a successful DeleteVolume call.
    pub fn volume_deleted(&mut self, id: &str) {
        self.entries
            .retain(|_, entry| entry.volume.as_ref().is_none_or(|volume| volume.id != id));
    }

    /// Records that a provisioner starts or exits, so that its in-memory state is lost.
    pub(crate) fn record_restart(&mut self, instance: &Instance) {
        for entry in self.entries.values_mut() {
            entry.last.take_if(|last| last.by == *instance);
            if let Some(volume) = entry.volume.as_mut().filter(|volume| volume.by == *instance) {
                volume.is_known = false;
            }
        }
    }

    /// Records that the selected node of a PVC was changed or removed.
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

    /// The last call for a volume name, if the provisioner does not know its result.
    pub(crate) fn call_with_unknown_result(&self, name: &str) -> Option<&CreateVolumeCall> {
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

    pub(crate) fn has_volume(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.volume.is_some())
    }

    /// Called at quiescence, when the scheduler had time to select a node for each PVC without one.
    pub(crate) fn on_quiescence(&mut self) {
        self.deselected.clear();
    }

    /// Whether the selected node of a PVC was not removed although CreateVolume returned RESOURCE_EXHAUSTED.
    pub(super) fn retains_node(&self, claim: &Claim) -> bool {
        let is_exhausted = |entry: &VolumeEntry| {
            let last = entry.last.as_ref();
            last.is_some_and(|last| last.result == CreateVolumeResult::Exhausted)
        };
        !self.deselected.contains(&claim.uid) && self.of_claim(claim).any(is_exhausted)
    }

    /// Whether the driver returned RESOURCE_EXHAUSTED for an existing volume of the PVC.
    pub(super) fn is_reported_exhausted(&self, claim: &Claim) -> bool {
        let is_reported_exhausted = |entry: &VolumeEntry| {
            entry
                .volume
                .as_ref()
                .is_some_and(|volume| volume.is_reported_exhausted)
        };
        self.of_claim(claim).any(is_reported_exhausted)
    }

    fn of_claim(&self, claim: &Claim) -> impl Iterator<Item = &VolumeEntry> {
        let own = self.entries.iter().filter(|(name, _)| is_volume_of(name, claim));
        own.map(|(_, entry)| entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &VolumeEntry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }
}
