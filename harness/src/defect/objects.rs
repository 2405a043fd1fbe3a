//! Defects of the API server's handling of objects. The harness emulates them by sending other requests than the case requires.

use capacity_types::capacity_api::RESOURCE;
use serde_json::Value;

use super::actions::{each_object, edit_actions, insert_after_actions, replace_actions};
use crate::plan::{Action, NAMESPACE, Plan, Target};

const KIND: &str = "CSIStorageCapacity";

pub(super) fn create_instead_of_replacing(plan: &mut Plan) {
    edit_actions(plan, |action| {
        if let Action::Replace(spec) = action {
            *action = Action::Create(spec.object.clone());
        }
    });
}

pub(super) fn fill_in_capacity(plan: &mut Plan) {
    each_object(plan, KIND, |object| {
        if object["capacity"].is_null() {
            object["capacity"] = "0".into();
        }
    });
}

pub(super) fn know_one_namespace(plan: &mut Plan) {
    each_object(plan, KIND, |object| {
        object["metadata"]["namespace"] = NAMESPACE.into();
    });
}

pub(super) fn drop_duplicate_objects(plan: &mut Plan) {
    let mut kept: Vec<(Value, Value)> = Vec::new();
    plan.objects.retain(|object| {
        let about = (object["storageClassName"].clone(), object["nodeTopology"].clone());
        let is_kept = object["kind"] != KIND || !kept.contains(&about);
        kept.push(about);
        is_kept
    });
}

/// Removes `generateName`, so that an object without a `name` has no name at all.
pub(super) fn generate_no_names(plan: &mut Plan) {
    each_attempt(plan, |action| {
        if let Action::Create(object) = action
            && object["kind"] == KIND
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.remove("generateName");
        }
    });
}

/// Makes each invalid object valid, as if the API server accepted invalid objects.
pub(super) fn accept_invalid_objects(plan: &mut Plan) {
    let is_domain = |text: &str| {
        let fits =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter);
        !text.is_empty() && text.chars().all(fits)
    };
    each_attempt(plan, |action| {
        let Action::Create(object) = action else {
            return;
        };
        if object["kind"] != KIND {
            return;
        }
        if object["metadata"]["name"]
            .as_str()
            .is_some_and(|name| !is_domain(name))
        {
            object["metadata"]["name"] = "corrected".into();
        }
        if !object["storageClassName"].as_str().is_some_and(is_domain) {
            object["storageClassName"] = "corrected".into();
        }
        if object["capacity"]
            .as_str()
            .is_some_and(|capacity| capacity.starts_with('-'))
        {
            object["capacity"] = "0".into();
        }
    });
}

/// Adds a change of storageClassName to every patch of capacity or maximumVolumeSize, so that the API server rejects the patch.
pub(super) fn make_capacity_immutable(plan: &mut Plan) {
    each_attempt(plan, |action| {
        if let Action::Merge(target, merge) = action
            && target.resource() == RESOURCE
            && (merge.get("capacity").is_some() || merge.get("maximumVolumeSize").is_some())
        {
            merge["storageClassName"] = "another".into();
        }
    });
}

/// Replaces a patch of a CSIStorageCapacity's StorageClass or topology by a deletion and a creation with the new values.
pub(super) fn allow_class_change(plan: &mut Plan) {
    let mut known = plan.objects.clone();
    replace_actions(plan, |action| {
        let Action::Attempt(attempted) = action else {
            return vec![action];
        };
        if let Action::Create(object) = &*attempted {
            known.push(object.clone());
        }
        if let Action::Merge(target @ Target::Named { name, .. }, merge) = &*attempted
            && target.resource() == RESOURCE
            && (merge.get("storageClassName").is_some() || merge.get("nodeTopology").is_some())
            && let Some(object) = known.iter().find(|object| object["metadata"]["name"] == **name)
        {
            let mut changed = object.clone();
            for (field, new) in merge.as_object().into_iter().flatten() {
                changed[field] = new.clone();
            }
            return vec![Action::Delete(target.clone()), Action::Create(changed)];
        }
        vec![Action::Attempt(attempted)]
    });
}

pub(super) fn delete_with_the_class(plan: &mut Plan) {
    let mut known: Vec<Value> = Vec::new();
    each_object(plan, KIND, |object| known.push(object.clone()));
    insert_after_actions(plan, |action| {
        let Action::Delete(Target::Named { resource, name, .. }) = action else {
            return Vec::new();
        };
        if resource != "storageclasses" {
            return Vec::new();
        }
        let of_class = known.iter().filter(|object| object["storageClassName"] == **name);
        let targets = of_class.map(|object| Target::Named {
            resource: RESOURCE.to_owned(),
            namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
            name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        });
        let deleted = targets.map(|target| Action::Attempt(Box::new(Action::Delete(target))));
        deleted.collect()
    });
}

fn each_attempt(plan: &mut Plan, mut change: impl FnMut(&mut Action)) {
    let actions = plan.steps.iter_mut().flat_map(|step| &mut step.actions);
    for (action, _) in actions {
        if let Action::Attempt(attempted) = action {
            change(attempted);
        }
    }
}
