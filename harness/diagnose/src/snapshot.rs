//! The API objects of a cluster at one moment, read from a running cluster or from the output of `kubectl get -o yaml`. Changes nothing in
//! the cluster.
//!
//! Lists objects that a dump probably lacks, because a user would not notice the gap. Does not evaluate pods.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use capacity_scheduler::objects::{Claim, Class, PodVolume};
use kube::Client;
use serde_json::Value;

use crate::documents::each_object;
use crate::inventory::{self, Inventory, InventoryError};

/// Why a cluster cannot be read: an [`InventoryError`], or a file that cannot be read.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The command that prints the relevant objects of all namespaces.
pub const DUMP_COMMAND: &str = "kubectl get nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods,volumeattachments,namespaces,pdb,leases -A -o yaml";

/// The API objects of a cluster at one moment.
#[derive(Default)]
pub struct Snapshot {
    /// All objects except pods, without large fields that affect no result.
    non_pods: Vec<Value>,
    /// The pods, as JSON text. Parsed `Value`s would take ten times the memory.
    pods: Vec<Box<str>>,
    /// All objects, parsed into the scheduler's types.
    pub inventory: Inventory,
    /// The default namespace of the kubeconfig context. `None`: unknown.
    pub namespace: Option<String>,
    /// Whether the snapshot was read from files, which may lack objects of the cluster.
    pub is_dump: bool,
}

impl Snapshot {
    /// Reads several files as the API objects of one cluster.
    pub fn of_files(files: &[PathBuf]) -> Result<Self, Error> {
        let mut snapshot = Self {
            is_dump: true,
            ..Self::default()
        };
        for file in files {
            let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            let mut add = |object: Value| snapshot.add_one(object).map_err(|error| error.to_string());
            if file.as_os_str() == "-" {
                each_object(std::io::stdin().lock(), &mut add)
                    .map_err(|error| format!("standard input: {error}"))?;
                continue;
            }
            let source = File::open(file).map_err(|error| {
                format!(
                    "{}; name a file that `{DUMP_COMMAND}` has written",
                    in_file(&error)
                )
            })?;
            each_object(BufReader::new(source), &mut add).map_err(|error| in_file(&error))?;
        }
        Ok(snapshot)
    }

    /// Builds a snapshot from the API objects of a cluster.
    pub fn of_objects(objects: Vec<Value>) -> Result<Self, Error> {
        let mut snapshot = Self::default();
        snapshot.add_all(objects)?;
        Ok(snapshot)
    }

    /// Reads the kinds that the scheduler uses, and the CSINodes, from a running cluster.
    pub async fn of_cluster(client: &Client) -> Result<Self, Error> {
        let objects = inventory::list_objects(client, &["/apis/storage.k8s.io/v1/csinodes"]).await?;
        Ok(Self {
            namespace: Some(client.default_namespace().to_owned()),
            ..Self::of_objects(objects)?
        })
    }

    /// All objects except pods, and the pods as JSON text.
    pub fn non_pods_and_pods(&self) -> (&[Value], &[Box<str>]) {
        (&self.non_pods, &self.pods)
    }

    /// All objects, without large fields that affect no result.
    pub fn objects(&self) -> Vec<Value> {
        // The text was serialized from a `Value`, so parsing cannot fail.
        let pods = self.pods.iter().filter_map(|pod| serde_json::from_str(pod).ok());
        self.non_pods.iter().cloned().chain(pods).collect()
    }

    /// Whether a dump contains no CSIStorageCapacity object although the driver of one of its StorageClasses tracks capacity.
    pub fn lacks_capacities(&self) -> bool {
        let snapshot = &self.inventory.snapshot;
        let tracked = |class: &Arc<Class>| {
            let driver = snapshot.driver(&class.provisioner);
            class.delayed && driver.is_some_and(|driver| driver.tracks_capacity)
        };
        self.is_dump && snapshot.capacities.is_empty() && snapshot.classes.iter().any(tracked)
    }

    /// Objects that the dump probably lacks: one sentence per kind of object.
    pub fn missing_objects(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if !self.is_dump {
            return gaps;
        }
        let snapshot = &self.inventory.snapshot;
        if snapshot.nodes.is_empty() {
            gaps.push("no Node objects: are nodes missing in the dump?".to_owned());
        }
        gaps.extend(self.nodes_without_csi_node());
        if self.lacks_capacities() {
            let gap = "no CSIStorageCapacity objects, although a CSIDriver has storageCapacity: true: was the dump made with -A?";
            gaps.push(gap.to_owned());
        }
        let claiming = self.inventory.pods.values().filter(|pod| {
            let is_claimed = |volume: &PodVolume| !volume.ephemeral;
            pod.node.is_none() && pod.volumes.iter().any(is_claimed)
        });
        let namespaces: BTreeSet<&str> = claiming.map(|pod| pod.key.namespace.as_str()).collect();
        let has_claims = |namespace: &str| {
            let mut claims = snapshot.claims.iter();
            claims.any(|claim| claim.key.namespace == namespace)
        };
        for namespace in namespaces {
            if !has_claims(namespace) {
                gaps.push(format!(
                    "no PersistentVolumeClaim objects in namespace {namespace}, although pods there use some: are pvc missing in the dump?"
                ));
            }
        }
        let is_bound = |claim: &Arc<Claim>| claim.volume.is_some();
        if snapshot.volumes.is_empty() && snapshot.claims.iter().any(is_bound) {
            gaps.push(
                "no PersistentVolume objects, although claims are bound: are pv missing in the dump?"
                    .to_owned(),
            );
        }
        gaps
    }

    /// A sentence about nodes without a CSINode. Every kubelet creates a CSINode, which lists the drivers of its node.
    fn nodes_without_csi_node(&self) -> Option<String> {
        /// Maximum number of nodes that the sentence lists.
        const LISTED_MAX: usize = 3;
        let names = |kind: &'static str| {
            let of_kind = self.non_pods.iter().filter(move |object| object["kind"] == kind);
            of_kind.filter_map(|object| object["metadata"]["name"].as_str())
        };
        let known: BTreeSet<&str> = names("CSINode").collect();
        let lacking: Vec<&str> = names("Node").filter(|node| !known.contains(node)).collect();
        let named = lacking[..lacking.len().min(LISTED_MAX)].join(", ");
        match (lacking.len(), known.is_empty()) {
            (0, _) => None,
            (_, true) => Some("no CSINode objects: are csinodes missing in the dump?".to_owned()),
            (count, false) if count > LISTED_MAX => Some(format!(
                "no CSINode objects for {named} and {} other nodes: are csinodes missing in the dump?",
                count - LISTED_MAX
            )),
            (_, false) => Some(format!(
                "no CSINode object for {named}: are csinodes missing in the dump?"
            )),
        }
    }

    /// The namespace to use: `given`, else the namespace of the kubeconfig context, else `default`.
    pub fn namespace<'n>(&'n self, given: Option<&'n str>) -> &'n str {
        given.or(self.namespace.as_deref()).unwrap_or("default")
    }

    /// A hint why a pod was not found, if the dump has no object of its namespace; otherwise empty.
    pub fn missing_pod_hint(&self, namespace: &str) -> String {
        let is_in_namespace = |object: &Value| object["metadata"]["namespace"] == namespace;
        let has_pod = self.inventory.pods.keys().any(|pod| pod.namespace == namespace);
        match self.is_dump && !has_pod && !self.non_pods.iter().any(is_in_namespace) {
            true => format!("; the dump has no object of namespace {namespace}: was it made with -A?"),
            false => String::new(),
        }
    }

    fn add_all(&mut self, objects: Vec<Value>) -> Result<(), InventoryError> {
        objects.into_iter().try_for_each(|object| self.add_one(object))
    }

    fn add_one(&mut self, mut object: Value) -> Result<(), InventoryError> {
        remove_unused_fields(&mut object);
        match object["kind"] == "Pod" {
            true => self.pods.push(object.to_string().into()),
            false => self.non_pods.push(object.clone()),
        }
        self.inventory.add(object)
    }
}

/// Metadata fields of a pod that are retained.
const POD_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "labels",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "resourceVersion",
];
/// Spec fields of a pod that are retained, because a scheduler filter or a report reads them.
const POD_SPEC: [&str; 17] = [
    "nodeName",
    "schedulerName",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "containers",
    "initContainers",
    "overhead",
    "resources",
    "volumes",
    "nodeSelector",
    "affinity",
    "topologySpreadConstraints",
    "tolerations",
    "schedulingGates",
    "resourceClaims",
    "schedulingGroup",
];
/// Status fields of a pod that are retained.
const POD_STATUS: [&str; 6] = [
    "phase",
    "conditions",
    "nominatedNodeName",
    "startTime",
    "containerStatuses",
    "initContainerStatuses",
];
/// Types of pod conditions that are retained.
const POD_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "DisruptionTarget"];
/// Fields of a pod's container that are retained.
const CONTAINER: [&str; 5] = ["name", "image", "resources", "ports", "restartPolicy"];
/// Fields of a container status that are retained.
const CONTAINER_STATUS: [&str; 4] = ["name", "ready", "resources", "allocatedResources"];
/// Volume sources of a pod that are retained: the scheduler reads them, or they show to which driver the pod belongs.
const VOLUMES: [&str; 8] = [
    "persistentVolumeClaim",
    "ephemeral",
    "csi",
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "iscsi",
    "rbd",
];

/// Removes large parts of a dump that affect no result: managed fields, images and capacities of nodes, and every pod field that is not
/// listed above.
fn remove_unused_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    match object["kind"].as_str() {
        Some("Node") => {
            retain_conditions(object, &["Ready"]);
            if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
                ["images", "capacity", "nodeInfo", "addresses"]
                    .iter()
                    .for_each(|field| drop(status.remove(*field)));
            }
        }
        Some("Pod") => {
            retain(object.get_mut("metadata"), &POD_METADATA);
            retain(object.get_mut("spec"), &POD_SPEC);
            retain(object.get_mut("status"), &POD_STATUS);
            retain_conditions(object, &POD_CONDITIONS);
            if let Some(volumes) = object.pointer_mut("/spec/volumes").and_then(Value::as_array_mut) {
                volumes.retain(|volume| VOLUMES.iter().any(|kind| !volume[*kind].is_null()));
            }
            for list in ["containers", "initContainers"] {
                retain_each(object.pointer_mut(&format!("/spec/{list}")), &CONTAINER);
            }
            for list in ["containerStatuses", "initContainerStatuses"] {
                retain_each(object.pointer_mut(&format!("/status/{list}")), &CONTAINER_STATUS);
            }
        }
        _ => {}
    }
}

fn retain(object: Option<&mut Value>, fields: &[&str]) {
    if let Some(object) = object.and_then(Value::as_object_mut) {
        object.retain(|field, _| fields.contains(&field.as_str()));
    }
}

fn retain_conditions(object: &mut Value, types: &[&str]) {
    if let Some(conditions) = object
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut)
    {
        conditions.retain(|condition| types.iter().any(|name| condition["type"] == *name));
    }
}

fn retain_each(list: Option<&mut Value>, fields: &[&str]) {
    let items = list.and_then(Value::as_array_mut).into_iter().flatten();
    items.for_each(|item| retain(Some(item), fields));
}
