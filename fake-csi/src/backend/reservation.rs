//! Devices that an extender holds for volumes to come (Dell CSI bare-metal proposal, available-capacity reservations). Does not know sizes: whether something
//! fits is asked of the books.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ask, Backend, Place, SizeRange, cost::Cost, fit, place};
use crate::{Segment, contains};

/// Asks to hold a device for each of some volumes, on **each** of some segments, until the volumes were created or the reservation ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Name, unique among those in force.
    pub name: String,
    /// Segments, in general nodes, on which devices are to be held.
    pub segments: Vec<Segment>,
    /// The volumes of one pod.
    pub volumes: Vec<ReservedVolume>,
}

/// A volume that a reservation is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedVolume {
    /// What tells it: CreateVolume must carry all these parameters, such as `csi.storage.k8s.io/pvc/name`. Not empty.
    pub holder: BTreeMap<String, String>,
    /// Its least size in bytes.
    pub bytes: u64,
    /// Parameters of its class.
    pub parameters: BTreeMap<String, String>,
}

/// A device that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Name of the reservation.
    pub reservation: String,
    /// Segment of the pool.
    pub segment: Segment,
    /// The device.
    pub device: String,
    /// What tells the volume that it is held for.
    pub holder: BTreeMap<String, String>,
}

/// A reservation cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// The name is in use.
    #[error("reservation {0:?} is in force already; cancel it first, or use another name")]
    Exists(String),
    /// A volume without a holder would hold its device for everybody.
    #[error("reservation {0:?} has a volume without a holder; name the parameters that tell it")]
    NoHolder(String),
    /// No segment has a free device for every volume.
    #[error("no segment of reservation {0:?} has free devices for all its volumes; ask for less, or wait")]
    NoDevices(String),
}

/// What is held, by place: the reservation, and what tells its volume.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    held: BTreeMap<Place, (String, BTreeMap<String, String>)>,
}

impl Reservations {
    /// Whether a place is free of reservations, or is held for a volume with these parameters (`false`); `None` if for another.
    pub(super) fn is_foreign(&self, place: &Place, parameters: &BTreeMap<String, String>) -> Option<bool> {
        match self.held.get(place) {
            None => Some(true),
            Some((_, holder)) => contains(parameters, holder).then_some(false),
        }
    }

    /// Whether a place is held for any volume.
    pub(super) fn holds(&self, place: &Place) -> bool {
        self.held.contains_key(place)
    }

    /// A volume came to be at a place: what was held for it everywhere is free again.
    pub(super) fn redeem(&mut self, place: &Place, parameters: &BTreeMap<String, String>) {
        let Some(redeemed) = self.held.get(place).cloned() else {
            return;
        };
        if contains(parameters, &redeemed.1) {
            self.held.retain(|_, held| *held != redeemed);
        }
    }
}

impl Backend {
    /// Holds devices on each segment where all volumes find one; what is held then.
    pub(crate) fn reserve(&mut self, wanted: &Reservation) -> Result<Vec<Held>, ReserveError> {
        if self
            .reservations
            .held
            .values()
            .any(|(name, _)| *name == wanted.name)
        {
            return Err(ReserveError::Exists(wanted.name.clone()));
        }
        if wanted.volumes.iter().any(|volume| volume.holder.is_empty()) {
            return Err(ReserveError::NoHolder(wanted.name.clone()));
        }
        let on_segments: Vec<_> = wanted
            .segments
            .iter()
            .filter_map(|segment| self.devices_for(segment, &wanted.volumes))
            .flatten()
            .collect();
        if on_segments.is_empty() {
            return Err(ReserveError::NoDevices(wanted.name.clone()));
        }
        for (place, volume) in on_segments {
            let held = (wanted.name.clone(), volume.holder.clone());
            self.reservations.held.insert(place, held);
        }
        Ok(self
            .held()
            .filter(|held| held.reservation == wanted.name)
            .collect())
    }

    /// Ends a reservation; whether there was one.
    pub(crate) fn cancel_reservation(&mut self, name: &str) -> bool {
        let before = self.reservations.held.len();
        self.reservations.held.retain(|_, (of, _)| of != name);
        self.reservations.held.len() < before
    }

    /// Everything that is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = Held> {
        self.reservations.held.iter().map(|(place, (name, holder))| Held {
            reservation: name.clone(),
            segment: place.segment().clone(),
            device: place.device.clone().unwrap_or_default(),
            holder: holder.clone(),
        })
    }

    /// The smallest free device for each volume, largest volume first; `None` if one finds none.
    fn devices_for<'v>(
        &self,
        segment: &Segment,
        volumes: &'v [ReservedVolume],
    ) -> Option<Vec<(Place, &'v ReservedVolume)>> {
        let mut chosen = BTreeSet::new();
        let mut sorted: Vec<&ReservedVolume> = volumes.iter().collect();
        sorted.sort_by_key(|volume| std::cmp::Reverse(volume.bytes));
        let mut found = Vec::new();
        for volume in sorted {
            let place = self.device_for(segment, volume, &chosen)?;
            chosen.insert(place.clone());
            found.push((place, volume));
        }
        Some(found)
    }

    fn device_for(
        &self,
        segment: &Segment,
        volume: &ReservedVolume,
        chosen: &BTreeSet<Place>,
    ) -> Option<Place> {
        let ask = Ask {
            parameters: &volume.parameters,
            blocks: &[],
        };
        let size = SizeRange {
            required: Some(volume.bytes),
            limit: None,
        };
        let cost = Cost::of(&self.factors, ask.parameters);
        self.serving(Some(segment), ask)
            .filter(|(_, extent)| extent.device.is_some())
            .filter_map(|(pool, extent)| {
                let free = self.free(pool, &extent);
                let place = place(pool, &extent);
                let is_free = !chosen.contains(&place) && !self.reservations.held.contains_key(&place);
                (is_free && fit(cost, &extent, free, size, volume.bytes).is_ok()).then_some((free, place))
            })
            .min()
            .map(|(_, place)| place)
    }
}
