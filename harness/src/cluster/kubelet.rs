//! The kubelet's part of starting one pod: publishes the pod's CSI volumes through the driver, and writes the result to the pod's status
//! and Events.
//!
//! Runs no containers and does not retry: one action of a case is one attempt.

use fake_csi::{CsiClient, CsiRequest, CsiResponse};
use serde_json::{Value, json};

use super::Cluster;
use super::act::ActionError;
use super::driver::CALL_TIMEOUT;
use crate::api_server::StatusError;
use crate::plan::WORKLOADS;
use crate::start_error::StartError;
use capacity_types::pod::{claim_of, volumes_of};

const CLIENT: &str = "kubelet";

/// A CSI volume of a pod, with the NodePublishVolume request for it.
struct Mount {
    /// Name of the volume in the pod's spec.
    name: String,
    request: CsiRequest,
}

impl Cluster {
    /// Publishes the volumes of a pod on the pod's node. Returns an error if the kubelet cannot call the driver at all.
    pub(super) async fn mount(&self, driver: &str, name: &str) -> Result<(), ActionError> {
        let refused = |message: String| Err(ActionError::Refused(message));
        let Some(pod) = self.state.object("pods", Some(WORKLOADS), name) else {
            return refused(format!("pod {name} does not exist"));
        };
        let Some(node) = pod["spec"]["nodeName"].as_str() else {
            return refused(format!(
                "pod {name} is not scheduled to a node; expect its placement in a step before this action"
            ));
        };
        let key = Some(node.to_owned());
        let endpoint = self.endpoints.get(&key).or_else(|| self.endpoints.get(&None));
        let Some(endpoint) = endpoint else {
            return refused(format!("the driver does not run on node {node}"));
        };
        let channel = self.network.channel(&endpoint.socket);
        let channel = channel.map_err(|source| StartError::Io {
            what: "call the driver",
            source,
        })?;
        let caller = CsiClient::new(channel, CALL_TIMEOUT);
        let mut failures = Vec::new();
        for mount in self.mounts(driver, pod) {
            let CsiResponse { code, message, .. } = caller.call(mount.request).await;
            if code != "OK" {
                let message = message.unwrap_or_default();
                failures.push(format!(
                    "MountVolume.SetUp failed for volume \"{}\" : rpc error: code = {code} desc = {message}",
                    mount.name
                ));
            }
        }
        Ok(self.report(pod, node, &failures).await?)
    }

    fn mounts(&self, driver: &str, pod: &Value) -> Vec<Mount> {
        let mut mounts = Vec::new();
        for volume in volumes_of(pod) {
            let name = volume["name"].as_str().unwrap_or_default().to_owned();
            let inline = volume["csi"]["driver"] == driver;
            let id = match inline {
                true => Some(format!(
                    "csi-{}-{name}",
                    pod["metadata"]["uid"].as_str().unwrap_or_default()
                )),
                false => self.volume_handle(driver, pod, volume),
            };
            let Some(id) = id else { continue };
            let target = self.folder.path().join(format!("mount-{id}"));
            mounts.push(Mount {
                name,
                request: CsiRequest::Publish {
                    id,
                    target: target.display().to_string(),
                    ephemeral: inline,
                },
            });
        }
        mounts
    }

    fn volume_handle(&self, driver: &str, pod: &Value, volume: &Value) -> Option<String> {
        let claim = claim_of(pod, volume)?;
        let claim = self
            .state
            .object("persistentvolumeclaims", Some(WORKLOADS), &claim)?;
        let bound = claim["spec"]["volumeName"].as_str()?;
        let csi = &self.state.object("persistentvolumes", None, bound)?["spec"]["csi"];
        (csi["driver"] == driver).then(|| csi["volumeHandle"].as_str().map(str::to_owned))?
    }

    /// Writes the result of publishing the pod's volumes to Events and the pod's status, as the kubelet does.
    async fn report(&self, pod: &Value, node: &str, failures: &[String]) -> Result<(), StatusError> {
        let (name, uid) = (&pod["metadata"]["name"], &pod["metadata"]["uid"]);
        let client = self.api.client(CLIENT);
        for (index, failure) in failures.iter().enumerate() {
            client
                .create(json!({
                    "apiVersion": "v1", "kind": "Event",
                    "metadata": {"generateName": format!("mount-{index}-"), "namespace": WORKLOADS},
                    "involvedObject": {"kind": "Pod", "namespace": WORKLOADS, "name": name, "uid": uid},
                    "type": "Warning", "reason": "FailedMount", "message": failure, "count": 1,
                    "source": {"component": CLIENT, "host": node},
                }))
                .await?;
        }
        let (ready, phase) = match failures.is_empty() {
            true => ("True", "Running"),
            false => ("False", "Pending"),
        };
        let scheduled = json!({"type": "PodScheduled", "status": "True"});
        let conditions = ["PodReadyToStartContainers", "ContainersReady", "Ready"]
            .map(|kind| json!({"type": kind, "status": ready}));
        let conditions: Vec<Value> = [scheduled].into_iter().chain(conditions).collect();
        let status = json!({"status": {"phase": phase, "conditions": conditions}});
        let pod_ref =
            super::object_ref::object_ref("pods", Some(WORKLOADS), name.as_str().unwrap_or_default());
        client
            .patch_subresource(&pod_ref, "status", status)
            .await
            .map(drop)
    }
}
