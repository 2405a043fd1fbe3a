//! Conversion of custom resources between the version of a request and the storage version.
//!
//! Does not know how bodies are decoded.

use super::call::Answer;
use super::decode::decode;
use crate::admission::AdmissionSession;
use crate::kinds::{Kind, NullHandling};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::store::Txn;
use serde_json::Value;
use std::sync::Arc;

/// Converts an object to the version of the requested resource. If only a webhook can convert it, returns it unchanged; the sender of the
/// response then calls the webhook.
pub(crate) fn to_requested_version(kind: &Kind, object: Arc<Object>) -> Arc<Object> {
    match (kind.view, kind.defined()) {
        (Some(view), _) => object.replace_value(object.read_value(view.from_stored), object.revision),
        // Fast path for long lists: a resource with one version needs no conversion.
        (None, Some(defined)) if defined.versions.len() > 1 && !kind.has_version(object.api_version()) => {
            match kind.conversion() {
                Some(conversion) => object
                    .converted(conversion.number, kind.version)
                    .unwrap_or(object),
                None => object.replace_value(
                    object.read_value(|value| to_version(kind, value)),
                    object.revision,
                ),
            }
        }
        (None, _) => object,
    }
}

/// Whether only the conversion webhook can convert the object to the version of `kind`, and no result is cached.
pub(crate) fn needs_webhook_conversion(kind: &Kind, object: &Object) -> bool {
    kind.conversion().is_some_and(|conversion| {
        !kind.has_version(object.api_version()) && object.converted(conversion.number, kind.version).is_none()
    })
}

impl Answer {
    /// The objects in the answer that need a call of the conversion webhook.
    pub(crate) fn unconverted(&self, kind: &Kind) -> Vec<Arc<Object>> {
        match self {
            Self::Object { object, .. }
                if object.value()["kind"] == kind.kind && needs_webhook_conversion(kind, object) =>
            {
                vec![object.clone()]
            }
            Self::List(plan) => plan.unconverted(),
            Self::Object { .. } | Self::Status(_) | Self::Nothing | Self::Watch(_) => Vec::new(),
        }
    }

    /// Replaces the object in the answer by its cached conversion. A list is converted when its page is read.
    pub(crate) fn with_converted_object(self, kind: &Kind) -> Self {
        match self {
            Self::Object { code, object }
                if kind.conversion().is_some() && object.value()["kind"] == kind.kind =>
            {
                Self::object(code, to_requested_version(kind, object))
            }
            other => other,
        }
    }
}

/// Converts a stored object to the version in which writes are validated: for custom resources the version of the request, for built-in
/// resources the storage version.
pub(super) fn to_validated_version(
    txn: &mut Txn<'_>,
    kind: &Kind,
    object: &Arc<Object>,
) -> Result<Arc<Object>, Status> {
    if kind.defined().is_none() {
        return Ok(object.clone());
    }
    if needs_webhook_conversion(kind, object) {
        return Err(await_conversion(txn, |session| {
            session.to_convert.push((kind.clone(), object.clone()));
        }));
    }
    Ok(to_requested_version(kind, object.clone()))
}

/// Converts a validated object to its storage version, if necessary with a response of the conversion webhook.
pub(super) fn to_storage_version(txn: &mut Txn<'_>, kind: &Kind, object: Value) -> Result<Value, Status> {
    let stored = kind.in_storage_version();
    if kind.defined().is_none() || is_in_version(&stored, &object) {
        return Ok(object);
    }
    if kind.conversion().is_none() {
        return Ok(to_version(&stored, &object));
    }
    let session = txn.admission.as_ref();
    if let Some(converted) = session.and_then(|session| session.converted(&stored, &object)) {
        return Ok(converted);
    }
    Err(await_conversion(txn, |session| {
        session.values_to_convert.push((stored, object));
    }))
}

/// Enqueues a conversion, and returns the internal error that aborts the verb until the conversion is complete. If an earlier conversion
/// failed, returns the error of that conversion.
fn await_conversion(txn: &mut Txn<'_>, enqueue: impl FnOnce(&mut AdmissionSession)) -> Status {
    let Some(session) = txn.admission.as_mut() else {
        return Status::internal("the CRD of the resource has just changed; send the request again");
    };
    if let Some(failure) = &session.unconvertible {
        return failure.clone();
    }
    enqueue(session);
    Status::internal(
        "the request waits for an object conversion; a client that receives this internal error found a bug",
    )
}

/// The object as admission webhooks receive it: with managedFields, and in the version of `kind` unless that requires a conversion webhook.
/// Bodies of subresources have another kind and remain unchanged.
pub(crate) fn for_webhook(kind: &Kind, is_whole: bool, object: &Value) -> Value {
    let mut sent = match kind.view {
        _ if !is_whole => object.clone(),
        Some(view) => (view.from_stored)(object),
        None if kind.defined().is_some() && kind.conversion().is_none() && !is_in_version(kind, object) => {
            to_version(kind, object)
        }
        None => object.clone(),
    };
    if let Some(Value::String(text)) = metadata::take(&mut sent, "managedFields")
        && let Ok(managed) = serde_json::from_str(&text)
    {
        metadata::set(&mut sent, "managedFields", Some(managed));
    }
    sent
}

/// Converts the object returned by an admission webhook to the version in which writes to `requested` are validated, unless that requires a
/// conversion webhook. Restores the managedFields of `before`.
pub(crate) fn from_webhook(
    kind: &Kind,
    requested: &Kind,
    before: &Value,
    sent: Value,
) -> Result<Value, String> {
    let decoded = decode(kind, sent.into()).map_err(|why| why.text())?;
    let mut object = decoded.object;
    if requested.defined().is_some() && requested.conversion().is_none() && !is_in_version(requested, &object)
    {
        object = to_version(requested, &object);
    }
    let managed = before["metadata"].get("managedFields").cloned();
    metadata::set(&mut object, "managedFields", managed);
    Ok(object)
}

pub(crate) fn is_in_version(kind: &Kind, object: &Value) -> bool {
    object["apiVersion"]
        .as_str()
        .is_some_and(|version| kind.has_version(version))
}

/// Converts an object to the version of `kind` without a webhook, and prunes it by that version's schema.
fn to_version(kind: &Kind, object: &Value) -> Value {
    let mut changed = object.clone();
    changed["apiVersion"] = kind.api_version().into();
    if let Some(defined) = kind.defined() {
        // At this point, managedFields is serialized text, which the schema must not prune.
        let managed = metadata::take(&mut changed, "managedFields");
        // Stored objects were valid when written. If an object no longer matches the schema, the partly converted object is used.
        drop(
            defined
                .strategy
                .prune_and_coerce(defined, &mut changed, NullHandling::Dropped),
        );
        metadata::set(&mut changed, "managedFields", managed);
    }
    changed
}
