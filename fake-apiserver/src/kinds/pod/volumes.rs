//! The rules for a pod's volumes (`ValidateVolumes` of core/v1).
//!
//! Sources that have left Kubernetes are recognized, but not looked into.

use super::super::volume::{claim_validate, driver_name, host_path, nfs};
use super::environment;
use crate::kinds::token_lifetime;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, string};
use crate::machinery::{metadata, names};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A rule for a source at some place.
type VolumeRule = fn(&Value, &str, &mut Faults);

/// All sources in the order in which the real server looks for them, with the rules that matter here.
const SOURCES: [(&str, VolumeRule); 29] = [
    ("emptyDir", empty_dir),
    ("hostPath", host_path),
    ("gitRepo", any),
    ("gcePersistentDisk", any),
    ("awsElasticBlockStore", any),
    ("secret", secret),
    ("nfs", nfs),
    ("iscsi", any),
    ("glusterfs", any),
    ("flocker", any),
    ("persistentVolumeClaim", claim),
    ("rbd", any),
    ("cinder", any),
    ("cephfs", any),
    ("quobyte", any),
    ("downwardAPI", downward),
    ("fc", any),
    ("flexVolume", any),
    ("configMap", config_map),
    ("azureFile", any),
    ("vsphereVolume", any),
    ("photonPersistentDisk", any),
    ("portworxVolume", any),
    ("azureDisk", any),
    ("storageos", any),
    ("projected", projected),
    ("scaleIO", any),
    ("csi", csi),
    ("ephemeral", ephemeral),
];

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
/// Volumes that can be mounted, by their names.
pub(super) type Mountable<'a> = HashMap<&'a str, &'a Value>;

/// Judges volumes, and returns those that are as they should be: others cannot be mounted.
pub(super) fn validate<'a>(volumes: &'a Value, pod: &str, at: &str, faults: &mut Faults) -> Mountable<'a> {
    let volumes = json::list(volumes);
    let made = |volume: &Value| format!("{pod}-{}", string(volume, "name"));
    let made: HashSet<String> = volumes
        .iter()
        .filter(|volume| !pod.is_empty() && !volume["ephemeral"].is_null())
        .map(made)
        .collect();
    let mut good = Mountable::new();
    for (i, volume) in volumes.iter().enumerate() {
        let at = format!("{at}[{i}]");
        let before = faults.len();
        source(volume, pod, &at, faults);
        let (name, field) = (string(volume, "name"), format!("{at}.name"));
        faults.needed(&field, name, names::label);
        if good.contains_key(name) {
            faults.duplicate(field, name);
        }
        if faults.len() == before {
            good.insert(name, volume);
        }
        let claimed = string(&volume["persistentVolumeClaim"], "claimName");
        if made.contains(claimed) {
            let text = "must not reference a PVC that gets created for an ephemeral volume";
            faults.invalid(format!("{at}.persistentVolumeClaim.claimName"), claimed, text);
        }
    }
    good
}

fn source(volume: &Value, pod: &str, at: &str, faults: &mut Faults) {
    let mut present = SOURCES.iter().filter(|(name, _)| !volume[*name].is_null());
    let Some((first, rule)) = present.next() else {
        match volume["image"].is_null() {
            true => faults.required(at, "must specify a volume type"),
            false => image(&volume["image"], pod, &format!("{at}.image"), faults),
        }
        return;
    };
    rule(&volume[*first], &format!("{at}.{first}"), faults);
    let name = string(volume, "name");
    if *first == "ephemeral" && !pod.is_empty() && !name.is_empty() {
        let claim = format!("{pod}-{name}");
        for complaint in names::subdomain(&claim) {
            faults.invalid(
                format!("{at}.name"),
                name,
                &format!("PVC name {claim:?}: {complaint}"),
            );
        }
    }
    for (name, _) in present {
        faults.forbidden(format!("{at}.{name}"), "may not specify more than 1 volume type");
    }
}

fn any(_: &Value, _: &str, _: &mut Faults) {}

fn empty_dir(source: &Value, at: &str, faults: &mut Faults) {
    if string(source, "sizeLimit").starts_with('-') {
        let text = "SizeLimit field must be a valid resource quantity";
        faults.forbidden(format!("{at}.sizeLimit"), text);
    }
}

fn claim(source: &Value, at: &str, faults: &mut Faults) {
    if string(source, "claimName").is_empty() {
        faults.required(format!("{at}.claimName"), "");
    }
}

fn secret(source: &Value, at: &str, faults: &mut Faults) {
    if string(source, "secretName").is_empty() {
        faults.required(format!("{at}.secretName"), "");
    }
    files(source, at, faults);
}

fn config_map(source: &Value, at: &str, faults: &mut Faults) {
    if string(source, "name").is_empty() {
        faults.required(format!("{at}.name"), "");
    }
    files(source, at, faults);
}

/// The rules for the files that a source consists of.
fn files(source: &Value, at: &str, faults: &mut Faults) {
    mode(&source["defaultMode"], &format!("{at}.defaultMode"), faults);
    items(source, at, faults);
}

fn items(source: &Value, at: &str, faults: &mut Faults) {
    for (i, item) in source["items"].as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}.items[{i}]");
        for part in ["key", "path"] {
            if string(item, part).is_empty() {
                faults.required(format!("{at}.{part}"), "");
            }
        }
        inner_path(string(item, "path"), &format!("{at}.path"), faults);
        mode(&item["mode"], &format!("{at}.mode"), faults);
    }
}

/// Fields of the pod as files.
fn downward(source: &Value, at: &str, faults: &mut Faults) {
    mode(&source["defaultMode"], &format!("{at}.defaultMode"), faults);
    shown(source, at, faults);
}

/// What of a pod is shown in files.
fn shown(source: &Value, at: &str, faults: &mut Faults) {
    for item in source["items"].as_array().into_iter().flatten() {
        let path = string(item, "path");
        if path.is_empty() {
            faults.required(format!("{at}.path"), "");
        }
        inner_path(path, &format!("{at}.path"), faults);
        let (field, resource) = (&item["fieldRef"], &item["resourceFieldRef"]);
        if !field.is_null() {
            environment::field_reference(field, &SHOWN_IN_FILES, &format!("{at}.fieldRef"), faults);
            if !resource.is_null() {
                let text = "fieldRef and resourceFieldRef can not be specified simultaneously";
                faults.invalid(at, "resource", text);
            }
        } else if !resource.is_null() {
            environment::resource_reference(resource, true, &format!("{at}.resourceFieldRef"), faults);
        } else {
            faults.required(at, "one of fieldRef and resourceFieldRef is required");
        }
        mode(&item["mode"], &format!("{at}.mode"), faults);
    }
}

/// Fields of a pod that a file may show.
const SHOWN_IN_FILES: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// What an image holds. Templates may leave out which.
fn image(source: &Value, pod: &str, at: &str, faults: &mut Faults) {
    if !pod.is_empty() && string(source, "reference").is_empty() {
        faults.required(format!("{at}.reference"), "");
    }
    if let Some(policy) = source["pullPolicy"].as_str() {
        let known = ["Always", "IfNotPresent", "Never"];
        faults.one_of(&format!("{at}.pullPolicy"), policy, &known);
    }
}

fn mode(mode: &Value, field: &str, faults: &mut Faults) {
    if let Some(mode) = mode.as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
        faults.invalid(field, mode, MODE);
    }
}

/// A path that stays inside of the volume, and away from what the kubelet keeps there.
fn inner_path(path: &str, field: &str, faults: &mut Faults) {
    descending_path(path, field, faults);
    if path.starts_with("..") && !path.starts_with("../") {
        faults.invalid(field, path, "must not start with '..'");
    }
}

/// A path that stays inside of what it is relative to.
pub(super) fn descending_path(path: &str, field: &str, faults: &mut Faults) {
    if path.starts_with('/') {
        faults.invalid(field, path, "must be a relative path");
    }
    if path.split('/').any(|part| part == "..") {
        faults.invalid(field, path, "must not contain '..'");
    }
}

fn projected(source: &Value, at: &str, faults: &mut Faults) {
    for (i, part) in source["sources"].as_array().into_iter().flatten().enumerate() {
        let inner = format!("{at}.sources[{i}]");
        for kind in ["secret", "configMap"] {
            if !part[kind].is_null() {
                let inner = format!("{inner}.{kind}");
                if string(&part[kind], "name").is_empty() {
                    faults.required(format!("{inner}.name"), "");
                }
                items(&part[kind], &inner, faults);
            }
        }
        shown(&part["downwardAPI"], &format!("{inner}.downwardAPI"), faults);
        let token = &part["serviceAccountToken"];
        if token.is_null() {
            continue;
        }
        let seconds = token["expirationSeconds"].as_i64().unwrap_or_default();
        let field = format!("{inner}.serviceAccountToken.expirationSeconds");
        token_lifetime::check(&field, seconds, faults);
        match string(token, "path") {
            "" => faults.required(format!("{at}.path"), ""),
            path => inner_path(path, &format!("{at}.path"), faults),
        }
    }
    mode(&source["defaultMode"], &format!("{at}.defaultMode"), faults);
}

fn csi(source: &Value, at: &str, faults: &mut Faults) {
    driver_name(string(source, "driver"), &format!("{at}.driver"), faults);
    let secret = &source["nodePublishSecretRef"];
    if !secret.is_null() {
        match string(secret, "name") {
            "" => faults.required(format!("{at}.nodePublishSecretRef.name"), ""),
            name => faults.complain(&format!("{at}.name"), name, names::subdomain(name)),
        }
    }
}

fn ephemeral(source: &Value, at: &str, faults: &mut Faults) {
    let template = &source["volumeClaimTemplate"];
    let at = format!("{at}.volumeClaimTemplate");
    if template.is_null() {
        faults.required(at, "");
        return;
    }
    for (name, value) in template["metadata"].as_object().into_iter().flatten() {
        if !["annotations", "labels", "creationTimestamp"].contains(&name.as_str()) && !value.is_null() {
            faults.forbidden(format!("{at}.metadata.{name}"), "cannot be set");
        }
    }
    metadata::labels(
        &template["metadata"]["labels"],
        &format!("{at}.metadata.labels"),
        faults,
    );
    claim_validate(&template["spec"], &format!("{at}.spec"), faults);
}
