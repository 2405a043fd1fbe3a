//! One moment of a cluster, from wherever it can be read: a cluster that runs, or what `kubectl get -o yaml` printed. Only reads.
//!
//! Tells what a dump seems to lack, since nobody sees that of an object which is not there. Judges nothing about pods.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use capacity_scheduler::documents::each_object;
use capacity_scheduler::inventory::{self, Inventory, InventoryError};
use capacity_scheduler::objects::{Claim, Class, PodVolume};
use kube::Client;
use serde_json::Value;

use crate::out::eprintln;
use crate::reach::BoxError;

/// Prints everything that decides about volumes, of all namespaces.
pub(crate) const DUMP_COMMAND: &str = "kubectl get nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods,volumeattachments,namespaces -A -o yaml";

/// What there was at that moment.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Every object, as it is.
    pub(crate) objects: Vec<Value>,
    /// The same as the scheduler's rules take it.
    pub(crate) inventory: Inventory,
    /// Where names are looked for that have no namespace; none: nothing says so.
    pub(crate) namespace: Option<String>,
    /// It comes from files, in which objects may be missing that the cluster has.
    pub(crate) is_dump: bool,
}

impl Snapshot {
    /// Reads these files, which together are one cluster.
    pub(crate) fn of_files(files: &[PathBuf]) -> Result<Self, BoxError> {
        let mut snapshot = Self {
            is_dump: true,
            ..Self::default()
        };
        for file in files {
            let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            let mut take = |object: Value| snapshot.take_one(object).map_err(|error| error.to_string());
            if file.as_os_str() == "-" {
                each_object(std::io::stdin().lock(), &mut take)
                    .map_err(|error| format!("standard input: {error}"))?;
                continue;
            }
            let source = File::open(file).map_err(|error| {
                format!("{}; name a file that `{DUMP_COMMAND}` has written", told(&error))
            })?;
            each_object(BufReader::new(source), &mut take).map_err(|error| told(&error))?;
        }
        Ok(snapshot)
    }

    /// A cluster that has these objects.
    pub(crate) fn of_objects(objects: Vec<Value>) -> Result<Self, BoxError> {
        let mut snapshot = Self::default();
        snapshot.take(objects)?;
        Ok(snapshot)
    }

    /// Asks a cluster for everything of the kinds that decide about volumes, and for its CSINodes.
    pub(crate) async fn of_cluster(client: &Client) -> Result<Self, BoxError> {
        let objects = inventory::objects_in(client, &["/apis/storage.k8s.io/v1/csinodes"]).await?;
        Ok(Self {
            namespace: Some(client.default_namespace().to_owned()),
            ..Self::of_objects(objects)?
        })
    }

    /// Whether a driver tracks capacity and there is no CSIStorageCapacity object at all.
    pub(crate) fn lacks_capacities(&self) -> bool {
        let snapshot = &self.inventory.snapshot;
        let tracked = |class: &Arc<Class>| {
            let driver = snapshot.driver(&class.provisioner);
            class.delayed && driver.is_some_and(|driver| driver.tracks_capacity)
        };
        self.is_dump && snapshot.capacities.is_empty() && snapshot.classes.iter().any(tracked)
    }

    /// What a dump seems to lack, a sentence each.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if !self.is_dump {
            return gaps;
        }
        let snapshot = &self.inventory.snapshot;
        if snapshot.nodes.is_empty() {
            gaps.push("no Node objects: are nodes missing in the dump?".to_owned());
        }
        gaps.extend(self.without_csi_node());
        if self.lacks_capacities() {
            let why = "no CSIStorageCapacity objects, although a CSIDriver has storageCapacity: true: was the dump made with -A?";
            gaps.push(why.to_owned());
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

    /// The nodes without a CSINode, in a sentence: every kubelet makes one, and it says which drivers its node has.
    fn without_csi_node(&self) -> Option<String> {
        /// Nodes that are named at most.
        const NAMED: usize = 3;
        let names = |kind: &'static str| {
            let of_kind = self.objects.iter().filter(move |object| object["kind"] == kind);
            of_kind.filter_map(|object| object["metadata"]["name"].as_str())
        };
        let known: BTreeSet<&str> = names("CSINode").collect();
        let lacking: Vec<&str> = names("Node").filter(|node| !known.contains(node)).collect();
        let named = lacking.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        match (lacking.len(), known.is_empty()) {
            (0, _) => None,
            (_, true) => Some("no CSINode objects: are csinodes missing in the dump?".to_owned()),
            (count, false) if count > NAMED => Some(format!(
                "no CSINode objects for {named} and {} other nodes: are csinodes missing in the dump?",
                count - NAMED
            )),
            (_, false) => Some(format!(
                "no CSINode object for {named}: are csinodes missing in the dump?"
            )),
        }
    }

    /// Tells on standard error what a dump seems to lack, and how a whole one is made.
    pub(crate) fn warn(&self) {
        let gaps = self.gaps();
        for gap in &gaps {
            eprintln!("warning: {gap}");
        }
        if !gaps.is_empty() {
            eprintln!("  a whole dump is made by: {DUMP_COMMAND}");
        }
    }

    /// The namespace that is meant: one that was given, else the context's, else `default`.
    pub(crate) fn namespace<'n>(&'n self, given: Option<&'n str>) -> &'n str {
        given.or(self.namespace.as_deref()).unwrap_or("default")
    }

    /// What may be behind a pod that is not there.
    pub(crate) fn hint_at(&self, namespace: &str) -> String {
        let is_there = |object: &Value| object["metadata"]["namespace"] == namespace;
        match self.is_dump && !self.objects.iter().any(is_there) {
            true => format!("; the dump has no object of namespace {namespace}: was it made with -A?"),
            false => String::new(),
        }
    }

    fn take(&mut self, objects: Vec<Value>) -> Result<(), InventoryError> {
        objects.into_iter().try_for_each(|object| self.take_one(object))
    }

    fn take_one(&mut self, mut object: Value) -> Result<(), InventoryError> {
        shorten(&mut object);
        self.inventory.add(object.clone())?;
        self.objects.push(object);
        Ok(())
    }
}

/// What decides of a container.
const CONTAINER: [&str; 5] = ["name", "image", "resources", "ports", "restartPolicy"];
/// What decides of the status of a container.
const CONTAINER_STATUS: [&str; 4] = ["name", "ready", "resources", "allocatedResources"];

/// Leaves out what decides nothing and is most of a large dump: who wrote which field, the images of nodes, what runs in containers.
fn shorten(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    match object["kind"].as_str() {
        Some("Node") => {
            if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
                status.remove("images");
            }
        }
        Some("Pod") => {
            for list in ["containers", "initContainers", "ephemeralContainers"] {
                keep(object.pointer_mut(&format!("/spec/{list}")), &CONTAINER);
            }
            for list in ["containerStatuses", "initContainerStatuses"] {
                keep(object.pointer_mut(&format!("/status/{list}")), &CONTAINER_STATUS);
            }
        }
        _ => {}
    }
}

/// Keeps these fields of each item.
fn keep(list: Option<&mut Value>, fields: &[&str]) {
    for item in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(item) = item.as_object_mut() {
            item.retain(|field, _| fields.contains(&field.as_str()));
        }
    }
}
