//! A minimal kube-controller-manager: creates the PVCs of generic ephemeral volumes, binds PVCs to PVs, releases PVs, creates
//! VolumeAttachments, and provisions volumes without capacity limits if no publisher runs.
//!
//! Works in every namespace, because users of a long-running cluster create their own. Level-triggered by object changes. Does not know
//! capacity or drivers.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

use serde_json::{Value, json};

use super::api::Client;
use super::attach::{attach, detach};
use super::object_ref::object_ref;
use crate::api_server::StatusError;
use crate::cluster_state::ClusterState;
use crate::fact_sink::Commits;
use crate::journal::{Change, CommitFact};
use capacity_types::pod::class_of;

pub(super) const CLIENT: &str = "controllers";

const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// kube-controller-manager sets both annotations: provisioners from before 2022 read only the second.
const STORAGE_PROVISIONER: [&str; 2] = [
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
];
const HOSTNAME: &str = "kubernetes.io/hostname";
const CLAIMS: &str = "persistentvolumeclaims";
const CLASSES: &str = "storageclasses";
const VOLUMES: &str = "persistentvolumes";

/// Runs the controllers until the future is dropped.
pub(super) async fn run(mut commits: Commits, client: Client, provision: bool) {
    let mut controllers = Controllers {
        cluster: ClusterState::default(),
        volumes_by_claim: VolumesByClaim::default(),
        client,
        provision,
    };
    controllers.cluster.drop_events();
    while let Some(commit) = commits.recv().await {
        controllers.cluster.commit(0, &commit);
        controllers.volumes_by_claim.commit(&commit);
        controllers.reconcile(&commit).await;
    }
}

struct Controllers {
    cluster: ClusterState,
    volumes_by_claim: VolumesByClaim,
    client: Client,
    /// Whether the controllers provision PVCs; true if no publisher runs in the case.
    provision: bool,
}

impl Controllers {
    /// Reconciles all objects that a change may affect. A write that failed with a conflict is repeated on the watch event of the
    /// conflicting change.
    async fn reconcile(&mut self, commit: &CommitFact) {
        let is_deleted = commit.change == Change::Deleted;
        match (&*commit.resource, is_deleted) {
            ("pods", false) => {
                self.create_ephemeral_claims(&commit.object).await;
                attach(&self.cluster, &self.client, &commit.object).await;
            }
            ("pods", true) => detach(&self.cluster, &self.client, &commit.object).await,
            (VOLUMES, false) => self.bind_by_volume(&commit.object).await,
            (CLAIMS, false) => self.bind(&commit.object).await,
            (CLAIMS, true) => self.release(&commit.object).await,
            (CLASSES, false) => self.bind_claims_of_class(&commit.name).await,
            _ => {}
        }
    }

    async fn create_ephemeral_claims(&self, pod: &Value) {
        let (namespace, name) = namespace_and_name(pod);
        for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
            let template = &volume["ephemeral"]["volumeClaimTemplate"];
            let claim = format!("{name}-{}", volume["name"].as_str().unwrap_or_default());
            if template.is_null() || self.cluster.object(CLAIMS, Some(namespace), &claim).is_some() {
                continue;
            }
            let owner = json!({
                "apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"],
                "controller": true, "blockOwnerDeletion": true,
            });
            self.log_failed_write(self.client.create(json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": namespace, "ownerReferences": [owner]},
                "spec": template["spec"],
            })))
            .await;
        }
    }

    /// Binds a PV with a claimRef to its PVC, or releases the PV if the PVC was deleted. A PV without a claimRef becomes Available.
    async fn bind_by_volume(&self, volume: &Value) {
        let name = volume["metadata"]["name"].as_str().unwrap_or_default();
        let phase = &volume["status"]["phase"];
        let claim_ref = &volume["spec"]["claimRef"];
        let Some(claim_name) = claim_ref["name"].as_str() else {
            if phase == "Pending" {
                self.set_phase(name, "Available").await;
            }
            return;
        };
        let claim = self
            .cluster
            .object(CLAIMS, claim_ref["namespace"].as_str(), claim_name);
        let is_this =
            |claim: &&Arc<Value>| claim_ref["uid"].is_null() || claim_ref["uid"] == claim["metadata"]["uid"];
        match claim.filter(is_this) {
            Some(claim) => self.bind(claim).await,
            None if claim_ref["uid"].is_null() || phase == "Released" || phase == "Failed" => {}
            None => self.set_phase(name, "Released").await,
        }
    }

    async fn set_phase(&self, volume: &str, phase: &str) {
        let (address, merge) = (
            object_ref(VOLUMES, None, volume),
            json!({"status": {"phase": phase}}),
        );
        self.log_failed_write(self.client.patch_subresource(&address, "status", merge))
            .await;
    }

    /// Binds the unbound PVCs of a StorageClass that was created or changed. The real controller polls unbound PVCs every 15 seconds.
    async fn bind_claims_of_class(&self, class: &str) {
        let claims: Vec<Arc<Value>> = self
            .cluster
            .objects(CLAIMS)
            .filter(|(_, claim)| class_of(claim) == Some(class))
            .map(|(_, claim)| claim.clone())
            .collect();
        for claim in claims {
            self.bind(&claim).await;
        }
    }

    /// Performs the next of the writes that bind a PVC to its PV. The commit of each write causes a new call for the next write.
    async fn bind(&self, claim: &Value) {
        if claim["status"]["phase"] == "Bound" {
            return;
        }
        let Some(volume) = self.volume_for(claim) else {
            return self.request_volume(claim).await;
        };
        let (namespace, name) = namespace_and_name(claim);
        let address = object_ref(CLAIMS, Some(namespace), name);
        let volume_name = volume["metadata"]["name"].as_str().unwrap_or_default();
        if volume["spec"]["claimRef"]["uid"].is_null() {
            let merge = json!({"spec": {"claimRef": {"uid": claim["metadata"]["uid"]}}});
            let address = object_ref(VOLUMES, None, volume_name);
            return self
                .log_failed_write(self.client.patch_merge(&address, merge))
                .await;
        }
        if claim["spec"]["volumeName"] != volume["metadata"]["name"] {
            let merge = json!({
                "metadata": {"annotations": {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}},
                "spec": {"volumeName": volume_name},
            });
            return self
                .log_failed_write(self.client.patch_merge(&address, merge))
                .await;
        }
        if volume["status"]["phase"] != "Bound" {
            self.set_phase(volume_name, "Bound").await;
        }
        let merge = json!({"status": {
            "phase": "Bound", "accessModes": claim["spec"]["accessModes"], "capacity": volume["spec"]["capacity"],
        }});
        self.log_failed_write(self.client.patch_subresource(&address, "status", merge))
            .await;
    }

    /// The PV that is reserved for a PVC: its claimRef contains the PVC's name, and either the PVC's UID or no UID.
    fn volume_for(&self, claim: &Value) -> Option<Arc<Value>> {
        let is_reserved = |volume: &&Arc<Value>| {
            let uid = &volume["spec"]["claimRef"]["uid"];
            uid.is_null() || *uid == claim["metadata"]["uid"]
        };
        let volumes = self.volumes_by_claim.for_claim(namespace_and_name(claim));
        let mut volumes = volumes.filter_map(|name| self.cluster.object(VOLUMES, None, name));
        volumes.find(is_reserved).cloned()
    }

    /// Requests a volume from the external provisioner, or provisions a volume if the case has no provisioner.
    async fn request_volume(&self, claim: &Value) {
        let (namespace, name) = namespace_and_name(claim);
        let class = class_of(claim).unwrap_or_default();
        let Some(class) = self.cluster.object(CLASSES, None, class) else {
            return;
        };
        let annotations = &claim["metadata"]["annotations"];
        let node = annotations[SELECTED_NODE].as_str();
        let provisioner = class["provisioner"].as_str().unwrap_or_default();
        let waits = class["volumeBindingMode"] == "WaitForFirstConsumer" && node.is_none();
        if waits || provisioner == "kubernetes.io/no-provisioner" {
            return;
        }
        if STORAGE_PROVISIONER
            .iter()
            .any(|key| annotations[key] != provisioner)
        {
            let both = STORAGE_PROVISIONER.map(|key| (key.to_owned(), Value::from(provisioner)));
            let merge = json!({"metadata": {"annotations": serde_json::Map::from_iter(both)}});
            return self
                .log_failed_write(
                    self.client
                        .patch_merge(&object_ref(CLAIMS, Some(namespace), name), merge),
                )
                .await;
        }
        if self.provision {
            let segment = node
                .map(|node| self.segment(node, provisioner))
                .unwrap_or_default();
            self.log_failed_write(
                self.client
                    .create(persistent_volume(claim, &segment, provisioner)),
            )
            .await;
        }
    }

    /// Topology segment of a volume that is provisioned for a node: the node's labels for the driver's topology keys in CSINode. If the
    /// driver is not registered on the node, the hostname label.
    fn segment(&self, node: &str, driver: &str) -> Vec<(String, String)> {
        let object = |resource: &str| self.cluster.object(resource, None, node);
        let label = |key: &str| {
            let value = object("nodes")?["metadata"]["labels"][key].as_str()?;
            Some((key.to_owned(), value.to_owned()))
        };
        let drivers = object("csinodes").and_then(|csi_node| csi_node["spec"]["drivers"].as_array());
        let registration = drivers
            .into_iter()
            .flatten()
            .find(|entry| entry["name"] == driver);
        match registration {
            Some(registration) => {
                let keys = registration["topologyKeys"].as_array().into_iter().flatten();
                keys.filter_map(Value::as_str).filter_map(label).collect()
            }
            None => label(HOSTNAME).into_iter().collect(),
        }
    }

    /// Sets the phase of a deleted PVC's volume to Released. The provisioner deletes the volume if the reclaim policy is Delete.
    async fn release(&self, claim: &Value) {
        let of_claim = |name: &&str| {
            let volume = self.cluster.object(VOLUMES, None, name);
            volume.is_some_and(|volume| volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"])
        };
        for name in self
            .volumes_by_claim
            .for_claim(namespace_and_name(claim))
            .filter(of_claim)
        {
            self.set_phase(name, "Released").await;
        }
    }

    /// Awaits an API write. A failed write is only logged, because the journal records the failed request.
    async fn log_failed_write<T>(&self, write: impl Future<Output = Result<T, StatusError>>) {
        if let Err(status) = write.await {
            tracing::debug!(message = %status, "the API server rejected a write of a controller");
        }
    }
}

/// PVs with a claimRef, indexed by namespace and name of the PVC, because a cluster may contain thousands of PVs and PVCs.
#[derive(Default)]
struct VolumesByClaim {
    volumes: BTreeMap<(String, String), BTreeSet<String>>,
    /// The latest claimRef of each PV as (namespace, name).
    claims: BTreeMap<String, (String, String)>,
}

impl VolumesByClaim {
    fn commit(&mut self, commit: &CommitFact) {
        if *commit.resource != *VOLUMES {
            return;
        }
        if let Some(claim) = self.claims.remove(&commit.name)
            && let Some(volumes) = self.volumes.get_mut(&claim)
        {
            volumes.remove(&commit.name);
            if volumes.is_empty() {
                self.volumes.remove(&claim);
            }
        }
        let claim_ref = &commit.object["spec"]["claimRef"];
        let claim_key = claim_ref["namespace"].as_str().zip(claim_ref["name"].as_str());
        if let Some((namespace, name)) = claim_key.filter(|_| commit.change != Change::Deleted) {
            let claim = (namespace.to_owned(), name.to_owned());
            let volumes = self.volumes.entry(claim.clone()).or_default();
            volumes.insert(commit.name.clone());
            self.claims.insert(commit.name.clone(), claim);
        }
    }

    /// Names of the PVs whose claimRef names this PVC, in ascending order.
    fn for_claim(&self, (namespace, name): (&str, &str)) -> impl Iterator<Item = &str> {
        let found = self.volumes.get(&(namespace.to_owned(), name.to_owned()));
        found.into_iter().flatten().map(String::as_str)
    }
}

fn namespace_and_name(object: &Value) -> (&str, &str) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

/// The PV that a provisioner would create with a driver without capacity limits.
fn persistent_volume(claim: &Value, segment: &[(String, String)], driver: &str) -> Value {
    let (namespace, name) = namespace_and_name(claim);
    let uid = claim["metadata"]["uid"].as_str().unwrap_or_default();
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("pvc-{uid}")},
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "storageClassName": class_of(claim),
            "persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": claim["spec"]["volumeMode"],
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": namespace, "name": name, "uid": uid,
            },
            "csi": {"driver": driver, "volumeHandle": uid},
        },
    });
    if !segment.is_empty() {
        let labels = segment
            .iter()
            .map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]}));
        let term = json!({"matchExpressions": labels.collect::<Vec<_>>()});
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [term]}});
    }
    volume
}
