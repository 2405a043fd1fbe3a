//! Generates the storage of segments, and storage classes.

use std::collections::BTreeMap;

use super::super::dice::Dice;
use super::super::sizes;
use super::super::world::{Binding, Class, Cost, Disk, Driver, Filesystem, LONG_DRIVER, Pool};
use super::places::{self, RACK, ZONE};

/// A provisioner without a driver in the cluster.
const OTHER_DRIVER: &str = "tape.example.com";

/// A class parameter with the value that uses more raw storage.
const PARAMETER: (&str, &str) = ("kind", "mirrored");

/// A class parameter for the sidecars, which they do not pass to the driver.
const SIDECAR_PARAMETER: &str = "csi.storage.k8s.io/fstype";

/// The storage of a segment.
pub(super) fn pool(dice: &mut Dice) -> Pool {
    match dice.below(10) {
        0..=2 => {
            let (capacity, maximum) = sizes::room_with_largest(dice);
            Pool::Limited { capacity, maximum }
        }
        3 => Pool::Shared {
            filesystem: Filesystem {
                size: sizes::room(dice),
                used: sizes::room(dice),
            },
        },
        4 => disks(dice),
        _ => Pool::Plain(sizes::room(dice)),
    }
}

/// A few disks, for all classes and access types or for some.
fn disks(dice: &mut Dice) -> Pool {
    let mut devices = BTreeMap::new();
    for number in 1..=dice.between(1, 3) {
        let kind = *dice.pick(&["mirrored", "plain"]);
        let parameters = dice.one_in(3).then(|| parameter(PARAMETER.0, kind));
        let access = *dice.pick(&[None, None, Some("block"), Some("mount")]);
        let disk = Disk {
            size: sizes::size(dice),
            parameters: parameters.unwrap_or_default(),
            access: access.map(str::to_owned),
        };
        devices.insert(format!("d{number}"), disk);
    }
    Pool::Disks { devices }
}

/// A class for volumes of a driver.
pub(super) fn class(dice: &mut Dice, driver: &Driver, name: &str) -> Class {
    let binding = match dice.one_in(6) {
        true => Binding::Immediate,
        false => Binding::WaitForFirstConsumer,
    };
    let parameters = match dice.below(12) {
        0 => parameter(PARAMETER.0, "mirrored"),
        1 => parameter(PARAMETER.0, "plain"),
        2 => parameter(SIDECAR_PARAMETER, "ext4"),
        // The driver ignores empty and non-ASCII values.
        3 => parameter("größe", if dice.one_in(2) { "" } else { "日本" }),
        _ => BTreeMap::new(),
    };
    let allowed_topologies = match dice.below(12) {
        0 => {
            let key = *dice.pick(&[ZONE, RACK, "kubernetes.io/hostname"]);
            let value = *dice.pick(&["a", "b", "n1", "n2"]);
            [(key.to_owned(), vec![value.to_owned()])].into()
        }
        1..=2 => places::some_values(dice, driver).into_iter().collect(),
        _ => BTreeMap::new(),
    };
    Class {
        name: name.to_owned(),
        provisioner: dice.one_in(12).then(|| OTHER_DRIVER.to_owned()),
        parameters,
        binding,
        allowed_topologies,
    }
}

fn parameter(name: &str, value: &str) -> BTreeMap<String, String> {
    [(name.to_owned(), value.to_owned())].into()
}

/// Raw storage per byte of volumes of a class.
pub(super) fn costs(dice: &mut Dice) -> Vec<Cost> {
    let cost = || Cost {
        parameter: PARAMETER.0.to_owned(),
        value: PARAMETER.1.to_owned(),
        factor: 2,
    };
    dice.one_in(4).then(cost).into_iter().collect()
}

/// The driver and its CSIDriver object.
pub(super) fn driver(dice: &mut Dice, topology_keys: Option<Vec<String>>) -> Driver {
    let mut driver = Driver {
        topology_keys,
        storage_capacity: match dice.below(10) {
            0 => None,
            1 => Some(false),
            _ => Some(true),
        },
        object: !dice.one_in(12),
        get_capacity: !dice.one_in(20),
        clone_volume: dice.one_in(4),
        costs: costs(dice),
        ..Driver::default()
    };
    if dice.one_in(10) {
        driver.name = LONG_DRIVER.to_owned();
    }
    driver
}
