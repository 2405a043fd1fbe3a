//! Conversion webhooks of custom resources (`ConversionReview`).
//!
//! Owns the request and the validation of the response. A stored object is converted once per version: the result is
//! cached with the object.

use super::address;
use crate::admission::{Client, Consultation};
use crate::kinds::{Conversion, Kind};
use crate::machinery::json::{list, string};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::store::Store;
use crate::verbs::{for_webhook, is_in_version, is_unconverted};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Timeout of a conversion call.
const PATIENCE: Duration = Duration::from_secs(30);

/// Performs all pending conversions of a request.
pub(super) async fn asked(store: &Store, consultation: &mut Consultation) {
    for (kind, object) in std::mem::take(&mut consultation.to_convert) {
        if let Err(failure) = objects(store, &kind, &[object]).await {
            consultation.unconvertible = Some(failure);
            return;
        }
    }
    for (kind, value) in std::mem::take(&mut consultation.values_to_convert) {
        match value_of(store, &kind, &value).await {
            Ok(converted) => consultation.note_converted(kind.version, value, converted),
            Err(why) => {
                consultation.unconvertible = Some(Status::internal(why));
                return;
            }
        }
    }
}

/// Converts stored objects and caches the results with them.
pub(crate) async fn objects(store: &Store, kind: &Kind, objects: &[Arc<Object>]) -> Result<(), Status> {
    let Some(conversion) = kind.conversion() else {
        return Ok(());
    };
    let waiting: Vec<&Arc<Object>> = objects
        .iter()
        .filter(|object| is_unconverted(kind, object))
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let documents = waiting
        .iter()
        .map(|object| object.document().into_owned())
        .collect();
    let converted = convert(store, kind, conversion, documents)
        .await
        .map_err(Status::internal)?;
    for (object, converted) in waiting.into_iter().zip(converted) {
        let made = object.like(converted, object.revision);
        object.keep_converted(conversion.number, kind.version, made);
    }
    Ok(())
}

/// Converts an object that is not stored. Retains its managedFields.
pub(super) async fn value_of(store: &Store, kind: &Kind, value: &Value) -> Result<Value, String> {
    let Some(conversion) = kind.conversion().filter(|_| !is_in_version(kind, value)) else {
        return Ok(value.clone());
    };
    let documents = vec![for_webhook(kind, true, value)];
    let converted = convert(store, kind, conversion, documents).await?;
    let mut converted = converted.into_iter().next().unwrap_or_default();
    let managed = value["metadata"].get("managedFields").cloned();
    metadata::set(&mut converted, "managedFields", managed);
    Ok(converted)
}

async fn convert(
    store: &Store,
    kind: &Kind,
    conversion: &Conversion,
    documents: Vec<Value>,
) -> Result<Vec<Value>, String> {
    let Some(version) = conversion.version else {
        return Err("no supported conversion review versions".to_owned());
    };
    let subject = match documents.as_slice() {
        [one] => format!("{}, Kind={}", string(one, "apiVersion"), kind.kind),
        all => {
            let first = all.first().map_or("", |first| string(first, "apiVersion"));
            format!("{first}, Kind={}", kind.list_kind())
        }
    };
    let uid = Uuid::new_v4().to_string();
    let review = json!({
        "kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{version}"),
        "request": {"uid": uid, "desiredAPIVersion": kind.api_version(), "objects": documents},
    });
    let destination = address::of(&Client::read(&conversion.client), store);
    let answered = store.connections().post(&destination, &review, PATIENCE).await;
    let failed = |why: String| format!("conversion webhook for {subject} failed: {why}");
    let answered = answered.map_err(failed)?;
    verify(&answered, version, &uid).map_err(failed)?;
    let converted = list(&answered["response"]["convertedObjects"]);
    if converted.len() != documents.len() {
        return Err(format!(
            "conversion webhook for {subject} returned {} objects, expected {}",
            converted.len(),
            documents.len()
        ));
    }
    let pairs = documents.iter().zip(converted).enumerate();
    pairs
        .map(|(at, (before, after))| {
            restored(kind, before, after.clone()).map_err(|why| {
                let place = match (documents.len(), why.at_index) {
                    (1, false) => "object".to_owned(),
                    (1, true) => "object at index 0".to_owned(),
                    _ => format!("converted object at index {at}"),
                };
                format!(
                    "conversion webhook for {subject} returned invalid {place}: {}",
                    why.text
                )
            })
        })
        .collect()
}

fn verify(answered: &Value, version: &str, uid: &str) -> Result<(), String> {
    let response = &answered["response"];
    let (sent_version, sent_kind) = (string(answered, "apiVersion"), string(answered, "kind"));
    if version == "v1" && (sent_version, sent_kind) != ("apiextensions.k8s.io/v1", "ConversionReview") {
        let wanted = "apiextensions.k8s.io/v1, Kind=ConversionReview";
        return Err(format!(
            "expected webhook response of {wanted}, got {sent_version}, Kind={sent_kind}"
        ));
    }
    if !response.is_object() {
        return Err("no response provided".to_owned());
    }
    let sent_uid = string(response, "uid");
    if version == "v1" && sent_uid != uid {
        return Err(format!("expected response.uid={uid:?}, got {sent_uid:?}"));
    }
    let result = &response["result"];
    match (string(result, "status"), string(result, "message")) {
        ("Success", _) => Ok(()),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

/// An invalid converted object.
struct Invalid {
    text: String,
    /// Wrong type of object: the message includes the index.
    at_index: bool,
}

/// Validates a converted object and restores its metadata: a webhook can only change labels and annotations.
fn restored(kind: &Kind, before: &Value, mut after: Value) -> Result<Value, Invalid> {
    let at_index = |text: String| Invalid { text, at_index: true };
    let (expected, found) = (kind.api_version(), string(&after, "apiVersion"));
    if found != expected {
        let text = format!("invalid groupVersion (expected {expected}, received {found})");
        return Err(at_index(text));
    }
    let found = string(&after, "kind");
    if found != kind.kind {
        let text = format!("invalid kind (expected {}, received {found})", kind.kind);
        return Err(at_index(text));
    }
    let inside = |text: String| Invalid {
        text,
        at_index: false,
    };
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (expected, found) = (metadata::text(before, field), metadata::text(&after, field));
        if expected != found {
            return Err(inside(format!(
                "must have the same {shown}: {expected} != {found}"
            )));
        }
    }
    let mut own = before["metadata"].clone();
    for field in ["labels", "annotations"] {
        let made = after["metadata"].get(field).cloned().unwrap_or_default();
        if !made.is_null() && !made.is_object() {
            return Err(inside(format!("invalid metadata.{field} in converted object")));
        }
        crate::machinery::json::assign(&mut own, field, made);
    }
    after["metadata"] = own;
    Ok(after)
}
