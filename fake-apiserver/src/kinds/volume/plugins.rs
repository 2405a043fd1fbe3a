//! Volume sources of in-tree plugins, in PersistentVolumes and in pods: defaults and required fields.
//!
//! Most of these plugins were removed from Kubernetes, but their API fields still exist and are validated. Does not know which source a
//! volume has.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, string as text};
use crate::machinery::names;
use serde_json::{Value, json};

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
    plugin("glusterfs", "glusterfs", &["endpoints", "path"], glusterfs),
    plugin("flocker", "flocker", &[], flocker),
    plugin("rbd", "rbd", &["monitors", "image"], nothing),
    plugin("quobyte", "quobyte", &[], quobyte),
    plugin("cephfs", "cephfs", &["monitors"], nothing),
    plugin("iscsi", "iscsi", &["targetPortal"], iscsi),
    plugin("cinder", "cinder", &["volumeID"], secret),
    plugin("fc", "fc", &[], fibre_channel),
    plugin("flexVolume", "flexVolume", &["driver"], flex),
    plugin("azureFile", "azureFile", &["secretName", "shareName"], azure_file),
    plugin("vsphereVolume", "vsphereVolume", &["volumePath"], nothing),
    plugin("photonPersistentDisk", "photonPersistentDisk", &["pdID"], nothing),
    plugin("portworxVolume", "portworxVolume", &["volumeID"], nothing),
    plugin("azureDisk", "azureDisk", &["diskName", "diskURI"], azure_disk),
    plugin(
        "scaleIO",
        "scaleIO",
        &["gateway", "system", "volumeName"],
        nothing,
    ),
    plugin("storageos", "storageos", &["volumeName"], storage_os),
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

fn nothing(_: Owner, _: &Value, _: &str, _: &mut ErrorList) {}

fn partition(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let partition = source["partition"].as_i64().unwrap_or_default();
    if !(0..=255).contains(&partition) {
        let why = "must be between 1 and 255, inclusive";
        errors.invalid(format!("{at}.partition"), partition, why);
    }
}

fn glusterfs(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let field = format!("{at}.endpointsNamespace");
    match source["endpointsNamespace"].as_str() {
        None => {}
        Some("") => {
            let why = "if the endpointnamespace is set, it must be a valid namespace name";
            errors.invalid(field, "", why);
        }
        Some(namespace) => errors.invalid_all(&field, namespace, names::label(namespace)),
    }
}

fn flocker(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let (name, uuid) = (text(source, "datasetName"), text(source, "datasetUUID"));
    match (name.is_empty(), uuid.is_empty()) {
        (true, true) => errors.required(at, "one of datasetName and datasetUUID is required"),
        (false, false) => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            errors.invalid(at, "resource", why);
        }
        _ => {}
    }
    if name.contains('/') {
        errors.invalid(format!("{at}.datasetName"), name, "must not contain '/'");
    }
}

fn quobyte(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let why = "must be a host:port pair or multiple pairs separated by commas";
    let (registry, field) = (text(source, "registry"), format!("{at}.registry"));
    if registry.is_empty() {
        errors.required(field, why);
    } else if text(source, "tenant").len() > 64 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        errors.required(format!("{at}.tenant"), why);
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            errors.invalid(field.as_str(), registry, why);
        }
    }
    require(source, at, &["volume"], errors);
}

/// Whether a text is `host:port`, with an IPv6 address in brackets.
fn is_host_and_port(pair: &str) -> bool {
    pair.rsplit_once(':').is_some_and(|(host, _)| {
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or_else(|| if host.contains(':') { "[" } else { host });
        !bare.contains(['[', ']'])
    })
}

fn iscsi(owner: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    require(source, at, &["iqn"], errors);
    let iqn = text(source, "iqn");
    if !iqn.is_empty() {
        initiator(owner, iqn, format!("{at}.iqn"), errors);
    }
    unit(&source["lun"], at, errors);
    let is_enabled = |name: &str| source[name].as_bool().unwrap_or_default();
    let secret = &source["secretRef"];
    if secret.is_null() && (is_enabled("chapAuthDiscovery") || is_enabled("chapAuthSession")) {
        errors.required(format!("{at}.secretRef"), "");
    }
    if !secret.is_null() && owner == Owner::Volume {
        require(secret, &format!("{at}.secretRef"), &["name"], errors);
    }
    if let Some(name) = source["initiatorName"].as_str() {
        // kube-apiserver writes this field path in lower case.
        initiator(owner, name, format!("{at}.initiatorname"), errors);
    }
}

fn initiator(owner: Owner, name: &str, field: String, errors: &mut ErrorList) {
    let has_form = ["iqn", "eui", "naa"].iter().any(|form| name.starts_with(form));
    if owner == Owner::Pod && !has_form {
        let why = "must be valid format starting with iqn, eui, or naa";
        errors.invalid(field, name, why);
    } else if !is_initiator(name) {
        errors.invalid(field, name, "must be valid format");
    }
}

/// Whether a text is the name of an iSCSI initiator or target: `iqn.`, `eui.` or `naa.` (RFC 3720).
fn is_initiator(name: &str) -> bool {
    let is_hex_like = |rest: &str, count: usize| {
        rest.len() == count && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    match name.split_at_checked(4) {
        Some(("iqn.", rest)) => is_qualified(rest),
        Some(("eui.", rest)) => is_hex_like(rest, 16),
        Some(("naa.", rest)) => is_hex_like(rest, 32),
        _ => false,
    }
}

/// Whether the part after `iqn.` has the form `YYYY-MM.authority:name`.
fn is_qualified(rest: &str) -> bool {
    let Some((authority, name)) = rest.split_once(':') else {
        return false;
    };
    let Some((date, authority)) = authority.split_at_checked(8) else {
        return false;
    };
    let dated = date.bytes().enumerate().all(|(i, byte)| match i {
        4 => byte == b'-',
        7 => byte == b'.',
        _ => byte.is_ascii_digit(),
    });
    let is_authority = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let is_name = |c: char| !",;*&$|".contains(c) && !c.is_ascii_whitespace();
    dated
        && !authority.is_empty()
        && authority.bytes().all(is_authority)
        && !name.is_empty()
        && name.chars().all(is_name)
}

/// Validates a logical unit number (LUN).
fn unit(number: &Value, at: &str, errors: &mut ErrorList) {
    let number = number.as_i64().unwrap_or_default();
    if !(0..=255).contains(&number) {
        let why = "must be between 0 and 255, inclusive";
        errors.invalid(format!("{at}.lun"), number, why);
    }
}

/// Validates a secret reference.
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

fn fibre_channel(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let any = |name: &str| source[name].as_array().is_some_and(|list| !list.is_empty());
    let field = format!("{at}.targetWWNs");
    match (any("targetWWNs"), any("wwids")) {
        (false, false) => errors.required(field, "must specify either targetWWNs or wwids, but not both"),
        (true, true) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            errors.invalid(field, source["targetWWNs"].clone(), why);
        }
        _ => {}
    }
    if any("targetWWNs") {
        match &source["lun"] {
            Value::Null => errors.required(format!("{at}.lun"), "lun is required if targetWWNs is specified"),
            number => unit(number, at, errors),
        }
    }
}

fn flex(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    for (key, _) in json::pairs(&source["options"]) {
        let namespace = key.split('/').next().unwrap_or_default().to_lowercase();
        let namespace = format!(".{namespace}");
        if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            errors.invalid(format!("{at}.options[{key}]"), key, why);
        }
    }
}

fn azure_file(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    if source["secretNamespace"] == "" {
        errors.required(format!("{at}.secretNamespace"), "");
    }
}

fn azure_disk(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    for (name, known) in [
        ("cachingMode", ["None", "ReadOnly", "ReadWrite"]),
        ("kind", ["Dedicated", "Managed", "Shared"]),
    ] {
        if let Some(value) = source[name].as_str() {
            errors.one_of(&format!("{at}.{name}"), value, &known);
        }
    }
    let (start, form) = match source["kind"].as_str() {
        None => return,
        Some("Managed") => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        Some(_) => (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        ),
    };
    let uri = text(source, "diskURI");
    if !uri.starts_with(start) {
        errors.not_supported(format!("{at}.diskURI"), json!(uri), &[form]);
    }
}

fn storage_os(owner: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    for name in ["volumeName", "volumeNamespace"] {
        let value = text(source, name);
        if !value.is_empty() {
            errors.invalid_all(&format!("{at}.{name}"), value, names::label(value));
        }
    }
    secret(owner, source, at, errors);
}

/// Validates the path of an NFS export.
fn nfs_path(_: Owner, source: &Value, at: &str, errors: &mut ErrorList) {
    let path = text(source, "path");
    if !path.starts_with('/') {
        errors.invalid(format!("{at}.path"), path, "must be an absolute path");
    }
}
