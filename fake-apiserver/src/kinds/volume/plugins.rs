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

/// Validation of a source, given its owner, value and field path.
type PluginRule = fn(Owner, &Value, &str, &mut ErrorList);

/// An in-tree plugin: the field of its source, the name in error paths, required fields, and further validation.
pub(in crate::kinds) struct Plugin {
    field: &'static str,
    shown: &'static str,
    required: &'static [&'static str],
    rule: PluginRule,
}

static PLUGINS: [Plugin; 19] = [
    plugin("gcePersistentDisk", "persistentDisk", &["pdName"], partition),
    plugin(
        "awsElasticBlockStore",
        "awsElasticBlockStore",
        &["volumeID"],
        partition,
    ),
    plugin(
        "glusterfs",
        "glusterfs",
        &["endpoints", "path"],
        no_further_validation,
    ),
    plugin("flocker", "flocker", &[], no_further_validation),
    plugin("rbd", "rbd", &["monitors", "image"], no_further_validation),
    plugin("quobyte", "quobyte", &["volume"], no_further_validation),
    plugin("cephfs", "cephfs", &["monitors"], no_further_validation),
    plugin("iscsi", "iscsi", &["targetPortal", "iqn"], no_further_validation),
    plugin("cinder", "cinder", &["volumeID"], secret),
    plugin("fc", "fc", &[], no_further_validation),
    plugin("flexVolume", "flexVolume", &["driver"], no_further_validation),
    plugin(
        "azureFile",
        "azureFile",
        &["secretName", "shareName"],
        no_further_validation,
    ),
    plugin(
        "vsphereVolume",
        "vsphereVolume",
        &["volumePath"],
        no_further_validation,
    ),
    plugin(
        "photonPersistentDisk",
        "photonPersistentDisk",
        &["pdID"],
        no_further_validation,
    ),
    plugin(
        "portworxVolume",
        "portworxVolume",
        &["volumeID"],
        no_further_validation,
    ),
    plugin(
        "azureDisk",
        "azureDisk",
        &["diskName", "diskURI"],
        no_further_validation,
    ),
    plugin(
        "scaleIO",
        "scaleIO",
        &["gateway", "system", "volumeName"],
        no_further_validation,
    ),
    plugin("storageos", "storageos", &["volumeName"], secret),
    plugin("nfs", "nfs", &["server", "path"], nfs_path),
];

const fn plugin(
    field: &'static str,
    shown: &'static str,
    required: &'static [&'static str],
    rule: PluginRule,
) -> Plugin {
    Plugin {
        field,
        shown,
        required,
        rule,
    }
}

/// The defaults of each source.
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

/// Sets the defaults of the volume source in the spec of a PersistentVolume.
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

impl Plugin {
    /// The plugin whose source has this field name.
    pub(in crate::kinds) fn of(field: &str) -> Option<&'static Self> {
        PLUGINS.iter().find(|plugin| plugin.field == field)
    }

    /// Validates a source of this plugin; `at` is the field path of the volume.
    pub(in crate::kinds) fn validate(&self, owner: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
        let at = format!("{at}.{}", self.shown);
        require(source, &at, self.required, errors);
        (self.rule)(owner, source, &at, errors);
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

fn no_further_validation(_: Owner, _: &Value, _: &str, _: &mut ErrorList) {}

fn partition(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let partition = source["partition"].as_i64().unwrap_or_default();
    if !(0..=255).contains(&partition) {
        let why = "must be between 1 and 255, inclusive";
        errors.invalid(format!("{at}.partition"), partition, why);
    }
}

/// Validates a secret reference: a PersistentVolume must also name the namespace.
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
fn nfs_path(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let path = text(source, "path");
    if !path.starts_with('/') {
        errors.invalid(format!("{at}.path"), path, "must be an absolute path");
    }
}
