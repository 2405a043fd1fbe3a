//! Devices that an extender holds for volumes to come (Dell CSI bare-metal proposal, available-capacity reservations). Does not know sizes: whether something
//! fits is asked of the books.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ask, Backend, ByDevice, Place, PoolKey, SizeRange, cost::Cost, fit};
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

/// Name of the reservation, and what tells its volume.
pub(super) type Holder = (String, BTreeMap<String, String>);

/// What is held, by pool.
#[derive(Debug, Default)]
pub(super) struct Reservations(BTreeMap<PoolKey, ByDevice<Holder>>);

impl Reservations {
    /// What is held of a pool.
    pub(super) fn of_pool(&self, key: &PoolKey) -> Option<&ByDevice<Holder>> {
        self.0.get(key)
    }

    /// A volume came to be at a place: what was held for it everywhere is free again.
    pub(super) fn redeem(&mut self, place: &Place, parameters: &BTreeMap<String, String>) {
        let of_pool = self.0.get(&place.pool);
        let redeemed = of_pool.and_then(|held| held.get(place.name())).cloned();
        if let Some(redeemed) = redeemed.filter(|(_, holder)| contains(parameters, holder)) {
            self.end(|held| *held == redeemed);
        }
    }

    /// Frees the devices whose holder matches; whether there was one.
    fn end(&mut self, matches: impl Fn(&Holder) -> bool) -> bool {
        let mut ended = false;
        for held in self.0.values_mut() {
            held.retain(|_, holder| {
                let ends = matches(holder);
                ended |= ends;
                !ends
            });
        }
        ended
    }
}

impl Backend {
    /// Holds devices on each segment where all volumes find one; what is held then.
    pub(crate) fn reserve(&mut self, wanted: &Reservation) -> Result<Vec<Held>, ReserveError> {
        if self.held(Some(&wanted.name)).next().is_some() {
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
            let device = place.name().to_owned();
            self.reservations
                .0
                .entry(place.pool)
                .or_default()
                .insert(device, held);
        }
        Ok(self.held(Some(&wanted.name)).collect())
    }

    /// Ends a reservation; whether there was one.
    pub(crate) fn cancel_reservation(&mut self, name: &str) -> bool {
        self.reservations.end(|(of, _)| of == name)
    }

    /// Everything that is held, by any reservation or one.
    pub(crate) fn held(&self, name: Option<&str>) -> impl Iterator<Item = Held> {
        let devices = move |(key, held): (&PoolKey, &ByDevice<Holder>)| -> Vec<Held> {
            let held = held
                .iter()
                .filter(|(_, (of, _))| name.is_none_or(|name| of == name));
            let held = held.map(|(device, (name, holder))| Held {
                reservation: name.clone(),
                segment: key.0.clone(),
                device: device.clone(),
                holder: holder.clone(),
            });
            held.collect()
        };
        self.reservations.0.iter().flat_map(devices)
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
        let free = self
            .serving(Some(segment), ask)
            .filter(|it| it.extent.device.is_some() && it.held.is_none())
            .filter(|it| fit(cost, &it.extent, it.free, size, volume.bytes).is_ok());
        let places = free.map(|it| (it.free, it.place()));
        places
            .filter(|(_, place)| !chosen.contains(place))
            .min()
            .map(|(_, place)| place)
    }
}
