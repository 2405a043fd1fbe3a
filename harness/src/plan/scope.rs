//! What is defined by a step of a scenario: names that later steps may use, and what they stand for. Knows no step.

use std::collections::{BTreeMap, BTreeSet};

use fake_apiserver::Release;
use serde_json::Value;

use super::api::{GATE, api};
use super::callers::Callers;
use super::known::Known;
use super::objects;
use super::places::Places;
use super::pod_fields;
use super::trial::Trial;
use crate::scenario::{CapacitySpec, ClassSpec, ClusterSpec, NodeSpec, PUBLISHED, Role};
use crate::segment::Segments;

/// What is known by the step that is being resolved.
pub(super) struct Scope<'s> {
    pub(super) cluster: &'s ClusterSpec,
    /// The roles that run.
    pub(super) roles: Vec<Role>,
    pub(super) segments: Segments,
    /// Parameters of every class seen so far.
    pub(super) classes: BTreeMap<String, BTreeMap<String, String>>,
    /// What the driver under test needs in every class besides.
    pub(super) needed_parameters: BTreeMap<String, String>,
    /// Labels of every node seen so far.
    pub(super) nodes: BTreeMap<String, BTreeMap<String, String>>,
    /// Number of objects created by hand so far, for their names.
    pub(super) by_hand: usize,
    /// Names of all faults so far.
    pub(super) faults: BTreeSet<String>,
    /// Names of all scripts of the driver so far.
    pub(super) scripts: BTreeSet<String>,
    /// Names of all reservations so far.
    pub(super) reservations: BTreeSet<String>,
    /// Names of all answers of the driver so far.
    pub(super) answers: BTreeSet<String>,
    /// Pods, claims and classes by then.
    pub(super) known: Known,
    /// The CSI methods that are called in whatever step.
    pub(super) callers: Callers,
    /// What there is in whatever step.
    pub(super) places: Places,
    /// Whether the driver was unregistered from a node by then.
    pub(super) is_unregistered: bool,
    /// The release of the API server by then.
    pub(super) release: Release,
    /// Its feature gates by then.
    pub(super) gates: BTreeMap<String, bool>,
    /// Tries the objects that the case names as the API takes them.
    pub(super) trial: Trial,
    /// Whether there may be CSIStorageCapacity objects by then: the API server has served them at some time.
    pub(super) has_capacities: bool,
}

impl Scope<'_> {
    /// The API server has that release now, with these gates.
    pub(super) fn serve(&mut self, release: Release, gates: &BTreeMap<String, bool>) {
        self.release = release;
        self.gates.clone_from(gates);
        self.has_capacities |= api(release, gates).version().is_some();
    }

    /// Whether the API server, as it is by then, would take an object.
    pub(super) fn would_take(&mut self, object: &Value) -> Result<(), String> {
        self.class_object(object);
        pod_fields::check(object, &self.roles)?;
        self.trial.create(object, self.release, &self.gates)
    }

    /// Registers a StorageClass that a case writes as an object of the API.
    pub(super) fn class_object(&mut self, object: &Value) {
        let name = object["metadata"]["name"].as_str();
        if let Some(name) = name.filter(|_| object["kind"] == "StorageClass") {
            let parameters = objects::class_parameters(object).collect();
            self.classes.insert(name.to_owned(), parameters);
        }
    }

    /// Whether CSIStorageCapacity objects can be expected by then.
    pub(super) fn can_have_capacities(&self) -> Result<(), String> {
        if self.has_capacities {
            return Ok(());
        }
        let release = self.release;
        let with_gate = api(release, &[(GATE.to_owned(), true)].into());
        Err(match with_gate.version().is_some() {
            true => format!(
                "no CSIStorageCapacity object can be there: in release {release} the feature gate is off unless it is set; add \
                 `gates: {{{GATE}: true}}` to `cluster`, or expect `nothing`"
            ),
            false => format!(
                "no CSIStorageCapacity object can be there: release {release} does not have them; take 1.19 with \
                 `gates: {{{GATE}: true}}`, or 1.21 or newer, or expect `nothing`"
            ),
        })
    }

    pub(super) fn driver(&self) -> &str {
        &self.cluster.driver.name
    }

    /// The Node and the CSINode.
    pub(super) fn node(&mut self, spec: &NodeSpec) -> [Value; 2] {
        let labels = objects::node_labels(spec, &self.segments);
        let keys = spec.topology_keys.as_deref();
        let keys = spec.registered.then(|| keys.unwrap_or(self.segments.keys()));
        let list = [
            objects::node(spec, &labels),
            objects::csi_node(self.driver(), spec, keys),
        ];
        self.nodes.insert(spec.name.clone(), labels);
        list
    }

    pub(super) fn class(&mut self, spec: &ClassSpec) -> Value {
        let mut parameters = spec.parameters.clone();
        parameters.extend(self.needed_parameters.clone());
        let class = objects::storage_class(spec, &parameters, self.driver());
        self.classes.insert(spec.name.clone(), parameters);
        class
    }

    pub(super) fn capacity(&mut self, spec: &CapacitySpec) -> Result<Value, String> {
        if spec.segment.is_some() && spec.topology.is_some() {
            return Err("a capacity has either `segment` or `topology`; remove one".to_owned());
        }
        let segment = spec
            .segment
            .as_deref()
            .map(|text| self.segments.parse(text))
            .transpose()?;
        self.by_hand += 1;
        Ok(objects::capacity(
            spec,
            self.driver(),
            segment.as_ref(),
            self.by_hand,
        ))
    }

    pub(super) fn known_answer(&self, name: &str) -> Result<(), String> {
        match name == PUBLISHED || self.answers.contains(name) {
            true => Ok(()),
            false => Err(format!(
                "`{name}` is not asked for by then; answers: {}",
                self.answers.iter().cloned().collect::<Vec<_>>().join(", ")
            )),
        }
    }
}
