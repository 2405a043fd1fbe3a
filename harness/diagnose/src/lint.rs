//! Finds API objects that have no effect, or that probably differ from what their author intended.
//!
//! A scheduler silently ignores objects without effect. The lint changes nothing, and does not check programs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use capacity_types::{ByteConversion, NodeTopology, Quantity, Requirement};
use serde::Serialize;

use capacity_scheduler::objects::{Capacity, Class, Node, ObjectKey};
use capacity_scheduler::snapshot::Snapshot;

/// A problem that the lint has found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Machine-readable code of the kind of problem.
    pub code: &'static str,
    /// The object with the problem, as `kind namespace/name`.
    pub object: String,
    /// Name of the StorageClass that the problem concerns.
    pub class: String,
    /// The problem and its consequence.
    pub message: String,
    /// How to fix the problem.
    pub advice: &'static str,
    /// Namespace and name of the PVC that the problem concerns, if any.
    #[serde(skip)]
    pub claim: Option<ObjectKey>,
}

/// Checks one CSIStorageCapacity object. Returns a description of the problem, if any.
type Check = fn(&Cluster<'_>, &Capacity) -> Option<String>;

/// A snapshot whose nodes are indexed by label, so that thousands of objects can be matched with thousands of nodes.
struct Cluster<'a> {
    snapshot: &'a Snapshot,
    by_label: HashMap<(&'a str, &'a str), Vec<&'a Node>>,
}

impl<'a> Cluster<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        let mut by_label: HashMap<_, Vec<&Node>> = HashMap::new();
        for node in snapshot.nodes.iter() {
            for (key, value) in node.labels.iter() {
                by_label
                    .entry((key.as_str(), value.as_str()))
                    .or_default()
                    .push(node);
            }
        }
        Self { snapshot, by_label }
    }

    fn matching_nodes(&self, topology: &NodeTopology) -> Vec<&'a Node> {
        let NodeTopology::Matching(selector) = topology else {
            return Vec::new();
        };
        let listed = |requirement: &Requirement| {
            let values = requirement.in_values()?.iter();
            let nodes = values.filter_map(|value| self.by_label.get(&(requirement.key(), value.as_str())));
            Some(nodes.flatten().copied().collect::<Vec<_>>())
        };
        let narrowest = selector
            .requirements()
            .iter()
            .filter_map(listed)
            .min_by_key(Vec::len);
        let mut nodes = narrowest.unwrap_or_else(|| self.snapshot.nodes.iter().map(|node| &**node).collect());
        nodes.retain(|node| selector.matches(&node.labels));
        nodes
    }
}

macro_rules! checks {
    ($($code:literal: $check:ident, $advice:literal;)+) => {
        /// Checks of single CSIStorageCapacity objects: code, check function, advice. An object may fail several checks.
        const CHECKS: &[(&str, Check, &str)] = &[$(($code, $check, $advice)),+];
    };
}

checks! {
    "class-missing": class_missing, "create the class, or delete the object";
    "class-immediate": class_immediate, "set volumeBindingMode: WaitForFirstConsumer, or delete the object";
    "not-tracked": capacity_not_tracked, "set storageCapacity: true in the CSIDriver once the objects are complete";
    "topology-unset": topology_unset, "set nodeTopology; {} matches every node";
    "topology-invalid": topology_invalid, "correct the selector";
    "topology-node-selector-terms": node_selector_terms, "use matchLabels or matchExpressions: nodeTopology is a LabelSelector, not a NodeSelector";
    "topology-matches-no-node": matches_no_node, "compare the selector with the labels of the nodes, or delete the object if its nodes were deleted";
    "topology-covers-all": matches_all_nodes, "use {} only for storage that every node can access; check whether the selector is missing";
    "no-limit": neither_value_set, "set capacity or maximumVolumeSize, or delete the object";
    "negative": negative_quantity, "publish the free capacity, or zero if there is none";
    "overflow": quantity_overflow, "publish at most 9223372036854775807 bytes";
}

/// All findings of the lint, grouped by object.
pub fn lint(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    let cluster = Cluster::of(snapshot);
    for object in snapshot.capacities.iter() {
        for &(code, check, advice) in CHECKS {
            if let Some(message) = check(&cluster, object) {
                findings.push(finding(code, object, message, advice));
            }
        }
    }
    duplicates(snapshot, &mut findings);
    classes_without_objects(snapshot, &mut findings);
    classes_matching_no_node(snapshot, &mut findings);
    claims_with_missing_node(snapshot, &mut findings);
    findings.sort();
    findings
}

fn finding(code: &'static str, object: &Capacity, message: String, advice: &'static str) -> Finding {
    Finding {
        code,
        object: format!("csistoragecapacity {}", object.key),
        class: object.class.clone(),
        message,
        advice,
        claim: None,
    }
}

fn class_of<'a>(snapshot: &'a Snapshot, object: &Capacity) -> Option<&'a Arc<Class>> {
    snapshot.class(&object.class)
}

fn class_missing(Cluster { snapshot, .. }: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let missing = class_of(snapshot, object).is_none();
    missing.then(|| {
        format!(
            "StorageClass {:?} does not exist, so no claim uses the object",
            object.class
        )
    })
}

fn class_immediate(Cluster { snapshot, .. }: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let class = class_of(snapshot, object)?;
    (!class.delayed).then(|| {
        format!(
            "class {} has volumeBindingMode Immediate, and capacity is only checked for WaitForFirstConsumer",
            object.class
        )
    })
}

fn capacity_not_tracked(Cluster { snapshot, .. }: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let provisioner = &class_of(snapshot, object)?.provisioner;
    match snapshot.driver(provisioner) {
        Some(driver) if driver.tracks_capacity => None,
        Some(_) => Some(format!(
            "CSIDriver {provisioner} does not have storageCapacity: true, so the scheduler ignores the object"
        )),
        None => Some(format!(
            "there is no CSIDriver {provisioner}, so the scheduler ignores the object"
        )),
    }
}

fn topology_unset(_: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let unset = object.topology == NodeTopology::Unset;
    unset.then(|| "nodeTopology is unset, so it matches no node".to_owned())
}

fn topology_invalid(_: &Cluster<'_>, object: &Capacity) -> Option<String> {
    match &object.topology {
        NodeTopology::Invalid(error) => Some(format!("nodeTopology cannot be evaluated: {error}")),
        _ => None,
    }
}

fn node_selector_terms(_: &Cluster<'_>, object: &Capacity) -> Option<String> {
    object.dropped_terms.then(|| {
        format!(
            "nodeTopology was written with nodeSelectorTerms, which the API server drops; the stored selector is {}",
            object.topology
        )
    })
}

fn matches_no_node(cluster: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let is_evaluated = matches!(object.topology, NodeTopology::Matching(_));
    // If the snapshot contains no nodes, `nodeTopology` cannot be compared with nodes.
    let none = is_evaluated
        && !cluster.snapshot.nodes.is_empty()
        && cluster.matching_nodes(&object.topology).is_empty();
    none.then(|| format!("no node has labels that match {}", object.topology))
}

fn matches_all_nodes(Cluster { snapshot, .. }: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let is_everywhere = |topology: &NodeTopology| matches!(topology, NodeTopology::Matching(selector) if selector.requirements().is_empty());
    if object.dropped_terms || !is_everywhere(&object.topology) {
        return None;
    }
    let selects_nodes =
        |other: &&Arc<Capacity>| other.class == object.class && !is_everywhere(&other.topology);
    let selecting = snapshot.capacities.iter().filter(selects_nodes).count();
    (selecting > 0).then(|| {
        format!(
            "nodeTopology is {{}}, which matches every node, while {selecting} other objects of class {} select specific nodes",
            object.class
        )
    })
}

fn neither_value_set(_: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let none = object.largest_volume().is_none();
    none.then(|| "neither capacity nor maximumVolumeSize is set, so no claim fits".to_owned())
}

fn quantities(object: &Capacity) -> impl Iterator<Item = (&'static str, Quantity)> {
    let quantities = [
        ("capacity", object.capacity),
        ("maximumVolumeSize", object.maximum),
    ];
    quantities
        .into_iter()
        .filter_map(|(field, quantity)| Some((field, quantity?)))
}

fn negative_quantity(_: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let (field, quantity) = quantities(object).find(|(_, quantity)| quantity.nanos() < 0)?;
    Some(format!(
        "{field} is {} bytes, so no claim fits",
        quantity.bytes(ByteConversion::Exact)
    ))
}

fn quantity_overflow(_: &Cluster<'_>, object: &Capacity) -> Option<String> {
    let differs = |quantity: &Quantity| {
        quantity.bytes(ByteConversion::Exact) != quantity.bytes(ByteConversion::Wrapping)
    };
    let (field, quantity) = quantities(object).find(|(_, quantity)| differs(quantity))?;
    Some(format!(
        "{field} is {} bytes, which kube-scheduler up to 1.36 reads as {}",
        quantity.bytes(ByteConversion::Exact),
        quantity.bytes(ByteConversion::Wrapping)
    ))
}

/// Finds objects with equal class and nodeTopology, of which the scheduler may use any.
fn duplicates(snapshot: &Snapshot, findings: &mut Vec<Finding>) {
    let mut same: BTreeMap<(&str, Vec<String>), Vec<&Arc<Capacity>>> = BTreeMap::new();
    for object in snapshot.capacities.iter() {
        let NodeTopology::Matching(selector) = &object.topology else {
            continue;
        };
        let mut requirements: Vec<_> = selector.requirements().iter().map(ToString::to_string).collect();
        requirements.sort();
        same.entry((&object.class, requirements))
            .or_default()
            .push(object);
    }
    for group in same.values() {
        let [first, others @ ..] = group.as_slice() else {
            continue;
        };
        for other in others {
            let message = format!(
                "has the same class and nodeTopology as {}; the scheduler may use either of them",
                first.key
            );
            findings.push(finding(
                "duplicate",
                other,
                message,
                "keep one object for each class and segment",
            ));
        }
    }
}

/// Finds StorageClasses without any CSIStorageCapacity object although their driver tracks capacity. All pods that use such a class remain
fn classes_without_objects(snapshot: &Snapshot, findings: &mut Vec<Finding>) {
    for class in snapshot.classes.iter() {
        let tracked = snapshot
            .driver(&class.provisioner)
            .is_some_and(|driver| driver.tracks_capacity);
        let name = &class.key.name;
        if tracked && class.delayed && snapshot.capacities.of_class(name).is_none() {
            findings.push(Finding {
                code: "class-without-objects",
                object: format!("storageclass {name}"),
                class: name.clone(),
                message: format!(
                    "CSIDriver {} tracks capacity, but no object has this class, so pods that use it stay Pending",
                    class.provisioner
                ),
                advice: "check that the driver's publisher runs; until it does, set storageCapacity: false",
                claim: None,
            });
        }
    }
}

/// Finds classes whose `allowedTopologies` match no node, usually because of a typo.
fn classes_matching_no_node(snapshot: &Snapshot, findings: &mut Vec<Finding>) {
    for class in snapshot.classes.iter().filter(|class| class.delayed) {
        let mut nodes = snapshot.nodes.iter();
        if snapshot.nodes.is_empty() || nodes.any(|node| class.admits(&node.labels)) {
            continue;
        }
        findings.push(Finding {
            code: "class-allows-no-node",
            object: format!("storageclass {}", class.key.name),
            class: class.key.name.clone(),
            message: "no node matches allowedTopologies, so pods that use it stay Pending".to_owned(),
            advice: "compare keys and values with the labels of the nodes, and recreate the class",
            claim: None,
        });
    }
}

/// Finds PVCs whose selected node does not exist. The annotation remains until the provisioner removes it.
fn claims_with_missing_node(snapshot: &Snapshot, findings: &mut Vec<Finding>) {
    for claim in snapshot.claims.iter() {
        let Some(selected) = claim.selected_node.as_ref().filter(|_| claim.volume.is_none()) else {
            continue;
        };
        if snapshot.nodes.is_empty() || snapshot.nodes.stored(&ObjectKey::cluster(selected)).is_some() {
            continue;
        }
        findings.push(Finding {
            code: "selected-node-gone",
            object: format!("persistentvolumeclaim {}", claim.key),
            class: claim.class.clone(),
            message: format!("the selected node {selected:?} does not exist, so the pod fits no node"),
            advice: "remove the annotation volume.kubernetes.io/selected-node",
            claim: Some(claim.key.clone()),
        });
    }
}
