//! Small clusters for the decision tests: builds a snapshot from short descriptions.

use std::sync::Arc;

use capacity_scheduler::cycle::{self, Assessment};
use capacity_scheduler::objects::{Object, Pod};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) const DRIVER: &str = "disk.example.com";

/// A snapshot under construction, and a pod that uses every PVC that was added.
#[derive(Default)]
pub(crate) struct TestCluster {
    pub(crate) snapshot: Snapshot,
    volumes: Vec<Value>,
    capacities: usize,
}

impl TestCluster {
    /// A cluster with these nodes (each has the label `node` with its name), a driver that tracks capacity, and the WaitForFirstConsumer
    /// classes `fast` and `slow`.
    pub(crate) fn new(nodes: &[&str]) -> Self {
        let mut cluster = Self::default();
        for node in nodes {
            cluster.node(node, &json!({"labels": {"node": node}}), &Value::Null);
        }
        cluster.driver(&json!(true));
        for class in ["fast", "slow"] {
            cluster.class(class, json!({}));
        }
        cluster
    }

    /// Adds a node with additional metadata fields and this spec.
    pub(crate) fn node(&mut self, name: &str, metadata: &Value, spec: &Value) {
        let named = json!({"metadata": {"name": name}});
        let source = merge_objects(named, json!({"metadata": metadata}), json!({"spec": spec}));
        put(&mut self.snapshot.nodes, source);
    }

    pub(crate) fn node_with_status(&mut self, name: &str, status: &Value) {
        put(
            &mut self.snapshot.nodes,
            json!({"metadata": {"name": name}, "status": status}),
        );
    }

    pub(crate) fn driver(&mut self, tracks: &Value) {
        self.other_driver(DRIVER, tracks);
    }

    pub(crate) fn other_driver(&mut self, name: &str, tracks: &Value) {
        let source = json!({"metadata": {"name": name}, "spec": {"storageCapacity": tracks}});
        put(&mut self.snapshot.drivers, source);
    }

    /// Adds a StorageClass of the driver; WaitForFirstConsumer unless `fields` override it.
    pub(crate) fn class(&mut self, name: &str, fields: Value) {
        let source = json!({"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"});
        put(
            &mut self.snapshot.classes,
            merge_objects(source, json!({"metadata": {"name": name}}), fields),
        );
    }

    /// Adds a capacity object with this `nodeTopology`. Fields whose value is null are left unset.
    pub(crate) fn capacity(&mut self, class: &str, topology: &Value, capacity: &Value, maximum: &Value) {
        self.capacities += 1;
        put(
            &mut self.snapshot.capacities,
            json!({
                "metadata": {"name": format!("c{}", self.capacities), "namespace": "driver"},
                "storageClassName": class, "nodeTopology": topology,
                "capacity": capacity, "maximumVolumeSize": maximum,
            }),
        );
    }

    /// Adds a capacity object of class `fast` for one node.
    pub(crate) fn capacity_on(&mut self, node: &str, capacity: &str) {
        self.capacity("fast", &topology_of_node(node), &json!(capacity), &Value::Null);
    }

    /// Adds a PVC. `fields` override the default fields of the PVC.
    pub(crate) fn claim(&mut self, name: &str, class: &str, size: &str, fields: Value) {
        let defaults = json!({
            "spec": {
                "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
            },
        });
        let metadata = json!({"metadata": {"name": name, "namespace": "ns", "uid": name}});
        put(
            &mut self.snapshot.claims,
            merge_objects(defaults, metadata, fields),
        );
        self.volumes
            .push(json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    }

    /// Adds an unbound PVC of a WaitForFirstConsumer class.
    pub(crate) fn add_delayed_claim(&mut self, name: &str, class: &str, size: &str) {
        self.claim(name, class, size, json!({}));
    }

    pub(crate) fn add_bound_claim(&mut self, name: &str, volume: &str) {
        let annotations = json!({"annotations": {"pv.kubernetes.io/bind-completed": ""}});
        self.claim(
            name,
            "fast",
            "1Gi",
            json!({"metadata": annotations, "spec": {"volumeName": volume}}),
        );
    }

    /// Adds an available PersistentVolume accessible from one node. `fields` override the default fields of the volume.
    pub(crate) fn volume(&mut self, name: &str, class: &str, size: &str, node: &str, fields: Value) {
        let term = json!({"matchExpressions": [{"key": "node", "operator": "In", "values": [node]}]});
        let defaults = json!({
            "spec": {
                "storageClassName": class, "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            },
            "status": {"phase": "Available"},
        });
        put(
            &mut self.snapshot.volumes,
            merge_objects(defaults, json!({"metadata": {"name": name}}), fields),
        );
    }

    pub(crate) fn pod_volume(&mut self, volume: Value) {
        self.volumes.push(volume);
    }

    /// The pod with these additional `spec` fields, which override the defaults.
    pub(crate) fn pod(&self, spec: Value) -> Pod {
        let defaults = json!({"containers": [], "volumes": self.volumes});
        let metadata = json!({"name": "p", "namespace": "ns", "uid": "uid-of-p"});
        let source = json!({"metadata": metadata, "spec": merge_objects(defaults, json!({}), spec)});
        Pod::read(&serde_json::from_value(source).unwrap()).unwrap()
    }

    /// For each node, by name: `n1: fits`, or the node and the reasons for its rejection.
    pub(crate) fn verdicts(&self, rules: &Rules) -> Vec<String> {
        let assessment = self.assess(rules);
        let feasible = assessment
            .feasible
            .iter()
            .map(|feasible| format!("{}: fits", feasible.node.name()));
        let refused = assessment.rejected.iter().map(|refused| {
            format!(
                "{}: {}",
                refused.node.name(),
                refused.cause.reasons(rules).join(", ")
            )
        });
        let mut all: Vec<_> = feasible.chain(refused).collect();
        all.sort();
        all
    }

    /// The score of each feasible node.
    pub(crate) fn scores(&self, rules: &Rules) -> Vec<i64> {
        self.assess(rules)
            .feasible
            .iter()
            .map(|feasible| feasible.score)
            .collect()
    }

    pub(crate) fn assess(&self, rules: &Rules) -> Assessment {
        cycle::assess(&self.snapshot, rules, &self.pod(json!({}))).unwrap()
    }
}

pub(crate) fn topology_of_node(node: &str) -> Value {
    json!({"matchLabels": {"node": node}})
}

/// Merges objects field by field; later objects take precedence.
fn merge_objects(mut base: Value, first: Value, second: Value) -> Value {
    merge(&mut base, first);
    merge(&mut base, second);
    base
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

fn put<T>(collection: &mut impl Collection<T>, source: Value)
where
    T: Object,
    T::Api: DeserializeOwned,
{
    let read = T::read(&serde_json::from_value(source).unwrap()).unwrap();
    collection.put(Arc::new(read));
}
