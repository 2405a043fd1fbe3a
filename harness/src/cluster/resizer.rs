//! Expands volumes as external-resizer does: calls ControllerExpandVolume for a bound PVC that requests more than its capacity.
//!
//! Level-triggered by object changes, without a timer: a failed expansion is retried when the PVC's request or a CSIStorageCapacity object
//! changes. The kubelet's part is omitted: NodeExpandVolume is never called, and a PVC whose driver requires it retains the condition
//! FileSystemResizePending.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use capacity_types::capacity_api::RESOURCE;
use capacity_types::quantity::format_bytes;
use capacity_types::{ByteConversion, Quantity, Segment};
use fake_csi::{CsiClient, CsiRequest, CsiResponse, ResponseValue};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::api::Client;
use super::driver::CALL_TIMEOUT;
use super::object_ref::object_ref;
use crate::api_server::StatusError;
use crate::cluster_state::ClusterState;
use crate::fact_sink::Commits;
use crate::journal::{Change, CommitFact};
use crate::network::Network;

pub(super) const CLIENT: &str = "resizer";

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
/// Condition types of a PVC (PersistentVolumeClaimConditionType).
const RESIZING: &str = "Resizing";
const NODE_PENDING: &str = "FileSystemResizePending";

/// Segment and socket of each driver instance by node. The key `None` is the central driver.
type SocketsByNode = BTreeMap<Option<String>, (Segment, PathBuf)>;

/// The sockets and segments of all driver instances, shared by all clones of the value.
#[derive(Clone, Default)]
pub(super) struct Sockets(Arc<Mutex<SocketsByNode>>);

impl Sockets {
    pub(super) fn insert(&self, node: Option<String>, segment: Segment, socket: PathBuf) {
        self.0.lock().insert(node, (segment, socket));
    }

    pub(super) fn remove(&self, node: &str) {
        self.0.lock().remove(&Some(node.to_owned()));
    }

    /// The socket of the driver instance for a PV: the central driver, or an instance whose segment matches the PV's node affinity.
    fn for_volume(&self, volume: &Value) -> Option<PathBuf> {
        let term = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0];
        let expressions = term["matchExpressions"].as_array();
        let is_met = |segment: &Segment, expression: &Value| {
            let own = expression["key"].as_str().and_then(|key| segment.get(key));
            let mut values = expression["values"].as_array().into_iter().flatten();
            own.is_some_and(|own| values.any(|value| value == own.as_str()))
        };
        let sockets = self.0.lock();
        let mut sockets = sockets.iter();
        let (_, (_, socket)) = sockets.find(|(node, (segment, _))| {
            let mut expressions = expressions.into_iter().flatten();
            node.is_none() || expressions.all(|expression| is_met(segment, expression))
        })?;
        Some(socket.clone())
    }
}

/// Runs the resizer until the channel of object changes is closed.
pub(super) async fn run(
    mut commits: Commits,
    client: Client,
    driver: String,
    network: Network,
    sockets: Sockets,
) {
    let mut resizer = Resizer {
        driver,
        cluster: ClusterState::default(),
        client,
        network,
        sockets,
        attempted: BTreeMap::new(),
        failed: BTreeSet::new(),
    };
    resizer.cluster.drop_events();
    while let Some(commit) = commits.recv().await {
        resizer.cluster.commit(0, &commit);
        resizer.reconcile(&commit).await;
    }
}

struct Resizer {
    driver: String,
    cluster: ClusterState,
    client: Client,
    network: Network,
    sockets: Sockets,
    /// Requested size in bytes of the last expansion attempt, by UID of the PVC.
    attempted: BTreeMap<String, i128>,
    /// Namespace and name of the PVCs whose last expansion attempt failed.
    failed: BTreeSet<(String, String)>,
}

impl Resizer {
    async fn reconcile(&mut self, commit: &CommitFact) {
        match (&*commit.resource, commit.change) {
            (CLAIMS, Change::Added | Change::Modified) => self.resize(&commit.object).await,
            (RESOURCE, Change::Added | Change::Modified) => {
                for (namespace, name) in std::mem::take(&mut self.failed) {
                    let claim = self.cluster.object(CLAIMS, Some(&namespace), &name).cloned();
                    if let Some(claim) = claim {
                        self.attempted.remove(text(&claim["metadata"]["uid"]));
                        self.resize(&claim).await;
                    }
                }
            }
            _ => {}
        }
    }

    /// Expands the volume of a bound PVC that requests more than `status.capacity`, unless this size was attempted before.
    async fn resize(&mut self, claim: &Value) {
        let requested = bytes(&claim["spec"]["resources"]["requests"]["storage"]);
        let current = bytes(&claim["status"]["capacity"]["storage"]);
        let (Some(requested), Some(current)) = (requested, current) else {
            return;
        };
        let uid = text(&claim["metadata"]["uid"]);
        if claim["status"]["phase"] != "Bound"
            || requested <= current
            || self.attempted.get(uid) == Some(&requested)
        {
            return;
        }
        let name = text(&claim["spec"]["volumeName"]);
        let volume = self.cluster.object(VOLUMES, None, name).cloned();
        let Some(volume) = volume.filter(|volume| volume["spec"]["csi"]["driver"] == self.driver.as_str())
        else {
            return;
        };
        let expanded = self.try_expansion(claim, &volume, requested).await;
        self.attempted.insert(uid.to_owned(), requested);
        if !matches!(expanded, Ok(true)) {
            let metadata = &claim["metadata"];
            let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
            self.failed.insert((namespace.to_owned(), name.to_owned()));
        }
        if let Err(status) = expanded {
            tracing::debug!(message = %status, "the API server rejected a write of the resizer");
        }
    }

    /// Calls ControllerExpandVolume and writes the result to the API objects. Returns whether the driver expanded the volume.
    async fn try_expansion(
        &self,
        claim: &Value,
        volume: &Value,
        requested: i128,
    ) -> Result<bool, StatusError> {
        self.set_status(claim, json!({}), Some(RESIZING)).await?;
        let reply = self.expand(volume, requested).await;
        let Some(ResponseValue::Number(grown)) = reply.values.get("bytes") else {
            self.report_failure(claim, volume, &reply).await?;
            return Ok(false);
        };
        let capacity = json!({"storage": format_bytes((*grown).into())});
        let merge = json!({"spec": {"capacity": capacity}});
        let name = text(&volume["metadata"]["name"]);
        self.client
            .patch_merge(&object_ref(VOLUMES, None, name), merge)
            .await?;
        let (fields, condition) = match reply.values.get("nodeExpansion") == Some(&ResponseValue::Number(1)) {
            true => (json!({}), Some(NODE_PENDING)),
            false => (json!({"capacity": capacity}), None),
        };
        self.set_status(claim, fields, condition).await?;
        Ok(true)
    }

    async fn expand(&self, volume: &Value, bytes: i128) -> CsiResponse {
        let failed = |message: &str| CsiResponse {
            code: "UNAVAILABLE",
            message: Some(message.to_owned()),
            values: BTreeMap::new(),
        };
        let socket = self.sockets.for_volume(volume);
        let channel = socket.and_then(|socket| self.network.channel(&socket).ok());
        let Some(channel) = channel else {
            return failed("no driver instance runs in the topology segment of the volume");
        };
        let Ok(bytes) = i64::try_from(bytes) else {
            return failed("the requested size does not fit into an int64");
        };
        let id = text(&volume["spec"]["csi"]["volumeHandle"]).to_owned();
        CsiClient::new(channel, CALL_TIMEOUT)
            .call(CsiRequest::Expand { id, bytes })
            .await
    }

    /// Sets fields of a PVC's status, and replaces its resize conditions by `condition`; with `None`, removes the resize conditions.
    async fn set_status(
        &self,
        claim: &Value,
        fields: Value,
        condition: Option<&str>,
    ) -> Result<(), StatusError> {
        let current = claim["status"]["conditions"].as_array().into_iter().flatten();
        let others = current.filter(|it| it["type"] != RESIZING && it["type"] != NODE_PENDING);
        let own = condition.map(|kind| json!({"type": kind, "status": "True"}));
        let mut status = fields;
        status["conditions"] = others.cloned().chain(own).collect();
        let metadata = &claim["metadata"];
        let claim_ref = object_ref(CLAIMS, metadata["namespace"].as_str(), text(&metadata["name"]));
        let patch = json!({"status": status});
        self.client
            .patch_subresource(&claim_ref, "status", patch)
            .await
            .map(drop)
    }

    /// Creates the Event VolumeResizeFailed, as external-resizer does.
    async fn report_failure(
        &self,
        claim: &Value,
        volume: &Value,
        reply: &CsiResponse,
    ) -> Result<(), StatusError> {
        let metadata = &claim["metadata"];
        let message = format!(
            "resize volume {} by resizer \"{}\" failed: rpc error: code = {} desc = {}",
            volume["metadata"]["name"],
            text(&volume["spec"]["csi"]["driver"]),
            reply.code,
            reply.message.as_deref().unwrap_or_default()
        );
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"generateName": "resize-", "namespace": metadata["namespace"]},
            "involvedObject": {
                "kind": "PersistentVolumeClaim", "namespace": metadata["namespace"],
                "name": metadata["name"], "uid": metadata["uid"],
            },
            "type": "Warning", "reason": "VolumeResizeFailed", "message": message, "count": 1,
            "source": {"component": format!("external-{CLIENT}")},
        });
        self.client.create(event).await.map(drop)
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn bytes(quantity: &Value) -> Option<i128> {
    let quantity: Quantity = quantity.as_str()?.parse().ok()?;
    Some(quantity.bytes(ByteConversion::Exact))
}
