//! The books: pools of raw storage, the volumes that take from them, and what a byte of a volume costs. Pure arithmetic, exact at the
//! byte. Knows neither sockets nor messages.

use std::collections::BTreeMap;

use crate::{Segment, contains};

/// Raw storage that is reachable from one topology segment.
///
/// A pool serves a request if every pair of its segment is in the requested topology, so that a request that is finer than the pool still
/// finds it. A request without topology finds all pools, and a pool with an empty segment is found by all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Where the storage is reachable; there is one pool for each segment.
    pub segment: Segment,
    /// Raw storage in bytes, including what volumes take.
    pub capacity: u64,
    /// The largest single extent in bytes of raw storage: no volume can take more. `None`: the driver reports no maximum volume size.
    pub largest: Option<u64>,
}

/// The cost of one byte of a volume, by a class parameter: `numerator / denominator` bytes of raw storage.
///
/// With parameter `kind`, value `mirrored`, 2 / 1, each byte of a volume of such a class takes two raw bytes. If several factors apply to
/// a volume they multiply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostFactor {
    /// Name of the class parameter.
    pub parameter: String,
    /// Value of the class parameter that makes the factor apply.
    pub value: String,
    /// Raw bytes for `denominator` bytes of a volume; not 0.
    pub numerator: u64,
    /// Bytes of a volume for `numerator` raw bytes; not 0.
    pub denominator: u64,
}

/// A volume as the driver keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeInfo {
    /// Identity within the driver, as in `Volume.volume_id`.
    pub id: String,
    /// The name that CreateVolume asked for.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// What it takes from its pool, in raw bytes.
    pub raw_bytes: u64,
    /// Segment of its pool.
    pub segment: Segment,
    /// The parameters that it was created with.
    pub parameters: BTreeMap<String, String>,
}

/// Room for volumes, in bytes of volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Sum over the pools that serve the request.
    pub(crate) available: u64,
    /// The largest volume that can be created; `None` if a pool does not report it, or if no pool serves the request.
    pub(crate) maximum: Option<u64>,
}

/// A ratio of raw bytes to bytes of volume.
#[derive(Clone, Copy, Debug)]
struct Cost {
    numerator: u128,
    denominator: u128,
}

/// Pools, what is taken from each, and the cost factors.
#[derive(Debug, Default)]
pub(crate) struct Backend {
    pools: BTreeMap<Segment, Pool>,
    /// Raw bytes that volumes take, also of pools that were removed: the volumes outlive them.
    taken: BTreeMap<Segment, u64>,
    factors: Vec<CostFactor>,
}

impl Backend {
    pub(crate) fn set_pool(&mut self, pool: Pool) {
        self.pools.insert(pool.segment.clone(), pool);
    }

    pub(crate) fn remove_pool(&mut self, segment: &Segment) {
        self.pools.remove(segment);
    }

    pub(crate) fn add_cost(&mut self, factor: CostFactor) {
        self.factors.push(factor);
    }

    /// The room for volumes with these parameters that are reachable from `topology` (`None`: from anywhere).
    pub(crate) fn room(&self, topology: Option<&Segment>, parameters: &BTreeMap<String, String>) -> Room {
        let cost = self.cost(parameters);
        let pools: Vec<&Pool> = self.serving(topology).collect();
        let available = pools.iter().map(|pool| cost.volume_bytes(self.free(pool)));
        let maxima: Option<Vec<u64>> = pools
            .iter()
            .map(|pool| pool.largest.map(|_| cost.volume_bytes(self.largest_free(pool))))
            .collect();
        Room {
            available: available.fold(0, u64::saturating_add),
            maximum: maxima.and_then(|maxima| maxima.into_iter().max()),
        }
    }

    /// Takes storage for a volume of `bytes` from the first pool that serves the topology and has room; its segment and the raw bytes
    /// taken, or `None` if no pool has room.
    pub(crate) fn take(
        &mut self,
        topology: Option<&Segment>,
        parameters: &BTreeMap<String, String>,
        bytes: u64,
    ) -> Option<(Segment, u64)> {
        let raw = self.cost(parameters).raw_bytes(bytes)?;
        let pool = self
            .serving(topology)
            .find(|pool| self.largest_free(pool) >= raw)?;
        let segment = pool.segment.clone();
        *self.taken.entry(segment.clone()).or_default() += raw;
        Some((segment, raw))
    }

    /// Gives back what [`Backend::take`] took.
    pub(crate) fn give_back(&mut self, segment: &Segment, raw: u64) {
        if let Some(taken) = self.taken.get_mut(segment) {
            *taken = taken.saturating_sub(raw);
        }
    }

    fn serving(&self, topology: Option<&Segment>) -> impl Iterator<Item = &Pool> {
        self.pools
            .values()
            .filter(move |pool| topology.is_none_or(|asked| contains(asked, &pool.segment)))
    }

    /// Raw bytes that nobody takes; 0 if the pool shrank below what is taken.
    fn free(&self, pool: &Pool) -> u64 {
        pool.capacity
            .saturating_sub(self.taken.get(&pool.segment).copied().unwrap_or(0))
    }

    /// Raw bytes that a single volume can take.
    fn largest_free(&self, pool: &Pool) -> u64 {
        self.free(pool).min(pool.largest.unwrap_or(u64::MAX))
    }

    fn cost(&self, parameters: &BTreeMap<String, String>) -> Cost {
        let applies = |factor: &&CostFactor| parameters.get(&factor.parameter) == Some(&factor.value);
        self.factors.iter().filter(applies).fold(
            Cost {
                numerator: 1,
                denominator: 1,
            },
            Cost::times,
        )
    }
}

impl Cost {
    /// Multiplies and cancels, so that the ratio stays as small as it can be.
    fn times(self, factor: &CostFactor) -> Cost {
        let numerator = self.numerator.saturating_mul(u128::from(factor.numerator));
        let denominator = self.denominator.saturating_mul(u128::from(factor.denominator));
        let divisor = greatest_common_divisor(numerator, denominator);
        Cost {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        }
    }

    /// The most bytes of volume that `raw` bytes can hold, rounded down.
    fn volume_bytes(self, raw: u64) -> u64 {
        let bytes = u128::from(raw).saturating_mul(self.denominator) / self.numerator;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// What a volume of `bytes` takes, rounded up; `None` if that is more than any pool can have.
    fn raw_bytes(self, bytes: u64) -> Option<u64> {
        let raw = u128::from(bytes)
            .checked_mul(self.numerator)?
            .div_ceil(self.denominator);
        u64::try_from(raw).ok()
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 {
        a.max(1)
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// Segment, capacity, largest extent.
    type Row<'a> = (&'a [(&'a str, &'a str)], u64, Option<u64>);

    fn backend(pools: &[Row<'_>]) -> Backend {
        let mut backend = Backend::default();
        for (segment, capacity, largest) in pools {
            backend.set_pool(Pool {
                segment: pairs(segment),
                capacity: *capacity,
                largest: *largest,
            });
        }
        backend.add_cost(CostFactor {
            parameter: "kind".into(),
            value: "mirrored".into(),
            numerator: 2,
            denominator: 1,
        });
        backend
    }

    #[test]
    fn pools_serve_finer_requests_and_all_pools_serve_no_topology() {
        let backend = backend(&[
            (&[("region", "r1")], 100, None),
            (&[("region", "r2")], 10, None),
            (&[], 1, None),
        ]);
        let room =
            |asked: Option<&[(&str, &str)]>| backend.room(asked.map(pairs).as_ref(), &pairs(&[])).available;
        assert_eq!(room(Some(&[("region", "r1"), ("rack", "7")])), 101);
        assert_eq!(room(Some(&[("region", "r2")])), 11);
        assert_eq!(room(Some(&[("rack", "7")])), 1);
        assert_eq!(room(None), 111);
    }

    #[test]
    fn a_maximum_is_told_only_if_every_serving_pool_tells_it() {
        let zones: &[Row<'_>] = &[
            (&[("z", "a")], 100, Some(40)),
            (&[("z", "b")], 30, Some(50)),
            (&[("z", "c")], 5, None),
        ];
        let backend = backend(zones);
        let maximum = |zone: &str| backend.room(Some(&pairs(&[("z", zone)])), &pairs(&[])).maximum;
        assert_eq!(
            [maximum("a"), maximum("b"), maximum("c"), maximum("d")],
            [Some(40), Some(30), None, None]
        );
        assert_eq!(backend.room(None, &pairs(&[])).maximum, None);
    }

    #[test]
    fn mirrored_volumes_take_twice_their_size() {
        let mut backend = backend(&[(&[], 256, None)]);
        let mirrored = pairs(&[("kind", "mirrored")]);
        assert_eq!(backend.room(None, &mirrored).available, 128);
        assert_eq!(backend.take(None, &mirrored, 100), Some((pairs(&[]), 200)));
        assert_eq!(backend.room(None, &mirrored).available, 28);
        assert_eq!(backend.room(None, &pairs(&[])).available, 56);
    }

    #[test]
    fn a_pool_that_shrinks_below_its_volumes_or_comes_back_keeps_the_books() {
        let mut backend = backend(&[(&[], 100, None)]);
        backend.take(None, &pairs(&[]), 60);
        backend.set_pool(Pool {
            segment: pairs(&[]),
            capacity: 50,
            largest: None,
        });
        assert_eq!(backend.room(None, &pairs(&[])).available, 0);
        backend.remove_pool(&pairs(&[]));
        backend.set_pool(Pool {
            segment: pairs(&[]),
            capacity: 100,
            largest: None,
        });
        assert_eq!(backend.room(None, &pairs(&[])).available, 40);
        backend.give_back(&pairs(&[]), 60);
        assert_eq!(backend.room(None, &pairs(&[])).available, 100);
    }

    proptest! {
        /// CSI: maximum_volume_size is the largest size that CreateVolume accepts; one byte more fails.
        #[test]
        fn the_maximum_fits_and_one_byte_more_does_not(
            capacity in 0..u64::MAX / 2, largest in 0..u64::MAX / 2, numerator in 1..1000u64, denominator in 1..1000u64,
        ) {
            let mut backend = backend(&[(&[], capacity, Some(largest))]);
            backend.add_cost(CostFactor { parameter: "k".into(), value: "v".into(), numerator, denominator });
            let parameters = pairs(&[("k", "v")]);
            let maximum = backend.room(None, &parameters).maximum.unwrap();
            prop_assert!(maximum == u64::MAX || backend.take(None, &parameters, maximum + 1).is_none());
            prop_assert!(backend.take(None, &parameters, maximum).is_some());
        }

        /// What is taken and given back leaves no trace.
        #[test]
        fn taking_and_giving_back_balances(capacity: u64, sizes in proptest::collection::vec(any::<u32>(), 0..20)) {
            let mut backend = backend(&[(&[], capacity, None)]);
            let taken: Vec<_> = sizes.iter().filter_map(|size| backend.take(None, &pairs(&[]), u64::from(*size))).collect();
            let sum: u64 = taken.iter().map(|(_, raw)| raw).sum();
            prop_assert_eq!(backend.room(None, &pairs(&[])).available, capacity - sum);
            for (segment, raw) in taken {
                backend.give_back(&segment, raw);
            }
            prop_assert_eq!(backend.room(None, &pairs(&[])).available, capacity);
        }
    }
}
