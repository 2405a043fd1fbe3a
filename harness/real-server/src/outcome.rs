//! Handles the result of a write: passes the result on to `attribution`, and waits until the journal contains the change before the client
//! gets the response.

use std::sync::Arc;

use fake_apiserver::Verb;
use serde_json::Value;

use crate::attribution::{Key, OpenWrite, WriteResult, WriteTarget, revision};
use crate::case::Case;
use crate::kinds::is_review;
use crate::message::{FullResponse, ResourceRequest, to_full_response};
use crate::upstream::ServerResponse;

/// Announces a client's write to `attribution`, so that the resulting change can be attributed to the client.
pub(crate) fn announce<'c>(case: &'c Case, resource_request: &ResourceRequest) -> OpenWrite<'c> {
    let path = &resource_request.path;
    let target = WriteTarget {
        resource: path.resource.as_str().into(),
        namespace: path.namespace.clone(),
        name: path.name.clone(),
    };
    case.attribution
        .announce(&resource_request.incoming.client, target)
}

/// Converts a response to the names of the case. For a write, passes the result to `attribution`, and waits until the change is recorded.
pub(crate) async fn process_response(
    case: &Case,
    resource_request: &ResourceRequest,
    answer: ServerResponse,
    open: Option<OpenWrite<'_>>,
) -> FullResponse {
    let is_success = answer.is_success();
    let mut response = to_full_response(answer);
    let mut value = response.body_json();
    if value.is_null() {
        return response;
    }
    case.names.to_case_names(&mut value);
    response.body = value.to_string().into();
    let is_dry = resource_request.incoming.parameter("dryRun") == "All"
        || serde_json::from_slice::<Value>(&resource_request.incoming.body)
            .is_ok_and(|body| !body["dryRun"].is_null());
    if let Some(open) = open
        && is_success
        && !is_dry
        && !is_review(&resource_request.path.resource)
    {
        attribute_write(case, resource_request, &value, open).await;
    }
    response
}

async fn attribute_write(
    case: &Case,
    resource_request: &ResourceRequest,
    value: &Value,
    open: OpenWrite<'_>,
) {
    let path = &resource_request.path;
    let resource: Arc<str> = path.resource.as_str().into();
    let key = match path.is_bindings() {
        true => bound_pod(resource_request),
        false => Key {
            resource: resource.clone(),
            namespace: path.namespace.clone(),
            name: path.name.clone().unwrap_or_default(),
        },
    };
    let is_object = value["kind"] != "Status";
    match (resource_request.verb, path.subresource.as_deref()) {
        (Verb::Create, part) if part == Some("binding") || path.is_bindings() => {
            open.complete(WriteResult::Changed(key.clone()));
            drop(open);
            let is_bound = |pod: Option<&Value>| pod.is_none_or(|pod| pod["spec"]["nodeName"].is_string());
            case.attribution.wait_for_object(&key, is_bound).await;
        }
        (Verb::Create, Some("eviction")) => wait_for_deletion(case, key, open).await,
        (Verb::Create, Some(_)) => {}
        (Verb::Delete, _) if !is_object || !has_finalizers(value) => wait_for_deletion(case, key, open).await,
        (Verb::DeleteCollection, _) => {
            let items = value["items"].as_array().into_iter().flatten();
            let keys: Vec<Key> = items
                .filter(|item| !has_finalizers(item))
                .map(|item| Key::of(&resource, item))
                .collect();
            keys.iter()
                .for_each(|key| open.complete(WriteResult::Deleted(key.clone())));
            drop(open);
            for key in keys {
                case.attribution
                    .wait_for_object(&key, |object| object.is_none())
                    .await;
            }
        }
        (Verb::Update | Verb::Patch, _) if is_object && is_last_state(value) => {
            wait_for_deletion(case, key, open).await;
        }
        _ => {
            let revision = revision(value);
            open.complete(WriteResult::Revision(revision));
            drop(open);
            case.attribution.wait_for_revision(&resource, revision).await;
        }
    }
}

/// The pod that the Binding in the request assigns to a node.
fn bound_pod(resource_request: &ResourceRequest) -> Key {
    let binding: Value = serde_json::from_slice(&resource_request.incoming.body).unwrap_or_default();
    Key {
        resource: "pods".into(),
        namespace: resource_request.path.namespace.clone(),
        name: binding["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

async fn wait_for_deletion(case: &Case, key: Key, open: OpenWrite<'_>) {
    open.complete(WriteResult::Deleted(key.clone()));
    drop(open);
    case.attribution
        .wait_for_object(&key, |object| object.is_none())
        .await;
}

/// Whether the object has finalizers, so that the server deletes it only after their removal.
fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|list| !list.is_empty())
}

/// Whether the object in an update or patch response was deleted: it has a deletionTimestamp, and its last finalizer was removed.
fn is_last_state(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string() && !has_finalizers(object)
}
