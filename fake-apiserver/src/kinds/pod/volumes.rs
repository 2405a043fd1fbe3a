//! Validation of a pod's volumes (`ValidateVolumes` of core/v1).
//!
//! Sources of in-tree plugins are validated in `kinds/volume/plugins`.

use super::super::volume::{
    Owner, SourceRule, another_source, claim_validate, driver_name, host_path, one_source, template_metadata,
};
use super::files;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Maximum total length of the volume name and the iSCSI portal.
const PORTAL_BYTES_MAX: usize = 64;

/// All volume sources, in kube-apiserver's order of validation.
const SOURCES: [&str; 29] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
];

/// Validation functions of the volume sources that no in-tree plugin implements.
const RULES: [(&str, SourceRule); 9] = [
    ("emptyDir", empty_dir),
    ("hostPath", host_path),
    ("gitRepo", repository),
    ("secret", secret),
    ("persistentVolumeClaim", claim),
    ("downwardAPI", downward),
    ("configMap", config_map),
    ("csi", csi),
    ("ephemeral", ephemeral),
];

pub(super) type MountableVolumes<'a> = HashMap<&'a str, &'a Value>;

/// Validates the volumes of a pod and returns the valid volumes, which containers can mount.
pub(super) fn validate<'a>(
    volumes: &'a Value,
    pod: &str,
    at: &str,
    errors: &mut ErrorList,
) -> MountableVolumes<'a> {
    let volumes = list(volumes);
    let made = |volume: &Value| format!("{pod}-{}", string(volume, "name"));
    let made: HashSet<String> = volumes
        .iter()
        .filter(|volume| !pod.is_empty() && !volume["ephemeral"].is_null())
        .map(made)
        .collect();
    let mut good = MountableVolumes::new();
    for (i, volume) in volumes.iter().enumerate() {
        let at = format!("{at}[{i}]");
        let before = errors.len();
        source(volume, pod, &at, errors);
        let (name, field) = (string(volume, "name"), format!("{at}.name"));
        errors.require_valid(&field, name, names::dns_label);
        if good.contains_key(name) {
            errors.duplicate(field, name);
        }
        if errors.len() == before {
            good.insert(name, volume);
        }
        let claimed = string(&volume["persistentVolumeClaim"], "claimName");
        if made.contains(claimed) {
            let text = "must not reference a PVC that gets created for an ephemeral volume";
            errors.invalid(format!("{at}.persistentVolumeClaim.claimName"), claimed, text);
        }
    }
    good
}

fn source(volume: &Value, pod: &str, at: &str, errors: &mut ErrorList) {
    let name = string(volume, "name");
    let mut is_taken = false;
    for field in SOURCES.into_iter().filter(|field| !volume[*field].is_null()) {
        if is_taken {
            another_source(field, at, errors);
        } else {
            is_taken = true;
            one_source(&RULES, Owner::Pod, volume, field, at, errors);
            if field == "ephemeral" {
                claim_name(pod, name, at, errors);
            }
        }
        if field == "iscsi" {
            portal(&volume[field], name, at, errors);
        }
    }
    let image = &volume["image"];
    match (is_taken, image.is_null()) {
        (false, true) => errors.required(at, "must specify a volume type"),
        (false, false) => self::image(image, pod, &format!("{at}.image"), errors),
        (true, false) => another_source("image", at, errors),
        (true, true) => {}
    }
}

/// Validates the name of the PVC that is created for an ephemeral volume.
fn claim_name(pod: &str, name: &str, at: &str, errors: &mut ErrorList) {
    if pod.is_empty() || name.is_empty() {
        return;
    }
    let claim = format!("{pod}-{name}");
    for complaint in names::subdomain(&claim) {
        let why = format!("PVC name {claim:?}: {complaint}");
        errors.invalid(format!("{at}.name"), name, &why);
    }
}

fn repository(source: &Value, at: &str, errors: &mut ErrorList) {
    if string(source, "repository").is_empty() {
        errors.required(format!("{at}.repository"), "");
    }
    files::descending_path(string(source, "directory"), &format!("{at}.directory"), errors);
}

/// Validates an iSCSI volume with `initiatorName`: name and portal become part of an interface name of limited length.
fn portal(source: &Value, name: &str, at: &str, errors: &mut ErrorList) {
    let length = name.len() + ":".len() + string(source, "targetPortal").len();
    if source["initiatorName"].is_string() && length > PORTAL_BYTES_MAX {
        let why = format!(
            "Total length of <volume name>:<iscsi.targetPortal> must be under {PORTAL_BYTES_MAX} characters if \
             iscsi.initiatorName is specified."
        );
        errors.invalid(format!("{at}.name"), name, &why);
    }
}

fn empty_dir(source: &Value, at: &str, errors: &mut ErrorList) {
    if string(source, "sizeLimit").starts_with('-') {
        let text = "SizeLimit field must be a valid resource quantity";
        errors.forbidden(format!("{at}.sizeLimit"), text);
    }
}

fn claim(source: &Value, at: &str, errors: &mut ErrorList) {
    if string(source, "claimName").is_empty() {
        errors.required(format!("{at}.claimName"), "");
    }
}

fn secret(source: &Value, at: &str, errors: &mut ErrorList) {
    if string(source, "secretName").is_empty() {
        errors.required(format!("{at}.secretName"), "");
    }
    files::keys(source, at, errors);
}

fn config_map(source: &Value, at: &str, errors: &mut ErrorList) {
    if string(source, "name").is_empty() {
        errors.required(format!("{at}.name"), "");
    }
    files::keys(source, at, errors);
}

fn downward(source: &Value, at: &str, errors: &mut ErrorList) {
    files::mode(&source["defaultMode"], &format!("{at}.defaultMode"), errors);
    for item in list(&source["items"]) {
        files::downward_file(item, at, errors);
    }
}

/// Validates an image volume. Pod templates may omit the image reference.
fn image(source: &Value, pod: &str, at: &str, errors: &mut ErrorList) {
    if !pod.is_empty() && string(source, "reference").is_empty() {
        errors.required(format!("{at}.reference"), "");
    }
    if let Some(policy) = source["pullPolicy"].as_str() {
        let known = ["Always", "IfNotPresent", "Never"];
        errors.one_of(&format!("{at}.pullPolicy"), policy, &known);
    }
}

fn csi(source: &Value, at: &str, errors: &mut ErrorList) {
    driver_name(string(source, "driver"), &format!("{at}.driver"), errors);
    let secret = &source["nodePublishSecretRef"];
    if !secret.is_null() {
        match string(secret, "name") {
            "" => errors.required(format!("{at}.nodePublishSecretRef.name"), ""),
            name => errors.invalid_all(&format!("{at}.name"), name, names::subdomain(name)),
        }
    }
}

fn ephemeral(source: &Value, at: &str, errors: &mut ErrorList) {
    let template = &source["volumeClaimTemplate"];
    let at = format!("{at}.volumeClaimTemplate");
    if template.is_null() {
        errors.required(at, "");
        return;
    }
    template_metadata(&template["metadata"], &format!("{at}.metadata"), errors);
    claim_validate(&template["spec"], &format!("{at}.spec"), errors);
}
