//! Controllers that the in-memory server contains and a bare API server lacks: garbage collection of dependents, and removal of the
//! protection finalizers of PVCs and PVs that are no longer in use.
//!
//! Acts only on the objects of one case, and sends requests as any client does. Foreground deletion and orphaning are left to the
//! clean-up.

use std::sync::Arc;

use capacity_types::pod::claims_of;
use fake_apiserver::ResourceRef;
use harness::journal::Change;
use hyper::Method;
use serde_json::{Value, json};

use crate::attribution::Key;
use crate::case::Case;
use crate::client::{CLAIMS, VOLUMES, call, path_of};
use crate::kinds::{CLAIM_PROTECTION, VOLUME_PROTECTION};

/// Client name of the garbage collector.
const GARBAGE: &str = "system:gc";
/// Client name of the protection controllers.
const PROTECTION: &str = "controllers";

/// Runs the garbage collector and the protection controllers for one object change.
pub(crate) fn run_controllers(case: &Arc<Case>, key: Key, change: Change, object: Value) {
    let is_deleted = change == Change::Deleted;
    let owned = object["metadata"]["ownerReferences"].is_array() && !is_deleted;
    let is_protected = matches!(&*key.resource, CLAIMS | VOLUMES | "pods");
    if !owned && !is_deleted && !is_protected {
        return;
    }
    let (case, guard) = (case.clone(), case.begin_request());
    tokio::spawn(async move {
        if is_deleted {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            for (dependent, value) in case.attribution.objects() {
                if owners(&value).any(|owner| owner["uid"] == uid) {
                    collect_garbage(&case, &dependent, &value).await;
                }
            }
        } else if owned {
            collect_garbage(&case, &key, &object).await;
        }
        if is_protected {
            let concerned = case.attribution.objects();
            for (key, value) in &concerned {
                remove_protection_finalizer(&case, key, value).await;
            }
        }
        drop(guard);
    });
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
}

/// Deletes an object whose owners were all deleted; if some owners exist, removes the references to deleted owners.
async fn collect_garbage(case: &Arc<Case>, key: &Key, object: &Value) {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return;
    }
    let (mut solid, mut absent) = (Vec::new(), 0);
    for owner in owners(object) {
        match is_absent(case, key, owner).await {
            true => absent += 1,
            false => solid.push(owner.clone()),
        }
    }
    let Some(path) = path_of(key).filter(|_| absent > 0) else {
        return;
    };
    let uid = &object["metadata"]["uid"];
    let (method, body) = match solid.is_empty() {
        true => {
            let options = json!({"preconditions": {"uid": uid}, "propagationPolicy": "Background"});
            (Method::DELETE, options)
        }
        false => (
            Method::PATCH,
            json!({"metadata": {"uid": uid, "ownerReferences": solid}}),
        ),
    };
    // An error means that another client changed or deleted the object first. The journal contains the error.
    let _ = call(case, GARBAGE, method, &path, Some(body)).await;
}

/// Whether an owner was deleted. An object with the name of the owner but another UID is not the owner.
async fn is_absent(case: &Arc<Case>, dependent: &Key, owner: &Value) -> bool {
    let sample = json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"]});
    let name = owner["name"].as_str().unwrap_or_default();
    let Some(resource) = ResourceRef::plural_of(&sample) else {
        return false;
    };
    let is_namespaced = ResourceRef::by_plural(resource).is_some_and(|(_, namespaced)| namespaced);
    let key = Key {
        resource: resource.into(),
        namespace: dependent.namespace.clone().filter(|_| is_namespaced),
        name: name.to_owned(),
    };
    if case
        .attribution
        .object(&key)
        .is_some_and(|there| there["metadata"]["uid"] == owner["uid"])
    {
        return false;
    }
    let Some(path) = path_of(&key) else { return false };
    let answer = case.upstream_get(&path).await;
    match answer {
        Some((404, _)) => true,
        Some((200, object)) => object["metadata"]["uid"] != owner["uid"],
        _ => false,
    }
}

/// Removes the protection finalizer of a terminating PVC or PV that is no longer in use.
async fn remove_protection_finalizer(case: &Arc<Case>, key: &Key, object: &Value) {
    let protection = match &*key.resource {
        CLAIMS if !is_mounted(case, key) => CLAIM_PROTECTION,
        VOLUMES if object["status"]["phase"] != "Bound" => VOLUME_PROTECTION,
        _ => return,
    };
    let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    let rest: Vec<&Value> = finalizers.clone().filter(|each| *each != protection).collect();
    let is_due = object["metadata"]["deletionTimestamp"].is_string() && rest.len() < finalizers.count();
    let Some(path) = path_of(key).filter(|_| is_due) else {
        return;
    };
    let metadata = json!({"finalizers": rest, "resourceVersion": object["metadata"]["resourceVersion"]});
    let _ = call(
        case,
        PROTECTION,
        Method::PATCH,
        &path,
        Some(json!({"metadata": metadata})),
    )
    .await;
}

/// Whether a pod that has a node and has not terminated uses the PVC.
fn is_mounted(case: &Case, claim: &Key) -> bool {
    case.attribution.objects().iter().any(|(key, pod)| {
        let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        &*key.resource == "pods"
            && key.namespace == claim.namespace
            && pod["spec"]["nodeName"].is_string()
            && !is_over
            && claims_of(pod).contains(&claim.name)
    })
}
