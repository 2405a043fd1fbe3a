//! Namespaces: default objects and termination.
//!
//! Implements the namespace controller and the service account controller of kube-controller-manager.

use crate::kinds::{Kind, NAMESPACE, Part, SERVICE_ACCOUNT, Subresource};
use crate::machinery::metadata;
use crate::patch::managed::FieldManager;
use crate::store::Txn;
use crate::verbs::remove::{can_be_removed, remove_all};
use serde_json::json;

/// The field manager for writes that kube-controller-manager performs in a real cluster.
pub(super) const CONTROLLERS: &str = "kube-controller-manager";

/// Creates the service account `default` of a new namespace, if `ServerOptions::default_service_accounts` is set.
pub(super) fn add_account(txn: &mut Txn<'_>, namespace: &str) {
    let key = SERVICE_ACCOUNT.key(Some(namespace), "default");
    if !txn.options().default_service_accounts || txn.get(&SERVICE_ACCOUNT, &key).is_some() {
        return;
    }
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {
            "name": "default", "namespace": namespace,
            "uid": txn.new_uid(), "creationTimestamp": txn.now,
        },
    });
    txn.put(&SERVICE_ACCOUNT, &key, account);
}

/// Deletes the content of a terminating namespace, and then the namespace.
pub(super) fn delete_content(txn: &mut Txn<'_>, namespace: &str) {
    let api = txn.api();
    // Like upstream, which relies on discovery, skips resources that are not served.
    let served = |kind: &&Kind| kind.namespaced && kind.is_storage_version() && api.is_reachable(kind);
    for kind in api.catalogue.kinds().filter(served) {
        remove_all(txn, kind, Some(namespace));
    }
    remove_finalizer_if_empty(txn, namespace);
}

/// Called after an object was deleted: completes the termination of its namespace if the namespace is empty now.
pub(super) fn finish_if_terminating(txn: &mut Txn<'_>, namespace: &str) {
    let found = txn.get(&NAMESPACE, namespace);
    if found.is_some_and(|found| metadata::is_deleting(found.value())) {
        remove_finalizer_if_empty(txn, namespace);
    }
}

fn remove_finalizer_if_empty(txn: &mut Txn<'_>, namespace: &str) {
    let api = txn.api();
    let content = api
        .catalogue
        .kinds()
        .filter(|kind| kind.namespaced && api.is_reachable(kind))
        .any(|kind| txn.has_content(kind, namespace));
    let Some(found) = txn.get(&NAMESPACE, namespace).filter(|_| !content) else {
        return;
    };
    let mut object = found.value().clone();
    // Finalizers of other controllers remain and delay the deletion.
    let mut left = object["spec"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    left.retain(|finalizer| *finalizer != "kubernetes");
    object["spec"] = if left.is_empty() {
        json!({})
    } else {
        json!({"finalizers": left})
    };
    if can_be_removed(&NAMESPACE, &object) {
        txn.remove(&NAMESPACE, namespace);
    } else if object != *found.value() {
        let writer = FieldManager {
            kind: &NAMESPACE,
            manager: CONTROLLERS,
            part: Part::Sub(Subresource::Finalize),
        };
        writer.track(&txn.now, Some(&found), &mut object);
        txn.put(&NAMESPACE, namespace, object);
    }
}
