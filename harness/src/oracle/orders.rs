//! Converts requests of a case for CSIStorageCapacity and CSIDriver objects to types of the specification. Does not know the responses.

use capacity_spec::always::{CapacityPatch, PatchValue, UserRequest};
use capacity_spec::world::{CapacityObject, Change, NamespacedName};
use capacity_types::capacity_api::RESOURCE;
use fake_apiserver::ResourceRef;
use serde_json::{Value, json};

use crate::plan::{Action, Plan, Target};

pub(super) fn initial_requests(plan: &Plan) -> Vec<UserRequest> {
    plan.objects.iter().filter_map(creation).collect()
}

/// The API request that an action sends for a CSIStorageCapacity or CSIDriver object. None if the action is about other resources.
pub(super) fn request_of_action(action: &Action) -> Option<UserRequest> {
    match action {
        Action::Attempt(action) => request_of_action(action),
        Action::Create(object) => creation(object),
        Action::Replace(spec) if is_capacity(&spec.object) => {
            let (key, object) = CapacityObject::read(&spec.object).ok()?;
            Some(UserRequest::Replace {
                key,
                object,
                is_stale: spec.resource_version.is_some(),
            })
        }
        Action::Merge(target, merge) if target.resource() == RESOURCE => Some(UserRequest::Patch {
            key: key(target),
            fields: fields(merge)?,
        }),
        Action::Delete(target) if target.resource() == RESOURCE => Some(UserRequest::Delete(key(target))),
        Action::Delete(Target::Named { resource, name, .. }) if resource == "namespaces" => {
            Some(UserRequest::DeleteNamespace(name.clone()))
        }
        Action::Apply(spec) if is_capacity(&spec.object) => Some(UserRequest::Other),
        _ => None,
    }
}

fn is_capacity(object: &Value) -> bool {
    ResourceRef::plural_of(object) == Some(RESOURCE)
}

fn creation(object: &Value) -> Option<UserRequest> {
    match Change::of_object(ResourceRef::plural_of(object)?, object).ok()?? {
        Change::CsiDriver(name, Some(driver)) => Some(UserRequest::CreateDriver(name, driver)),
        Change::Object(mut key, Some(capacity)) => {
            let prefix = object["metadata"]["generateName"].as_str();
            let prefix = prefix.filter(|_| key.name.is_empty());
            if let Some(prefix) = prefix {
                prefix.clone_into(&mut key.name);
            }
            Some(UserRequest::Create {
                key,
                is_prefix: prefix.is_some(),
                object: capacity,
            })
        }
        _ => None,
    }
}

fn key(target: &Target) -> Option<NamespacedName> {
    match target {
        Target::Named { namespace, name, .. } => Some(NamespacedName::new(
            namespace.as_deref().unwrap_or_default(),
            name,
        )),
        Target::Labelled(_) | Target::Capacity { .. } => None,
    }
}

/// The fields of a CSIStorageCapacity object that a merge patch sets. None if a patched field is invalid.
fn fields(merge: &Value) -> Option<CapacityPatch> {
    let mut whole = json!({"metadata": {}, "storageClassName": ""});
    for (field, value) in merge
        .as_object()?
        .iter()
        .filter(|(field, _)| *field != "metadata")
    {
        whole[field] = value.clone();
    }
    let (_, object) = CapacityObject::read(&whole).ok()?;
    let is_named = |field: &str| merge.get(field).is_some();
    let field_value = |field, value| match is_named(field) {
        true => PatchValue::Set(value),
        false => PatchValue::Unchanged,
    };
    Some(CapacityPatch {
        class: is_named("storageClassName").then(|| object.class.clone()),
        topology: is_named("nodeTopology").then(|| object.topology.clone()),
        capacity: field_value("capacity", object.capacity),
        maximum: field_value("maximumVolumeSize", object.maximum),
    })
}
