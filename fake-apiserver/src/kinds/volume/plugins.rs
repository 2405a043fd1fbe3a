//! Volume sources of in-tree plugins, in PersistentVolumes and in pods: defaults and required fields.
//!
//! Most of these plugins were removed from Kubernetes; their fields were not. The format of their other fields is not validated.
//! Does not know which source a volume has.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, string as text};
use serde_json::Value;

/// The object that contains the source. A pod uses Secrets in its own namespace; a PersistentVolume also names the namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) enum Owner {
    Volume,
    Pod,
}

/// The field of each source, and its required fields.
const PLUGINS: [(&str, &[&str]); 19] = [
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("glusterfs", &["endpoints", "path"]),
    ("flocker", &[]),
    ("rbd", &["monitors", "image"]),
    ("quobyte", &["volume"]),
    ("cephfs", &["monitors"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("cinder", &["volumeID"]),
    ("fc", &[]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("storageos", &["volumeName"]),
    ("nfs", &["server", "path"]),
];

const DEFAULTS: [(&str, &[(&str, &str)]); 4] = [
    (
        "rbd",
        &[
            ("keyring", "/etc/ceph/keyring"),
            ("pool", "rbd"),
            ("user", "admin"),
        ],
    ),
    (
        "scaleIO",
        &[("fsType", "xfs"), ("storageMode", "ThinProvisioned")],
    ),
    ("iscsi", &[("iscsiInterface", "default")]),
    (
        "azureDisk",
        &[
            ("cachingMode", "ReadWrite"),
            ("fsType", "ext4"),
            ("kind", "Shared"),
        ],
    ),
];

/// Sets the defaults of the volume source in a PersistentVolume spec.
pub(super) fn default(spec: &mut Value) {
    for (source, values) in DEFAULTS {
        if let Some(source) = spec.get_mut(source).filter(|source| source.is_object()) {
            for (name, value) in values {
                json::default_member(source, name, *value);
            }
        }
    }
    if let Some(disk) = spec.get_mut("azureDisk").filter(|disk| disk.is_object()) {
        json::default_member(disk, "readOnly", false);
    }
}

/// Validates the source `field` of an in-tree plugin; `at` is the field path of the volume. Accepts the sources of other plugins.
pub(super) fn validate(owner: Owner, field: &str, source: &Value, at: &str, errors: &mut ErrorList) {
    let Some((_, required)) = PLUGINS.iter().find(|(known, _)| *known == field) else {
        return;
    };
    let at = match field {
        "gcePersistentDisk" => format!("{at}.persistentDisk"),
        _ => format!("{at}.{field}"),
    };
    require(source, &at, required, errors);
    match field {
        "gcePersistentDisk" | "awsElasticBlockStore" => partition(source, &at, errors),
        "cinder" | "storageos" => secret(owner, source, &at, errors),
        "nfs" => nfs_path(source, &at, errors),
        _ => {}
    }
}

/// Adds errors for required strings and lists that are empty.
fn require(source: &Value, at: &str, names: &[&str], errors: &mut ErrorList) {
    for name in names {
        let empty = source[*name].as_array().is_none_or(Vec::is_empty);
        if empty && text(source, name).is_empty() {
            errors.required(format!("{at}.{name}"), "");
        }
    }
}

fn partition(source: &Value, at: &str, errors: &mut ErrorList) {
    let partition = source["partition"].as_i64().unwrap_or_default();
    if !(0..=255).contains(&partition) {
        let why = "must be between 1 and 255, inclusive";
        errors.invalid(format!("{at}.partition"), partition, why);
    }
}

/// Validates a Secret reference. In a PersistentVolume, the reference must contain a namespace.
fn secret(owner: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let secret = &source["secretRef"];
    if !secret.is_null() {
        let names: &[&str] = match owner {
            Owner::Volume => &["name", "namespace"],
            Owner::Pod => &["name"],
        };
        require(secret, &format!("{at}.secretRef"), names, errors);
    }
}

/// Validates the path of an NFS export, which must be absolute.
fn nfs_path(source: &Value, at: &str, errors: &mut ErrorList) {
    let path = text(source, "path");
    if !path.starts_with('/') {
        errors.invalid(format!("{at}.path"), path, "must be an absolute path");
    }
}
