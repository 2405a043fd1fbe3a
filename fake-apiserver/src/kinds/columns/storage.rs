//! Rows of volumes, claims and the storage.k8s.io kinds.

use super::{AGE, Column, NAME, Printer, age, at, boolean, count, integer, name, or, text, wide};
use crate::machinery::json;
use crate::machinery::meta;
use serde_json::{Value, json};

pub(crate) static CSI_DRIVER: Printer = Printer {
    columns: &[
        NAME,
        boolean("AttachRequired"),
        boolean("PodInfoOnMount"),
        boolean("StorageCapacity"),
        text("TokenRequests"),
        boolean("RequiresRepublish"),
        text("Modes"),
        AGE,
    ],
    row: |o, now| {
        let spec = &o["spec"];
        let audiences: Vec<&str> = spec["tokenRequests"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|t| t["audience"].as_str())
            .collect();
        vec![
            name(o),
            spec["attachRequired"].clone(),
            spec["podInfoOnMount"].clone(),
            spec["storageCapacity"].clone(),
            or(&audiences.join(","), "<unset>"),
            spec["requiresRepublish"].clone(),
            json!(json::texts(&spec["volumeLifecycleModes"]).join(",")),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static CSI_NODE: Printer = Printer {
    columns: &[NAME, integer("Drivers"), AGE],
    row: |o, now| vec![name(o), json!(count(&o["spec"]["drivers"])), age(o, now)],
    null_when_empty: false,
};

pub(crate) static STORAGE_CLASS: Printer = Printer {
    columns: &[
        NAME,
        text("Provisioner"),
        text("ReclaimPolicy"),
        text("VolumeBindingMode"),
        text("AllowVolumeExpansion"),
        AGE,
    ],
    row: |o, now| {
        let default = o["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
        vec![
            json!(format!(
                "{}{}",
                meta::text(o, "name"),
                if default { " (default)" } else { "" }
            )),
            at(o, "/provisioner"),
            at(o, "/reclaimPolicy"),
            at(o, "/volumeBindingMode"),
            json!(o["allowVolumeExpansion"].as_bool().unwrap_or_default()),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static VOLUME_ATTACHMENT: Printer = Printer {
    columns: &[
        NAME,
        Column("Attacher", "string", "name", 0),
        text("PV"),
        text("Node"),
        boolean("Attached"),
        AGE,
    ],
    row: |o, now| {
        vec![
            name(o),
            at(o, "/spec/attacher"),
            at(o, "/spec/source/persistentVolumeName"),
            at(o, "/spec/nodeName"),
            json!(o["status"]["attached"].as_bool().unwrap_or_default()),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static CLAIM: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Volume"),
        text("Capacity"),
        text("Access Modes"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        AGE,
        wide("VolumeMode"),
    ],
    row: |o, now| {
        let bound = !o["spec"]["volumeName"].as_str().unwrap_or_default().is_empty();
        let phase = if meta::is_deleting(o) {
            json!("Terminating")
        } else {
            at(o, "/status/phase")
        };
        vec![
            name(o),
            phase,
            at(o, "/spec/volumeName"),
            if bound {
                at(o, "/status/capacity/storage")
            } else {
                json!("")
            },
            json!(if bound {
                modes(&o["status"]["accessModes"])
            } else {
                String::new()
            }),
            at(o, "/spec/storageClassName"),
            or(
                o["spec"]["volumeAttributesClassName"]
                    .as_str()
                    .unwrap_or_default(),
                "<unset>",
            ),
            age(o, now),
            or(o["spec"]["volumeMode"].as_str().unwrap_or_default(), "<unset>"),
        ]
    },
    null_when_empty: false,
};

pub(crate) static VOLUME: Printer = Printer {
    columns: &[
        NAME,
        text("Capacity"),
        text("Access Modes"),
        text("Reclaim Policy"),
        text("Status"),
        text("Claim"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        text("Reason"),
        AGE,
        wide("VolumeMode"),
    ],
    row: |o, now| {
        let claim = &o["spec"]["claimRef"];
        let claim = match claim["name"].as_str() {
            Some(name) => format!("{}/{name}", claim["namespace"].as_str().unwrap_or_default()),
            None => String::new(),
        };
        let phase = if meta::is_deleting(o) {
            json!("Terminating")
        } else {
            at(o, "/status/phase")
        };
        vec![
            name(o),
            at(o, "/spec/capacity/storage"),
            json!(modes(&o["spec"]["accessModes"])),
            at(o, "/spec/persistentVolumeReclaimPolicy"),
            phase,
            json!(claim),
            at(o, "/spec/storageClassName"),
            or(
                o["spec"]["volumeAttributesClassName"]
                    .as_str()
                    .unwrap_or_default(),
                "<unset>",
            ),
            at(o, "/status/reason"),
            age(o, now),
            or(o["spec"]["volumeMode"].as_str().unwrap_or_default(), "<unset>"),
        ]
    },
    null_when_empty: false,
};

/// Short names of access modes.
fn modes(list: &Value) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = json::texts(list);
    short
        .iter()
        .filter(|(long, _)| modes.contains(long))
        .map(|(_, s)| *s)
        .collect::<Vec<_>>()
        .join(",")
}
