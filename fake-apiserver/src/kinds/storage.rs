//! storage.k8s.io: capacities, drivers, classes and the drivers of a node.
//!
//! Rules and texts follow kube-apiserver 1.36, odd paths such as `spec.attachedRequired` included.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Setting};
use crate::faults::Faults;
use crate::meta;
use crate::names;
use crate::printer;
use crate::quantity::Quantity;
use crate::shape::{Field, STRING_MAP, STRINGS, Shape, Struct, field, pointer};
use serde_json::{Map, Value, json};

const GROUP: &str = "storage.k8s.io";

/// meta/v1 LabelSelector.
pub(super) const LABEL_SELECTOR: Struct = Struct {
    go: "LabelSelector",
    fields: &[
        field("matchLabels", STRING_MAP),
        field(
            "matchExpressions",
            Shape::List(&Shape::Struct(&Struct {
                go: "LabelSelectorRequirement",
                fields: &[
                    pointer("key", Shape::Str),
                    pointer("operator", Shape::Str),
                    field("values", STRINGS),
                ],
                open: false,
            })),
        ),
    ],
    open: false,
};

/// KEP-1472: absent, empty and set `nodeTopology` are three different things.
pub(super) static CSI_STORAGE_CAPACITY: Kind = Kind {
    group: GROUP,
    kind: "CSIStorageCapacity",
    plural: "csistoragecapacities",
    singular: "csistoragecapacity",
    form: &Struct {
        go: "CSIStorageCapacity",
        fields: &[
            pointer("storageClassName", Shape::Str),
            pointer("nodeTopology", Shape::Struct(&LABEL_SELECTOR)),
            pointer("capacity", Shape::Quantity),
            pointer("maximumVolumeSize", Shape::Quantity),
        ],
        open: false,
    },
    unconditional_update: false,
    meta_checked_twice: false,
    hooks: Hooks {
        default: |object| {
            members(object)
                .entry("storageClassName")
                .or_insert_with(|| "".into());
        },
        validate: capacity_validate,
        validate_update: |new, old, faults| {
            immutable(new, old, &["nodeTopology", "storageClassName"], faults);
        },
        ..NO_HOOKS
    },
    printer: &printer::NAME_AND_CREATION,
    ..PLAIN
};

/// `maximumVolumeSize` is not checked, as in the real server.
fn capacity_validate(object: &Value, faults: &mut Faults) {
    selector(&object["nodeTopology"], "nodeTopology", faults);
    let class = object["storageClassName"].as_str().unwrap_or_default();
    meta::complain(faults, "storageClassName", class, names::subdomain(class));
    if let Some(text) = object["capacity"].as_str()
        && text.parse::<Quantity>().is_ok_and(|q| q.is_negative())
    {
        faults.invalid("capacity", text, "must be greater than or equal to 0");
    }
}

/// The rules for a label selector (`ValidateLabelSelector`).
fn selector(selector: &Value, field: &str, faults: &mut Faults) {
    meta::labels(&selector["matchLabels"], &format!("{field}.matchLabels"), faults);
    for (i, term) in selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let at = format!("{field}.matchExpressions[{i}]");
        let values = meta::texts(&term["values"]);
        let operator = term["operator"].as_str().unwrap_or_default();
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                faults.required(
                    format!("{at}.values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(format!("{at}.values"), text);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => faults.invalid(
                format!("{at}.operator"),
                operator,
                "not a valid selector operator",
            ),
        }
        let key = term["key"].as_str().unwrap_or_default();
        meta::complain(faults, &format!("{at}.key"), key, names::qualified(key));
        for (j, value) in values.into_iter().enumerate() {
            meta::complain(
                faults,
                &format!("{at}.values[{j}]"),
                value,
                names::label_value(value),
            );
        }
    }
}

const DRIVER_SPEC: &[Field] = &[
    pointer("attachRequired", Shape::Bool),
    pointer("fsGroupPolicy", Shape::Str),
    pointer("nodeAllocatableUpdatePeriodSeconds", Shape::Int("int64")),
    pointer("podInfoOnMount", Shape::Bool),
    pointer("preventPodSchedulingIfMissing", Shape::Bool),
    pointer("requiresRepublish", Shape::Bool),
    pointer("seLinuxMount", Shape::Bool),
    pointer("serviceAccountTokenInSecrets", Shape::Bool),
    pointer("storageCapacity", Shape::Bool),
    field(
        "tokenRequests",
        Shape::List(&Shape::Struct(&Struct {
            go: "TokenRequest",
            fields: &[
                pointer("audience", Shape::Str),
                pointer("expirationSeconds", Shape::Int("int64")),
            ],
            open: false,
        })),
    ),
    field("volumeLifecycleModes", STRINGS),
];

pub(super) static CSI_DRIVER: Kind = Kind {
    group: GROUP,
    kind: "CSIDriver",
    plural: "csidrivers",
    singular: "csidriver",
    namespaced: false,
    form: &Struct {
        go: "CSIDriver",
        fields: &[pointer(
            "spec",
            Shape::Struct(&Struct {
                go: "CSIDriverSpec",
                fields: DRIVER_SPEC,
                open: false,
            }),
        )],
        open: false,
    },
    generation: Generation::FromFirstChange,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        default: driver_default,
        validate: driver_validate,
        validate_update: driver_validate_update,
        ..NO_HOOKS
    },
    printer: &printer::CSI_DRIVER,
    ..PLAIN
};

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
        one_of(
            "spec.volumeLifecycleModes",
            mode,
            &["Persistent", "Ephemeral"],
            faults,
        );
    }
    let policy = spec["fsGroupPolicy"].as_str().unwrap_or_default();
    one_of(
        "spec.fsGroupPolicy",
        policy,
        &["File", "None", "ReadWriteOnceWithFSType"],
        faults,
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

pub(super) static STORAGE_CLASS: Kind = Kind {
    group: GROUP,
    kind: "StorageClass",
    plural: "storageclasses",
    singular: "storageclass",
    short_names: &["sc"],
    namespaced: false,
    form: &Struct {
        go: "StorageClass",
        fields: &[
            pointer("provisioner", Shape::Str),
            field("parameters", STRING_MAP),
            pointer("reclaimPolicy", Shape::Str),
            field("mountOptions", STRINGS),
            pointer("allowVolumeExpansion", Shape::Bool),
            pointer("volumeBindingMode", Shape::Str),
            field(
                "allowedTopologies",
                Shape::List(&Shape::Struct(&Struct {
                    go: "TopologySelectorTerm",
                    fields: &[field(
                        "matchLabelExpressions",
                        Shape::List(&Shape::Struct(&Struct {
                            go: "TopologySelectorLabelRequirement",
                            fields: &[pointer("key", Shape::Str), pointer("values", STRINGS)],
                            open: false,
                        })),
                    )],
                    open: false,
                })),
            ),
        ],
        open: false,
    },
    returns_deleted: true,
    hooks: Hooks {
        default: class_default,
        validate: class_validate,
        validate_update: |new, old, faults| {
            immutable(
                new,
                old,
                &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"],
                faults,
            );
        },
        ..NO_HOOKS
    },
    printer: &printer::STORAGE_CLASS,
    ..PLAIN
};

fn class_default(object: &mut Value) {
    let class = members(object);
    for (name, value) in [
        ("provisioner", ""),
        ("reclaimPolicy", "Delete"),
        ("volumeBindingMode", "Immediate"),
    ] {
        class.entry(name).or_insert_with(|| value.into());
    }
}

fn class_validate(object: &Value, faults: &mut Faults) {
    let provisioner = object["provisioner"].as_str().unwrap_or_default();
    if provisioner.is_empty() {
        faults.required("provisioner", "");
    } else {
        meta::complain(
            faults,
            "provisioner",
            provisioner,
            names::qualified(&provisioner.to_lowercase()),
        );
    }
    let policy = object["reclaimPolicy"].as_str().unwrap_or_default();
    one_of("reclaimPolicy", policy, &["Delete", "Retain"], faults);
    let mode = object["volumeBindingMode"].as_str().unwrap_or_default();
    one_of(
        "volumeBindingMode",
        mode,
        &["Immediate", "WaitForFirstConsumer"],
        faults,
    );
    for (i, term) in object["allowedTopologies"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        for (j, requirement) in term["matchLabelExpressions"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let at = format!("allowedTopologies[{i}].matchLabelExpressions[{j}]");
            topology(requirement, &at, faults);
        }
    }
}

fn topology(requirement: &Value, at: &str, faults: &mut Faults) {
    let key = requirement["key"].as_str().unwrap_or_default();
    let values = meta::texts(&requirement["values"]);
    if values.is_empty() {
        faults.required(format!("{at}.values"), "");
    }
    for (i, value) in values.iter().enumerate() {
        if values[..i].contains(value) {
            faults.duplicate(format!("{at}.values[{i}]"), *value);
        }
    }
    meta::complain(faults, &format!("{at}.key"), key, names::qualified(key));
}

pub(super) static CSI_NODE: Kind = Kind {
    group: GROUP,
    kind: "CSINode",
    plural: "csinodes",
    singular: "csinode",
    namespaced: false,
    form: &Struct {
        go: "CSINode",
        fields: &[pointer(
            "spec",
            Shape::Struct(&Struct {
                go: "CSINodeSpec",
                fields: &[field(
                    "drivers",
                    Shape::List(&Shape::Struct(&Struct {
                        go: "CSINodeDriver",
                        fields: &[
                            pointer("name", Shape::Str),
                            pointer("nodeID", Shape::Str),
                            field("topologyKeys", STRINGS),
                            pointer(
                                "allocatable",
                                Shape::Struct(&Struct {
                                    go: "VolumeNodeResources",
                                    fields: &[pointer("count", Shape::Int("int32"))],
                                    open: false,
                                }),
                            ),
                        ],
                        open: false,
                    })),
                )],
                open: false,
            }),
        )],
        open: false,
    },
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        default: node_default,
        validate: node_validate,
        validate_update: node_validate_update,
        ..NO_HOOKS
    },
    printer: &printer::CSI_NODE,
    ..PLAIN
};

/// Both lists are written as `null` when they are empty.
fn node_default(object: &mut Value) {
    let drivers = meta::member(object, "spec")
        .entry("drivers")
        .or_insert(Value::Null);
    for driver in drivers
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        driver.entry("topologyKeys").or_insert(Value::Null);
    }
}

fn node_validate(object: &Value, faults: &mut Faults) {
    let mut seen: Vec<&str> = Vec::new();
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
        let keys = meta::texts(&driver["topologyKeys"]);
        for (j, key) in keys.iter().enumerate() {
            if keys[..j].contains(key) {
                faults.duplicate(format!("{at}.topologyKeys"), *key);
            }
            meta::complain(faults, &format!("{at}.topologyKeys"), key, names::qualified(key));
        }
        if seen.contains(&name) {
            faults.duplicate(format!("{at}.name"), name);
        }
        seen.push(name);
    }
}

/// Drivers come and go, but one that stays keeps its node id and topology keys.
fn node_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let frozen = |driver: &Value| json!([driver["nodeID"], driver["topologyKeys"]]);
    for driver in drivers(new) {
        let before = drivers(old).iter().find(|d| d["name"] == driver["name"]);
        if before.is_some_and(|before| frozen(before) != frozen(driver)) {
            let text = "field is immutable; only allocatable of a driver may change: remove the driver and add it again";
            faults.invalid("spec.drivers", driver.clone(), text);
        }
    }
}

fn drivers(object: &Value) -> &[Value] {
    object["spec"]["drivers"].as_array().map_or(&[], Vec::as_slice)
}

pub(super) static VOLUME_ATTACHMENT: Kind = Kind {
    group: GROUP,
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    singular: "volumeattachment",
    namespaced: false,
    status: true,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        create: attachment_create,
        ..NO_HOOKS
    },
    printer: &printer::VOLUME_ATTACHMENT,
    ..PLAIN
};

fn attachment_create(object: &mut Value, _: &Setting<'_>) {
    object["status"] = json!({"attached": false});
}

fn members(object: &mut Value) -> &mut Map<String, Value> {
    object
        .as_object_mut()
        .expect("decoding made sure that it is an object")
}

fn one_of(field: &str, value: &str, supported: &[&str], faults: &mut Faults) {
    if !supported.contains(&value) {
        faults.not_supported(field, value, supported);
    }
}

fn immutable(new: &Value, old: &Value, fields: &[&str], faults: &mut Faults) {
    for field in fields {
        faults.unchanged(field, &new[*field], &old[*field]);
    }
}
