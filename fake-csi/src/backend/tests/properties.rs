//! Invariants of the backend's storage accounting after any sequence of operations.

use proptest::{collection::vec, prelude::*};

use super::*;

/// Generates storage of any layout. Numbers are small, so that full pools and equal sizes are frequent; groups are larger than their
/// minimum volume.
fn any_storage() -> impl Strategy<Value = Storage> {
    let device = (0..3_u64, any::<bool>()).prop_map(|(size, is_group)| match is_group {
        true => group((size + 1) * GROUP_VOLUME_BYTES_MIN * 3 / 2, "LVG"),
        false => disk(size * 40, "SSD"),
    });
    prop_oneof![
        (0..200_u64, proptest::option::of(0..100_u64))
            .prop_map(|(capacity, largest)| Storage::Linear { capacity, largest }),
        (0..200_u64, 0..200_u64).prop_map(|(size, used)| Storage::Filesystem { size, used }),
        vec(device, 0..5).prop_map(|devices| {
            Storage::Devices((0_u8..).map(|number| format!("d{number}")).zip(devices).collect())
        }),
    ]
}

fn any_cost() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![Just((1, 1)), Just((2, 1)), Just((3, 2)), (1..50_u64, 1..50_u64)]
}

fn backend_with_cost(
    storages: Vec<Storage>,
    (numerator, denominator): (u64, u64),
) -> (Backend, BTreeMap<String, String>) {
    let pools = storages.into_iter().enumerate().map(|(number, storage)| Pool {
        segment: node_segment(&format!("n{number}")),
        parameters: BTreeMap::new(),
        storage,
    });
    let mut backend = backend(pools);
    backend.add_cost(CostFactor {
        parameter: "k".into(),
        value: "v".into(),
        numerator,
        denominator,
    });
    (backend, pairs(&[("k", "v")]))
}

/// An operation on the backend, with a size in bytes, or the index of an existing volume, or both.
#[derive(Clone, Debug)]
enum Step {
    Create(u64),
    Delete(usize),
    Expand(usize, u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let size = || prop_oneof![0..100_u64, 0..GROUP_VOLUME_BYTES_MIN * 4];
    prop_oneof![
        3 => size().prop_map(Step::Create),
        1 => any::<usize>().prop_map(Step::Delete),
        1 => (any::<usize>(), size()).prop_map(|(index, more)| Step::Expand(index, more)),
    ]
}

fn apply(
    backend: &mut Backend,
    parameters: &BTreeMap<String, String>,
    volumes: &mut Vec<Allocation>,
    step: &Step,
) {
    let chosen = |index: usize, volumes: &[Allocation]| index.checked_rem(volumes.len());
    match *step {
        Step::Create(bytes) => volumes.extend(allocate(backend, parameters, bytes)),
        Step::Delete(index) => {
            if let Some(index) = chosen(index, volumes) {
                let volume = volumes.swap_remove(index);
                backend.release(&volume.location, volume.raw_bytes);
            }
        }
        Step::Expand(index, more) => {
            if let Some(index) = chosen(index, volumes) {
                let volume = &mut volumes[index];
                let bytes = volume.bytes + more;
                if let Ok(raw) = backend.expand(
                    &volume.location,
                    requirements(parameters),
                    volume.raw_bytes,
                    bytes,
                ) {
                    (volume.raw_bytes, volume.bytes) = (raw, bytes);
                }
            }
        }
    }
}

proptest! {
    /// CSI: maximum_volume_size is the largest required_bytes that CreateVolume accepts, for every layout and in every state; one byte more
    /// is RESOURCE_EXHAUSTED.
    #[test]
    fn volume_of_the_maximum_size_fits_and_one_byte_more_does_not(
        storages in vec(any_storage(), 1..4), cost in any_cost(), steps in vec(any_step(), 0..10),
    ) {
        let (mut backend, parameters) = backend_with_cost(storages, cost);
        let mut volumes = Vec::new();
        for step in &steps {
            apply(&mut backend, &parameters, &mut volumes, step);
        }
        for node in 0..4 {
            let segment = node_segment(&format!("n{node}"));
            let Some(maximum) = backend.capacity(Some(&segment), requirements(&parameters), true).maximum else { continue };
            let more = backend.allocate(Some(&segment), requirements(&parameters), required(maximum + 1), 1);
            prop_assert_eq!(more, Err(Shortage::Exhausted));
            if maximum > 0 {
                let most = backend.allocate(Some(&segment), requirements(&parameters), required(maximum), 1);
                prop_assert!(most.is_ok_and(|allocated| allocated.bytes >= maximum));
            }
        }
    }

    /// CSI: minimum_volume_size is the smallest limit_bytes that CreateVolume accepts; one byte less is OUT_OF_RANGE.
    #[test]
    fn volume_of_the_minimum_size_fits_and_one_byte_less_does_not(
        storages in vec(any_storage(), 1..4), cost in any_cost(), steps in vec(any_step(), 0..10),
    ) {
        let (mut backend, parameters) = backend_with_cost(storages, cost);
        let mut volumes = Vec::new();
        for step in &steps {
            apply(&mut backend, &parameters, &mut volumes, step);
        }
        let Some(minimum) = backend.capacity(None, requirements(&parameters), true).minimum else { return Ok(()) };
        let mut limited = |limit| {
            let size = SizeRange { required: None, limit: Some(limit) };
            backend.allocate(None, requirements(&parameters), size, 1)
        };
        prop_assert_eq!(limited(minimum - 1), Err(Shortage::OutOfRange));
        prop_assert!(limited(minimum).is_ok_and(|allocated| allocated.bytes <= minimum));
    }

    /// Allocated and free bytes add up to the total after any sequence of operations, and nothing remains allocated when all volumes are
    /// deleted.
    #[test]
    fn allocated_and_free_bytes_add_up_to_the_total(
        storages in vec(any_storage(), 1..4), cost in any_cost(), steps in vec(any_step(), 0..40),
    ) {
        let (mut backend, parameters) = backend_with_cost(storages, cost);
        let mut volumes: Vec<Allocation> = Vec::new();
        for step in &steps {
            apply(&mut backend, &parameters, &mut volumes, step);
            for pool in backend.pools() {
                let of_pool = volumes.iter().filter(|volume| *volume.location.segment() == pool.segment);
                let raw: u64 = of_pool.map(|volume| volume.raw_bytes).sum();
                let requirements = Requirements { parameters: &parameters, blocks: &[] };
                let of_pool = backend.candidates(None, requirements).filter(|it| it.pool.segment == pool.segment);
                let free: u64 = of_pool.map(|it| it.free).sum();
                prop_assert_eq!(raw + free, pool.total());
                prop_assert_eq!(backend.raw_sums(pool), (pool.total(), raw));
            }
            for volume in &volumes {
                let needed = Cost::of(&backend.factors, &parameters).raw_bytes(volume.bytes);
                prop_assert!(needed.is_some_and(|needed| needed <= volume.raw_bytes), "{volume:?}");
            }
        }
        for volume in volumes {
            backend.release(&volume.location, volume.raw_bytes);
        }
        prop_assert!(backend.allocated.is_empty());
    }

    /// Sums and ratios near `u64::MAX` neither wrap nor panic.
    #[test]
    fn numbers_near_u64_max_neither_wrap_nor_panic(
        capacities in vec(u64::MAX - 3.., 1..3), numerator in 1..u64::MAX, denominator in 1..u64::MAX, bytes: u64,
    ) {
        let storages = capacities.into_iter().map(|capacity| Storage::Filesystem { size: capacity, used: 0 }).collect();
        let (mut backend, parameters) = backend_with_cost(storages, (numerator, denominator));
        let values = backend.capacity(None, requirements(&parameters), true);
        prop_assert!(values.maximum.is_some_and(|maximum| maximum <= values.available));
        if let Ok(allocated) = allocate(&mut backend, &parameters, bytes) {
            prop_assert!(allocated.bytes <= values.maximum.unwrap());
        }
    }
}
