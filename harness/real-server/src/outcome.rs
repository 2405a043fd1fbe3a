//! Handles the result of a write: reports it to `attribution` and waits, so that the response never precedes the change that it reports in
//! the journal.

use std::sync::Arc;

use fake_apiserver::Verb;
use serde_json::Value;

use crate::attribution::{Key, Made, OpenWrite, Touch, revision};
use crate::case::Case;
use crate::kinds::is_question;
use crate::message::{Wanted, Whole, passed_on};
use crate::upstream::Answer;

/// Announces a write.
pub(crate) fn announce<'c>(case: &'c Case, wanted: &Wanted) -> OpenWrite<'c> {
    let path = &wanted.path;
    let touch = Touch {
        resource: path.resource.as_str().into(),
        namespace: path.namespace.clone(),
        name: path.name.clone(),
    };
    case.attribution.announce(&wanted.incoming.client, touch)
}

/// Processes a response: reports the result of a write, and waits until its change is recorded.
pub(crate) async fn settle(
    case: &Case,
    wanted: &Wanted,
    answer: Answer,
    open: Option<OpenWrite<'_>>,
) -> Whole {
    let is_good = answer.is_good();
    let mut whole = passed_on(answer);
    let mut value = whole.value();
    if value.is_null() {
        return whole;
    }
    case.names.receive(&mut value);
    whole.body = value.to_string().into();
    let is_dry = wanted.incoming.parameter("dryRun") == "All"
        || serde_json::from_slice::<Value>(&wanted.incoming.body).is_ok_and(|body| !body["dryRun"].is_null());
    if let Some(open) = open
        && is_good
        && !is_dry
        && !is_question(&wanted.path.resource)
    {
        attribute(case, wanted, &value, open).await;
    }
    whole
}

async fn attribute(case: &Case, wanted: &Wanted, value: &Value, open: OpenWrite<'_>) {
    let path = &wanted.path;
    let resource: Arc<str> = path.resource.as_str().into();
    let key = match path.is_bindings() {
        true => bound_pod(wanted),
        false => Key {
            resource: resource.clone(),
            namespace: path.namespace.clone(),
            name: path.name.clone().unwrap_or_default(),
        },
    };
    let is_there = value["kind"] != "Status";
    match (wanted.verb, path.subresource.as_deref()) {
        (Verb::Create, part) if part == Some("binding") || path.is_bindings() => {
            open.made(Made::Something(key.clone()));
            drop(open);
            let is_bound = |pod: Option<&Value>| pod.is_none_or(|pod| pod["spec"]["nodeName"].is_string());
            case.attribution.seen_of(&key, is_bound).await;
        }
        (Verb::Create, Some("eviction")) => gone(case, key, open).await,
        (Verb::Create, Some(_)) => {}
        (Verb::Delete, _) if !is_there || !waits(value) => gone(case, key, open).await,
        (Verb::DeleteCollection, _) => {
            let items = value["items"].as_array().into_iter().flatten();
            let keys: Vec<Key> = items
                .filter(|item| !waits(item))
                .map(|item| Key::of(&resource, item))
                .collect();
            keys.iter().for_each(|key| open.made(Made::Gone(key.clone())));
            drop(open);
            for key in keys {
                case.attribution.seen_of(&key, |object| object.is_none()).await;
            }
        }
        (Verb::Update | Verb::Patch, _) if is_there && is_over(value) => gone(case, key, open).await,
        _ => {
            let revision = revision(value);
            open.made(Made::Revision(revision));
            drop(open);
            case.attribution.seen(&resource, revision).await;
        }
    }
}

/// The pod of a Binding.
fn bound_pod(wanted: &Wanted) -> Key {
    let binding: Value = serde_json::from_slice(&wanted.incoming.body).unwrap_or_default();
    Key {
        resource: "pods".into(),
        namespace: wanted.path.namespace.clone(),
        name: binding["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

async fn gone(case: &Case, key: Key, open: OpenWrite<'_>) {
    open.made(Made::Gone(key.clone()));
    drop(open);
    case.attribution.seen_of(&key, |object| object.is_none()).await;
}

/// Whether a deleted object waits for a finalizer.
fn waits(object: &Value) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|list| !list.is_empty())
}

/// Whether this state of an object is its last.
fn is_over(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string() && !waits(object)
}
