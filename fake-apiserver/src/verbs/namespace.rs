//! Namespaces: admission of what goes into them, and their end.
//!
//! Plays the namespace lifecycle admission plugin and, for lack of a controller manager, the content deletion of its
//! namespace controller.

use super::options::dry_run;
use super::update::{carry_over, check_name};
use super::{delete, existing, shown};
use crate::call::{Answer, Call, Part, Payload};
use crate::decode::decode;
use crate::faults::Faults;
use crate::kinds::{
    CONFIG_MAP, Generation, KINDS, Kind, NAMESPACE, PRIORITY_CLASS, SERVICE_ACCOUNT, Subresource,
    system_classes,
};
use crate::managed::Writer;
use crate::meta;
use crate::names;
use crate::status::{Cause, Status};
use crate::store::{Store, Txn};
use crate::verbs::create::no_body;
use serde_json::{Value, json};
use std::sync::Arc;

/// The field manager of what the server writes by itself.
const SERVER: &str = "kube-apiserver";
/// The field manager of what the controller manager writes in a real cluster.
pub(super) const CONTROLLERS: &str = "kube-controller-manager";
/// Namespaces that exist from the start.
const INITIAL: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// A write by the server itself, or by a part of the control plane.
fn writer(kind: &'static Kind, manager: &'static str, part: Part) -> Writer<'static> {
    Writer { kind, manager, part }
}

/// Creates the namespaces and the priority classes that every cluster has, as the server itself.
pub(crate) fn create_initial(store: &Store) {
    let client: Arc<str> = "system:apiserver".into();
    for mut class in system_classes() {
        let mut txn = store.begin(&client);
        meta::set(&mut class, "uid", Some(uuid::Uuid::new_v4().to_string().into()));
        meta::set(&mut class, "creationTimestamp", Some((*txn.now).into()));
        let name = meta::text(&class, "name").to_owned();
        writer(PRIORITY_CLASS, SERVER, Part::Main).track(&txn.now, None, &mut class);
        txn.put(PRIORITY_CLASS, &name, class);
    }
    for name in INITIAL {
        let mut txn = store.begin(&client);
        let now = txn.now.clone();
        let uid = uuid::Uuid::new_v4().to_string();
        let mut object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "name": name, "uid": uid, "creationTimestamp": now,
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {},
            "status": {"phase": "Active"},
        });
        debug_assert_eq!(NAMESPACE.generation, Generation::None);
        writer(NAMESPACE, SERVER, Part::Main).track(&now, None, &mut object);
        // The server's strategy adds it, so that nobody owns it.
        object["spec"] = json!({"finalizers": ["kubernetes"]});
        txn.put(NAMESPACE, name, object);
        add_account(&mut txn, name);
    }
    track_tokens(&mut store.begin(&client));
}

/// Says since when the use of service account tokens that are secrets is written down: the controller manager asks for
/// it when it starts.
fn track_tokens(txn: &mut Txn<'_>) {
    let (namespace, name) = (
        "kube-system",
        "kube-apiserver-legacy-service-account-token-tracking",
    );
    let now = txn.now.clone();
    let today = now.split('T').next().unwrap_or_default();
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": namespace,
            "uid": uuid::Uuid::new_v4().to_string(), "creationTimestamp": now,
        },
        "data": {"since": today},
    });
    writer(&CONFIG_MAP, SERVER, Part::Main).track(&now, None, &mut object);
    txn.put(&CONFIG_MAP, &CONFIG_MAP.key(Some(namespace), name), object);
}

/// Plays the service account controller: gives a new namespace its account `default`, where that is wanted.
pub(super) fn add_account(txn: &mut Txn<'_>, namespace: &str) {
    let key = SERVICE_ACCOUNT.key(Some(namespace), "default");
    if !txn.options().default_service_accounts || txn.get(SERVICE_ACCOUNT, &key).is_some() {
        return;
    }
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {
            "name": "default", "namespace": namespace,
            "uid": uuid::Uuid::new_v4().to_string(), "creationTimestamp": txn.now,
        },
    });
    txn.put(SERVICE_ACCOUNT, &key, account);
}

/// NamespaceLifecycle: a new object needs a namespace that exists and stays.
pub(super) fn admit(txn: &Txn<'_>, kind: &Kind, object: &Value) -> Result<(), Status> {
    let namespace = meta::text(object, "namespace");
    if namespace.is_empty() {
        return Ok(());
    }
    let Some(found) = txn.get(NAMESPACE, namespace) else {
        return Err(Status::not_found(NAMESPACE.resource(), namespace));
    };
    if !meta::is_deleting(&found.value) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(kind.resource(), meta::text(object, "name"), &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(status)
}

/// Deletes the content of a namespace that is being deleted, and then the namespace.
pub(super) fn empty(txn: &mut Txn<'_>, namespace: &str) {
    let profile = txn.profile();
    // The real controller sees through discovery, and leaves behind what is not served.
    let served = |kind: &&&Kind| kind.namespaced && kind.view.is_none() && kind.is_reachable(profile);
    for kind in KINDS.iter().filter(served) {
        delete::empty(txn, kind, namespace);
    }
    finish(txn, namespace);
}

/// After an object has gone: lets its namespace go as well, where it only waited for that.
pub(super) fn settle(txn: &mut Txn<'_>, object: &Value) {
    let namespace = meta::text(object, "namespace").to_owned();
    if !namespace.is_empty()
        && txn
            .get(NAMESPACE, &namespace)
            .is_some_and(|found| meta::is_deleting(&found.value))
    {
        finish(txn, &namespace);
    }
}

/// Takes the `kubernetes` finalizer off an empty namespace.
fn finish(txn: &mut Txn<'_>, namespace: &str) {
    let profile = txn.profile();
    let content = KINDS
        .iter()
        .filter(|kind| kind.namespaced && kind.is_reachable(profile))
        .any(|kind| txn.has_content(kind, namespace));
    let Some(found) = txn.get(NAMESPACE, namespace).filter(|_| !content) else {
        return;
    };
    let mut object = Value::clone(&found.value);
    // Finalizers of others stay, and keep the namespace.
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
    if delete::is_finished(NAMESPACE, &object) {
        txn.remove(NAMESPACE, namespace);
    } else if object != *found.value {
        writer(NAMESPACE, CONTROLLERS, Part::Sub(Subresource::Finalize)).track(
            &txn.now,
            Some(&found),
            &mut object,
        );
        txn.put(NAMESPACE, namespace, object);
    }
}

/// PUT namespaces/NAME/finalize: sets `spec.finalizers`.
pub(super) fn finalize(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    txn.dry_run = dry_run(&call.params.all("dryRun"), "UpdateOptions")?;
    let old = existing(txn, call)?;
    let Payload::Object(body) = &call.payload else {
        return Err(no_body());
    };
    let decoded = decode(NAMESPACE, body.clone()).map_err(|why| why.of_body(NAMESPACE))?;
    let mut object = decoded.object;
    check_name(&call.target, &object)?;
    let mut faults = Faults::default();
    for (i, finalizer) in meta::texts(&object["spec"]["finalizers"]).into_iter().enumerate() {
        let field = format!("spec.finalizers[{i}]");
        meta::complain(&mut faults, &field, finalizer, names::qualified(finalizer));
        if !finalizer.contains('/') && finalizer != "kubernetes" {
            let text = "name is neither a standard finalizer name nor is it fully qualified";
            faults.invalid(field, finalizer, text);
        }
    }
    if !faults.is_empty() {
        return Err(Status::invalid(NAMESPACE.subject(), call.target.name(), faults));
    }
    meta::assign(&mut object, "status", old.value["status"].clone());
    call.writer().track(&txn.now, Some(&old), &mut object);
    carry_over(&mut object, &old.value);
    let object = super::update::store(txn, &call.target, &old, object)?;
    Ok(Answer::Object {
        code: 200,
        object: shown(NAMESPACE, object),
    })
}
