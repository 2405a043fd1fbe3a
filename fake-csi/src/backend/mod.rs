//! Owns the accounting of pools: raw storage, and what volumes have allocated of it. Pure arithmetic, exact to the byte. Does not know
//! sockets or messages.

mod cost;
mod pool;
mod reservation;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use cost::CostFactor;
pub use pool::{Access, Device, GROUP_VOLUME_BYTES_MIN, Pool, Storage};
pub use reservation::{Held, Reservation, ReserveError, ReservedVolume};

use crate::{Segment, contains};
use cost::Cost;
use pool::{Extent, PoolKey};
use reservation::{Holder, Reservations};

/// A volume of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeInfo {
    /// Id of the volume, as in `Volume.volume_id`.
    pub id: String,
    /// The `name` of the CreateVolume request.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Raw bytes allocated from its pool.
    pub raw_bytes: u64,
    /// Topology segment of its pool.
    pub segment: Segment,
    /// The device that holds it, if its pool has devices.
    pub device: Option<String>,
    /// Class parameters of the CreateVolume request.
    pub parameters: BTreeMap<String, String>,
    /// Current mutable parameters.
    pub mutable_parameters: BTreeMap<String, String>,
    /// Id of the source volume or snapshot, if it is a copy.
    pub source: Option<String>,
}

/// Requirements on a volume, independent of topology.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// Class parameters.
    pub(crate) parameters: &'a BTreeMap<String, String>,
    /// For each volume capability, whether its access type is block; empty restricts nothing.
    pub(crate) blocks: &'a [bool],
}

/// Bounds of a volume size in bytes; `None` means unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SizeRange {
    pub(crate) required: Option<u64>,
    pub(crate) limit: Option<u64>,
}

/// Capacity for volumes, in volume bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Sum over the pools that serve the request.
    pub(crate) available: u64,
    /// Largest volume that can be created; `None` if a pool does not report it, or if no pool serves the request.
    pub(crate) maximum: Option<u64>,
    /// Smallest volume that can be created; `None` if a pool has no lower bound, or if no pool has free storage.
    pub(crate) minimum: Option<u64>,
}

/// Location of an allocation: a pool, and the device if the pool has devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pool: PoolKey,
    device: Option<String>,
}

/// Values by device name; a pool without devices uses the empty name.
type ByDevice<T> = BTreeMap<String, T>;

/// An extent that can hold a volume, and its free space.
struct Candidate<'b> {
    pool: &'b Pool,
    extent: Extent<'b>,
    /// Raw bytes that a volume could allocate; 0 if the pool shrank below its allocations.
    free: u64,
    /// The reservation on it, if any.
    held: Option<&'b Holder>,
}

/// The allocation of a new or expanded volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) place: Place,
    /// Size of the volume in bytes.
    pub(crate) bytes: u64,
    /// Raw bytes allocated from the pool.
    pub(crate) raw_bytes: u64,
}

/// Why a volume cannot be created or expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shortage {
    /// Not enough free storage, at least for now.
    NoRoom,
    /// No volume of the requested size range can exist on the storage: `limit_bytes` is too small, or `required_bytes` too large.
    Range,
}

/// Pools, their allocations, the cost factors, and the reservations.
#[derive(Debug, Default)]
pub(crate) struct Backend {
    pools: BTreeMap<PoolKey, Pool>,
    /// Raw bytes allocated by volumes. Includes pools that were removed, because their volumes continue to exist.
    taken: BTreeMap<PoolKey, ByDevice<u64>>,
    factors: Vec<CostFactor>,
    reservations: Reservations,
}

impl SizeRange {
    pub(crate) fn contains(self, bytes: u64) -> bool {
        self.required.is_none_or(|required| bytes >= required)
            && self.limit.is_none_or(|limit| bytes <= limit)
    }

    pub(crate) fn is_crossed(self) -> bool {
        matches!((self.required, self.limit), (Some(required), Some(limit)) if required > limit)
    }
}

impl Place {
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

    /// Capacity for such volumes accessible from `topology` (`None`: from anywhere). GetCapacity does not name the volume, so either all
    /// reserved storage counts as available, or none.
    pub(crate) fn room(&self, topology: Option<&Segment>, ask: Ask<'_>, counts_reserved: bool) -> Room {
        let cost = Cost::of(&self.factors, ask.parameters);
        let mut room = Room::default();
        let (mut told, mut bounded) = (true, true);
        for Candidate {
            extent, free, held, ..
        } in self.serving(topology, ask)
        {
            let is_kept = !counts_reserved && held.is_some();
            let free = if is_kept { 0 } else { free };
            told &= extent.tells_maximum;
            let largest = cost.volume_bytes(free.min(extent.largest));
            let minimum = minimum(cost, &extent);
            if extent.device.is_some() && (largest == 0 || minimum.is_some_and(|minimum| largest < minimum)) {
                // A full device cannot hold a volume, so it does not contribute to the minimum either.
                room.maximum = room.maximum.or(Some(0));
                continue;
            }
            bounded &= minimum.is_some();
            room.available = room.available.saturating_add(cost.volume_bytes(free));
            room.maximum = room.maximum.max(Some(largest));
            room.minimum = match (room.minimum, minimum) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        room.maximum = room.maximum.filter(|_| told);
        room.minimum = room.minimum.filter(|_| bounded);
        room
    }

    /// Allocates a volume from the first pool that serves the topology and has enough storage, on its smallest extent that fits.
    /// `default` is the size if the request has no lower bound.
    pub(crate) fn take(
        &mut self,
        topology: Option<&Segment>,
        ask: Ask<'_>,
        size: SizeRange,
        default: u64,
    ) -> Result<Taken, Shortage> {
        let taken = self.find(topology, ask, size, default)?;
        self.add(&taken.place, taken.raw_bytes);
        self.reservations.redeem(&taken.place, ask.parameters);
        Ok(taken)
    }

    /// Releases an allocation of [`Backend::take`].
    pub(crate) fn give_back(&mut self, place: &Place, raw: u64) {
        let of_pool = self.taken.entry(place.pool.clone()).or_default();
        if let Some(taken) = of_pool.get_mut(place.name()) {
            *taken = taken.saturating_sub(raw);
        }
        of_pool.retain(|_, taken| *taken > 0);
        if of_pool.is_empty() {
            self.taken.remove(&place.pool);
        }
    }

    fn add(&mut self, place: &Place, raw: u64) {
        let of_pool = self.taken.entry(place.pool.clone()).or_default();
        *of_pool.entry(place.name().to_owned()).or_default() += raw;
    }

    /// Expands the allocation at `place` so that the volume has `bytes`; returns its new raw bytes.
    pub(crate) fn grow(
        &mut self,
        place: &Place,
        ask: Ask<'_>,
        raw: u64,
        bytes: u64,
    ) -> Result<u64, Shortage> {
        let wanted = Cost::of(&self.factors, ask.parameters)
            .raw_bytes(bytes)
            .ok_or(Shortage::Range)?;
        let more = wanted.saturating_sub(raw);
        let pool = self.pools.get(&place.pool).ok_or(Shortage::NoRoom)?;
        let extents = pool.extents();
        let extent = extents
            .iter()
            .find(|extent| extent.name == place.device.as_deref())
            .ok_or(Shortage::NoRoom)?;
        if wanted > extent.largest.min(extent.capacity) {
            return Err(Shortage::Range);
        }
        if more > extent.capacity.saturating_sub(self.taken_at(place)) {
            return Err(Shortage::NoRoom);
        }
        self.add(place, more);
        Ok(raw + more)
    }

    /// Total raw bytes of the pool, and the raw bytes that volumes have allocated from it.
    pub(crate) fn raw_sums(&self, pool: &Pool) -> (u64, u64) {
        let of_pool = self.taken.get(&pool.key());
        let taken = |extent: &Extent<'_>| taken_of(of_pool, extent.name.unwrap_or_default());
        let taken = pool
            .extents()
            .iter()
            .fold(0_u64, |sum, extent| sum.saturating_add(taken(extent)));
        (pool.total(), taken)
    }

    fn find(
        &self,
        topology: Option<&Segment>,
        ask: Ask<'_>,
        size: SizeRange,
        default: u64,
    ) -> Result<Taken, Shortage> {
        let cost = Cost::of(&self.factors, ask.parameters);
        let mut shortage = Shortage::NoRoom;
        let mut best: Option<(bool, PoolKey, u64, Taken)> = None;
        for candidate in self.serving(topology, ask) {
            let Candidate {
                pool,
                extent,
                free,
                held,
            } = candidate;
            let is_foreign = held.is_none();
            if held.is_some_and(|(_, holder)| !contains(ask.parameters, holder)) {
                continue;
            }
            match fit(cost, &extent, free, size, default) {
                Ok((bytes, raw_bytes)) => {
                    // Order: extents reserved for this volume, then the first pool, then its smallest extent.
                    let rank = (is_foreign, pool.key(), free);
                    let is_better = best
                        .as_ref()
                        .is_none_or(|(foreign, key, least, _)| rank < (*foreign, key.clone(), *least));
                    if is_better {
                        let taken = Taken {
                            place: candidate.place(),
                            bytes,
                            raw_bytes,
                        };
                        best = Some((rank.0, rank.1, rank.2, taken));
                    }
                }
                Err(why) => shortage = shortage.max(why),
            }
        }
        best.map(|(.., taken)| taken).ok_or(shortage)
    }

    fn serving<'b>(
        &'b self,
        topology: Option<&'b Segment>,
        ask: Ask<'b>,
    ) -> impl Iterator<Item = Candidate<'b>> {
        let reachable = move |pool: &&Pool| topology.is_none_or(|asked| contains(asked, &pool.segment));
        self.pools
            .values()
            .filter(reachable)
            .filter(move |pool| pool.is_for(ask.parameters))
            .flat_map(move |pool| {
                let key = pool.key();
                let (taken, held) = (self.taken.get(&key), self.reservations.of_pool(&key));
                let extents = pool.extents().into_iter();
                let extents = extents.filter(move |extent| extent.is_for(ask.parameters, ask.blocks));
                extents.map(move |extent| Candidate {
                    pool,
                    free: match taken_of(taken, extent.name.unwrap_or_default()) {
                        0 => extent.capacity,
                        _ if extent.is_indivisible() => 0,
                        taken => extent.capacity.saturating_sub(taken),
                    },
                    held: held.and_then(|held| held.get(extent.name?)),
                    extent,
                })
            })
    }

    fn taken_at(&self, place: &Place) -> u64 {
        taken_of(self.taken.get(&place.pool), place.name())
    }
}

/// Raw bytes that volumes have allocated from a device.
fn taken_of(of_pool: Option<&ByDevice<u64>>, device: &str) -> u64 {
    of_pool.and_then(|taken| taken.get(device)).copied().unwrap_or(0)
}

impl Candidate<'_> {
    fn place(&self) -> Place {
        Place {
            pool: self.pool.key(),
            device: self.extent.name.map(str::to_owned),
        }
    }
}

/// Smallest volume on an extent, in volume bytes; `None` means unbounded.
fn minimum(cost: Cost, extent: &Extent<'_>) -> Option<u64> {
    if extent.is_indivisible() {
        return Some(cost.volume_bytes(extent.capacity));
    }
    extent.group_minimum()
}

/// Size and raw bytes of a volume within the bounds, on an extent with `free` raw bytes.
fn fit(
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
    let is_gone = bytes == 0 && extent.is_indivisible();
    if bytes > largest || is_small || is_gone {
        return Err(Shortage::NoRoom);
    }
    if size.limit.is_some_and(|limit| bytes > limit) {
        return Err(Shortage::Range);
    }
    let raw = if extent.is_indivisible() {
        Some(free)
    } else {
        cost.raw_bytes(bytes)
    };
    raw.map(|raw| (bytes, raw)).ok_or(Shortage::NoRoom)
}
