//! Mutating webhooks: called in order, each with the result of the previous ones.

use crate::accessor::WebhookAccessor;
use crate::dispatcher::{CallError, Dispatcher};
use fake_apiserver::Status;
use fake_apiserver::extension::{AdmissionResponse, Kind, WebhookContext, json_patch};
use serde_json::Value;
use std::collections::BTreeSet;

/// Calls all matching mutating webhooks. `only`: in a reinvocation, the indices of the webhooks to call again.
pub(crate) async fn dispatch(
    webhooks: &[WebhookAccessor],
    context: WebhookContext<'_>,
    only: Option<&BTreeSet<usize>>,
) -> AdmissionResponse {
    let mut response = AdmissionResponse::allowed();
    let mut object = context.request.object.clone();
    let dispatcher = Dispatcher(context);
    for (number, hook) in webhooks.iter().enumerate() {
        let matched = match dispatcher.should_call_hook(hook, object.as_ref()).await {
            Ok(matched) => matched,
            Err(denial) => return denied(response, denial),
        };
        // In a reinvocation, only the webhooks in `only` are called again.
        let is_due = only.is_none_or(|only| only.contains(&number));
        let Some(kind) = matched.filter(|_| is_due) else {
            continue;
        };
        let patched = call(dispatcher, hook, &kind, object.as_ref(), &mut response.warnings).await;
        let patched = match patched {
            Ok(patched) => patched,
            Err(error) => match error.denial(hook) {
                Some(denial) => return denied(response, denial),
                None => None,
            },
        };
        if let Some(patched) = patched {
            if object.as_ref() != Some(&patched) {
                response.changed = true;
                response.reinvoke.append(&mut response.reinvoke_if_changed);
            }
            object = Some(patched);
        }
        if hook.reinvocable {
            response.reinvoke_if_changed.insert(number);
        }
    }
    AdmissionResponse {
        outcome: Ok(object),
        ..response
    }
}

fn denied(response: AdmissionResponse, denial: Status) -> AdmissionResponse {
    AdmissionResponse {
        outcome: Err(denial),
        ..response
    }
}

/// Calls one mutating webhook. Returns the patched object, or None if the response has no patch.
async fn call(
    dispatcher: Dispatcher<'_>,
    hook: &WebhookAccessor,
    kind: &Kind,
    object: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<Option<Value>, CallError> {
    let response = dispatcher.call_hook(hook, kind, object, true).await?;
    warnings.extend(response.warnings);
    let patch = match response.outcome.map_err(CallError::Rejected)? {
        Some(Value::Array(patch)) if patch.is_empty() => return Ok(None),
        Some(patch) if !patch.is_null() => patch,
        _ => return Ok(None),
    };
    let Some(object) = object else {
        let why = format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name
        );
        return Err(CallError::Rejected(Status::internal_error(why)));
    };
    let undecodable =
        |why: String| CallError::Failed(format!("received undecodable patch in webhook response: {why}"));
    let (operations, _) = json_patch::read(&patch).map_err(undecodable)?;
    let internal = |why: String| CallError::Rejected(Status::internal_error(why));
    let converter = dispatcher.0.converter;
    let mut document = converter.convert(kind, object).await.map_err(internal)?;
    json_patch::apply(&mut document, &operations).map_err(|_| {
        internal(format!(
            "the patch of admission webhook {:?} does not apply to the object",
            hook.name
        ))
    })?;
    if !document.is_object() {
        let why = format!(
            "the patch of admission webhook {:?} replaces the object by a value that is not an object",
            hook.name
        );
        return Err(internal(why));
    }
    let patched = converter.convert_back(kind, object, document).await;
    patched.map(Some).map_err(internal)
}
