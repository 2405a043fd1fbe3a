//! A small cluster for the tests of the scheduling loop, with actions of the other controllers.

use std::time::Duration;

use capacity_scheduler::Options;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::server::Server;

pub(crate) const DRIVER: &str = "disk.example.com";

/// A cluster with nodes, a driver that tracks capacity, and the WaitForFirstConsumer class `fast`.
pub(crate) struct Cluster {
    pub(crate) server: Server,
}

impl Cluster {
    pub(crate) fn new(nodes: &[&str]) -> Self {
        let server = Server::new();
        for node in nodes {
            server.put(
                "nodes",
                json!({"metadata": {"name": node, "labels": {"node": node}}}),
            );
        }
        let cluster = Self { server };
        cluster.driver(true);
        cluster.server.put(
            "storageclasses",
            json!({"metadata": {"name": "fast"}, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}),
        );
        cluster
    }

    /// Starts the scheduler, which runs until the runtime of the test ends.
    pub(crate) fn start(&self, options: Options) -> JoinHandle<()> {
        let client = self.server.client();
        tokio::spawn(async move {
            let ended = capacity_scheduler::run(options, client, std::future::pending()).await;
            panic!("the scheduler ended: {ended:?}");
        })
    }

    pub(crate) fn driver(&self, tracks: bool) {
        self.server.put(
            "csidrivers",
            json!({"metadata": {"name": DRIVER}, "spec": {"storageCapacity": tracks}}),
        );
    }

    pub(crate) fn capacity(&self, node: &str, size: &str) {
        self.server.put(
            "csistoragecapacities",
            json!({
                "metadata": {"name": format!("at-{node}"), "namespace": "driver"},
                "storageClassName": "fast", "nodeTopology": {"matchLabels": {"node": node}}, "capacity": size,
            }),
        );
    }

    /// Creates an available PersistentVolume of class `fast` that is accessible from every node.
    pub(crate) fn volume(&self, name: &str, size: &str) {
        self.server.put(
            "persistentvolumes",
            json!({
                "metadata": {"name": name},
                "spec": {
                    "storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size},
                },
                "status": {"phase": "Available"},
            }),
        );
    }

    /// Creates a pod, and a PVC of this size with the same name.
    pub(crate) fn pod_with_claim(&self, name: &str, size: &str) {
        self.server.put(
            "persistentvolumeclaims",
            json!({
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": size}},
                },
            }),
        );
        self.pod(
            name,
            &json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]),
        );
    }

    pub(crate) fn pod(&self, name: &str, volumes: &Value) {
        self.server.put(
            "pods",
            json!({
                "metadata": {"name": name, "namespace": "default", "generation": 1},
                "spec": {"schedulerName": "default-scheduler", "containers": [], "volumes": volumes},
            }),
        );
    }

    pub(crate) async fn wait_for_selected_node(&self, claim: &str) -> String {
        let is_selected = |object: &Value| named(object, claim) && selected_node(object).is_some();
        let found = self
            .server
            .wait_until("a selected node", "persistentvolumeclaims", is_selected)
            .await;
        selected_node(&found).unwrap().to_owned()
    }

    /// Waits until a pod is bound and returns its node.
    pub(crate) async fn wait_until_bound(&self, pod: &str) -> String {
        let is_bound = |object: &Value| named(object, pod) && object["spec"]["nodeName"].is_string();
        let found = self.server.wait_until("a bound pod", "pods", is_bound).await;
        found["spec"]["nodeName"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn wait_for_nominated_node(&self, pod: &str) -> String {
        let is_nominated =
            |object: &Value| named(object, pod) && object["status"]["nominatedNodeName"].is_string();
        let found = self
            .server
            .wait_until("a nominated node", "pods", is_nominated)
            .await;
        found["status"]["nominatedNodeName"].as_str().unwrap().to_owned()
    }

    /// Waits until a pod's PodScheduled condition contains this text, and returns the condition.
    pub(crate) async fn wait_until_unscheduled(&self, pod: &str, text: &str) -> Value {
        let contains_text = |object: &Value| {
            named(object, pod)
                && object["status"]["conditions"][0]["message"]
                    .as_str()
                    .is_some_and(|found| found.contains(text))
        };
        self.server.wait_until(text, "pods", contains_text).await["status"]["conditions"][0].clone()
    }

    /// Waits for the selected node of a PVC, then acts as the provisioner and the PersistentVolume controller.
    pub(crate) async fn provision(&self, claim: &str) {
        let volume = format!("pv-{claim}");
        let on_node =
            json!({"key": "node", "operator": "In", "values": [self.wait_for_selected_node(claim).await]});
        let affinity = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}});
        self.server.put(
            "persistentvolumes",
            json!({"metadata": {"name": volume}, "spec": {"nodeAffinity": affinity}}),
        );
        self.complete_binding(claim, &volume);
    }

    /// Acts as the PersistentVolume controller: completes the binding of a PVC to a volume that is reserved for it.
    pub(crate) fn complete_binding(&self, claim: &str, volume: &str) {
        let annotations = json!({"pv.kubernetes.io/bind-completed": "yes"});
        let patch = json!({"metadata": {"annotations": annotations}, "spec": {"volumeName": volume}});
        self.server
            .patch_as_other_client("persistentvolumeclaims", "default", claim, &patch);
    }

    /// Acts as a provisioner without capacity on the selected node: removes the selected-node annotation.
    pub(crate) fn clear_selected_node(&self, claim: &str) {
        let patch = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null, "provisioner": "x"}}});
        self.server
            .patch_as_other_client("persistentvolumeclaims", "default", claim, &patch);
    }

    /// Waits for an Event about a pod with this reason and at least this count.
    pub(crate) async fn wait_for_event(&self, pod: &str, reason: &str, count: i64) -> Value {
        let matches = |event: &Value| {
            event["regarding"]["name"] == pod
                && event["reason"] == reason
                && event["series"]["count"].as_i64().unwrap_or(1) >= count
        };
        self.server.wait_until(reason, "events", matches).await
    }
}

/// Measures the virtual time of a test.
pub(crate) struct Clock(tokio::time::Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(tokio::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

fn named(object: &Value, name: &str) -> bool {
    object["metadata"]["name"] == name
}

fn selected_node(claim: &Value) -> Option<&str> {
    claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].as_str()
}
