//! The API objects of a case, and the cluster state that the specification derives from them.
//!
//! Applies at once the effects of the API server and its controllers: uids, dropped fields of older releases, phases of volumes, claims of
//! ephemeral volumes.

use std::collections::BTreeMap;

use capacity_spec::World;
use capacity_spec::world::{CapacityObject, Change, NamespacedName};
use fake_apiserver::ResourceRef;
use serde_json::{Value, json};
use suites::harness::plan::{Plan, Target};

const CAPACITIES: &str = "csistoragecapacities";

/// Resource, namespace and name of an API object.
type Key = (String, String, String);

/// The API objects of a case, and the cluster state that the specification derives from them.
#[derive(Default)]
pub(crate) struct Cluster {
    pub(crate) world: World,
    objects: BTreeMap<Key, Value>,
    created: usize,
}

impl Cluster {
    pub(crate) fn create(&mut self, object: &Value) {
        let Some(resource) = ResourceRef::plural_of(object) else {
            return;
        };
        self.created += 1;
        let mut object = object.clone();
        object["metadata"]["uid"] = format!("uid-{}", self.created).into();
        if resource == "persistentvolumes" && object["spec"]["claimRef"].is_null() {
            object["status"] = json!({"phase": "Available"});
        }
        if resource == "csidrivers" && !self.world.api.stores_storage_capacity() {
            merge(&mut object, &json!({"spec": {"storageCapacity": null}}));
        }
        if resource == CAPACITIES && !self.world.api.release.has_maximum() {
            merge(&mut object, &json!({"maximumVolumeSize": null}));
        }
        self.put(resource, object.clone());
        if resource == "pods" {
            self.create_ephemeral_claims(&object);
        }
    }

    fn create_ephemeral_claims(&mut self, pod: &Value) {
        let metadata = &pod["metadata"];
        for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
            let template = &volume["ephemeral"]["volumeClaimTemplate"];
            if template.is_null() {
                continue;
            }
            let name = format!("{}-{}", text(&metadata["name"]), text(&volume["name"]));
            let owner =
                json!({"kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": true});
            self.create(&json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": metadata["namespace"], "ownerReferences": [owner]},
                "spec": template["spec"],
            }));
        }
    }

    fn put(&mut self, resource: &str, object: Value) {
        if let Some(change) = Change::of_object(resource, &object).unwrap() {
            self.world.apply(change);
        }
        let metadata = &object["metadata"];
        let key = (
            resource.to_owned(),
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        );
        self.objects.insert(key, object);
    }

    pub(crate) fn remove(&mut self, resource: &str, namespace: &str, name: &str) {
        self.objects
            .remove(&(resource.to_owned(), namespace.to_owned(), name.to_owned()));
        if let Some(change) = Change::of_deletion(resource, namespace, name) {
            self.world.apply(change);
        }
    }

    /// Applies a JSON merge patch to an API object.
    pub(crate) fn merge(&mut self, resource: &str, namespace: &str, name: &str, patch: &Value) {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        let known = self.objects.get(&key).cloned();
        let capacity = NamespacedName::new(namespace, name);
        // The simulated publishers write capacity objects only to the cluster state of the specification.
        let made = self
            .world
            .objects
            .get(&capacity)
            .filter(|_| resource == CAPACITIES);
        let rendered = made.map(|object| render(&capacity, object, known.as_ref()));
        let Some(mut object) = rendered.or(known) else {
            panic!("there is no {resource} {namespace}/{name}");
        };
        merge(&mut object, patch);
        self.put(resource, object);
    }

    /// Resource, namespace and name of the API objects that an action changes or deletes.
    pub(crate) fn targets(&self, plan: &Plan, target: &Target) -> Vec<Key> {
        match target {
            Target::Named {
                resource,
                namespace,
                name,
            } => vec![(
                resource.clone(),
                namespace.clone().unwrap_or_default(),
                name.clone(),
            )],
            Target::Labelled(labelled) => {
                let of_kind = self.objects.iter().filter(|((resource, namespace, _), object)| {
                    *resource == labelled.resource && labelled.selects(namespace, object)
                });
                of_kind.map(|(key, _)| key.clone()).collect()
            }
            Target::Capacity { class, segment } => {
                let is_selected = |object: &CapacityObject| {
                    let own = object.segment().map(|own| plan.segments.format(&own));
                    object.class == *class && own.as_ref() == Some(segment)
                };
                let selected = self
                    .world
                    .objects
                    .iter()
                    .filter(|(_, object)| is_selected(object));
                selected
                    .map(|(key, _)| (CAPACITIES.to_owned(), key.namespace.clone(), key.name.clone()))
                    .collect()
            }
        }
    }
}

/// Renders a capacity object of the specification as an API object, with the `nodeTopology` of the API object `known`, if given.
fn render(key: &NamespacedName, object: &CapacityObject, known: Option<&Value>) -> Value {
    let owners: Vec<Value> = object
        .owners
        .iter()
        .map(|it| json!({"kind": it.kind, "name": it.name, "uid": it.uid, "controller": it.controller}))
        .collect();
    let written = known.map(|known| known["nodeTopology"].clone());
    let topology = written.unwrap_or_else(|| json!({"matchLabels": object.segment()}));
    let mut rendered = json!({
        "metadata": {
            "name": key.name, "namespace": key.namespace, "uid": object.uid,
            "labels": object.labels, "ownerReferences": owners,
        },
        "storageClassName": object.class, "nodeTopology": topology,
    });
    for (field, quantity) in [
        ("capacity", object.capacity),
        ("maximumVolumeSize", object.maximum),
    ] {
        if let Some(quantity) = quantity {
            rendered[field] = quantity
                .bytes(capacity_types::ByteConversion::Exact)
                .to_string()
                .into();
        }
    }
    rendered
}

fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in fields {
        match value {
            Value::Null => drop(object.as_object_mut().unwrap().remove(key)),
            value => merge(&mut object[key], value),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
