//! What drivers were asked to make, and what they have made, by the name of the volume.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use super::is_for;
use crate::world::{Claim, Instance};

/// A CreateVolume call.
#[derive(Clone, Debug)]
pub struct Creation {
    /// Who called.
    pub by: Instance,
    /// `name`.
    pub name: String,
    /// `capacity_range.required_bytes`.
    pub bytes: Option<i64>,
    /// Whether `volume_content_source` names a volume.
    pub is_copy: bool,
    /// The first choice of its accessibility requirements; empty: there are none.
    pub place: Segment,
    /// Whether other segments will do as well.
    pub is_elsewhere_too: bool,
    /// How it ended.
    pub ending: Ending,
    /// Whether the driver, by its storage, has no room for it for sure.
    pub is_overfull: bool,
}

/// How a CreateVolume call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There is a volume.
    Made {
        /// `volume_id`.
        id: String,
        /// Where it is.
        segment: Segment,
        /// Whether the caller was told.
        is_told: bool,
    },
    /// RESOURCE_EXHAUSTED.
    Exhausted,
    /// Another error, after which there is no volume.
    Refused,
    /// An error that says nothing of what is wrong, after which there is no volume.
    Broken {
        /// Whether the driver was told to answer so.
        is_scripted: bool,
    },
    /// An error, or no answer, after which there may be a volume.
    Undecided,
}

/// A volume that a driver has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// `volume_id`.
    pub(super) id: String,
    /// Who asked for it.
    pub(super) by: Instance,
    /// Whether that program has run since.
    pub(super) is_known: bool,
    /// Whether the driver has answered RESOURCE_EXHAUSTED since, as if there were none: a caller believes it, and asks for another one
    /// elsewhere in vain.
    pub(super) is_denied: bool,
}

/// What is known of a volume's name.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) made: Option<Made>,
    /// The last call, while the program that made it runs and the claim has the same node.
    pub(super) last: Option<Creation>,
}

/// What drivers were asked to make, and what they have made.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<String, Entry>,
    /// Claims, by uid, that gave a node back since everything was last quiet: they may come to it again and again.
    given_back: BTreeSet<String>,
}

impl Ledger {
    /// Takes in that a volume was asked for.
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

    /// Takes in that a driver has deleted a volume.
    pub fn deleted(&mut self, id: &str) {
        self.entries
            .retain(|_, entry| entry.made.as_ref().is_none_or(|made| made.id != id));
    }

    /// Takes in that a program starts or ends: what it knew only by itself is forgotten.
    pub(crate) fn restarted(&mut self, instance: &Instance) {
        for entry in self.entries.values_mut() {
            entry.last.take_if(|last| last.by == *instance);
            if let Some(made) = entry.made.as_mut().filter(|made| made.by == *instance) {
                made.is_known = false;
            }
        }
    }

    /// Takes in that a claim has another node than before, or none.
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

    /// The last call for a volume that may have been made, without the caller being told.
    pub(crate) fn undecided(&self, name: &str) -> Option<&Creation> {
        let last = self.entries.get(name)?.last.as_ref()?;
        let is_open = matches!(
            last.ending,
            Ending::Undecided | Ending::Made { is_told: false, .. }
        );
        is_open.then_some(last)
    }

    /// Whether there is a volume of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.made.is_some())
    }

    /// Everything is quiet: whoever gave a node back has another, or none.
    pub(crate) fn settle(&mut self) {
        self.given_back.clear();
    }

    /// Whether a claim keeps a node on which storage is exhausted.
    pub(super) fn keeps_node(&self, claim: &Claim) -> bool {
        let is_exhausted = |entry: &Entry| {
            let last = entry.last.as_ref();
            last.is_some_and(|last| last.ending == Ending::Exhausted)
        };
        !self.given_back.contains(&claim.uid) && self.of_claim(claim).any(is_exhausted)
    }

    /// Whether the driver has denied a volume that it has for a claim.
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
