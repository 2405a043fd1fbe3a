//! CSIDriver and CSINode.
//!
//! Rules and texts follow kube-apiserver 1.36, odd paths such as `spec.attachedRequired` included.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Setting, View};
use crate::faults::Faults;
use crate::meta;
use crate::names;
use crate::printer;
use crate::release::{Gate, Life, Profile};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

const ANY_CSI_DRIVER: Kind = Kind {
    group: "storage.k8s.io",
    kind: "CSIDriver",
    plural: "csidrivers",
    singular: "csidriver",
    namespaced: false,
    generation: Generation::FromFirstChange,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        default: driver_default,
        create: |object, setting| gate_tracking(object, None, setting),
        update: |object, old, setting| gate_tracking(object, Some(old), setting),
        validate: driver_validate,
        validate_update: driver_validate_update,
        validate_update_then: driver_validate_update_then,
        ..NO_HOOKS
    },
    printer: &printer::CSI_DRIVER,
    ..PLAIN
};

pub(super) static CSI_DRIVER: Kind = Kind {
    life: Life::since(19),
    ..ANY_CSI_DRIVER
};

/// As it was before KEP-1472: `storageCapacity` is not shown, and does not survive a write.
pub(super) static CSI_DRIVER_1_18: Kind = Kind {
    life: Life::during(18, 18),
    view: Some(View {
        stored: &CSI_DRIVER,
        from_stored: |object| {
            let mut object = object.clone();
            drop_tracking(&mut object);
            object
        },
        renamed: &[],
        to_stored: Value::clone,
    }),
    ..ANY_CSI_DRIVER
};

/// With the gate off `storageCapacity` is dropped, unless the object has it already: then it is kept for the time
/// when the gate is on again. A release without the gate does not know the field at all.
fn gate_tracking(object: &mut Value, old: Option<&Value>, setting: &Setting<'_>) {
    let had = old.is_some_and(|old| !old["spec"]["storageCapacity"].is_null());
    let knows = setting.profile.is_since(19);
    let keeps = setting.profile.has(Gate::CsiStorageCapacity) || (knows && had);
    if !keeps {
        drop_tracking(object);
    }
}

fn drop_tracking(object: &mut Value) {
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("storageCapacity");
    }
}

fn driver_default(object: &mut Value) {
    let defaults = [
        ("attachRequired", json!(true)),
        ("fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
        ("podInfoOnMount", json!(false)),
        ("requiresRepublish", json!(false)),
        ("seLinuxMount", json!(false)),
        ("storageCapacity", json!(false)),
        ("volumeLifecycleModes", json!(["Persistent"])),
    ];
    let spec = meta::member(object, "spec");
    for (name, value) in defaults {
        spec.entry(name).or_insert(value);
    }
}

fn driver_validate(object: &Value, faults: &mut Faults) {
    let spec = &object["spec"];
    for mode in meta::texts(&spec["volumeLifecycleModes"]) {
        faults.one_of("spec.volumeLifecycleModes", mode, &["Persistent", "Ephemeral"]);
    }
    let policy = spec["fsGroupPolicy"].as_str().unwrap_or_default();
    faults.one_of(
        "spec.fsGroupPolicy",
        policy,
        &["File", "None", "ReadWriteOnceWithFSType"],
    );
}

fn driver_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (new, old) = (&new["spec"], &old["spec"]);
    faults.unchanged(
        "spec.attachedRequired",
        &new["attachRequired"],
        &old["attachRequired"],
    );
    faults.unchanged(
        "spec.volumeLifecycleModes",
        &new["volumeLifecycleModes"],
        &old["volumeLifecycleModes"],
    );
}

/// Fields of the spec that could not be changed at first: since which release they exist, and until which they were
/// immutable.
const ONCE_IMMUTABLE: [(&str, &str, u8, u8); 3] = [
    ("storageCapacity", "spec.storageCapacity", 19, 22),
    ("podInfoOnMount", "spec.podInfoOnMount", 18, 28),
    ("fsGroupPolicy", "spec.fsGroupPolicy", 19, 28),
];

fn driver_validate_update_then(new: &Value, old: &Value, profile: Profile, faults: &mut Faults) {
    for (field, path, first, last) in ONCE_IMMUTABLE {
        if !profile.is_since(first) || profile.is_since(last + 1) {
            continue;
        }
        // An object from before the field existed reads as one with its default.
        let or_default = |object: &Value| match &object["spec"][field] {
            Value::Null if field == "storageCapacity" => json!(false),
            value => value.clone(),
        };
        faults.unchanged(path, &or_default(new), &or_default(old));
    }
}

pub(super) static CSI_NODE: Kind = Kind {
    group: "storage.k8s.io",
    kind: "CSINode",
    plural: "csinodes",
    singular: "csinode",
    namespaced: false,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        validate: node_validate,
        validate_update: node_validate_update,
        ..NO_HOOKS
    },
    printer: &printer::CSI_NODE,
    ..PLAIN
};

fn node_validate(object: &Value, faults: &mut Faults) {
    let mut seen = HashSet::new();
    for (i, driver) in drivers(object).iter().enumerate() {
        let at = format!("spec.drivers[{i}]");
        let name = driver["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            faults.required(format!("{at}.name"), "");
        } else {
            meta::complain(
                faults,
                &format!("{at}.name"),
                name,
                names::subdomain(&name.to_lowercase()),
            );
        }
        let id = driver["nodeID"].as_str().unwrap_or_default();
        if id.is_empty() {
            faults.required(format!("{at}.nodeID"), "");
        }
        if driver["allocatable"]["count"]
            .as_i64()
            .is_some_and(|count| count < 0)
        {
            let count = driver["allocatable"]["count"].clone();
            faults.invalid(
                format!("{at}.allocatable.count"),
                count,
                "must be greater than or equal to 0",
            );
        }
        let mut keys = HashSet::new();
        for key in meta::texts(&driver["topologyKeys"]) {
            if !keys.insert(key) {
                faults.duplicate(format!("{at}.topologyKeys"), key);
            }
            meta::complain(faults, &format!("{at}.topologyKeys"), key, names::qualified(key));
        }
        if !seen.insert(name) {
            faults.duplicate(format!("{at}.name"), name);
        }
    }
}

/// Drivers come and go, but one that stays keeps its node id and topology keys.
fn node_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let frozen = |driver: &Value| json!([driver["nodeID"], driver["topologyKeys"]]);
    let before: HashMap<&Value, &Value> = drivers(old)
        .iter()
        .map(|driver| (&driver["name"], driver))
        .collect();
    for driver in drivers(new) {
        let before = before.get(&driver["name"]);
        if before.is_some_and(|before| frozen(before) != frozen(driver)) {
            let text = "field is immutable; only allocatable of a driver may change: remove the driver and add it again";
            faults.invalid("spec.drivers", driver.clone(), text);
        }
    }
}

fn drivers(object: &Value) -> &[Value] {
    object["spec"]["drivers"].as_array().map_or(&[], Vec::as_slice)
}
