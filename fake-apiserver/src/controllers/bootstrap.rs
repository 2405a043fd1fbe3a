//! Objects that kube-apiserver creates at start: priority classes, namespaces, the token tracking ConfigMap, default roles.

use super::kubernetes_service::{self, SERVER};
use super::namespaces::add_account;
use super::roles;
use crate::access::rbac;
use crate::config::options::Authorization;
use crate::kinds::{
    CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CONFIG_MAP, Generation, Kind, NAMESPACE, PRIORITY_CLASS, Part, ROLE,
    ROLE_BINDING, system_classes,
};
use crate::machinery::metadata;
use crate::patch::managed::FieldManager;
use crate::store::{Store, Txn};
use serde_json::{Value, json};

/// The client name that the observer receives for writes of initial objects.
const CLIENT: &str = "system:apiserver";
const INITIAL: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates all initial objects, and then lets the controllers of other crates create theirs.
pub(crate) fn create(store: &Store) {
    let client = CLIENT.into();
    store.bootstrap(&client, create_all);
    let mut txn = store.begin(&client);
    for controller in &*txn.controllers() {
        controller.start(&mut txn);
    }
}

fn create_all(txn: &mut Txn<'_>) {
    for class in system_classes() {
        create_class(txn, class);
    }
    for name in INITIAL {
        create_namespace(txn, name);
    }
    track_tokens(txn);
    kubernetes_service::create(txn);
    if txn.options().authorization == Authorization::Rbac {
        create_roles(txn);
    }
}

/// Records kube-apiserver as field manager of the object.
fn record_field_manager(txn: &Txn<'_>, kind: &Kind, object: &mut Value) {
    let writer = FieldManager {
        kind,
        manager: SERVER,
        part: Part::Main,
    };
    writer.track(&txn.now, None, object);
}

fn create_class(txn: &mut Txn<'_>, mut class: Value) {
    metadata::set(&mut class, "uid", Some(txn.new_uid().into()));
    metadata::set(&mut class, "creationTimestamp", Some((*txn.now).into()));
    let name = metadata::text(&class, "name").to_owned();
    record_field_manager(txn, &PRIORITY_CLASS, &mut class);
    txn.put(&PRIORITY_CLASS, &name, class);
}

fn create_namespace(txn: &mut Txn<'_>, name: &str) {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": name, "uid": txn.new_uid(), "creationTimestamp": txn.now,
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {},
        "status": {"phase": "Active"},
    });
    debug_assert_eq!(NAMESPACE.generation, Generation::None);
    record_field_manager(txn, &NAMESPACE, &mut object);
    // In kube-apiserver, the namespace strategy adds `spec.finalizers`, so managedFields contains no manager for the field.
    object["spec"] = json!({"finalizers": ["kubernetes"]});
    txn.put(&NAMESPACE, name, object);
    add_account(txn, name);
}

/// Creates the ConfigMap that contains the date since which kube-apiserver tracks the use of legacy service account tokens.
/// kube-controller-manager reads the ConfigMap at start.
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
            "uid": txn.new_uid(), "creationTimestamp": now,
        },
        "data": {"since": today},
    });
    record_field_manager(txn, &CONFIG_MAP, &mut object);
    txn.put(&CONFIG_MAP, &CONFIG_MAP.key(Some(namespace), name), object);
}

fn create_roles(txn: &mut Txn<'_>) {
    for role in rbac::default_roles() {
        create_role_or_binding(txn, [&CLUSTER_ROLE, &ROLE], &role);
    }
    for binding in rbac::default_bindings() {
        create_role_or_binding(txn, [&CLUSTER_ROLE_BINDING, &ROLE_BINDING], &binding);
    }
    roles::update_aggregated_roles(txn);
}

/// Creates a default role or binding. `kinds` contains the cluster-scoped kind, then the namespaced one.
fn create_role_or_binding(txn: &mut Txn<'_>, kinds: [&Kind; 2], made: &rbac::DefaultObject) {
    let kind = kinds[usize::from(made.namespace.is_some())];
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": {
            "name": made.name,
            "uid": txn.new_uid(),
            "creationTimestamp": txn.now,
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        },
    });
    if let Some(namespace) = made.namespace {
        object["metadata"]["namespace"] = namespace.into();
    }
    if let Some(role) = made.member_of {
        object["metadata"]["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{role}")] =
            "true".into();
    }
    for (field, value) in made.content.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    record_field_manager(txn, kind, &mut object);
    txn.put(kind, &kind.key(made.namespace, made.name), object);
}
