//! Owns the accounting of storage pools: total raw storage, and how much of it volumes have allocated, exact to the byte. Does not know
//! sockets or gRPC messages.

mod cost;
mod pool;
mod reservation;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use cost::CostFactor;
pub use pool::{Access, Device, GROUP_VOLUME_BYTES_MIN, Pool, Storage};
pub use reservation::{Reservation, ReserveError, ReservedDevice, ReservedVolume};

use crate::{Segment, contains};
use cost::Cost;
use pool::{Extent, PoolKey};
use reservation::{Holder, Reservations};

/// A volume of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "control",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct VolumeInfo {
    /// Id of the volume, as in `Volume.volume_id`.
    pub id: String,
    /// The `name` of the CreateVolume request.
    pub name: String,
    /// Size of the volume in bytes.
    pub bytes: u64,
    /// Raw bytes that the volume has allocated from its pool.
    pub raw_bytes: u64,
    /// Topology segment of the pool that contains the volume.
    pub segment: Segment,
    /// The device that contains the volume, if the pool has devices.
    #[cfg_attr(feature = "control", serde(skip_serializing_if = "Option::is_none"))]
    pub device: Option<String>,
    /// Class parameters of the CreateVolume request.
    pub parameters: BTreeMap<String, String>,
    /// Current mutable parameters of the volume.
    #[cfg_attr(feature = "control", serde(skip_serializing_if = "BTreeMap::is_empty"))]
    pub mutable_parameters: BTreeMap<String, String>,
    /// Id of the source volume or snapshot, if the volume is a clone or was created from a snapshot.
    #[cfg_attr(feature = "control", serde(skip_serializing_if = "Option::is_none"))]
    pub source: Option<String>,
}

/// Class parameters and access types that a pool or device must match. Topology is not included, but checked separately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requirements<'a> {
    pub(crate) parameters: &'a BTreeMap<String, String>,
    /// For each requested volume capability, whether its access type is block. Empty: any access type.
    pub(crate) blocks: &'a [bool],
}

/// Minimum and maximum size of a volume in bytes; `None` means unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SizeRange {
    pub(crate) required: Option<u64>,
    pub(crate) limit: Option<u64>,
}

/// The capacity that GetCapacity reports, in volume bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CapacityValues {
    /// Sum of the available capacity of all pools that match the request.
    pub(crate) available: u64,
    /// Size of the largest volume that can be created; `None` if a matching pool reports no maximum, or if no pool matches.
    pub(crate) maximum: Option<u64>,
    /// Size of the smallest volume that can be created; `None` if a matching pool has no minimum, or if no pool has free storage.
    pub(crate) minimum: Option<u64>,
}

/// Where a volume is allocated: the pool, and the device if the pool has devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pool: PoolKey,
    device: Option<String>,
}

/// Values by name of a pool's device; a pool without devices uses the empty name.
type ByDevice<T> = BTreeMap<String, T>;

/// An extent of a pool on which a volume can be created, and the free space of the extent.
struct Candidate<'b> {
    pool: &'b Pool,
    extent: Extent<'b>,
    /// Raw bytes that a volume can allocate; 0 if the pool was shrunk below its allocations.
    free: u64,
    reservation: Option<&'b Holder>,
}

/// Size and location of a new or expanded volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) location: Location,
    /// Size of the volume in bytes.
    pub(crate) bytes: u64,
    /// Raw bytes that the volume allocates from the pool.
    pub(crate) raw_bytes: u64,
}

/// Why a volume cannot be created or expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shortage {
    /// Not enough storage is free at present; a later call may succeed.
    Exhausted,
    /// No volume can have a size in the requested range: `limit_bytes` is too small, or `required_bytes` too large.
    OutOfRange,
}

/// Storage pools, the allocations of volumes, the cost factors, and the reservations.
#[derive(Debug, Default)]
pub(crate) struct Backend {
    pools: BTreeMap<PoolKey, Pool>,
    /// Raw bytes that volumes have allocated. Includes removed pools, because volumes of a removed pool continue to exist.
    allocated: BTreeMap<PoolKey, ByDevice<u64>>,
    factors: Vec<CostFactor>,
    reservations: Reservations,
}

impl SizeRange {
    pub(crate) fn contains(self, bytes: u64) -> bool {
        self.required.is_none_or(|required| bytes >= required)
            && self.limit.is_none_or(|limit| bytes <= limit)
    }

    pub(crate) fn is_required_above_limit(self) -> bool {
        matches!((self.required, self.limit), (Some(required), Some(limit)) if required > limit)
    }
}

impl Location {
    pub(crate) fn segment(&self) -> &Segment {
        &self.pool.0
    }

    pub(crate) fn device(&self) -> Option<&String> {
        self.device.as_ref()
    }

    fn name(&self) -> &str {
        self.device.as_deref().unwrap_or_default()
    }
}

impl Backend {
    pub(crate) fn set_pool(&mut self, pool: Pool) {
        self.pools.insert(pool.key(), pool);
    }

    pub(crate) fn remove_pool(&mut self, segment: &Segment) {
        self.pools.retain(|(of, _), _| of != segment);
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = &Pool> {
        self.pools.values()
    }

    pub(crate) fn add_cost(&mut self, factor: CostFactor) {
        self.factors.push(factor);
    }

    /// Capacity for volumes with these requirements that are accessible from `topology` (`None`: from anywhere). A GetCapacity
    /// request does not name a volume, so `counts_reserved` decides for all reserved storage whether it counts as available.
    pub(crate) fn capacity(
        &self,
        topology: Option<&Segment>,
        requirements: Requirements<'_>,
        counts_reserved: bool,
    ) -> CapacityValues {
        let cost = Cost::of(&self.factors, requirements.parameters);
        let mut values = CapacityValues::default();
        let (mut reported, mut bounded) = (true, true);
        for Candidate {
            extent,
            free,
            reservation,
            ..
        } in self.candidates(topology, requirements)
        {
            let is_reserved = !counts_reserved && reservation.is_some();
            let free = if is_reserved { 0 } else { free };
            reported &= extent.reports_maximum;
            let largest = cost.volume_bytes(free.min(extent.largest));
            let minimum = minimum_volume(cost, &extent);
            if extent.device.is_some() && (largest == 0 || minimum.is_some_and(|minimum| largest < minimum)) {
                // A full device cannot contain a volume: it contributes only a maximum volume size of 0.
                values.maximum = values.maximum.or(Some(0));
                continue;
            }
            bounded &= minimum.is_some();
            values.available = values.available.saturating_add(cost.volume_bytes(free));
            values.maximum = values.maximum.max(Some(largest));
            values.minimum = match (values.minimum, minimum) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        values.maximum = values.maximum.filter(|_| reported);
        values.minimum = values.minimum.filter(|_| bounded);
        values
    }

    /// Allocates a volume from the first pool that matches the topology and has enough storage, on the smallest extent that fits.
    /// `default`: the size in bytes if the request has no minimum.
    pub(crate) fn allocate(
        &mut self,
        topology: Option<&Segment>,
        requirements: Requirements<'_>,
        size: SizeRange,
        default: u64,
    ) -> Result<Allocation, Shortage> {
        let allocation = self.find(topology, requirements, size, default)?;
        self.add_allocation(&allocation.location, allocation.raw_bytes);
        self.reservations
            .end_for_created_volume(&allocation.location, requirements.parameters);
        Ok(allocation)
    }

    /// Releases raw bytes that [`Backend::allocate`] allocated.
    pub(crate) fn release(&mut self, location: &Location, raw: u64) {
        let of_pool = self.allocated.entry(location.pool.clone()).or_default();
        if let Some(allocated) = of_pool.get_mut(location.name()) {
            *allocated = allocated.saturating_sub(raw);
        }
        of_pool.retain(|_, allocated| *allocated > 0);
        if of_pool.is_empty() {
            self.allocated.remove(&location.pool);
        }
    }

    fn add_allocation(&mut self, location: &Location, raw: u64) {
        let of_pool = self.allocated.entry(location.pool.clone()).or_default();
        *of_pool.entry(location.name().to_owned()).or_default() += raw;
    }

    /// Expands the allocation at `location` to a volume size of `bytes`; returns the new number of raw bytes of the volume.
    pub(crate) fn expand(
        &mut self,
        location: &Location,
        requirements: Requirements<'_>,
        raw: u64,
        bytes: u64,
    ) -> Result<u64, Shortage> {
        let needed = Cost::of(&self.factors, requirements.parameters)
            .raw_bytes(bytes)
            .ok_or(Shortage::OutOfRange)?;
        let more = needed.saturating_sub(raw);
        let pool = self.pools.get(&location.pool).ok_or(Shortage::Exhausted)?;
        let extents = pool.extents();
        let extent = extents
            .iter()
            .find(|extent| extent.name == location.device.as_deref())
            .ok_or(Shortage::Exhausted)?;
        if needed > extent.largest.min(extent.capacity) {
            return Err(Shortage::OutOfRange);
        }
        if more > extent.capacity.saturating_sub(self.allocated_at(location)) {
            return Err(Shortage::Exhausted);
        }
        self.add_allocation(location, more);
        Ok(raw + more)
    }

    /// Total raw bytes of the pool, and the raw bytes that volumes have allocated from it.
    pub(crate) fn raw_sums(&self, pool: &Pool) -> (u64, u64) {
        let of_pool = self.allocated.get(&pool.key());
        let allocated = |extent: &Extent<'_>| allocated_on(of_pool, extent.name.unwrap_or_default());
        let allocated = pool
            .extents()
            .iter()
            .fold(0_u64, |sum, extent| sum.saturating_add(allocated(extent)));
        (pool.total(), allocated)
    }

    fn find(
        &self,
        topology: Option<&Segment>,
        requirements: Requirements<'_>,
        size: SizeRange,
        default: u64,
    ) -> Result<Allocation, Shortage> {
        let cost = Cost::of(&self.factors, requirements.parameters);
        let mut shortage = Shortage::Exhausted;
        let mut best: Option<(bool, PoolKey, u64, Allocation)> = None;
        for candidate in self.candidates(topology, requirements) {
            let Candidate {
                pool,
                extent,
                free,
                reservation,
            } = candidate;
            let is_unreserved = reservation.is_none();
            if reservation.is_some_and(|(_, holder)| !contains(requirements.parameters, holder)) {
                continue;
            }
            match fit_volume(cost, &extent, free, size, default) {
                Ok((bytes, raw_bytes)) => {
                    // Extents reserved for this volume are preferred; then the first pool, and in the pool the smallest extent.
                    let rank = (is_unreserved, pool.key(), free);
                    let is_better = best
                        .as_ref()
                        .is_none_or(|(unreserved, key, least, _)| rank < (*unreserved, key.clone(), *least));
                    if is_better {
                        let allocation = Allocation {
                            location: candidate.location(),
                            bytes,
                            raw_bytes,
                        };
                        best = Some((rank.0, rank.1, rank.2, allocation));
                    }
                }
                Err(why) => shortage = shortage.max(why),
            }
        }
        best.map(|(.., allocation)| allocation).ok_or(shortage)
    }

    fn candidates<'b>(
        &'b self,
        topology: Option<&'b Segment>,
        requirements: Requirements<'b>,
    ) -> impl Iterator<Item = Candidate<'b>> {
        let reachable =
            move |pool: &&Pool| topology.is_none_or(|requested| contains(requested, &pool.segment));
        self.pools
            .values()
            .filter(reachable)
            .filter(move |pool| pool.matches_class(requirements.parameters))
            .flat_map(move |pool| {
                let key = pool.key();
                let (allocated, reservations) = (self.allocated.get(&key), self.reservations.of_pool(&key));
                let extents = pool.extents().into_iter();
                let extents =
                    extents.filter(move |extent| extent.serves(requirements.parameters, requirements.blocks));
                extents.map(move |extent| Candidate {
                    pool,
                    free: match allocated_on(allocated, extent.name.unwrap_or_default()) {
                        0 => extent.capacity,
                        _ if extent.is_indivisible() => 0,
                        allocated => extent.capacity.saturating_sub(allocated),
                    },
                    reservation: reservations.and_then(|by_device| by_device.get(extent.name?)),
                    extent,
                })
            })
    }

    fn allocated_at(&self, location: &Location) -> u64 {
        allocated_on(self.allocated.get(&location.pool), location.name())
    }
}

/// Raw bytes that volumes have allocated from one device of a pool.
fn allocated_on(of_pool: Option<&ByDevice<u64>>, device: &str) -> u64 {
    of_pool
        .and_then(|allocated| allocated.get(device))
        .copied()
        .unwrap_or(0)
}

impl Candidate<'_> {
    fn location(&self) -> Location {
        Location {
            pool: self.pool.key(),
            device: self.extent.name.map(str::to_owned),
        }
    }
}

/// Size of the smallest volume on an extent, in volume bytes; `None` means no minimum.
fn minimum_volume(cost: Cost, extent: &Extent<'_>) -> Option<u64> {
    if extent.is_indivisible() {
        return Some(cost.volume_bytes(extent.capacity));
    }
    extent.group_minimum()
}

/// Computes volume bytes and raw bytes of a volume within the requested size range, on an extent with `free` raw bytes.
fn fit_volume(
    cost: Cost,
    extent: &Extent<'_>,
    free: u64,
    size: SizeRange,
    default: u64,
) -> Result<(u64, u64), Shortage> {
    let largest = cost.volume_bytes(free.min(extent.largest));
    let exact = size
        .required
        .unwrap_or(default.min(size.limit.unwrap_or(default)));
    let bytes = if extent.is_indivisible() {
        largest
    } else {
        exact.max(extent.group_minimum().unwrap_or(0))
    };
    let is_small = size.required.is_some_and(|required| bytes < required);
    let is_full = bytes == 0 && extent.is_indivisible();
    if bytes > largest || is_small || is_full {
        return Err(Shortage::Exhausted);
    }
    if size.limit.is_some_and(|limit| bytes > limit) {
        return Err(Shortage::OutOfRange);
    }
    let raw = if extent.is_indivisible() {
        Some(free)
    } else {
        cost.raw_bytes(bytes)
    };
    raw.map(|raw| (bytes, raw)).ok_or(Shortage::Exhausted)
}
