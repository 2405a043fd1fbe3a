//! Objects that programs under test need at their start, and objects from which a driver reads its storage.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_types::Segment;
use fake_apiserver::ResourceRef;
use fake_csi::Storage;
use serde_json::Value;

use super::Cluster;
use crate::client_name::HARNESS;
use crate::driver_state::{self, Figures};
use crate::plan::Plan;
use crate::scenario::{ApplySpec, Role};
use crate::start_error::StartError;
use crate::system::Systems;

/// State of the driver's objects.
pub(super) struct DriverState {
    objects: Arc<dyn driver_state::DriverState>,
    /// Configured storage of each node.
    storage: BTreeMap<String, Figures>,
    /// Nodes whose objects exist.
    nodes: BTreeSet<String>,
}

impl DriverState {
    /// The driver's objects, if the plan runs a driver that has some.
    pub(super) fn of(plan: &Plan, systems: &Systems) -> Option<Self> {
        let objects = systems.objects.get(&Role::Driver)?.clone();
        plan.roles.contains(&Role::Driver).then(|| DriverState {
            objects,
            storage: BTreeMap::new(),
            nodes: BTreeSet::new(),
        })
    }
}

/// The objects of the programs in a plan, except the driver's.
pub(super) fn program_objects(plan: &Plan, systems: &Systems) -> Vec<Arc<dyn driver_state::DriverState>> {
    let others = systems.objects.iter().filter(|(role, _)| **role != Role::Driver);
    others
        .filter(|(role, _)| plan.roles.contains(role))
        .map(|(_, objects)| objects.clone())
        .collect()
}

impl Cluster {
    /// Applies the objects that programs of other roles need at their start.
    pub(super) async fn prepare_programs(&self, plan: &Plan) -> Result<(), StartError> {
        for objects in &self.program_objects {
            self.apply_all(plan, objects.common()).await?;
        }
        for object in &plan.objects {
            self.prepare_programs_for(plan, object).await?;
        }
        Ok(())
    }

    /// If `object` is a Node, applies the objects that programs need for it.
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

    /// Creates all objects that the driver needs at its start.
    pub(super) async fn prepare_driver(&mut self, plan: &Plan) -> Result<(), StartError> {
        let Some(state) = &mut self.driver_state else {
            return Ok(());
        };
        for (segment, storage) in &plan.driver.pools {
            let figures = Figures::of(storage).unwrap_or_default();
            state.storage.insert(plan.segments.format(segment), figures);
        }
        let made = state.objects.common();
        self.apply_all(plan, made).await?;
        for (node, _) in &plan.driver_nodes {
            self.prepare_node(plan, node).await?;
        }
        Ok(())
    }

    /// Creates the objects that the driver needs on a node, and sets the node's storage in them.
    pub(super) async fn prepare_node(&mut self, plan: &Plan, node: &str) -> Result<(), StartError> {
        let Some(state) = &mut self.driver_state else {
            return Ok(());
        };
        state.nodes.insert(node.to_owned());
        let made = state.objects.of_node(node);
        self.apply_all(plan, made).await?;
        self.tell_storage(node)
            .await
            .map_err(|message| refused(plan, format!("tell the storage of {node}"), message))
    }

    /// Sets or removes the storage of a segment; the driver observes it once the objects of its node exist.
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
        let figures = storage.and_then(Figures::of).unwrap_or_default();
        state.storage.insert(node.clone(), figures);
        if !state.nodes.contains(&node) {
            return Ok(());
        }
        self.tell_storage(&node).await
    }

    /// Writes the storage of a node; a node without configured storage has none.
    async fn tell_storage(&self, node: &str) -> Result<(), String> {
        let Some(state) = &self.driver_state else {
            return Ok(());
        };
        let figures = state.storage.get(node).copied().unwrap_or_default();
        for change in state.objects.storage(node, figures)? {
            let made = match &change.subresource {
                Some(part) => self.local.patch_subresource(&change.at, part, change.patch).await,
                None => self.local.patch_merge(&change.at, change.patch).await,
            };
            made.map_err(|refused| refused.to_string())?;
        }
        Ok(())
    }

    /// Adds the configured storage to a new object, so that the driver never reports the node without it.
    pub(super) fn with_storage<'o>(&self, object: &'o Value) -> Result<Cow<'o, Value>, String> {
        let mut object = Cow::Borrowed(object);
        let (Some(state), Some(at)) = (&self.driver_state, ResourceRef::of(&object)) else {
            return Ok(object);
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let Some(figures) = state.storage.get(name) else {
            return Ok(object);
        };
        let changes = state.objects.storage(name, *figures)?;
        for change in changes {
            if change.at == at && change.subresource.is_none() {
                merge(object.to_mut(), &change.patch);
            }
        }
        Ok(object)
    }

    async fn apply_all(&self, plan: &Plan, objects: Result<Vec<Value>, String>) -> Result<(), StartError> {
        let objects =
            objects.map_err(|message| refused(plan, "read the objects of a program".to_owned(), message))?;
        for object in objects {
            let name = format!("apply {} {}", object["kind"], object["metadata"]["name"]);
            let spec = ApplySpec {
                manager: HARNESS.to_owned(),
                force: true,
                object,
            };
            let applied = self.local.apply(&spec).await;
            applied.map_err(|answer| refused(plan, name, answer.to_string()))?;
        }
        Ok(())
    }
}

/// Applies a merge patch without deletions to an object.
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

fn refused(plan: &Plan, action: String, message: String) -> StartError {
    StartError::Refused {
        source_file: plan.source.clone(),
        step: "cluster".to_owned(),
        action,
        message,
    }
}
