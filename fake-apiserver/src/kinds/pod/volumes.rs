//! The rules for a pod's volumes (`ValidateVolumes` of core/v1).
//!
//! Sources that have left Kubernetes are recognized, but not looked into.

use super::super::volume::{claim_validate, driver_name, host_path, nfs, template_metadata, told};
use super::{files, projected};
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A rule for a source at some place.
type VolumeRule = fn(&Value, &str, &mut Faults);

/// All sources in the order in which the real server looks for them, with the rules that matter here.
const SOURCES: [(&str, VolumeRule); 29] = [
    ("emptyDir", empty_dir),
    ("hostPath", host_path),
    ("gitRepo", repository),
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
    ("projected", projected::validate),
    ("scaleIO", any),
    ("csi", csi),
    ("ephemeral", ephemeral),
];

/// Volumes that can be mounted, by their names.
pub(super) type Mountable<'a> = HashMap<&'a str, &'a Value>;

/// Judges volumes, and returns those that are as they should be: others cannot be mounted.
pub(super) fn validate<'a>(volumes: &'a Value, pod: &str, at: &str, faults: &mut Faults) -> Mountable<'a> {
    let volumes = list(volumes);
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
    let image = &volume["image"];
    let mut present = SOURCES.iter().filter(|(name, _)| !volume[*name].is_null());
    let Some((first, rule)) = present.next() else {
        match image.is_null() {
            true => faults.required(at, "must specify a volume type"),
            false => self::image(image, pod, &format!("{at}.image"), faults),
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
    let image = Some("image").filter(|_| !image.is_null());
    for name in present.map(|(name, _)| *name).chain(image) {
        let name = told(name);
        faults.forbidden(format!("{at}.{name}"), "may not specify more than 1 volume type");
    }
}

fn repository(source: &Value, at: &str, faults: &mut Faults) {
    if string(source, "repository").is_empty() {
        faults.required(format!("{at}.repository"), "");
    }
    files::descending_path(string(source, "directory"), &format!("{at}.directory"), faults);
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
    files::keys(source, at, faults);
}

fn config_map(source: &Value, at: &str, faults: &mut Faults) {
    if string(source, "name").is_empty() {
        faults.required(format!("{at}.name"), "");
    }
    files::keys(source, at, faults);
}

/// Fields of the pod as files.
fn downward(source: &Value, at: &str, faults: &mut Faults) {
    files::mode(&source["defaultMode"], &format!("{at}.defaultMode"), faults);
    for item in list(&source["items"]) {
        files::shown(item, at, faults);
    }
}

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
    template_metadata(&template["metadata"], &format!("{at}.metadata"), faults);
    claim_validate(&template["spec"], &format!("{at}.spec"), faults);
}
