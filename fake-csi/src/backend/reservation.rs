//! Owns device reservations of a scheduler extender for future volumes (Dell CSI bare-metal proposal, available-capacity reservations).
//! Does not know sizes: the backend decides what fits.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ask, Backend, ByDevice, Place, PoolKey, SizeRange, cost::Cost, fit};
use crate::{Segment, contains};

/// Request to reserve a device for each volume on **each** segment, until the volumes are created or the reservation is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Name, unique among the active reservations.
    pub name: String,
    /// Segments, usually nodes, on which devices are to be reserved.
    pub segments: Vec<Segment>,
    /// The volumes of one pod.
    pub volumes: Vec<ReservedVolume>,
}

/// A volume of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedVolume {
    /// Parameters that identify it: CreateVolume must carry all of them, such as `csi.storage.k8s.io/pvc/name`. Not empty.
    pub holder: BTreeMap<String, String>,
    /// Minimum size in bytes.
    pub bytes: u64,
    /// Parameters of its storage class.
    pub parameters: BTreeMap<String, String>,
}

/// A reserved device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Name of the reservation.
    pub reservation: String,
    /// Segment of the pool.
    pub segment: Segment,
    /// Name of the device.
    pub device: String,
    /// Parameters that identify the volume for which it is reserved.
    pub holder: BTreeMap<String, String>,
}

/// Why a reservation cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// An active reservation has this name.
    #[error("reservation {0:?} is in force already; cancel it first, or use another name")]
    Exists(String),
    /// A volume has no holder; its reservation would match any volume.
    #[error("reservation {0:?} has a volume without a holder; name the parameters that tell it")]
    NoHolder(String),
    /// No segment has a free device for every volume.
    #[error("no segment of reservation {0:?} has free devices for all its volumes; ask for less, or wait")]
    NoDevices(String),
}

/// Name of the reservation, and the parameters that identify its volume.
pub(super) type Holder = (String, BTreeMap<String, String>);

/// Reserved devices by pool.
#[derive(Debug, Default)]
pub(super) struct Reservations(BTreeMap<PoolKey, ByDevice<Holder>>);

impl Reservations {
    /// Reserved devices of a pool.
    pub(super) fn of_pool(&self, key: &PoolKey) -> Option<&ByDevice<Holder>> {
        self.0.get(key)
    }

    /// Ends the reservation of a created volume: the devices reserved for it on all segments become free.
    pub(super) fn redeem(&mut self, place: &Place, parameters: &BTreeMap<String, String>) {
        let of_pool = self.0.get(&place.pool);
        let redeemed = of_pool.and_then(|held| held.get(place.name())).cloned();
        if let Some(redeemed) = redeemed.filter(|(_, holder)| contains(parameters, holder)) {
            self.end(|held| *held == redeemed);
        }
    }

    /// Frees the devices with a matching holder; returns whether there were any.
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
    /// Reserves devices on each segment that has one for every volume; returns the reserved devices.
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

    /// Cancels a reservation; returns whether it existed.
    pub(crate) fn cancel_reservation(&mut self, name: &str) -> bool {
        self.reservations.end(|(of, _)| of == name)
    }

    /// All reserved devices, or those of one reservation.
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

    /// The smallest free device for each volume, largest volume first; `None` if a volume finds none.
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
