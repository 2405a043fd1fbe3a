//! Owns device reservations that a scheduler extender makes for future volumes (Dell CSI bare-metal proposal, available-capacity
//! reservations). Does not know sizes: the backend decides which device fits.

use std::collections::{BTreeMap, BTreeSet};

use super::{Backend, ByDevice, Location, PoolKey, Requirements, SizeRange, cost::Cost, fit_volume};
use crate::{Segment, contains};

/// Request to reserve a device for each volume on **each** segment. Reserved until the volume is created or the reservation is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Name of the reservation, unique among the active reservations.
    pub name: String,
    /// Topology segments, usually nodes, on which devices are to be reserved.
    pub segments: Vec<Segment>,
    /// The future volumes of one pod.
    pub volumes: Vec<ReservedVolume>,
}

/// A future volume for which devices are reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedVolume {
    /// Parameters that identify the future volume: its CreateVolume request contains them all, such as `csi.storage.k8s.io/pvc/name`. Not
    /// empty.
    pub holder: BTreeMap<String, String>,
    /// Minimum size of the future volume in bytes.
    pub bytes: u64,
    /// Parameters of the future volume's StorageClass.
    pub parameters: BTreeMap<String, String>,
}

/// A device that is reserved for a future volume.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "control", derive(serde::Serialize))]
pub struct ReservedDevice {
    /// Name of the reservation that holds the device.
    pub reservation: String,
    /// Topology segment of the pool that contains the device.
    pub segment: Segment,
    /// Name of the reserved device.
    pub device: String,
    /// Parameters that identify the volume for which the device is reserved.
    pub holder: BTreeMap<String, String>,
}

/// Why a reservation cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// The name belongs to an active reservation.
    #[error("reservation {0:?} exists already; cancel it first, or use another name")]
    Exists(String),
    /// A volume has no holder parameters, so its reservation would match every volume.
    #[error("reservation {0:?} has a volume without a holder; set the parameters that identify the volume")]
    NoHolder(String),
    /// No segment has a free device for every volume of the reservation.
    #[error(
        "no segment of reservation {0:?} has free devices for all its volumes; request fewer or smaller volumes, or wait"
    )]
    NoDevices(String),
}

/// Name of the reservation, and the parameters that identify the reserved volume.
pub(super) type Holder = (String, BTreeMap<String, String>);

#[derive(Debug, Default)]
pub(super) struct Reservations(BTreeMap<PoolKey, ByDevice<Holder>>);

impl Reservations {
    pub(super) fn of_pool(&self, key: &PoolKey) -> Option<&ByDevice<Holder>> {
        self.0.get(key)
    }

    /// Ends the reservation for a volume that was created: the devices reserved for the volume on all segments become free.
    pub(super) fn end_for_created_volume(
        &mut self,
        location: &Location,
        parameters: &BTreeMap<String, String>,
    ) {
        let of_pool = self.0.get(&location.pool);
        let consumed = of_pool
            .and_then(|by_device| by_device.get(location.name()))
            .cloned();
        if let Some(consumed) = consumed.filter(|(_, holder)| contains(parameters, holder)) {
            self.free_devices(|holder| *holder == consumed);
        }
    }

    /// Frees the reserved devices whose holder matches; returns whether there were any.
    fn free_devices(&mut self, matches: impl Fn(&Holder) -> bool) -> bool {
        let mut ended = false;
        for by_device in self.0.values_mut() {
            by_device.retain(|_, holder| {
                let ends = matches(holder);
                ended |= ends;
                !ends
            });
        }
        ended
    }
}

impl Backend {
    /// Reserves devices on each segment that has a free device for every volume of the reservation; returns the reserved devices.
    pub(crate) fn reserve(&mut self, reservation: &Reservation) -> Result<Vec<ReservedDevice>, ReserveError> {
        if self.reserved_devices(Some(&reservation.name)).next().is_some() {
            return Err(ReserveError::Exists(reservation.name.clone()));
        }
        if reservation.volumes.iter().any(|volume| volume.holder.is_empty()) {
            return Err(ReserveError::NoHolder(reservation.name.clone()));
        }
        let on_segments: Vec<_> = reservation
            .segments
            .iter()
            .filter_map(|segment| self.devices_for(segment, &reservation.volumes))
            .flatten()
            .collect();
        if on_segments.is_empty() {
            return Err(ReserveError::NoDevices(reservation.name.clone()));
        }
        for (location, volume) in on_segments {
            let holder = (reservation.name.clone(), volume.holder.clone());
            let device = location.name().to_owned();
            self.reservations
                .0
                .entry(location.pool)
                .or_default()
                .insert(device, holder);
        }
        Ok(self.reserved_devices(Some(&reservation.name)).collect())
    }

    /// Cancels a reservation; returns whether it existed.
    pub(crate) fn cancel_reservation(&mut self, name: &str) -> bool {
        self.reservations.free_devices(|(of, _)| of == name)
    }

    /// All reserved devices, or only those of the reservation `name`.
    pub(crate) fn reserved_devices(&self, name: Option<&str>) -> impl Iterator<Item = ReservedDevice> {
        let devices = move |(key, by_device): (&PoolKey, &ByDevice<Holder>)| -> Vec<ReservedDevice> {
            let reserved = by_device
                .iter()
                .filter(|(_, (of, _))| name.is_none_or(|name| of == name));
            let devices = reserved.map(|(device, (name, holder))| ReservedDevice {
                reservation: name.clone(),
                segment: key.0.clone(),
                device: device.clone(),
                holder: holder.clone(),
            });
            devices.collect()
        };
        self.reservations.0.iter().flat_map(devices)
    }

    /// Selects the smallest free device for each volume, largest volume first. `None` if a volume fits on none of the free devices.
    fn devices_for<'v>(
        &self,
        segment: &Segment,
        volumes: &'v [ReservedVolume],
    ) -> Option<Vec<(Location, &'v ReservedVolume)>> {
        let mut chosen = BTreeSet::new();
        let mut sorted: Vec<&ReservedVolume> = volumes.iter().collect();
        sorted.sort_by_key(|volume| std::cmp::Reverse(volume.bytes));
        let mut found = Vec::new();
        for volume in sorted {
            let location = self.device_for(segment, volume, &chosen)?;
            chosen.insert(location.clone());
            found.push((location, volume));
        }
        Some(found)
    }

    fn device_for(
        &self,
        segment: &Segment,
        volume: &ReservedVolume,
        chosen: &BTreeSet<Location>,
    ) -> Option<Location> {
        let requirements = Requirements {
            parameters: &volume.parameters,
            blocks: &[],
        };
        let size = SizeRange {
            required: Some(volume.bytes),
            limit: None,
        };
        let cost = Cost::of(&self.factors, requirements.parameters);
        let free = self
            .candidates(Some(segment), requirements)
            .filter(|it| it.extent.device.is_some() && it.reservation.is_none())
            .filter(|it| fit_volume(cost, &it.extent, it.free, size, volume.bytes).is_ok());
        let locations = free.map(|it| (it.free, it.location()));
        locations
            .filter(|(_, location)| !chosen.contains(location))
            .min()
            .map(|(_, location)| location)
    }
}
