//! Deletes the objects that a run has created, and no objects of other clients.
//!
//! Objects are deleted by name and UID, so that an object of another client with the same name remains. Finalizers are removed, because the
//! controllers that would remove them belong to the case and are stopped.

use futures::StreamExt;
use hyper::Method;
use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::upstream::{Upstream, UpstreamError};

/// Maximum number of concurrent deletions.
const CONCURRENT_MAX: usize = 8;

/// Deletes objects of one kind, given with the server's names. Returns the objects that still exist, each with the reason.
pub(crate) async fn remove(upstream: &Upstream, kind: Kind, objects: Vec<Value>) -> Vec<String> {
    let removals = objects.into_iter().map(|object| async move {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let label = match metadata["namespace"].as_str() {
            Some(namespace) => format!("{} {namespace}/{name}", kind.resource),
            None => format!("{} {name}", kind.resource),
        };
        let path = path(kind, metadata["namespace"].as_str(), &name);
        let removed = remove_one(upstream, kind, &path, &metadata["uid"]).await;
        removed.err().map(|why| format!("{label}: {why}"))
    });
    let removals = futures::stream::iter(removals).buffer_unordered(CONCURRENT_MAX);
    removals.filter_map(|left| async move { left }).collect().await
}

/// API path of an object with the server's names.
fn path(kind: Kind, namespace: Option<&str>, name: &str) -> String {
    let collection = kind.path();
    match namespace {
        Some(namespace) => {
            let (root, resource) = collection.rsplit_once('/').unwrap_or_default();
            format!("{root}/namespaces/{namespace}/{resource}/{name}")
        }
        None => format!("{collection}/{name}"),
    }
}

async fn remove_one(upstream: &Upstream, kind: Kind, path: &str, uid: &Value) -> Result<(), UpstreamError> {
    let options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "propagationPolicy": "Background", "preconditions": {"uid": uid},
    });
    let answer = upstream.send(Method::DELETE, path, Some(&options)).await?;
    match answer.code {
        // 404: the object was deleted already. 409: the name belongs to another object now.
        404 => return Ok(()),
        409 if kind.resource != "namespaces" => return Ok(()),
        _ if answer.is_success() || answer.code == 409 => {}
        _ => return Err(UpstreamError(answer.message())),
    }
    if answer.json()["kind"] == "Status" && kind.resource != "namespaces" {
        return Ok(());
    }
    let current = upstream.send(Method::GET, path, None).await?;
    let mut object = current.json();
    if current.code == 404 || object["metadata"]["uid"] != *uid {
        return Ok(());
    }
    let released = if kind.resource == "namespaces" {
        // No program finalizes the namespace on a bare API server. The namespace is empty, because its objects were deleted before.
        object["spec"]["finalizers"] = json!([]);
        upstream
            .send(Method::PUT, &format!("{path}/finalize"), Some(&object))
            .await?
    } else {
        let patch = json!({"metadata": {"finalizers": null, "uid": uid}});
        upstream.send(Method::PATCH, path, Some(&patch)).await?
    };
    match released.code {
        404 => Ok(()),
        _ if released.is_success() => Ok(()),
        _ => Err(UpstreamError(format!(
            "the finalizers could not be removed: {}",
            released.message()
        ))),
    }
}
