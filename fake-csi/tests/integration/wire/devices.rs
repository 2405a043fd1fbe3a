//! Nodes with disks and volume groups: GetCapacity values, the device that CreateVolume chooses, and reservations.

use csi_proto::v1::{CapacityRange, CreateVolumeRequest, GetCapacityRequest, Topology};
use fake_csi::{Access, Device, DriverSpec, Pool, Reservation, ReservedVolume, Storage};
use tonic::Code;

use super::{GIB, World, block, mounted, pairs, signed, spec, volume, with_topology, zone};

fn device(size: u64, kind: &str, group: bool, access: Access) -> Device {
    Device {
        size,
        parameters: pairs(&[("storageType", kind)]),
        group,
        access,
    }
}

/// Three SSDs, one of them block-only, an HDD and a volume group.
fn node_pool(name: &str) -> Pool {
    let devices = [
        ("ssd-1", device(100 * GIB, "SSD", false, Access::Any)),
        ("ssd-2", device(200 * GIB, "SSD", false, Access::Any)),
        ("ssd-3", device(300 * GIB, "SSD", false, Access::Block)),
        ("hdd", device(4000 * GIB, "HDD", false, Access::Any)),
        ("vg", device(500 * GIB, "HDDLVG", true, Access::Any)),
    ];
    Pool {
        segment: zone(name),
        parameters: pairs(&[]),
        storage: Storage::Devices(devices.map(|(name, device)| (name.to_owned(), device)).into()),
    }
}

async fn world() -> World {
    let world = World::new().await;
    world.driver.set_pool(node_pool("a"));
    world.driver.set_pool(node_pool("b"));
    world
}

fn with_storage_type(kind: &str, request: CreateVolumeRequest) -> CreateVolumeRequest {
    CreateVolumeRequest {
        parameters: pairs(&[("storageType", kind)]),
        ..with_topology(request, &["a"], &["a"])
    }
}

fn gib(bytes: i64) -> u64 {
    u64::try_from(bytes).expect("sizes are positive") / GIB
}

#[tokio::test]
async fn capacity_values_are_sum_largest_and_smallest_of_the_matching_devices() {
    let world = world().await;
    let get_capacity = async |kind: &str, capabilities| {
        let request = GetCapacityRequest {
            volume_capabilities: capabilities,
            parameters: pairs(&[("storageType", kind)]),
            accessible_topology: Some(Topology { segments: zone("a") }),
        };
        let response = world
            .controller
            .clone()
            .get_capacity(request)
            .await
            .unwrap()
            .into_inner();
        (
            response.available_capacity,
            response.maximum_volume_size,
            response.minimum_volume_size,
        )
    };
    let size = |count: u64| signed(count * GIB);
    assert_eq!(
        get_capacity("SSD", vec![]).await,
        (size(600), Some(size(300)), Some(size(100)))
    );
    assert_eq!(
        get_capacity("SSD", vec![block()]).await,
        (size(600), Some(size(300)), Some(size(100)))
    );
    assert_eq!(
        get_capacity("SSD", vec![mounted()]).await,
        (size(300), Some(size(200)), Some(size(100)))
    );
    assert_eq!(
        get_capacity("HDDLVG", vec![]).await,
        (size(500), Some(size(500)), Some(10 << 20))
    );
    assert_eq!(
        get_capacity("NVMe", vec![]).await,
        (0, None, None),
        "a missing device is not an error"
    );
}

#[tokio::test]
async fn smallest_disk_that_fits_is_allocated_as_a_whole() {
    let world = world().await;
    let first = world
        .create(with_storage_type("SSD", volume("v", 101 * GIB)))
        .await
        .unwrap();
    assert_eq!(gib(first.capacity_bytes), 200);
    assert_eq!(world.driver.volumes()[0].device.as_deref(), Some("ssd-2"));
    assert_eq!(
        world
            .create(with_storage_type("SSD", volume("v", 101 * GIB)))
            .await
            .unwrap(),
        first,
        "a repeated call returns the same volume"
    );
    let refused = world
        .create(with_storage_type("SSD", volume("w", 101 * GIB)))
        .await
        .unwrap_err();
    assert_eq!(
        refused.code(),
        Code::ResourceExhausted,
        "the largest disk is block-only"
    );
    world.delete(&first.volume_id).await.unwrap();
    assert_eq!(
        gib(world
            .create(with_storage_type("SSD", volume("w", 101 * GIB)))
            .await
            .unwrap()
            .capacity_bytes),
        200
    );
}

#[tokio::test]
async fn limit_below_the_smallest_disk_is_out_of_range() {
    let world = world().await;
    let limited = |name: &str, limit: u64| CreateVolumeRequest {
        capacity_range: Some(CapacityRange {
            required_bytes: 0,
            limit_bytes: signed(limit),
        }),
        ..with_storage_type("SSD", volume(name, 1))
    };
    assert_eq!(
        world
            .create(limited("v", 100 * GIB - 1))
            .await
            .unwrap_err()
            .code(),
        Code::OutOfRange
    );
    assert_eq!(
        gib(world
            .create(limited("v", 100 * GIB))
            .await
            .unwrap()
            .capacity_bytes),
        100
    );
}

#[tokio::test]
async fn reserved_disks_serve_only_their_claim_on_all_nodes() {
    const CLAIM: &str = "csi.storage.k8s.io/pvc/name";
    let world = world().await;
    let reservation = Reservation {
        name: "app".to_owned(),
        segments: vec![zone("a"), zone("b")],
        volumes: vec![ReservedVolume {
            holder: pairs(&[(CLAIM, "app-0")]),
            bytes: 3000 * GIB,
            parameters: pairs(&[("storageType", "HDD")]),
        }],
    };
    let reserved = world.driver.reserve(&reservation).unwrap();
    assert_eq!(reserved.len(), 2, "one disk in each zone");
    let of_claim = |claim: &str| CreateVolumeRequest {
        parameters: pairs(&[("storageType", "HDD"), (CLAIM, claim)]),
        ..volume(claim, 3000 * GIB)
    };
    let response = world
        .get_capacity(Some(zone("a")), &[("storageType", "HDD")])
        .await
        .unwrap();
    assert_eq!(
        gib(response.available_capacity),
        4000,
        "reserved devices still count as capacity"
    );
    assert_eq!(
        world.create(of_claim("other-0")).await.unwrap_err().code(),
        Code::ResourceExhausted
    );
    assert!(world.create(of_claim("app-0")).await.is_ok());
    assert!(
        world.driver.reserved(None).is_empty(),
        "the reservation ended with its volume"
    );
    assert!(
        world.create(of_claim("other-0")).await.is_ok(),
        "the other disk is free again"
    );
}

#[tokio::test]
async fn driver_may_exclude_reserved_devices_from_capacity() {
    let world = World::of(DriverSpec {
        reports_reserved: false,
        ..spec()
    })
    .await;
    world.driver.set_pool(node_pool("a"));
    let ssd = [("storageType", "SSD")];
    let before = world.get_capacity(None, &ssd).await.unwrap();
    let reservation = Reservation {
        name: "app".to_owned(),
        segments: vec![zone("a")],
        volumes: vec![ReservedVolume {
            holder: pairs(&[("claim", "app-0")]),
            bytes: 1,
            parameters: pairs(&ssd),
        }],
    };
    let reserved = world.driver.reserve(&reservation).unwrap();
    let response = world.get_capacity(None, &ssd).await.unwrap();
    assert_eq!(
        before.available_capacity - response.available_capacity,
        signed(100 * GIB),
        "without {reserved:?}"
    );
    assert_eq!(
        response.minimum_volume_size,
        Some(signed(200 * GIB)),
        "the smallest remaining disk"
    );
}

#[tokio::test]
async fn driver_of_an_old_csi_release_reports_only_available_capacity() {
    let world = World::of(DriverSpec {
        version: "1.3".parse().unwrap(),
        ..spec()
    })
    .await;
    world.driver.set_pool(node_pool("a"));
    let response = world.get_capacity(None, &[("storageType", "SSD")]).await.unwrap();
    assert_eq!(
        (
            gib(response.available_capacity),
            response.maximum_volume_size,
            response.minimum_volume_size
        ),
        (600, None, None)
    );
}
