//! `pod` and `claim`: a pod with the claims that it brings along, or a claim of its own.

use std::collections::BTreeMap;

use capacity_types::{ephemeral_claim_name, ephemeral_volume};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Resolved, create};
use crate::plan::WORKLOADS;
use crate::plan::objects::SNAPSHOT_GROUP;
use crate::plan::scope::Scope;
use crate::scenario::Size;

/// A pod with its claims.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodSpec {
    /// metadata.name.
    pub name: String,
    /// Claims to create and mount; one with a `name` only mounts the claim that exists.
    #[serde(default)]
    pub claims: Vec<ClaimSpec>,
    /// Generic ephemeral volumes.
    #[serde(default)]
    pub ephemeral: Vec<ClaimSpec>,
    /// spec.nodeSelector.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// A CSI ephemeral inline volume of that driver.
    pub inline: Option<String>,
}

/// A claim.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimSpec {
    /// metadata.name; unset inside a pod: `<pod>-<index>`.
    pub name: Option<String>,
    /// spec.storageClassName; unset inside a pod: the claim exists already; unset in a claim of its own: it has no class.
    pub class: Option<String>,
    /// spec.resources.requests.storage.
    pub size: Option<Size>,
    /// spec.volumeMode; unset: Filesystem.
    pub mode: Option<VolumeMode>,
    /// spec.dataSource: the claim of whose volume a copy is wanted.
    pub copy_of: Option<String>,
    /// spec.dataSource: the VolumeSnapshot, one of `driver.snapshots`, from which the volume is made.
    pub snapshot: Option<String>,
    /// spec.volumeAttributesClassName.
    pub attributes: Option<String>,
}

/// PersistentVolumeClaim.spec.volumeMode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum VolumeMode {
    /// Mounted into a directory.
    Filesystem,
    /// A raw device.
    Block,
}

/// A claim of its own.
pub(super) fn resolve_claim(scope: &mut Scope<'_>, spec: &ClaimSpec) -> Resolved {
    check(scope, spec)?;
    let name = spec.name.clone().ok_or("a claim of its own needs a `name`")?;
    if spec.size.is_none() {
        return Err("a claim of its own needs a `size`".to_owned());
    }
    Ok(vec![create(claim_object(&name, spec), "claim", &name)])
}

/// The pod and the claims that it brings along; claims first, as users do.
pub(super) fn resolve(scope: &mut Scope<'_>, spec: &PodSpec) -> Resolved {
    let mut claims = spec.claims.iter().chain(&spec.ephemeral);
    claims.try_for_each(|claim| check(scope, claim))?;
    let mut list = Vec::new();
    let mut mounted = Vec::new();
    for (index, claim) in spec.claims.iter().enumerate() {
        only_mounted(claim)?;
        let name = claim
            .name
            .clone()
            .unwrap_or_else(|| format!("{}-{index}", spec.name));
        if claim.class.is_some() || claim.size.is_some() {
            list.push(create(claim_object(&name, complete(claim)?), "claim", &name));
        } else if claim.name.is_none() {
            return Err("a claim of a pod has either a `name` that exists, or `class` and `size`".to_owned());
        }
        mounted.push(name);
    }
    for (index, claim) in spec.ephemeral.iter().enumerate() {
        complete(claim)?;
        if let Some(name) = &claim.name {
            let made = ephemeral_claim_name(&spec.name, &ephemeral_volume(index));
            return Err(format!(
                "`name: {name}` of an ephemeral volume has no effect: its claim is called after pod and volume, `{made}`; remove it"
            ));
        }
    }
    list.push(create(pod_object(spec, &mounted), "pod", &spec.name));
    Ok(list)
}

/// Whether a claim can have its class, unless that is missing on purpose, and a size that there can be.
fn check(scope: &Scope<'_>, claim: &ClaimSpec) -> Result<(), String> {
    // An empty name stands for a volume without a class.
    if let Some(class) = claim.class.as_ref().filter(|class| !class.is_empty()) {
        scope.known.claimed_class(class)?;
    }
    if let Some(snapshot) = &claim.snapshot {
        if claim.copy_of.is_some() {
            return Err("a claim has either `copyOf` or `snapshot`; remove one".to_owned());
        }
        scope.known.snapshot(snapshot)?;
    }
    match &claim.size {
        Some(size) if size.bytes() < 1 => Err(format!(
            "`{size}` is no size of a claim; write one of at least 1 byte, such as 10Gi"
        )),
        _ => Ok(()),
    }
}

/// Rejects settings of a claim that a pod only mounts (one without class and size): it exists, so they have no effect.
fn only_mounted(claim: &ClaimSpec) -> Result<(), String> {
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
            "`{key}` has no effect: the pod mounts the claim `{name}`, which exists; remove it, or create the claim with `class` and `size`"
        )),
        None => Ok(()),
    }
}

/// A claim that a pod brings along.
fn complete(spec: &ClaimSpec) -> Result<&ClaimSpec, String> {
    match (&spec.class, &spec.size) {
        (Some(_), Some(_)) => Ok(spec),
        _ => Err("a claim needs `class` and `size`".to_owned()),
    }
}

/// The spec of a claim.
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
    if let Some(original) = &spec.copy_of {
        claim["dataSource"] = json!({"kind": "PersistentVolumeClaim", "name": original});
    }
    if let Some(snapshot) = &spec.snapshot {
        claim["dataSource"] = json!({"apiGroup": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": snapshot});
    }
    if let Some(class) = &spec.attributes {
        claim["volumeAttributesClassName"] = class.as_str().into();
    }
    claim
}

/// A claim.
pub(crate) fn claim_object(name: &str, spec: &ClaimSpec) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": WORKLOADS},
        "spec": claim_spec(spec),
    })
}

/// A pod that mounts these claims, besides its ephemeral and inline volumes.
pub(crate) fn pod_object(spec: &PodSpec, claims: &[String]) -> Value {
    let mut volumes: Vec<Value> = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        volumes
            .push(json!({"name": format!("claim-{index}"), "persistentVolumeClaim": {"claimName": claim}}));
    }
    for (index, claim) in spec.ephemeral.iter().enumerate() {
        let template = json!({"volumeClaimTemplate": {"spec": claim_spec(claim)}});
        volumes.push(json!({"name": ephemeral_volume(index), "ephemeral": template}));
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
