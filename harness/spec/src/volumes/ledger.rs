//! CreateVolume calls and existing volumes, by volume name.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use super::is_for;
use crate::world::{Claim, Instance};

/// A CreateVolume call.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The caller.
    pub by: Instance,
    /// `name`.
    pub name: String,
    /// `capacity_range.required_bytes`.
    pub bytes: Option<i64>,
    /// Whether `volume_content_source` names a volume.
    pub is_copy: bool,
    /// The first preferred topology. Empty: no accessibility requirements.
    pub place: Segment,
    /// Whether the requirements allow other segments.
    pub is_elsewhere_too: bool,
    /// The result.
    pub ending: Ending,
    /// Whether the driver's storage certainly lacks capacity for it.
    pub is_overfull: bool,
}

/// The result of a CreateVolume call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The volume exists.
    Made {
        /// `volume_id`.
        id: String,
        /// Its segment.
        segment: Segment,
        /// Whether the caller received the response.
        is_told: bool,
    },
    /// RESOURCE_EXHAUSTED.
    Exhausted,
    /// Another error after which no volume exists.
    Refused,
    /// An error without a specific cause, after which no volume exists.
    Broken {
        /// Whether the error was injected.
        is_scripted: bool,
    },
    /// An error or a missing response after which a volume may exist.
    Undecided,
}

/// An existing volume of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// `volume_id`.
    pub(super) id: String,
    /// The caller that created it.
    pub(super) by: Instance,
    /// Whether that program has run without interruption since.
    pub(super) is_known: bool,
    /// Whether the driver returned RESOURCE_EXHAUSTED for it later, as if it did not exist: the caller then tries other segments in vain.
    pub(super) is_denied: bool,
}

/// The state of a volume name.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) made: Option<Made>,
    /// The last call, while its program runs and the PVC's node is unchanged.
    pub(super) last: Option<Creation>,
}

/// CreateVolume calls and existing volumes.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<String, Entry>,
    /// UIDs of PVCs whose node was cleared since the last quiescence: it may be selected again.
    given_back: BTreeSet<String>,
}

impl Ledger {
    /// Records a CreateVolume call.
    pub fn created(&mut self, creation: Creation) {
        let entry = self.entries.entry(creation.name.clone()).or_default();
        match (&creation.ending, &mut entry.made) {
            (Ending::Made { id, .. }, made) => {
                *made = Some(Made {
                    id: id.clone(),
                    by: creation.by.clone(),
                    is_known: true,
                    is_denied: false,
                });
            }
            (Ending::Exhausted, Some(made)) => made.is_denied = true,
            _ => {}
        }
        entry.last = Some(creation);
    }

    /// Records a DeleteVolume call.
    pub fn deleted(&mut self, id: &str) {
        self.entries
            .retain(|_, entry| entry.made.as_ref().is_none_or(|made| made.id != id));
    }

    /// Records that a program starts or exits: state that only it knew is lost.
    pub(crate) fn restarted(&mut self, instance: &Instance) {
        for entry in self.entries.values_mut() {
            entry.last.take_if(|last| last.by == *instance);
            if let Some(made) = entry.made.as_mut().filter(|made| made.by == *instance) {
                made.is_known = false;
            }
        }
    }

    /// Records that the selected node of a PVC changed or was cleared.
    pub(crate) fn moved(&mut self, claim: &Claim) {
        for (_, entry) in self.entries.iter_mut().filter(|(name, _)| is_for(name, claim)) {
            if entry
                .last
                .take_if(|last| last.ending == Ending::Exhausted)
                .is_some()
            {
                self.given_back.insert(claim.uid.clone());
            }
        }
    }

    /// The last call whose result the caller does not know.
    pub(crate) fn undecided(&self, name: &str) -> Option<&Creation> {
        let last = self.entries.get(name)?.last.as_ref()?;
        let is_open = matches!(
            last.ending,
            Ending::Undecided | Ending::Made { is_told: false, .. }
        );
        is_open.then_some(last)
    }

    /// Whether a volume with this name exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.made.is_some())
    }

    /// At quiescence a cleared PVC has another node, or none.
    pub(crate) fn settle(&mut self) {
        self.given_back.clear();
    }

    /// Whether a PVC keeps a selected node without capacity.
    pub(super) fn keeps_node(&self, claim: &Claim) -> bool {
        let is_exhausted = |entry: &Entry| {
            let last = entry.last.as_ref();
            last.is_some_and(|last| last.ending == Ending::Exhausted)
        };
        !self.given_back.contains(&claim.uid) && self.of_claim(claim).any(is_exhausted)
    }

    /// Whether the driver returned RESOURCE_EXHAUSTED for an existing volume of the PVC.
    pub(super) fn is_denied(&self, claim: &Claim) -> bool {
        let is_denied = |entry: &Entry| entry.made.as_ref().is_some_and(|made| made.is_denied);
        self.of_claim(claim).any(is_denied)
    }

    fn of_claim(&self, claim: &Claim) -> impl Iterator<Item = &Entry> {
        let own = self.entries.iter().filter(|(name, _)| is_for(name, claim));
        own.map(|(_, entry)| entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }
}
