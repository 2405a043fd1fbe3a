//! The content of a captured case file as data: every relevant object, reduced to the fields that affect scheduling. Does not know the text
//! format.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::{ByteConversion, Quantity, ephemeral_claim_name, ephemeral_volume_name, segment};
use serde_json::{Map, Value, json};

use super::limits::VolumeLimits;
use super::names::{Kind, Names, collect_label_keys};
use super::options::CaptureOptions;
use super::other_pods::other_pods;
use super::pod::{is_owned_by_another, uses_another_scheduler};
use super::pod_fields::{priority, priority_object, requests, required_affinity_terms};
use super::reduce::{self, NodeResources};
use super::situation::{Situation, name_of, namespace_of, source_claim};
use capacity_types::pod::{claim_of, volumes_of};

pub(super) enum ExpectedResult {
    OnNode(String),
    /// The scheduler binds the pod to any node.
    Placed,
    Unschedulable,
    /// No running scheduler attempts to schedule the pod.
    NotAttempted,
}

pub(super) struct Content {
    pub(super) driver: Value,
    pub(super) nodes: Vec<Value>,
    pub(super) classes: Vec<Value>,
    pub(super) capacities: Vec<Value>,
    pub(super) backend: BTreeMap<String, Value>,
    pub(super) answers: Vec<Value>,
    /// The `capacities` expectation: the CSIStorageCapacity objects that the publisher must create. Null if no publisher runs.
    pub(super) published: Value,
    pub(super) objects: Vec<Value>,
    /// Names of the pods in the case file, each with the expected result and its reason.
    pub(super) expected: Vec<(String, (ExpectedResult, &'static str))>,
    /// Reasons why the scheduler may decide differently in the case than in the cluster, one sentence each.
    pub(super) omissions: Vec<String>,
}

impl Content {
    /// Reduces the captured objects to the content of a case file. `fits`: whether the pod with this namespace and name fits on any node.
    pub(super) fn of(
        situation: &Situation<'_>,
        fits: &dyn Fn(&str, &str) -> bool,
        options: &CaptureOptions,
    ) -> Self {
        ReductionContext::of(situation, options).reduce(situation, fits, options)
    }
}

/// Data collected from all objects before each object is reduced.
struct ReductionContext {
    /// The topology keys that the driver registers on most nodes.
    keys: Vec<String>,
    /// Topology keys in the driver's CSINode registration, by node.
    registered: BTreeMap<String, Vec<String>>,
    /// Label keys that selectors of captured objects use, so that labels with these keys are captured.
    needed: BTreeSet<String>,
    names: Names,
}

impl ReductionContext {
    fn of(situation: &Situation<'_>, options: &CaptureOptions) -> Self {
        let (mut needed, mut numeric) = (BTreeSet::new(), BTreeSet::new());
        let selectors = (situation.capacities.iter().map(|it| &it["nodeTopology"]))
            .chain(situation.classes.values().map(|it| &it["allowedTopologies"]))
            .chain(situation.volumes.iter().map(|it| &it["spec"]["nodeAffinity"]))
            .chain(situation.claims.iter().map(|it| &it["spec"]["selector"]))
            .chain(
                situation
                    .pods
                    .iter()
                    .map(|it| &it["spec"]["affinity"]["nodeAffinity"]),
            );
        selectors.for_each(|selector| collect_label_keys(selector, &mut needed, &mut numeric));
        for pod in situation.pods.iter().chain(&situation.other_pods) {
            let near = ["podAffinity", "podAntiAffinity"]
                .into_iter()
                .flat_map(|kind| required_affinity_terms(pod, kind));
            let spread = pod["spec"]["topologySpreadConstraints"]
                .as_array()
                .into_iter()
                .flatten();
            let domains = near.chain(spread).filter_map(|it| it["topologyKey"].as_str());
            needed.extend(domains.map(str::to_owned));
        }
        for pod in &situation.pods {
            let labels = pod["spec"]["nodeSelector"].as_object();
            needed.extend(labels.into_iter().flat_map(Map::keys).cloned());
        }
        let registered = registrations(situation);
        let keys = most_common_keys(&registered);
        needed.extend(registered.values().flatten().cloned());
        let nodes: Vec<&str> = situation.nodes.keys().copied().collect();
        ReductionContext {
            keys,
            registered,
            needed,
            names: Names::new(options.scrub, &nodes, numeric),
        }
    }

    fn reduce(
        mut self,
        situation: &Situation<'_>,
        fits: &dyn Fn(&str, &str) -> bool,
        options: &CaptureOptions,
    ) -> Content {
        let names = &mut self.names;
        let (mut nodes, mut classes, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        let requested = situation.pods.iter().flat_map(|pod| requests(pod).into_keys());
        let resources: BTreeSet<String> = requested.chain(["cpu".to_owned(), "memory".to_owned()]).collect();
        // The captured pods are renamed first, so that their neutral names get the lowest numbers.
        for pod in &situation.pods {
            let namespace = namespace_of(pod);
            let own = names.in_namespace(Kind::Pod, namespace, name_of(pod));
            for (index, volume) in volumes_of(pod).iter().enumerate() {
                let claim = claim_of(pod, volume).and_then(|name| situation.claim(namespace, &name));
                if let Some(claim) = claim.filter(|claim| is_owned_by_another(pod, volume, claim)) {
                    let required = ephemeral_claim_name(&own, &ephemeral_volume_name(index));
                    names.assign_required(Kind::Claim, namespace, name_of(claim), required);
                }
            }
        }
        let limits = VolumeLimits::of(situation);
        let other_pods = other_pods(situation, &resources, names);
        for (name, node) in &situation.nodes {
            let registration = self.registered.get(*name).map(Vec::as_slice);
            let node_resources = NodeResources {
                resources: &resources,
                missing: other_pods.missing.get(*name).copied().unwrap_or(0),
                volume_limits: limits.remaining.get(*name),
            };
            nodes.push(reduce::node(
                node,
                &node_resources,
                registration,
                &self.keys,
                &self.needed,
                names,
            ));
        }
        let all = situation.pods.iter().chain(&situation.other_pods);
        let priorities: BTreeSet<_> = all.map(|pod| priority(pod)).collect();
        objects.extend(priorities.into_iter().filter_map(priority_object));
        objects.extend(other_pods.pods);
        for class in situation.classes.values() {
            match reduce::class(class, names) {
                Ok(spec) => classes.push(spec),
                Err(object) => objects.push(object),
            }
        }
        let other_drivers = situation
            .drivers
            .iter()
            .filter(|(name, _)| **name != situation.driver);
        objects.extend(other_drivers.map(|(_, driver)| reduce::other_driver(driver, names)));
        let capacity = |object: &&Value| reduce::capacity(object, &self.keys, names);
        let capacities: Vec<Value> = situation.capacities.iter().map(capacity).collect();
        let volumes = situation.volumes.iter();
        objects.extend(volumes.map(|it| reduce::volume(it, &situation.claims, &self.needed, names)));
        let attached = situation.attachments.iter().filter(|it| limits.is_limited(it));
        let attached = attached.filter_map(|it| reduce::attachment(it, &situation.volumes, names));
        objects.extend(attached.enumerate().map(|(number, mut attachment)| {
            attachment["metadata"]["name"] = format!("attachment-{number}").into();
            attachment
        }));
        objects.extend(situation.claims.iter().map(|claim| reduce::claim(claim, names)));
        let mut expected = Vec::new();
        for pod in &situation.pods {
            objects.push(super::pod::pod(pod, &situation.claims, &resources, names));
            let name = names.in_namespace(Kind::Pod, namespace_of(pod), name_of(pod));
            expected.push((
                name,
                expected_result(pod, situation.waits_for_volume(pod), fits, names),
            ));
        }
        let mut omissions = Vec::new();
        let ((backend, answers), published) = match options.publisher {
            true => {
                let served = self.segments(situation);
                let (of_nodes, unreachable): (Vec<Value>, Vec<Value>) = (capacities.iter().cloned())
                    .partition(|object| object["segment"].as_str().is_some_and(|it| served.contains(it)));
                omissions.extend(unreachable.iter().map(|object| {
                    format!(
                        "CSIStorageCapacity {}: its nodeTopology is not the topology segment of a node with the driver, so the publisher \
                         does not publish it",
                        object["name"].as_str().unwrap_or_default()
                    )
                }));
                (backend(&of_nodes), capacities_expectation(&of_nodes))
            }
            false => Default::default(),
        };
        let mut driver = self.driver(situation);
        let copies = situation
            .claims
            .iter()
            .filter(|claim| source_claim(claim).is_some());
        let copies: Vec<&&Value> = copies.filter(|_| options.publisher).collect();
        if !copies.is_empty() {
            driver["cloneVolume"] = true.into();
        }
        omissions.extend(copies.into_iter().map(|claim| {
            let name = self.names.in_namespace(Kind::Claim, namespace_of(claim), name_of(claim));
            format!("claim {name}: the driver does not have the source volume of this clone, unless the case creates it too")
        }));
        Content {
            driver,
            nodes,
            classes,
            capacities: if options.publisher { Vec::new() } else { capacities },
            backend,
            answers,
            published,
            objects,
            expected,
            omissions,
        }
    }

    /// Topology segments of the nodes on which the driver is registered, in the notation of case files.
    fn segments(&mut self, situation: &Situation<'_>) -> BTreeSet<String> {
        let (keys, names) = (&self.keys, &mut self.names);
        let of_node = |(node, registered): (&String, &Vec<String>)| {
            let labels = &situation.nodes.get(node.as_str())?["metadata"]["labels"];
            let label = |key: &String| Some((key.clone(), labels[key.as_str()].as_str()?.to_owned()));
            let segment: segment::Segment = registered.iter().map(label).collect::<Option<_>>()?;
            reduce::segment_text(&segment, keys, names)
        };
        self.registered.iter().filter_map(of_node).collect()
    }

    fn driver(&mut self, situation: &Situation<'_>) -> Value {
        let keys: Vec<String> = self.keys.iter().map(|key| self.names.rename_key(key)).collect();
        let mut spec = json!({"name": self.names.rename_driver(&situation.driver), "topologyKeys": keys});
        match situation.drivers.get(situation.driver.as_str()) {
            Some(driver) => spec["storageCapacity"] = driver["spec"]["storageCapacity"].clone(),
            None => spec["object"] = false.into(),
        }
        spec
    }
}

/// Topology keys that the driver registered, by node. If the cluster has no CSINodes, a node counts as registered if it has the labels
/// that CSIStorageCapacity objects select.
fn registrations(situation: &Situation<'_>) -> BTreeMap<String, Vec<String>> {
    let strings = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if !situation.csi_nodes.is_empty() {
        let of_node = |(name, csi_node): (&&str, &&Value)| {
            let drivers = csi_node["spec"]["drivers"].as_array()?;
            let own = drivers
                .iter()
                .find(|driver| driver["name"] == situation.driver.as_str())?;
            Some(((*name).to_owned(), strings(&own["topologyKeys"])))
        };
        return situation.csi_nodes.iter().filter_map(of_node).collect();
    }
    let (mut keys, mut numeric) = (BTreeSet::new(), BTreeSet::new());
    let topologies = situation.capacities.iter().map(|it| &it["nodeTopology"]);
    topologies.for_each(|topology| collect_label_keys(topology, &mut keys, &mut numeric));
    let has_all = |node: &&&Value| {
        let labels = &node["metadata"]["labels"];
        !keys.is_empty() && keys.iter().all(|key| labels[key.as_str()].is_string())
    };
    let nodes = situation.nodes.values().filter(has_all);
    nodes
        .map(|node| (name_of(node).to_owned(), keys.iter().cloned().collect()))
        .collect()
}

/// The topology keys that the driver registers on most nodes. `registered`: the topology keys of the driver, by node.
fn most_common_keys(registered: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut counts: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
    for keys in registered.values() {
        *counts.entry(keys).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(keys, _)| keys.clone()).unwrap_or_default()
}

/// The expected result for a pod, and the reason. `waits_for_volume`: whether the pod must wait until a PVC or a volume is created. In a
/// case, both are created immediately.
fn expected_result(
    pod: &Value,
    waits_for_volume: bool,
    fits: &dyn Fn(&str, &str) -> bool,
    names: &mut Names,
) -> (ExpectedResult, &'static str) {
    let spec = &pod["spec"];
    if let Some(node) = spec["nodeName"].as_str().filter(|node| !node.is_empty()) {
        let node = names.of(Kind::Node, node);
        return (
            ExpectedResult::OnNode(node),
            "the pod was on this node when it was captured",
        );
    }
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return (
            ExpectedResult::NotAttempted,
            "the pod is being deleted, so no scheduler attempts it",
        );
    }
    if spec["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty())
    {
        return (
            ExpectedResult::NotAttempted,
            "the pod has scheduling gates, so no scheduler attempts it",
        );
    }
    if uses_another_scheduler(pod) {
        return (
            ExpectedResult::NotAttempted,
            "the pod is for another scheduler, which does not run here",
        );
    }
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let refused = |condition: &Value| condition["type"] == "PodScheduled" && condition["status"] == "False";
    let is_nominated = pod["status"]["nominatedNodeName"].is_string();
    if conditions.into_iter().any(refused) && !waits_for_volume && !is_nominated {
        return (
            ExpectedResult::Unschedulable,
            "the pod was unschedulable when it was captured",
        );
    }
    match (fits(namespace_of(pod), name_of(pod)), waits_for_volume) {
        (true, false) if is_nominated => (
            ExpectedResult::Placed,
            "preemption for the pod was in progress on its nominated node",
        ),
        (true, false) => (
            ExpectedResult::Placed,
            "no scheduler had attempted the pod, and it fits a node, possibly after preemption",
        ),
        (true, true) => (
            ExpectedResult::Placed,
            "ephemeral claims and volumes of Immediate classes are created at once here, and then the pod fits a node",
        ),
        (false, _) => (
            ExpectedResult::Unschedulable,
            "no scheduler had attempted the pod, and it fits no node",
        ),
    }
}

/// Storage pools by segment, and GetCapacity faults for StorageClasses whose capacity differs from their pool's. With both, the driver
/// returns the capacities of these CSIStorageCapacity objects.
fn backend(capacities: &[Value]) -> (BTreeMap<String, Value>, Vec<Value>) {
    let bytes = |value: &Value| {
        let quantity: Option<Quantity> = value.as_str().and_then(|text| text.parse().ok());
        quantity.map_or(0, |quantity| quantity.bytes(ByteConversion::Exact).max(0))
    };
    let mut pools: BTreeMap<String, (i128, i128)> = BTreeMap::new();
    let values = |object: &Value| (bytes(&object["capacity"]), bytes(&object["maximum"]));
    // A volume cannot be larger than its pool's capacity. If the maximum exceeds the capacity, a GetCapacity fault returns both values.
    let of_pool = |object: &Value| match values(object) {
        (capacity, maximum) if maximum > capacity => (capacity, 0),
        both => both,
    };
    let with_segment = || {
        let segment = |object: &Value| Some(object["segment"].as_str()?.to_owned());
        capacities
            .iter()
            .filter_map(move |object| Some((segment(object)?, object)))
    };
    for (segment, object) in with_segment() {
        let pool = pools.entry(segment).or_default();
        *pool = (*pool).max(of_pool(object));
    }
    let long = |bytes: i128| i64::try_from(bytes).unwrap_or(i64::MAX);
    let answers = with_segment().filter(|(segment, object)| pools[segment] != values(object));
    let answers = answers.map(|(segment, object)| {
        let (available, maximum) = values(object);
        let mut script = json!({"method": "GetCapacity", "segment": segment, "class": object["class"], "available": long(available)});
        if maximum > 0 {
            script["maximum"] = long(maximum).into();
        }
        json!({"driverFault": script})
    });
    let answers = answers.collect();
    let pool = |(segment, (capacity, maximum)): (String, (i128, i128))| {
        let pool = match maximum {
            0 => json!(capacity.to_string()),
            _ => json!({"capacity": capacity.to_string(), "maximum": maximum.to_string()}),
        };
        (segment, pool)
    };
    (pools.into_iter().map(pool).collect(), answers)
}

/// The `capacities` expectation for these CSIStorageCapacity objects, by class and segment.
fn capacities_expectation(capacities: &[Value]) -> Value {
    let mut rows = json!({});
    for object in capacities {
        let (Some(class), Some(segment)) = (object["class"].as_str(), object["segment"].as_str()) else {
            continue;
        };
        let mut row = Map::new();
        for field in ["capacity", "maximum"] {
            if let Some(size) = object.get(field) {
                row.insert(field.to_owned(), size.clone());
            }
        }
        rows[class][segment] = row.into();
    }
    rows
}
