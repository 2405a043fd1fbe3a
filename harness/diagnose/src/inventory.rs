//! The API objects of a cluster at one moment: from JSON, YAML (`kubectl get -o yaml`), or lists of an API server.
//!
//! Used by `why` and the lint. Does not know watches, which the scheduling loop uses.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use capacity_types::capacity_api::{RESOURCE, VERSIONS, api_version};
use hyper::Request;
use kube::{Client, Error as ClientError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::documents::{DocumentError, each_object};
use crate::text::shortened;
use capacity_scheduler::objects::{Object, ObjectKey, Pod};
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::status::{is_forbidden, is_type_missing};
use capacity_scheduler::store::Collection;

const PAGE_SIZE: usize = 500;
/// API paths of the resources that must be readable, except CSIStorageCapacity.
const REQUIRED_PATHS: [&str; 9] = [
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/pods",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/volumeattachments",
];
/// API paths of optional resources, which only improve explanations. Missing RBAC permissions for them are no error.
const OPTIONAL_PATHS: [&str; 2] = [
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/coordination.k8s.io/v1/leases",
];
/// Fields that contain quantities, which may be numbers in hand-written files.
const QUANTITIES: [&str; 7] = [
    "capacity",
    "maximumVolumeSize",
    "storage",
    "cpu",
    "memory",
    "pods",
    "ephemeral-storage",
];
/// A field of NodeSelector that hand-written files wrongly contain in nodeTopology.
const NODE_SELECTOR_TERMS: &str = "nodeSelectorTerms";

/// The API objects of a cluster, parsed.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// All parsed objects that the scheduler uses.
    pub snapshot: Snapshot,
    /// The pods, whichever scheduler is responsible for each.
    pub pods: BTreeMap<ObjectKey, Arc<Pod>>,
    /// Number of skipped objects, by kind, of kinds that are not needed.
    pub skipped_kinds: BTreeMap<String, usize>,
}

/// Why API objects cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// A text contains no API objects.
    #[error(transparent)]
    Text(#[from] DocumentError),
    /// An API object has no `kind`.
    #[error("not a Kubernetes object: `kind` is missing in {0}")]
    Kind(String),
    /// An API object is invalid for its kind.
    #[error("{kind} {name}: {problem}; correct or remove it")]
    Object {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// What is invalid in the object.
        problem: String,
    },
    /// The API server rejected a list request.
    #[error("{path}: {source}")]
    List {
        /// URL path of the rejected request.
        path: String,
        /// The error of the API server.
        source: Box<ClientError>,
    },
}

impl Inventory {
    /// Adds all API objects of a YAML or JSON text, which may contain single objects and lists.
    pub fn add_text(&mut self, text: impl BufRead) -> Result<(), InventoryError> {
        let mut visit = |object: Value| self.add(object).map_err(|error| error.to_string());
        Ok(each_object(text, &mut visit)?)
    }

    /// Adds one API object, or every object of a list.
    pub fn add(&mut self, object: Value) -> Result<(), InventoryError> {
        each_item(object, &mut |kind, object| self.add_one(kind, object))
    }

    fn add_one(&mut self, kind: &str, mut object: Value) -> Result<(), InventoryError> {
        format_quantities(&mut object);
        let snapshot = &mut self.snapshot;
        match kind {
            "Node" => put(kind, &mut snapshot.nodes, object),
            "PersistentVolumeClaim" => put(kind, &mut snapshot.claims, object),
            "PersistentVolume" => put(kind, &mut snapshot.volumes, object),
            "StorageClass" => put(kind, &mut snapshot.classes, object),
            "CSIDriver" => put(kind, &mut snapshot.drivers, object),
            "CSINode" => put(kind, &mut snapshot.csi_nodes, object),
            "VolumeAttachment" => put(kind, &mut snapshot.attachments, object),
            "Namespace" => put(kind, &mut snapshot.namespaces, object),
            "PodDisruptionBudget" => put(kind, &mut snapshot.budgets, object),
            "Lease" => put(kind, &mut snapshot.leases, object),
            "CSIStorageCapacity" => {
                let has_terms = !object["nodeTopology"][NODE_SELECTOR_TERMS].is_null();
                let mut capacity: capacity_scheduler::objects::Capacity = parse_object(kind, object)?;
                capacity.dropped_terms |= has_terms;
                snapshot.capacities.put(Arc::new(capacity));
                Ok(())
            }
            "Pod" => {
                let pod: Arc<Pod> = Arc::new(parse_object(kind, object)?);
                if !pod.terminated {
                    snapshot.pods.observe(&pod);
                }
                self.pods.insert(pod.key.clone(), pod);
                Ok(())
            }
            _ => {
                *self.skipped_kinds.entry(kind.to_owned()).or_default() += 1;
                Ok(())
            }
        }
    }
}

/// Lists all objects of the kinds that the scheduler uses, and of the paths in `more`, as JSON. Sends only list requests.
pub async fn list_objects(client: &Client, more: &[&'static str]) -> Result<Vec<Value>, InventoryError> {
    let mut objects = Vec::new();
    list_each_object(client, more, &mut |_, object| {
        objects.push(object);
        Ok(())
    })
    .await?;
    Ok(objects)
}

/// Callback that receives a kind and one API object.
type Visit<'a> = dyn FnMut(&str, Value) -> Result<(), InventoryError> + Send + 'a;

/// Passes one API object, or every object of a list, to the callback.
fn each_item(mut object: Value, visit: &mut Visit<'_>) -> Result<(), InventoryError> {
    let Some(kind) = object["kind"].as_str().map(str::to_owned) else {
        return Err(InventoryError::Kind(shortened(&object.to_string())));
    };
    let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) else {
        return visit(&kind, object);
    };
    // Items of lists from an API server have no `kind`.
    let of_items = kind.strip_suffix("List").unwrap_or_default();
    for mut item in std::mem::take(items) {
        if item["kind"].is_null() && item.is_object() {
            item["kind"] = of_items.into();
        }
        each_item(item, visit)?;
    }
    Ok(())
}

async fn list_each_object(
    client: &Client,
    more: &[&'static str],
    visit: &mut Visit<'_>,
) -> Result<(), InventoryError> {
    for path in REQUIRED_PATHS.iter().chain(more) {
        list_one(client, path, visit).await?;
    }
    for path in OPTIONAL_PATHS {
        match list_one(client, path, visit).await {
            Err(InventoryError::List { source, .. }) if is_forbidden(&source) || is_type_missing(&source) => {
            }
            done => done?,
        }
    }
    for version in VERSIONS {
        let path = format!("/apis/{}/{RESOURCE}", api_version(version));
        match list_one(client, &path, visit).await {
            Err(InventoryError::List { source, .. }) if is_type_missing(&source) => {}
            done => return done,
        }
    }
    Ok(())
}

async fn list_one(client: &Client, path: &str, visit: &mut Visit<'_>) -> Result<(), InventoryError> {
    let failed = |source: ClientError| InventoryError::List {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let mut next = String::new();
    loop {
        let page = format!("{path}?limit={PAGE_SIZE}&continue={next}");
        let request = Request::get(page)
            .body(Vec::new())
            .map_err(|error| failed(ClientError::HttpError(error)))?;
        let list: Value = client.request(request).await.map_err(failed)?;
        let token = list["metadata"]["continue"].as_str().unwrap_or_default();
        // The continue token is URL-safe base64, so it needs no escaping.
        next = token.to_owned();
        each_item(list, visit)?;
        if next.is_empty() {
            return Ok(());
        }
    }
}

fn put<T: Object>(
    kind: &str,
    collection: &mut impl Collection<T>,
    object: Value,
) -> Result<(), InventoryError>
where
    T::Api: DeserializeOwned,
{
    collection.put(Arc::new(parse_object(kind, object)?));
    Ok(())
}

fn parse_object<T: Object>(kind: &str, object: Value) -> Result<T, InventoryError>
where
    T::Api: DeserializeOwned,
{
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let invalid = |problem: String| InventoryError::Object {
        kind: kind.to_owned(),
        name: name.clone(),
        problem,
    };
    // All versions of a kind have the same fields, but the Rust type accepts only one version, so `apiVersion` and `kind` are removed.
    let mut object = object;
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    let source: T::Api = serde_json::from_value(object).map_err(|error| invalid(error.to_string()))?;
    T::read(&source).map_err(|error| invalid(error.to_string()))
}

/// Converts numbers in quantity fields to strings, which the API requires.
fn format_quantities(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if value.is_number() && QUANTITIES.contains(&name.as_str()) {
                    *value = Value::String(value.to_string());
                }
                format_quantities(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(format_quantities),
        _ => {}
    }
}
