//! Executes a decision: writes PVCs and PersistentVolumes, waits until all PVCs are bound, and binds the pod (PreBind of VolumeBinding,
//! then the default binder).
//!
//! Does not know the queue. As upstream, writes are not undone if a later step fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{
    Binding as ApiBinding, ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod as ApiPod,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Error as ClientError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::bind_waits::BindWaits;
use super::cache::Cache;
use super::extender_client::Extenders;
use super::report::Reporter;
use crate::cycle::Feasible;
use crate::filter::Binding;
use crate::objects::{BOUND_BY_CONTROLLER, Claim, ObjectKey, Pod, SELECTED_NODE, Volume};
use crate::snapshot::Snapshot;

/// A job that binds a pod and its volumes, as decided by a scheduling attempt.
pub(super) struct BindJob {
    pub(super) client: Client,
    pub(super) cache: Arc<Mutex<Cache>>,
    pub(super) waits: Arc<BindWaits>,
    pub(super) timeout: Duration,
    pub(super) extenders: Arc<Extenders>,
    pub(super) pod: Arc<Pod>,
    pub(super) decision: Feasible,
}

/// Why the pod was not bound, in kube-scheduler's wording.
#[derive(Debug, thiserror::Error)]
pub(super) enum BindError {
    #[error("running PreBind plugin \"VolumeBinding\": {0}")]
    Write(String),
    #[error("running PreBind plugin \"VolumeBinding\": binding volumes: {0}")]
    Volumes(#[from] VolumesError),
    #[error("binding rejected: running Bind plugin \"DefaultBinder\": {0}")]
    Pod(String),
    #[error("binding rejected: {0}")]
    Extender(String),
}

/// Why the volumes of the pod were not bound.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum VolumesError {
    #[error("context deadline exceeded")]
    Timeout,
    #[error("pod does not exist any more: pod \"{0}\" not found")]
    PodDeleted(String),
    #[error("failed to get node \"{0}\": node \"{0}\" not found")]
    NodeDeleted(String),
    #[error("failed to check binding: persistentvolume \"{0}\" not found")]
    VolumeDeleted(String),
    #[error("ClaimRef got reset for pv \"{0}\"")]
    ClaimRefCleared(String),
    #[error("failed to check provisioning pvc: persistentvolumeclaims \"{0}\" not found")]
    ClaimDeleted(ObjectKey),
    #[error("selectedNode annotation reset for PVC \"{0}\"")]
    AnnotationsRemoved(String),
    #[error("provisioning failed for PVC \"{0}\"")]
    SelectedNodeCleared(String),
    #[error("pv \"{volume}\" node affinity doesn't match node \"{node}\": no matching NodeSelectorTerms")]
    NodeAffinityMismatch { volume: String, node: String },
}

/// Resource versions that PVCs and PersistentVolumes had before this scheduler wrote them. A cached object with one of these versions is
/// outdated.
#[derive(Debug, Default)]
struct WrittenVersions {
    volumes: BTreeMap<ObjectKey, String>,
    claims: BTreeMap<ObjectKey, String>,
}

/// Adds an assumed decision to the snapshot, so that the next scheduling attempt takes the decision into account (Reserve).
pub(super) fn assume(snapshot: &mut Snapshot, pod: &Arc<Pod>, decision: &Feasible) {
    snapshot.pods.assume(pod, decision.node.name());
    for Binding { claim, volume } in &decision.plan.bindings {
        snapshot.volumes.assume(Arc::new(volume.with_claim(claim)));
    }
    for provision in &decision.plan.provisions {
        let selected = provision.claim.with_selected_node(decision.node.name());
        snapshot.claims.assume(Arc::new(selected));
    }
}

/// Removes an assumed decision from the snapshot, because binding failed or the watches delivered the result.
pub(super) fn forget(snapshot: &mut Snapshot, decision: &Feasible) {
    for binding in &decision.plan.bindings {
        snapshot.volumes.forget(&binding.volume.key);
    }
    for provision in &decision.plan.provisions {
        snapshot.claims.forget(&provision.claim.key);
    }
}

impl BindJob {
    /// Binds the pod's volumes and then the pod.
    pub(super) async fn run(&self, reporter: &Reporter) -> Result<(), BindError> {
        if !self.decision.plan.is_empty() {
            reporter.nominate(&self.pod, self.decision.node.name()).await;
        }
        let written = self
            .write_decision()
            .await
            .map_err(|error| BindError::Write(server_message(&error)))?;
        let limit = self.timeout;
        let waited = timeout(limit, self.wait_until_all_bound(&written)).await;
        waited.unwrap_or(Err(VolumesError::Timeout))?;
        if let Some(bound) = self.extenders.bind(&self.pod, self.decision.node.name()).await {
            return bound.map_err(BindError::Extender);
        }
        self.bind_pod()
            .await
            .map_err(|error| BindError::Pod(server_message(&error)))
    }

    /// Reserves the chosen PersistentVolumes with `claimRef`, then sets the selected-node annotation of the PVCs to provision.
    async fn write_decision(&self) -> Result<WrittenVersions, ClientError> {
        let mut written = WrittenVersions::default();
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        for Binding { claim, volume } in &self.decision.plan.bindings {
            if is_reserved(volume, claim) {
                continue;
            }
            let patch = Patch::Merge(reservation(volume, claim));
            volumes
                .patch(&volume.key.name, &PatchParams::default(), &patch)
                .await?;
            written.volumes.insert(volume.key.clone(), volume.version.clone());
        }
        for provision in &self.decision.plan.provisions {
            let claim = &provision.claim;
            if self.is_selected(claim) {
                continue;
            }
            let claims: Api<PersistentVolumeClaim> =
                Api::namespaced(self.client.clone(), &claim.key.namespace);
            let patch = Patch::Merge(json!({ "metadata": {
                "resourceVersion": claim.version,
                "annotations": { SELECTED_NODE: self.decision.node.name() },
            }}));
            claims
                .patch(&claim.key.name, &PatchParams::default(), &patch)
                .await?;
            written.claims.insert(claim.key.clone(), claim.version.clone());
        }
        Ok(written)
    }

    /// Whether the watch delivered the PVC with this node selected. An assumed selected node is ignored: another pod may have assumed
    /// this node, and the annotation may never be written.
    fn is_selected(&self, claim: &Claim) -> bool {
        let cache = self.cache.lock();
        let stored = cache.snapshot.claims.stored(&claim.key);
        stored.is_some_and(|stored| stored.selected_node.as_deref() == Some(self.decision.node.name()))
    }

    /// Waits until all PVCs of the pod are bound, and checks again after each change. Fails once a PVC can no longer be bound.
    async fn wait_until_all_bound(&self, written: &WrittenVersions) -> Result<(), VolumesError> {
        // The binding is registered before the first check, so that no later change is missed.
        let registration = self.waits.register(&self.pod, &self.decision);
        while !check_bindings(&self.cache.lock(), &self.pod, &self.decision, written)? {
            registration.wait_for_change().await;
        }
        Ok(())
    }

    async fn bind_pod(&self) -> Result<(), ClientError> {
        let key = &self.pod.key;
        let pods: Api<ApiPod> = Api::namespaced(self.client.clone(), &key.namespace);
        let binding = ApiBinding {
            metadata: ObjectMeta {
                name: Some(key.name.clone()),
                namespace: Some(key.namespace.clone()),
                uid: Some(self.pod.uid.clone()),
                ..ObjectMeta::default()
            },
            target: ObjectReference {
                kind: Some("Node".to_owned()),
                name: Some(self.decision.node.name().to_owned()),
                ..ObjectReference::default()
            },
        };
        // The response is a Status that contains no more than the status code.
        let _status: Value = pods
            .create_subresource("binding", &key.name, &PostParams::default(), &binding)
            .await?;
        Ok(())
    }
}

/// Whether all PVCs of the pod are bound. Fails if a PVC can no longer be bound for the node.
fn check_bindings(
    cache: &Cache,
    pod: &Pod,
    decision: &Feasible,
    written: &WrittenVersions,
) -> Result<bool, VolumesError> {
    let plan = &decision.plan;
    if plan.is_empty() {
        return Ok(true);
    }
    if !cache.is_pending(pod) {
        return Err(VolumesError::PodDeleted(pod.key.name.clone()));
    }
    let snapshot = &cache.snapshot;
    let node = decision.node.name();
    if snapshot.nodes.stored(&decision.node.key).is_none() {
        return Err(VolumesError::NodeDeleted(node.to_owned()));
    }
    let mut all = true;
    for binding in &plan.bindings {
        all &= check_binding(snapshot, decision, binding, written)?;
    }
    for provision in &plan.provisions {
        all &= check_provision(snapshot, decision, &provision.claim.key, written)?;
    }
    Ok(all)
}

fn check_binding(
    snapshot: &Snapshot,
    decision: &Feasible,
    binding: &Binding,
    written: &WrittenVersions,
) -> Result<bool, VolumesError> {
    let key = &binding.volume.key;
    let name = || key.name.clone();
    let Some(volume) = snapshot.volumes.stored(key) else {
        return Err(VolumesError::VolumeDeleted(name()));
    };
    if written.volumes.get(key) == Some(&volume.version) {
        return Ok(false);
    }
    check_node_affinity(snapshot, decision, volume)?;
    if volume.claim.as_ref().is_none_or(|claim| claim.uid.is_none()) {
        return Err(VolumesError::ClaimRefCleared(name()));
    }
    let claim = snapshot.claims.stored(&binding.claim.key);
    Ok(claim.is_some_and(|claim| claim.is_fully_bound()))
}

fn check_provision(
    snapshot: &Snapshot,
    decision: &Feasible,
    key: &ObjectKey,
    written: &WrittenVersions,
) -> Result<bool, VolumesError> {
    let Some(claim) = snapshot.claims.stored(key) else {
        return Err(VolumesError::ClaimDeleted(key.clone()));
    };
    if written.claims.get(key) == Some(&claim.version) {
        return Ok(false);
    }
    if !claim.has_annotations {
        return Err(VolumesError::AnnotationsRemoved(key.name.clone()));
    }
    if claim.selected_node.as_deref() != Some(decision.node.name()) {
        return Err(VolumesError::SelectedNodeCleared(key.name.clone()));
    }
    if let Some(name) = &claim.volume {
        // The watch of PersistentVolumes may be behind the watch of PVCs.
        let Some(volume) = snapshot.volumes.stored(&ObjectKey::cluster(name)) else {
            return Ok(false);
        };
        check_node_affinity(snapshot, decision, volume)?;
    }
    Ok(claim.is_fully_bound())
}

/// Checks the node affinity of a PersistentVolume against the node's current labels.
fn check_node_affinity(
    snapshot: &Snapshot,
    decision: &Feasible,
    volume: &Volume,
) -> Result<(), VolumesError> {
    let node = snapshot
        .nodes
        .stored(&decision.node.key)
        .unwrap_or(&decision.node);
    if volume.admits(&node.labels) {
        return Ok(());
    }
    Err(VolumesError::NodeAffinityMismatch {
        volume: volume.key.name.clone(),
        node: node.name().to_owned(),
    })
}

/// Whether the `claimRef` of a PersistentVolume refers to this PVC, including the UID.
fn is_reserved(volume: &Volume, claim: &Claim) -> bool {
    let named = volume.claim.as_ref();
    named.is_some_and(|named| named.key == claim.key && named.uid.as_ref() == Some(&claim.uid))
}

fn reservation(volume: &Volume, claim: &Claim) -> Value {
    let mut metadata = json!({ "resourceVersion": volume.version });
    if volume.claim.is_none() {
        // A volume that an administrator reserved for the PVC gets no annotation.
        metadata["annotations"] = json!({ BOUND_BY_CONTROLLER: "yes" });
    }
    json!({
        "metadata": metadata,
        "spec": { "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.key.namespace,
            "name": claim.key.name,
            "uid": claim.uid,
            "resourceVersion": claim.version,
        }},
    })
}

/// The error message of the server, without the prefix that the client adds.
fn server_message(error: &ClientError) -> String {
    match error {
        ClientError::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
