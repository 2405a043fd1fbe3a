//! The `pod` and `claim` actions: create a pod with its PVCs, or a single PVC.

use std::collections::BTreeMap;

use capacity_types::{ephemeral_claim_name, ephemeral_volume_name};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Resolved, create};
use crate::plan::WORKLOADS;
use crate::plan::objects::SNAPSHOT_GROUP;
use crate::plan::scope::Scope;
use crate::scenario::Size;

/// A pod and its PVCs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodSpec {
    /// metadata.name.
    pub name: String,
    /// PVCs that the pod mounts. They are created before the pod. An entry with only a `name` mounts an existing PVC.
    #[serde(default)]
    pub claims: Vec<ClaimSpec>,
    /// Generic ephemeral volumes, with the keys of a claim except `name`. Their PVCs are called `<pod>-scratch-<index>`.
    #[serde(default)]
    pub ephemeral: Vec<ClaimSpec>,
    /// spec.nodeSelector.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// Name of the CSI driver of an ephemeral inline volume.
    pub inline: Option<String>,
}

/// A PersistentVolumeClaim.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimSpec {
    /// metadata.name. Inside a pod, the default is `<pod>-<index>`, such as `app-0`.
    pub name: Option<String>,
    /// spec.storageClassName. If unset inside a pod, the PVC must already exist; if unset in `claim`, the PVC has no class.
    pub class: Option<String>,
    /// spec.resources.requests.storage.
    pub size: Option<Size>,
    /// spec.volumeMode: `Filesystem` (default) or `Block`.
    pub mode: Option<VolumeMode>,
    /// spec.dataSource: name of the PVC to clone.
    pub copy_of: Option<String>,
    /// spec.dataSource: name of the VolumeSnapshot to restore, which must be one of `driver.snapshots`.
    pub snapshot: Option<String>,
    /// spec.volumeAttributesClassName.
    pub attributes: Option<String>,
}

/// PersistentVolumeClaim.spec.volumeMode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum VolumeMode {
    /// The volume is mounted into a directory.
    Filesystem,
    /// The volume is a raw block device.
    Block,
}

/// Resolves a PVC that belongs to no pod.
pub(super) fn resolve_claim(scope: &mut Scope<'_>, spec: &ClaimSpec) -> Resolved {
    check(scope, spec)?;
    let name = spec.name.clone().ok_or("a `claim` action needs a `name`")?;
    if spec.size.is_none() {
        return Err("a `claim` action needs a `size`".to_owned());
    }
    Ok(vec![create(claim_object(&name, spec), "claim", &name)])
}

/// Resolves a pod and its PVCs. The PVCs are created before the pod, as users do.
pub(super) fn resolve(scope: &mut Scope<'_>, spec: &PodSpec) -> Resolved {
    let mut claims = spec.claims.iter().chain(&spec.ephemeral);
    claims.try_for_each(|claim| check(scope, claim))?;
    let mut list = Vec::new();
    let mut mounted = Vec::new();
    for (index, claim) in spec.claims.iter().enumerate() {
        reject_unused_settings(claim)?;
        let name = claim
            .name
            .clone()
            .unwrap_or_else(|| format!("{}-{index}", spec.name));
        if claim.class.is_some() || claim.size.is_some() {
            list.push(create(
                claim_object(&name, require_class_and_size(claim)?),
                "claim",
                &name,
            ));
        } else if claim.name.is_none() {
            return Err(
                "a claim of a pod has either the `name` of an existing claim, or `class` and `size`"
                    .to_owned(),
            );
        }
        mounted.push(name);
    }
    for (index, claim) in spec.ephemeral.iter().enumerate() {
        require_class_and_size(claim)?;
        if let Some(name) = &claim.name {
            let claim_name = ephemeral_claim_name(&spec.name, &ephemeral_volume_name(index));
            return Err(format!(
                "`name: {name}` of an ephemeral volume has no effect: its claim is named after the pod and the volume, `{claim_name}`; remove it"
            ));
        }
    }
    list.push(create(pod_object(spec, &mounted), "pod", &spec.name));
    Ok(list)
}

/// Checks that the StorageClass of a PVC is defined or is missing on purpose, and that the size of the PVC is valid.
fn check(scope: &Scope<'_>, claim: &ClaimSpec) -> Result<(), String> {
    // An empty class name means a PVC without a class.
    if let Some(class) = claim.class.as_ref().filter(|class| !class.is_empty()) {
        scope.defined.check_claimed_class(class)?;
    }
    if let Some(snapshot) = &claim.snapshot {
        if claim.copy_of.is_some() {
            return Err("a claim has either `copyOf` or `snapshot`; remove one".to_owned());
        }
        scope.defined.check_snapshot(snapshot)?;
    }
    match &claim.size {
        Some(size) if size.bytes() < 1 => Err(format!(
            "`{size}` is no valid size of a PVC; write at least 1 byte, such as 10Gi"
        )),
        _ => Ok(()),
    }
}

/// Rejects settings of a PVC that the pod only mounts (no class, no size), because they would have no effect.
fn reject_unused_settings(claim: &ClaimSpec) -> Result<(), String> {
    let ClaimSpec {
        name: Some(name),
        class: None,
        size: None,
        mode,
        copy_of,
        snapshot,
        attributes,
    } = claim
    else {
        return Ok(());
    };
    let keys = [
        ("mode", mode.is_some()),
        ("copyOf", copy_of.is_some()),
        ("snapshot", snapshot.is_some()),
        ("attributes", attributes.is_some()),
    ];
    match keys.iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(format!(
            "`{key}` has no effect: the pod mounts the existing claim `{name}`; remove the key, or create the claim with `class` and `size`"
        )),
        None => Ok(()),
    }
}

/// Checks that a PVC that is created with a pod has a class and a size.
fn require_class_and_size(spec: &ClaimSpec) -> Result<&ClaimSpec, String> {
    match (&spec.class, &spec.size) {
        (Some(_), Some(_)) => Ok(spec),
        _ => Err("a claim needs `class` and `size`".to_owned()),
    }
}

fn claim_spec(spec: &ClaimSpec) -> Value {
    let mut claim = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": spec.size.as_ref().map_or("1", |size| size.text())}},
    });
    if let Some(class) = &spec.class {
        claim["storageClassName"] = class.as_str().into();
    }
    if let Some(mode) = spec.mode {
        claim["volumeMode"] = match mode {
            VolumeMode::Filesystem => "Filesystem".into(),
            VolumeMode::Block => "Block".into(),
        };
    }
    if let Some(source) = &spec.copy_of {
        claim["dataSource"] = json!({"kind": "PersistentVolumeClaim", "name": source});
    }
    if let Some(snapshot) = &spec.snapshot {
        claim["dataSource"] = json!({"apiGroup": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": snapshot});
    }
    if let Some(class) = &spec.attributes {
        claim["volumeAttributesClassName"] = class.as_str().into();
    }
    claim
}

pub(crate) fn claim_object(name: &str, spec: &ClaimSpec) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": WORKLOADS},
        "spec": claim_spec(spec),
    })
}

/// Builds a pod that mounts these PVCs, and the ephemeral and inline volumes of the spec.
pub(crate) fn pod_object(spec: &PodSpec, claims: &[String]) -> Value {
    let mut volumes: Vec<Value> = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        volumes
            .push(json!({"name": format!("claim-{index}"), "persistentVolumeClaim": {"claimName": claim}}));
    }
    for (index, claim) in spec.ephemeral.iter().enumerate() {
        let template = json!({"volumeClaimTemplate": {"spec": claim_spec(claim)}});
        volumes.push(json!({"name": ephemeral_volume_name(index), "ephemeral": template}));
    }
    if let Some(driver) = &spec.inline {
        volumes.push(json!({"name": "inline", "csi": {"driver": driver}}));
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": spec.name, "namespace": WORKLOADS},
        "spec": {
            "nodeSelector": spec.node_selector,
            "containers": [{"name": "main", "image": "example.com/app"}],
            "volumes": volumes,
        },
    })
}
