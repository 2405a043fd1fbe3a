//! Snapshots: all objects of a server as one document.
//!
//! Objects retain names, UIDs and timestamps; resourceVersions are new. A snapshot contains no reviews, event expiry times or history.

use crate::kinds::{Catalogue, Kind};
use crate::machinery::metadata;
use crate::patch::managed;
use crate::store::{Store, Txn};
use crate::{controllers, machinery};
use serde_json::{Value, json};
use std::sync::Arc;

/// The client name that the observer receives for restored objects.
const CLIENT: &str = "system:apiserver";

/// Why `restore` rejects a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The document is not JSON, or not a snapshot.
    #[error("the document is not a snapshot of an API server: {0}; use a file that this server has written")]
    Form(String),
    /// The snapshot contains an object of an unknown resource.
    #[error(
        "the snapshot contains the unknown kind `{kind}` of `{version}`; remove its objects from the snapshot"
    )]
    Unknown {
        /// The `kind` of the object whose resource is unknown.
        kind: String,
        /// The `apiVersion` of the object whose resource is unknown.
        version: String,
    },
}

/// Creates a snapshot: all objects as a `List`.
pub(super) fn create(store: &Store) -> String {
    let client: Arc<str> = CLIENT.into();
    let txn = store.begin(&client);
    let api = txn.api();
    let stored = api
        .catalogue
        .kinds()
        .filter(|kind| kind.is_storage_version() && kind.unstored.is_none());
    let mut items = Vec::new();
    for kind in stored {
        let objects = txn.snapshot(kind).objects;
        items.extend(objects.values().map(|object| object.document().into_owned()));
    }
    json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}).to_string()
}

/// Restores all objects of a snapshot, replaces existing objects, and returns the number of restored objects.
pub(super) fn restore(store: &Arc<Store>, text: &str) -> Result<usize, SnapshotError> {
    let wrong = |why: String| SnapshotError::Form(why);
    let list = machinery::document::Document::parse(text.as_bytes())
        .map_err(wrong)?
        .value;
    let Some(items) = list["items"].as_array().filter(|_| list["kind"] == "List") else {
        return Err(wrong("`kind` is not `List`, or `items` is not a list".to_owned()));
    };
    let catalogue = store.api().catalogue;
    let is_definition = |item: &&Value| {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        let kind = find(&catalogue, text("apiVersion"), text("kind"));
        kind.is_some_and(|kind| kind.defines.is_some()) && item["spec"]["versions"].is_array()
    };
    // CRDs are restored before the custom resources that they define.
    let (definitions, others): (Vec<&Value>, Vec<&Value>) = items.iter().partition(is_definition);
    let client: Arc<str> = CLIENT.into();
    for item in definitions.iter().chain(&others) {
        let mut txn = store.begin(&client);
        restore_object(&mut txn, item)?;
        controllers::run_queued_work(&mut txn);
    }
    controllers::collect_garbage(store);
    Ok(items.len())
}

fn restore_object(txn: &mut Txn<'_>, item: &Value) -> Result<(), SnapshotError> {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let api = txn.api();
    let found = find(&api.catalogue, &version, &kind);
    let Some(found) = found else {
        return Err(SnapshotError::Unknown { kind, version });
    };
    let mut object = item.clone();
    if let Some(managers) = metadata::take(&mut object, "managedFields") {
        managed::set_managed_fields(&mut object, managers.to_string());
    }
    let namespace = metadata::text(item, "namespace");
    let key = found.key(Some(namespace), metadata::text(item, "name"));
    txn.put(&found, &key, object);
    Ok(())
}

fn find(catalogue: &Catalogue, version: &str, kind: &str) -> Option<Kind> {
    let found = catalogue.find_kind(version, kind)?;
    Some(found.in_storage_version())
}
