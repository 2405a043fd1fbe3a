//! Health indicators: whether drivers track capacity, and whether drivers and publishers work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{Indicator, ObservedCluster, Question, State, bad_if};
use crate::lint::{Finding, lint};
use crate::text::first_names;
use capacity_scheduler::objects::{Class, Driver, Node};

/// Tolerated fraction of failed GetCapacity calls.
const FAILURES: f64 = 0.1;

/// Maximum number of nodes or pods whose names a message lists.
const NAMES: usize = 5;

/// The health indicators of every driver that tracks capacity or has CSIStorageCapacity objects.
pub(super) fn indicators(observed: &ObservedCluster<'_>) -> Vec<Indicator> {
    let views = observed.inventory.snapshot.drivers.iter();
    let mut all = Vec::new();
    let findings = lint(&observed.inventory.snapshot);
    for view in views.map(|driver| DriverView::of(observed, driver)) {
        all.push(view.in_use_indicator());
        if view.driver.tracks_capacity || view.objects > 0 {
            all.extend(view.health(&findings));
        }
    }
    if all.is_empty() {
        let message = "there is no CSIDriver object".to_owned();
        all.push(Indicator::new(Question::InUse, "cluster", State::Good, message));
    }
    all.extend(of_publishers(observed));
    all
}

/// The objects of a cluster that concern one driver.
struct DriverView<'a> {
    observed: &'a ObservedCluster<'a>,
    driver: &'a Driver,
    /// StorageClasses of the driver whose capacity the scheduler checks.
    classes: Vec<&'a Arc<Class>>,
    /// Number of CSIStorageCapacity objects for the StorageClasses in `classes`.
    objects: usize,
    /// The nodes on which the driver is registered.
    nodes: Vec<&'a Arc<Node>>,
}

impl<'a> DriverView<'a> {
    fn of(observed: &'a ObservedCluster<'a>, driver: &'a Driver) -> Self {
        let snapshot = &observed.inventory.snapshot;
        let name = &driver.key.name;
        let of_driver = |class: &&Arc<Class>| class.provisioner == *name && class.delayed;
        let classes: Vec<_> = snapshot.classes.iter().filter(of_driver).collect();
        let is_own = |class: &str| classes.iter().any(|own| own.key.name == class);
        let objects = snapshot.capacities.iter();
        let registered: BTreeSet<&str> = observed
            .of_kind("CSINode")
            .filter(|node| is_registered(node, name))
            .filter_map(|node| node["metadata"]["name"].as_str())
            .collect();
        let nodes = snapshot.nodes.iter();
        Self {
            observed,
            driver,
            objects: objects.filter(|object| is_own(&object.class)).count(),
            classes,
            nodes: nodes
                .filter(|node| registered.contains(node.key.name.as_str()))
                .collect(),
        }
    }

    fn indicator(&self, question: Question, state: State, message: String) -> Indicator {
        Indicator::new(
            question,
            &format!("driver {}", self.driver.key.name),
            state,
            message,
        )
    }

    fn in_use_indicator(&self) -> Indicator {
        let count = self.objects;
        let (state, message) = match (self.driver.tracks_capacity, count) {
            (true, 0) if self.classes.is_empty() => (
                State::Good,
                "storageCapacity is true, but none of its classes is WaitForFirstConsumer".to_owned(),
            ),
            (true, 0) => (
                State::Bad,
                "storageCapacity is true, but there are no objects: pods with new volumes of its classes stay Pending"
                    .to_owned(),
            ),
            (true, _) => (State::Good, format!("in use: storageCapacity is true, {count} capacity objects")),
            (false, 0) => (
                State::Good,
                "not in use: storageCapacity is not true, and there are no objects".to_owned(),
            ),
            (false, _) => (
                State::Good,
                format!("prepared: {count} capacity objects, which take effect once storageCapacity is true"),
            ),
        };
        self.indicator(Question::InUse, state, message)
    }

    fn health(&self, findings: &[Finding]) -> Vec<Indicator> {
        let mut all = vec![self.registration(), self.pods_indicator()];
        all.extend(self.classes.iter().map(|class| self.class_indicator(class)));
        all.push(self.lint_findings(findings));
        all
    }

    fn registration(&self) -> Indicator {
        let (on, of) = (self.nodes.len(), self.observed.inventory.snapshot.nodes.len());
        let message = format!("registered on {on} of {of} nodes");
        let state = match (on, of) {
            (_, 0) => State::Unknown,
            (0, _) => State::Bad,
            _ => State::Good,
        };
        self.indicator(Question::Health, state, message)
    }

    /// Whether the pods of the driver and its publisher are ready. Ignores pods on nodes that are not ready or being deleted.
    fn pods_indicator(&self) -> Indicator {
        let nodes = self.observed.of_kind("Node");
        let nodes: BTreeMap<&str, &Value> = nodes
            .filter_map(|node| Some((node["metadata"]["name"].as_str()?, node)))
            .collect();
        let on_ready_node = |pod: &Value| {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            pod["metadata"]["deletionTimestamp"].is_null()
                && nodes.get(node).is_some_and(|node| is_ready_node(node))
        };
        let owners = self.owners();
        let pods = self
            .observed
            .pods()
            .filter(|pod| self.belongs_to_driver(pod, &owners));
        let pods: Vec<Value> = pods
            .filter(|pod| pod["status"]["phase"] != "Succeeded")
            .filter(on_ready_node)
            .collect();
        let unready: Vec<&str> = pods
            .iter()
            .filter(|pod| !is_ready(pod))
            .filter_map(|pod| pod["metadata"]["name"].as_str())
            .collect();
        let (ready, all) = (pods.len() - unready.len(), pods.len());
        let (state, mut message) = match (all, ready) {
            (0, _) => (
                State::Unknown,
                "the driver's pods are unknown: no pod owns its objects or mounts its kubelet directory"
                    .to_owned(),
            ),
            _ => (
                match (unready.is_empty(), ready) {
                    (true, _) => State::Good,
                    (false, 0) => State::Bad,
                    (false, _) => State::Risk,
                },
                format!("{ready} of its {all} pods are ready"),
            ),
        };
        if !unready.is_empty() {
            message.push_str(&format!("; not {}", first_names(&unready, NAMES)));
        }
        self.indicator(Question::Health, state, message)
    }

    /// The owners of the CSIStorageCapacity objects for the driver's classes, by namespace and UID.
    fn owners(&self) -> BTreeMap<(&str, &str), &Value> {
        let is_class = |object: &&Value| {
            let class = object["storageClassName"].as_str();
            self.classes
                .iter()
                .any(|own| Some(own.key.name.as_str()) == class)
        };
        let objects = self.observed.of_kind("CSIStorageCapacity").filter(is_class);
        let owners = objects.flat_map(|object| {
            let metadata = &object["metadata"];
            let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
            owners.map(|owner| {
                let namespace = metadata["namespace"].as_str().unwrap_or_default();
                ((namespace, owner["uid"].as_str().unwrap_or_default()), owner)
            })
        });
        owners.collect()
    }

    /// Whether a pod belongs to the driver or its publisher: the pod or its controlling owner owns CSIStorageCapacity objects of the
    /// driver, or the pod mounts the driver's kubelet directory.
    fn belongs_to_driver(&self, pod: &Value, owners: &BTreeMap<(&str, &str), &Value>) -> bool {
        let metadata = &pod["metadata"];
        let controllers = metadata["ownerReferences"].as_array().into_iter().flatten();
        let controllers: Vec<&Value> = controllers.collect();
        let owns = |owner: &Value| {
            let name = owner["name"].as_str().unwrap_or_default();
            let is_it = owner["kind"] == "Pod" && metadata["name"] == name && owner["uid"] == metadata["uid"];
            let controls = |controller: &&&Value| {
                let of_deployment = controller["kind"] == "ReplicaSet"
                    && owner["kind"] == "Deployment"
                    && controller["name"].as_str().is_some_and(|it| {
                        it.rsplit_once('-')
                            .is_some_and(|(deployment, _)| deployment == name)
                    });
                controller["uid"] == owner["uid"] || of_deployment
            };
            is_it || controllers.iter().any(|it| controls(&it))
        };
        let namespace = metadata["namespace"].as_str().unwrap_or_default();
        let mut own = owners.iter().filter(|((of_owner, _), _)| *of_owner == namespace);
        let mut volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        let mounts_directory = |volume: &Value| {
            let path = volume["hostPath"]["path"].as_str().unwrap_or_default();
            path.split('/').any(|part| part == self.driver.key.name)
        };
        volumes.any(mounts_directory) || own.any(|(_, owner)| owns(owner))
    }

    /// Whether the driver's nodes that match `allowedTopologies` of the class have CSIStorageCapacity objects. Only a class without objects
    /// is a problem: a publisher that omits zero capacity creates no object for some nodes.
    fn class_indicator(&self, class: &Arc<Class>) -> Indicator {
        let objects = &self.observed.inventory.snapshot.capacities;
        let has_object = |node: &Node| {
            objects
                .accessible_from(&class.key.name, &node.labels)
                .next()
                .is_some()
        };
        let allowed: Vec<_> = self
            .nodes
            .iter()
            .filter(|node| class.admits(&node.labels))
            .collect();
        let without_object = allowed.iter().filter(|node| !has_object(node));
        let without_object: Vec<&str> = without_object.map(|node| node.key.name.as_str()).collect();
        let (has, of) = (allowed.len() - without_object.len(), allowed.len());
        let mut message = format!("class {}: {has} of {of} nodes have an object", class.key.name);
        if !without_object.is_empty() {
            message.push_str(&format!("; not {}", first_names(&without_object, NAMES)));
        }
        let blocks = self.driver.tracks_capacity && has == 0 && of > 0;
        self.indicator(Question::Health, bad_if(blocks), message)
    }

    fn lint_findings(&self, findings: &[Finding]) -> Indicator {
        let is_own = |class: &str| self.classes.iter().any(|own| own.key.name == class);
        let own: Vec<_> = findings.iter().filter(|finding| is_own(&finding.class)).collect();
        let worst = own.iter().map(|finding| severity(finding.code));
        let state = worst.min_by_key(|state| SEVERITIES.iter().position(|it| it == state));
        let message = match own.len() {
            0 => "no findings about the driver's objects".to_owned(),
            1 => "1 finding about the driver's objects; see `why objects`".to_owned(),
            count => format!("{count} findings about the driver's objects; see `why objects`"),
        };
        self.indicator(Question::Health, state.unwrap_or(State::Good), message)
    }
}

/// Severities of findings, most severe first.
const SEVERITIES: [State; 3] = [State::Bad, State::Risk, State::Untidy];

/// Whether a node is Ready and not being deleted.
fn is_ready_node(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let mut ready = conditions.filter(|it| it["type"] == "Ready");
    node["metadata"]["deletionTimestamp"].is_null() && ready.all(|it| it["status"] == "True")
}

/// The severity of a finding of the lint. Findings about objects without effect are less severe, because such objects leave no pod pending.
fn severity(code: &str) -> State {
    match code {
        "class-without-objects" | "class-allows-no-node" | "selected-node-gone" => State::Bad,
        "topology-unset"
        | "topology-invalid"
        | "topology-node-selector-terms"
        | "no-limit"
        | "negative"
        | "overflow" => State::Risk,
        _ => State::Untidy,
    }
}

/// Health indicators derived from the metrics of publishers.
fn of_publishers(observed: &ObservedCluster<'_>) -> Vec<Indicator> {
    let count = observed.inventory.snapshot.capacities.len();
    let indicator = |question, (state, message)| Indicator::new(question, "publisher", state, message);
    let goal = match observed.reported.goal {
        None => (
            State::Unknown,
            "the number of desired objects is unknown: no metrics of a publisher were read".to_owned(),
        ),
        Some(goal) => (
            State::Good,
            format!("{goal} capacity objects are desired, and {count} exist"),
        ),
    };
    let calls = match observed.reported.calls {
        None => (
            State::Unknown,
            "the results of GetCapacity calls are unknown: no metrics of a CSI sidecar were read".to_owned(),
        ),
        Some(calls) => (
            bad_if(calls.failed > calls.all * FAILURES),
            format!("{} of {} GetCapacity calls failed", calls.failed, calls.all),
        ),
    };
    vec![
        indicator(Question::InUse, goal),
        indicator(Question::Health, calls),
    ]
}

fn is_registered(csi_node: &Value, driver: &str) -> bool {
    let drivers = csi_node["spec"]["drivers"].as_array();
    drivers.is_some_and(|drivers| drivers.iter().any(|entry| entry["name"] == driver))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True")
    })
}
