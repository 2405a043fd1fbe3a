//! Names defined up to a step of a scenario, and their definitions. Does not know any step.

use std::collections::{BTreeMap, BTreeSet};

use fake_apiserver::Release;
use serde_json::Value;

use super::api::{GATE, api};
use super::callers::Callers;
use super::cluster_names::ClusterNames;
use super::defined_names::DefinedNames;
use super::dry_run::DryRun;
use super::objects;
use super::pod_fields;
use crate::scenario::{CapacitySpec, ClassSpec, ClusterSpec, NodeSpec, PUBLISHED, Role};
use crate::segment::Segments;

/// The definitions that the step being resolved may use.
pub(super) struct Scope<'s> {
    pub(super) cluster: &'s ClusterSpec,
    /// Roles whose programs run.
    pub(super) roles: Vec<Role>,
    pub(super) segments: Segments,
    /// Parameters of all StorageClasses defined so far.
    pub(super) classes: BTreeMap<String, BTreeMap<String, String>>,
    /// Additional parameters that the driver under test requires in every StorageClass.
    pub(super) needed_parameters: BTreeMap<String, String>,
    /// Labels of all nodes defined so far.
    pub(super) nodes: BTreeMap<String, BTreeMap<String, String>>,
    /// Number of objects that `capacity` actions have created so far, used for unique names.
    pub(super) capacity_objects_created: usize,
    /// Ids of all API server faults defined so far.
    pub(super) faults: BTreeSet<String>,
    pub(super) driver_faults: BTreeSet<String>,
    pub(super) reservations: BTreeSet<String>,
    /// Names of all driver responses defined so far.
    pub(super) responses: BTreeSet<String>,
    pub(super) defined: DefinedNames,
    pub(super) callers: Callers,
    pub(super) cluster_names: ClusterNames,
    /// Whether an earlier step has unregistered the driver from a node.
    pub(super) is_unregistered: bool,
    /// Release that the API server emulates in the step.
    pub(super) release: Release,
    /// Feature gates of the API server in the step.
    pub(super) gates: BTreeMap<String, bool>,
    pub(super) dry_run: DryRun,
    /// Whether CSIStorageCapacity objects may exist: the API server has served the resource at some time.
    pub(super) has_capacities: bool,
}

impl Scope<'_> {
    pub(super) fn set_release_and_gates(&mut self, release: Release, gates: &BTreeMap<String, bool>) {
        self.release = release;
        self.gates.clone_from(gates);
        self.has_capacities |= api(release, gates).version().is_some();
    }

    pub(super) fn check_accepted(&mut self, object: &Value) -> Result<(), String> {
        self.register_class_object(object);
        pod_fields::check(object, &self.roles)?;
        self.dry_run.check_accepted(object, self.release, &self.gates)
    }

    /// Registers an API object of the case, if the object is a StorageClass.
    pub(super) fn register_class_object(&mut self, object: &Value) {
        let name = object["metadata"]["name"].as_str();
        if let Some(name) = name.filter(|_| object["kind"] == "StorageClass") {
            let parameters = objects::class_parameters(object).collect();
            self.classes.insert(name.to_owned(), parameters);
        }
    }

    pub(super) fn check_can_have_capacities(&self) -> Result<(), String> {
        if self.has_capacities {
            return Ok(());
        }
        let release = self.release;
        let with_gate = api(release, &[(GATE.to_owned(), true)].into());
        Err(match with_gate.version().is_some() {
            true => format!(
                "no CSIStorageCapacity object can exist: in release {release} the feature gate is off unless it is set; add \
                 `gates: {{{GATE}: true}}` to `cluster`, or expect `nothing`"
            ),
            false => format!(
                "no CSIStorageCapacity object can exist: release {release} does not serve them; use 1.19 with \
                 `gates: {{{GATE}: true}}`, or 1.21 or newer, or expect `nothing`"
            ),
        })
    }

    pub(super) fn driver(&self) -> &str {
        &self.cluster.driver.name
    }

    /// Builds the Node and CSINode objects of a node.
    pub(super) fn build_node(&mut self, spec: &NodeSpec) -> [Value; 2] {
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

    pub(super) fn build_class(&mut self, spec: &ClassSpec) -> Value {
        let mut parameters = spec.parameters.clone();
        parameters.extend(self.needed_parameters.clone());
        let class = objects::storage_class(spec, &parameters, self.driver());
        self.classes.insert(spec.name.clone(), parameters);
        class
    }

    pub(super) fn build_capacity(&mut self, spec: &CapacitySpec) -> Result<Value, String> {
        if spec.segment.is_some() && spec.topology.is_some() {
            return Err("a capacity has either `segment` or `topology`; remove one".to_owned());
        }
        let segment = spec
            .segment
            .as_deref()
            .map(|text| self.segments.parse(text))
            .transpose()?;
        self.capacity_objects_created += 1;
        Ok(objects::capacity(
            spec,
            self.driver(),
            segment.as_ref(),
            self.capacity_objects_created,
        ))
    }

    pub(super) fn known_response(&self, name: &str) -> Result<(), String> {
        match name == PUBLISHED || self.responses.contains(name) {
            true => Ok(()),
            false => Err(format!(
                "no earlier `callDriver` has the name `{name}`; names: {}",
                self.responses.iter().cloned().collect::<Vec<_>>().join(", ")
            )),
        }
    }
}
