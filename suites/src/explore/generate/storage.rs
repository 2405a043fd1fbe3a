//! Generates the storage of segments, and storage classes.

use std::collections::BTreeMap;

use super::super::cluster::{Binding, Class, Cost, Disk, Driver, Filesystem, LONG_DRIVER, Pool};
use super::super::rng::SeededRng;
use super::super::sizes;
use super::topology::{self, RACK, ZONE};

/// A provisioner without a driver in the cluster.
const OTHER_DRIVER: &str = "tape.example.com";

/// A class parameter, and the value with which volumes use more raw storage.
const PARAMETER: (&str, &str) = ("kind", "mirrored");

/// A class parameter that a publisher removes before it calls the driver.
const SIDECAR_PARAMETER: &str = "csi.storage.k8s.io/fstype";

/// Random storage of a topology segment.
pub(super) fn pool(rng: &mut SeededRng) -> Pool {
    match rng.below(10) {
        0..=2 => {
            let (capacity, maximum) = sizes::pool_size_with_maximum(rng);
            Pool::Limited { capacity, maximum }
        }
        3 => Pool::Shared {
            filesystem: Filesystem {
                size: sizes::pool_size(rng),
                used: sizes::pool_size(rng),
            },
        },
        4 => disks(rng),
        _ => Pool::Plain(sizes::pool_size(rng)),
    }
}

/// A few disks. Some can only be used with a class parameter, or with one access type.
fn disks(rng: &mut SeededRng) -> Pool {
    let mut devices = BTreeMap::new();
    for number in 1..=rng.between(1, 3) {
        let kind = *rng.pick(&["mirrored", "plain"]);
        let parameters = rng.one_in(3).then(|| parameter(PARAMETER.0, kind));
        let access = *rng.pick(&[None, None, Some("block"), Some("mount")]);
        let disk = Disk {
            size: sizes::size(rng),
            parameters: parameters.unwrap_or_default(),
            access: access.map(str::to_owned),
        };
        devices.insert(format!("d{number}"), disk);
    }
    Pool::Disks { devices }
}

pub(super) fn class(rng: &mut SeededRng, driver: &Driver, name: &str) -> Class {
    let binding = match rng.one_in(6) {
        true => Binding::Immediate,
        false => Binding::WaitForFirstConsumer,
    };
    let parameters = match rng.below(12) {
        0 => parameter(PARAMETER.0, "mirrored"),
        1 => parameter(PARAMETER.0, "plain"),
        2 => parameter(SIDECAR_PARAMETER, "ext4"),
        // A parameter that the driver does not know, with a non-ASCII name, and an empty or a non-ASCII value.
        3 => parameter("größe", if rng.one_in(2) { "" } else { "日本" }),
        _ => BTreeMap::new(),
    };
    let allowed_topologies = match rng.below(12) {
        0 => {
            let key = *rng.pick(&[ZONE, RACK, "kubernetes.io/hostname"]);
            let value = *rng.pick(&["a", "b", "n1", "n2"]);
            [(key.to_owned(), vec![value.to_owned()])].into()
        }
        1..=2 => topology::some_values(rng, driver).into_iter().collect(),
        _ => BTreeMap::new(),
    };
    Class {
        name: name.to_owned(),
        provisioner: rng.one_in(12).then(|| OTHER_DRIVER.to_owned()),
        parameters,
        binding,
        allowed_topologies,
    }
}

fn parameter(name: &str, value: &str) -> BTreeMap<String, String> {
    [(name.to_owned(), value.to_owned())].into()
}

/// How much raw storage volumes of some classes use per byte.
pub(super) fn costs(rng: &mut SeededRng) -> Vec<Cost> {
    let cost = || Cost {
        parameter: PARAMETER.0.to_owned(),
        value: PARAMETER.1.to_owned(),
        factor: 2,
    };
    rng.one_in(4).then(cost).into_iter().collect()
}

/// A random driver and its CSIDriver object.
pub(super) fn driver(rng: &mut SeededRng, topology_keys: Option<Vec<String>>) -> Driver {
    let mut driver = Driver {
        topology_keys,
        storage_capacity: match rng.below(10) {
            0 => None,
            1 => Some(false),
            _ => Some(true),
        },
        object: !rng.one_in(12),
        get_capacity: !rng.one_in(20),
        clone_volume: rng.one_in(4),
        costs: costs(rng),
        ..Driver::default()
    };
    if rng.one_in(10) {
        driver.name = LONG_DRIVER.to_owned();
    }
    driver
}
