//! Conversion of custom resources by webhooks.
//!
//! A stored object is converted once per version, and the object caches the result. Another crate implements the call of the webhook
//! (`ConversionWebhook`).

use crate::admission::{AdmissionRequest, AdmissionSession, ObjectConverter};
use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::store::Store;
use crate::verbs::{for_webhook, from_webhook, is_in_version, needs_webhook_conversion};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// Conversion of the objects in an admission request to the versions in which webhooks receive them.
pub(super) struct RequestConverter<'a> {
    pub(super) store: &'a Store,
    pub(super) request: &'a AdmissionRequest,
}

impl ObjectConverter for RequestConverter<'_> {
    fn convert<'a>(&'a self, kind: &'a Kind, object: &'a Value) -> BoxFuture<'a, Result<Value, String>> {
        let is_whole = self.request.target.has_resource_kind();
        async move {
            if is_whole && kind.conversion().is_some() {
                let converted = convert_unstored(self.store, kind, object).await?;
                return Ok(for_webhook(kind, is_whole, &converted));
            }
            Ok(for_webhook(kind, is_whole, object))
        }
        .boxed()
    }

    fn convert_back<'a>(
        &'a self,
        kind: &'a Kind,
        before: &'a Value,
        changed: Value,
    ) -> BoxFuture<'a, Result<Value, String>> {
        async move {
            let target = &self.request.target;
            if !target.has_resource_kind() {
                return Ok(changed);
            }
            let made = from_webhook(kind, &target.kind, before, changed)?;
            convert_unstored(self.store, &target.kind, &made).await
        }
        .boxed()
    }
}

pub(super) async fn convert_pending(store: &Store, session: &mut AdmissionSession) {
    for (kind, object) in std::mem::take(&mut session.to_convert) {
        if let Err(failure) = convert_objects(store, &kind, &[object]).await {
            session.unconvertible = Some(failure);
            return;
        }
    }
    for (kind, value) in std::mem::take(&mut session.values_to_convert) {
        match convert_unstored(store, &kind, &value).await {
            Ok(converted) => session.record_converted(kind.version, value, converted),
            Err(why) => {
                session.unconvertible = Some(Status::internal(why));
                return;
            }
        }
    }
}

/// Converts stored objects; each object caches the result.
pub(crate) async fn convert_objects(
    store: &Store,
    kind: &Kind,
    objects: &[Arc<Object>],
) -> Result<(), Status> {
    let (Some(version), Some(conversion)) = (kind.defined(), kind.conversion()) else {
        return Ok(());
    };
    let waiting: Vec<&Arc<Object>> = objects
        .iter()
        .filter(|object| needs_webhook_conversion(kind, object))
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let documents = waiting
        .iter()
        .map(|object| object.document().into_owned())
        .collect();
    let converted = conversion
        .webhook
        .convert(store, version, documents)
        .await
        .map_err(Status::internal)?;
    for (object, converted) in waiting.into_iter().zip(converted) {
        let made = object.replace_value(converted, object.revision);
        object.keep_converted(conversion.number, kind.version, made);
    }
    Ok(())
}

/// Converts an object that is not stored. The result has the managedFields of `value`.
async fn convert_unstored(store: &Store, kind: &Kind, value: &Value) -> Result<Value, String> {
    let (Some(version), Some(conversion)) = (kind.defined(), kind.conversion()) else {
        return Ok(value.clone());
    };
    if is_in_version(kind, value) {
        return Ok(value.clone());
    }
    let documents = vec![for_webhook(kind, true, value)];
    let converted = conversion.webhook.convert(store, version, documents).await?;
    let mut converted = converted.into_iter().next().unwrap_or_default();
    let managed = value["metadata"].get("managedFields").cloned();
    metadata::set(&mut converted, "managedFields", managed);
    Ok(converted)
}
