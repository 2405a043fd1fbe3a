//! Creates the API objects that programs under test need at their start, and the objects from which a driver reads its storage.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_types::Segment;
use fake_apiserver::ResourceRef;
use fake_csi::Storage;
use serde_json::Value;

use super::Cluster;
use crate::client_name::HARNESS;
use crate::driver_state::{self, NodeStorage};
use crate::plan::Plan;
use crate::scenario::{ApplySpec, Role};
use crate::start_error::StartError;
use crate::system::Systems;

/// The API objects from which a driver reads its storage, and the configured storage of each node.
pub(super) struct DriverState {
    objects: Arc<dyn driver_state::ProgramObjects>,
    storage: BTreeMap<String, NodeStorage>,
    /// Nodes for which the driver's objects exist.
    nodes: BTreeSet<String>,
}

impl DriverState {
    /// The API objects of the driver in a plan; `None` if the plan has no driver, or if its driver needs no API objects.
    pub(super) fn of(plan: &Plan, systems: &Systems) -> Option<Self> {
        let objects = systems.objects.get(&Role::Driver)?.clone();
        plan.roles.contains(&Role::Driver).then(|| DriverState {
            objects,
            storage: BTreeMap::new(),
            nodes: BTreeSet::new(),
        })
    }
}

/// The API objects of all programs in a plan, except those of the driver.
pub(super) fn program_objects(plan: &Plan, systems: &Systems) -> Vec<Arc<dyn driver_state::ProgramObjects>> {
    let programs = systems.objects.iter().filter(|(role, _)| **role != Role::Driver);
    programs
        .filter(|(role, _)| plan.roles.contains(role))
        .map(|(_, objects)| objects.clone())
        .collect()
}

impl Cluster {
    /// Applies the API objects that programs other than the driver need at their start.
    pub(super) async fn prepare_programs(&self, plan: &Plan) -> Result<(), StartError> {
        for objects in &self.program_objects {
            self.apply_all(plan, objects.common_objects()).await?;
        }
        for object in &plan.objects {
            self.prepare_programs_for(plan, object).await?;
        }
        Ok(())
    }

    /// If `object` is a Node, applies the API objects that programs need for this node.
    pub(super) async fn prepare_programs_for(&self, plan: &Plan, object: &Value) -> Result<(), StartError> {
        if object["kind"] != "Node" || object["apiVersion"] != "v1" {
            return Ok(());
        }
        let node = object["metadata"]["name"].as_str().unwrap_or_default();
        for objects in &self.program_objects {
            self.apply_all(plan, objects.of_node(node)).await?;
        }
        Ok(())
    }

    /// Creates all API objects that the driver needs at its start.
    pub(super) async fn prepare_driver(&mut self, plan: &Plan) -> Result<(), StartError> {
        let Some(state) = &mut self.driver_state else {
            return Ok(());
        };
        for (segment, storage) in &plan.driver.pools {
            let node_storage = NodeStorage::of(storage).unwrap_or_default();
            state.storage.insert(plan.segments.format(segment), node_storage);
        }
        let objects = state.objects.common_objects();
        self.apply_all(plan, objects).await?;
        for (node, _) in &plan.driver_nodes {
            self.prepare_node(plan, node).await?;
        }
        Ok(())
    }

    /// Creates the API objects that the driver needs on a node, and writes the node's storage into these objects.
    pub(super) async fn prepare_node(&mut self, plan: &Plan, node: &str) -> Result<(), StartError> {
        let Some(state) = &mut self.driver_state else {
            return Ok(());
        };
        state.nodes.insert(node.to_owned());
        let objects = state.objects.of_node(node);
        self.apply_all(plan, objects).await?;
        self.write_storage(node)
            .await
            .map_err(|message| rejection_error(plan, format!("set the storage of {node}"), message))
    }

    /// Stores the new storage of a segment. If the driver's objects of the segment's node exist, writes the storage into them.
    pub(super) async fn set_driver_storage(
        &mut self,
        plan: &Plan,
        segment: &Segment,
        storage: Option<&Storage>,
    ) -> Result<(), String> {
        let node = plan.segments.format(segment);
        let Some(state) = &mut self.driver_state else {
            return Ok(());
        };
        let node_storage = storage.and_then(NodeStorage::of).unwrap_or_default();
        state.storage.insert(node.clone(), node_storage);
        if !state.nodes.contains(&node) {
            return Ok(());
        }
        self.write_storage(&node).await
    }

    /// Writes the storage of a node into the driver's objects; a node without configured storage gets 0 bytes.
    async fn write_storage(&self, node: &str) -> Result<(), String> {
        let Some(state) = &self.driver_state else {
            return Ok(());
        };
        let node_storage = state.storage.get(node).copied().unwrap_or_default();
        for change in state.objects.storage_patches(node, node_storage)? {
            let result = match &change.subresource {
                Some(part) => self.local.patch_subresource(&change.at, part, change.patch).await,
                None => self.local.patch_merge(&change.at, change.patch).await,
            };
            result.map_err(|refused| refused.to_string())?;
        }
        Ok(())
    }

    /// Adds the storage of a node to the API object from which the driver reads its storage. Called before the object is created, so
    /// that the driver never sees the object without storage.
    pub(super) fn with_storage<'o>(&self, object: &'o Value) -> Result<Cow<'o, Value>, String> {
        let mut object = Cow::Borrowed(object);
        let (Some(state), Some(at)) = (&self.driver_state, ResourceRef::of(&object)) else {
            return Ok(object);
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let Some(node_storage) = state.storage.get(name) else {
            return Ok(object);
        };
        let changes = state.objects.storage_patches(name, *node_storage)?;
        for change in changes {
            if change.at == at && change.subresource.is_none() {
                merge(object.to_mut(), &change.patch);
            }
        }
        Ok(object)
    }

    async fn apply_all(&self, plan: &Plan, objects: Result<Vec<Value>, String>) -> Result<(), StartError> {
        let objects = objects
            .map_err(|message| rejection_error(plan, "parse the objects of a program".to_owned(), message))?;
        for object in objects {
            let name = format!("apply {} {}", object["kind"], object["metadata"]["name"]);
            let spec = ApplySpec {
                manager: HARNESS.to_owned(),
                force: true,
                object,
            };
            let applied = self.local.apply(&spec).await;
            applied.map_err(|answer| rejection_error(plan, name, answer.to_string()))?;
        }
        Ok(())
    }
}

/// Merges a JSON merge patch into an object. Does not support null values, which would delete fields.
fn merge(object: &mut Value, patch: &Value) {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(object.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (object, patch) => *object = patch.clone(),
    }
}

fn rejection_error(plan: &Plan, action: String, message: String) -> StartError {
    StartError::Refused {
        source_file: plan.source.clone(),
        step: "cluster".to_owned(),
        action,
        message,
    }
}
