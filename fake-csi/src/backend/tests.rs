//! Tests of the backend's storage accounting with examples. `properties` tests general invariants.

use super::*;

mod properties;

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn node_segment(node: &str) -> Segment {
    pairs(&[("node", node)])
}

fn requirements(parameters: &BTreeMap<String, String>) -> Requirements<'_> {
    Requirements {
        parameters,
        blocks: &[],
    }
}

fn required(bytes: u64) -> SizeRange {
    SizeRange {
        required: Some(bytes),
        limit: None,
    }
}

fn disk(size: u64, kind: &str) -> Device {
    Device {
        size,
        parameters: pairs(&[("storageType", kind)]),
        group: false,
        access: Access::Any,
    }
}

fn group(size: u64, kind: &str) -> Device {
    Device {
        group: true,
        ..disk(size, kind)
    }
}

fn node_pool(node: &str, devices: &[(&str, Device)]) -> Pool {
    Pool {
        segment: node_segment(node),
        parameters: BTreeMap::new(),
        storage: Storage::Devices(
            devices
                .iter()
                .map(|(name, device)| ((*name).to_owned(), device.clone()))
                .collect(),
        ),
    }
}

fn backend(pools: impl IntoIterator<Item = Pool>) -> Backend {
    let mut backend = Backend::default();
    for pool in pools {
        backend.set_pool(pool);
    }
    backend.add_cost(CostFactor {
        parameter: "kind".into(),
        value: "mirrored".into(),
        numerator: 2,
        denominator: 1,
    });
    backend
}

fn allocate(
    backend: &mut Backend,
    parameters: &BTreeMap<String, String>,
    bytes: u64,
) -> Result<Allocation, Shortage> {
    backend.allocate(None, requirements(parameters), required(bytes), 1)
}

fn tuple(values: CapacityValues) -> (u64, Option<u64>, Option<u64>) {
    (values.available, values.maximum, values.minimum)
}

#[test]
fn pools_serve_finer_segments_and_all_pools_serve_requests_without_topology() {
    let backend = backend([
        Pool::linear(pairs(&[("region", "r1")]), 100, None),
        Pool::linear(pairs(&[("region", "r2")]), 10, None),
        Pool::linear(pairs(&[]), 1, None),
    ]);
    let none = pairs(&[]);
    let capacity = |segment: Option<&[(&str, &str)]>| {
        backend
            .capacity(segment.map(pairs).as_ref(), requirements(&none), true)
            .available
    };
    assert_eq!(capacity(Some(&[("region", "r1"), ("rack", "7")])), 101);
    assert_eq!(capacity(Some(&[("region", "r2")])), 11);
    assert_eq!(capacity(Some(&[("rack", "7")])), 1);
    assert_eq!(capacity(None), 111);
}

#[test]
fn maximum_is_reported_only_if_every_serving_pool_reports_it() {
    let backend = backend([
        Pool::linear(node_segment("a"), 100, Some(40)),
        Pool::linear(node_segment("b"), 30, Some(50)),
        Pool::linear(node_segment("c"), 5, None),
    ]);
    let none = pairs(&[]);
    let maximum = |node: &str| {
        backend
            .capacity(Some(&node_segment(node)), requirements(&none), true)
            .maximum
    };
    assert_eq!(
        [maximum("a"), maximum("b"), maximum("c"), maximum("d")],
        [Some(40), Some(30), None, None]
    );
    assert_eq!(backend.capacity(None, requirements(&none), true).maximum, None);
}

#[test]
fn mirrored_volumes_cost_twice_their_size() {
    let mut backend = backend([Pool::linear(pairs(&[]), 256, None)]);
    let (mirrored, plain) = (pairs(&[("kind", "mirrored")]), pairs(&[]));
    assert_eq!(
        backend.capacity(None, requirements(&mirrored), true).available,
        128
    );
    assert_eq!(
        allocate(&mut backend, &mirrored, 100).map(|allocated| allocated.raw_bytes),
        Ok(200)
    );
    assert_eq!(
        backend.capacity(None, requirements(&mirrored), true).available,
        28
    );
    assert_eq!(backend.capacity(None, requirements(&plain), true).available, 56);
}

#[test]
fn allocations_survive_shrinking_and_replacing_a_pool() {
    let none = pairs(&[]);
    let mut backend = backend([Pool::linear(pairs(&[]), 100, None)]);
    let allocated = allocate(&mut backend, &none, 60).unwrap();
    backend.set_pool(Pool::linear(pairs(&[]), 50, None));
    assert_eq!(backend.capacity(None, requirements(&none), true).available, 0);
    backend.remove_pool(&pairs(&[]));
    backend.set_pool(Pool::linear(pairs(&[]), 100, None));
    assert_eq!(backend.capacity(None, requirements(&none), true).available, 40);
    backend.release(&allocated.location, 60);
    assert_eq!(backend.capacity(None, requirements(&none), true).available, 100);
}

#[test]
fn filesystem_pool_reports_its_remaining_space_as_capacity_and_maximum() {
    let none = pairs(&[]);
    let filesystem = |used| Pool {
        segment: node_segment("a"),
        parameters: pairs(&[]),
        storage: Storage::Filesystem { size: 100, used },
    };
    let mut backend = backend([filesystem(30)]);
    allocate(&mut backend, &none, 20).unwrap();
    assert_eq!(
        tuple(backend.capacity(None, requirements(&none), true)),
        (50, Some(50), None)
    );
    backend.set_pool(filesystem(60));
    assert_eq!(
        tuple(backend.capacity(None, requirements(&none), true)),
        (20, Some(20), None)
    );
    backend.set_pool(filesystem(95));
    assert_eq!(
        tuple(backend.capacity(None, requirements(&none), true)),
        (0, Some(0), None),
        "never negative"
    );
}

#[test]
fn disks_add_up_to_the_capacity_and_bound_the_volume_size() {
    let mut backend = backend([
        node_pool(
            "n1",
            &[
                ("a", disk(300, "SSD")),
                ("b", disk(100, "SSD")),
                ("c", disk(200, "SSD")),
                ("d", disk(900, "HDD")),
            ],
        ),
        node_pool("n2", &[("a", disk(7000, "SSD"))]),
    ]);
    let ssd = pairs(&[("storageType", "SSD")]);
    let capacity =
        |backend: &Backend| tuple(backend.capacity(Some(&node_segment("n1")), requirements(&ssd), true));
    assert_eq!(capacity(&backend), (600, Some(300), Some(100)));
    let allocated = backend
        .allocate(Some(&node_segment("n1")), requirements(&ssd), required(101), 1)
        .unwrap();
    assert_eq!(
        (
            allocated.location.device().unwrap().as_str(),
            allocated.bytes,
            allocated.raw_bytes
        ),
        ("c", 200, 200)
    );
    assert_eq!(capacity(&backend), (400, Some(300), Some(100)));
    for bytes in [300, 100] {
        backend
            .allocate(Some(&node_segment("n1")), requirements(&ssd), required(bytes), 1)
            .unwrap();
    }
    assert_eq!(capacity(&backend), (0, Some(0), None));
    assert_eq!(
        backend.allocate(Some(&node_segment("n1")), requirements(&ssd), required(1), 1),
        Err(Shortage::Exhausted)
    );
}

#[test]
fn smallest_volume_of_a_group_is_ten_mebibytes() {
    const MIB: u64 = 1 << 20;
    let mut backend = backend([node_pool("n1", &[("vg", group(25 * MIB, "HDDLVG"))])]);
    let class = pairs(&[("storageType", "HDDLVG")]);
    let capacity = |backend: &Backend| tuple(backend.capacity(None, requirements(&class), true));
    assert_eq!(capacity(&backend), (25 * MIB, Some(25 * MIB), Some(10 * MIB)));
    assert_eq!(
        allocate(&mut backend, &class, 1).unwrap().bytes,
        10 * MIB,
        "rounded up"
    );
    assert_eq!(capacity(&backend), (15 * MIB, Some(15 * MIB), Some(10 * MIB)));
    allocate(&mut backend, &class, 10 * MIB).unwrap();
    assert_eq!(capacity(&backend), (0, Some(0), None), "5Mi are too little");
    assert_eq!(allocate(&mut backend, &class, 1), Err(Shortage::Exhausted));
}

#[test]
fn limit_below_the_smallest_volume_is_out_of_range() {
    let none = pairs(&[]);
    let mut backend = backend([node_pool(
        "n1",
        &[("a", disk(100, "SSD")), ("b", disk(200, "SSD"))],
    )]);
    let mut limited = |limit| {
        let size = SizeRange {
            required: None,
            limit: Some(limit),
        };
        backend
            .allocate(None, requirements(&none), size, 1)
            .map(|allocated| allocated.bytes)
    };
    assert_eq!(
        [limited(99), limited(150), limited(150)],
        [Err(Shortage::OutOfRange), Ok(100), Err(Shortage::OutOfRange)]
    );
}

#[test]
fn device_serves_only_its_supported_access_types() {
    let none = pairs(&[]);
    let raw_only = Device {
        access: Access::Block,
        ..disk(100, "SSD")
    };
    let backend = backend([node_pool("n1", &[("a", raw_only), ("b", disk(10, "SSD"))])]);
    let available = |blocks: &[bool]| {
        backend
            .capacity(
                None,
                Requirements {
                    parameters: &none,
                    blocks,
                },
                true,
            )
            .available
    };
    assert_eq!(
        [
            available(&[]),
            available(&[true]),
            available(&[false]),
            available(&[true, false])
        ],
        [110, 110, 10, 10]
    );
}

#[test]
fn pool_parameters_restrict_the_pool_to_matching_classes() {
    let pinned = |zone: &str, capacity| Pool {
        parameters: pairs(&[("zone", zone)]),
        ..Pool::linear(pairs(&[("zone", zone)]), capacity, None)
    };
    let backend = backend([pinned("a", 10), pinned("b", 20)]);
    let class = pairs(&[("zone", "a")]);
    let available = |zone: &str, class| {
        backend
            .capacity(Some(&pairs(&[("zone", zone)])), requirements(class), true)
            .available
    };
    assert_eq!([available("a", &class), available("b", &class)], [10, 0]);
    assert_eq!(available("b", &pairs(&[])), 20, "a class without the parameter");
}

mod reservations {
    use super::*;

    fn claim(name: &str) -> BTreeMap<String, String> {
        pairs(&[("csi.storage.k8s.io/pvc/name", name)])
    }

    fn reservation(name: &str, nodes: &[&str], claims: &[(&str, u64)]) -> Reservation {
        Reservation {
            name: name.to_owned(),
            segments: nodes.iter().copied().map(node_segment).collect(),
            volumes: claims
                .iter()
                .map(|(name, bytes)| ReservedVolume {
                    holder: claim(name),
                    bytes: *bytes,
                    parameters: pairs(&[]),
                })
                .collect(),
        }
    }

    fn devices(reserved: &[ReservedDevice]) -> Vec<(&str, &str)> {
        reserved
            .iter()
            .map(|reserved| (reserved.segment["node"].as_str(), reserved.device.as_str()))
            .collect()
    }

    #[test]
    fn device_is_reserved_on_every_node_until_the_volume_is_created() {
        let mut backend = backend(
            ["n1", "n2"].map(|node| node_pool(node, &[("a", disk(100, "SSD")), ("b", disk(50, "SSD"))])),
        );
        let reserved = backend
            .reserve(&reservation("r", &["n1", "n2"], &[("app-0", 60)]))
            .unwrap();
        assert_eq!(devices(&reserved), [("n1", "a"), ("n2", "a")]);
        assert_eq!(
            backend
                .capacity(Some(&node_segment("n1")), requirements(&pairs(&[])), true)
                .maximum,
            Some(100),
            "reserved devices count"
        );

        assert_eq!(
            allocate(&mut backend, &claim("other-0"), 60),
            Err(Shortage::Exhausted)
        );
        assert_eq!(
            allocate(&mut backend, &claim("other-0"), 40).unwrap().bytes,
            50,
            "unreserved devices are free"
        );
        let allocated = backend
            .allocate(
                Some(&node_segment("n2")),
                requirements(&claim("app-0")),
                required(60),
                1,
            )
            .unwrap();
        assert_eq!(
            (allocated.location.segment(), allocated.bytes),
            (&node_segment("n2"), 100)
        );
        assert_eq!(backend.reserved_devices(None).count(), 0, "n1 is free as well");
        assert!(allocate(&mut backend, &claim("other-1"), 60).is_ok());
    }

    #[test]
    fn reserved_device_is_used_even_if_a_smaller_one_fits() {
        let mut backend = backend([node_pool("n1", &[("a", disk(50, "SSD")), ("b", disk(60, "SSD"))])]);
        let blocker = allocate(&mut backend, &pairs(&[]), 50).unwrap();
        let reserved = backend
            .reserve(&reservation("r", &["n1"], &[("app-0", 40)]))
            .unwrap();
        assert_eq!(devices(&reserved), [("n1", "b")]);
        backend.release(&blocker.location, blocker.raw_bytes);
        assert_eq!(allocate(&mut backend, &claim("app-0"), 40).unwrap().bytes, 60);
    }

    #[test]
    fn nodes_without_devices_for_all_volumes_are_not_reserved() {
        let mut backend = backend([
            node_pool("n1", &[("a", disk(100, "SSD"))]),
            node_pool("n2", &[("a", disk(100, "SSD")), ("b", disk(30, "SSD"))]),
        ]);
        let both = reservation("r", &["n1", "n2"], &[("app-0", 20), ("app-1", 80)]);
        let reserved = backend.reserve(&both).unwrap();
        assert_eq!(devices(&reserved), [("n2", "a"), ("n2", "b")]);
        assert_eq!(backend.reserve(&both), Err(ReserveError::Exists("r".to_owned())));
        let more = reservation("s", &["n2"], &[("app-2", 1)]);
        assert_eq!(
            backend.reserve(&more),
            Err(ReserveError::NoDevices("s".to_owned()))
        );
        assert!(backend.cancel_reservation("r") && !backend.cancel_reservation("r"));
        assert!(backend.reserve(&more).is_ok());
    }

    #[test]
    fn reservation_of_a_volume_without_a_holder_is_rejected() {
        let mut without_holder = reservation("r", &["n1"], &[("app-0", 1)]);
        without_holder.volumes[0].holder.clear();
        let mut backend = backend([node_pool("n1", &[("a", disk(100, "SSD"))])]);
        assert_eq!(
            backend.reserve(&without_holder),
            Err(ReserveError::NoHolder("r".to_owned()))
        );
    }
}
