//! The scale subresource: the number of replicas of a workload, read and written as a `Scale` of autoscaling/v1.
//!
//! Owns the conversion between workload and Scale. A changed Scale updates the workload; no pods are created.

use super::body::{check_name, no_body};
use super::call::{Answer, Call, Patch, Payload, Target};
use super::convert::{needs_webhook_conversion, to_requested_version, to_validated_version};
use super::decoded::FieldValidation;
use super::dynamic_admission::WriteAdmission;
use super::options::WriteOptions;
use super::patch::ParsedPatch;
use super::read::existing;
use super::subresource_body;
use super::write::replace_admitted;
use crate::kinds::{Kind, Part, SCALE};
use crate::machinery::document::Document;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json_path::member_at;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::patch::managed;
use crate::request::Verb;
use crate::store::Txn;
use serde_json::{Value, json};
use std::sync::Arc;

/// Reads or writes the scale of a workload.
pub(super) fn scale(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let (old, options, changed) = match (call.verb, &call.payload) {
        (Verb::Get, _) => {
            let found = existing(txn, call)?;
            let found = to_validated_version(txn, kind, &found)?;
            return answer(kind, &found);
        }
        (Verb::Update, Payload::Object(body)) => {
            let options = WriteOptions::read(&call.params, "UpdateOptions")?;
            (existing(txn, call)?, options, body.clone())
        }
        (Verb::Patch, Payload::Patch(style, body)) => {
            let options = WriteOptions::of_patch(&call.params, false)?;
            let old = existing(txn, call)?;
            let before = to_validated_version(txn, kind, &old)?;
            let changed = patched(kind, &before, *style, body, options.validation)?;
            (old, options, changed.into())
        }
        (_, Payload::Apply(body)) => return apply(txn, call, body),
        _ => return Err(no_body()),
    };
    txn.dry_run = options.dry_run;
    let changed = subresource_body::decode_as(txn, &SCALE, options.validation, changed)?;
    check_name(&call.target, &changed)?;
    let before = to_validated_version(txn, kind, &old)?;
    let changed = admit_scale(txn, call, &before, changed)?;
    let replicas = changed["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas < 0 && kind.defined().is_none() {
        let mut errors = ErrorList::default();
        errors.invalid("spec.replicas", replicas, "must be greater than or equal to 0");
        return Err(Status::invalid(SCALE.group_kind(), call.target.name(), errors));
    }
    let mut new = before.value().clone();
    put_replicas(kind, &mut new, replicas.into());
    for precondition in ["resourceVersion", "uid"] {
        let wanted = changed["metadata"].get(precondition).cloned();
        metadata::set(&mut new, precondition, wanted);
    }
    let whole = Target {
        part: Part::Main,
        ..call.target.clone()
    };
    call.field_manager().track(&txn.now, Some(&before), &mut new);
    let written = replace_admitted(txn, &whole, &old, new, false)?;
    answer_written(kind, written)
}

fn admit_scale(txn: &mut Txn<'_>, call: &Call, before: &Object, scale: Value) -> Result<Value, Status> {
    if txn.admission.is_none() {
        return Ok(scale);
    }
    let kind = &call.target.kind;
    let old = Object::new(scale_of(kind, before.value())?, before.revision);
    let mut whole = old.value().clone();
    for member in ["spec", "metadata"] {
        for (name, value) in scale[member].as_object().into_iter().flatten() {
            whole[member][name.as_str()] = value.clone();
        }
    }
    let write = WriteAdmission::update(&call.target, &old);
    write.mutate(txn, &mut whole, |_, _| Ok(()))?;
    write.validate(txn, &whole)?;
    Ok(whole)
}

fn patched(
    kind: &Kind,
    old: &Object,
    style: Patch,
    patch: &Result<Document, String>,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let mut document = scale_of(kind, old.value())?;
    let (change, _) = ParsedPatch::read(style, patch, validation)?;
    change.apply(SCALE.object_type(), &mut document)?;
    Ok(document)
}

/// Server-side apply of a Scale: the field manager becomes an owner of the workload's replicas.
fn apply(txn: &mut Txn<'_>, call: &Call, body: &Result<Document, String>) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let options = WriteOptions::of_patch(&call.params, true)?;
    txn.dry_run = options.dry_run;
    let old = existing(txn, call)?;
    let document = body.as_ref();
    let document = document.map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
    let text = |name: &str| document.value[name].as_str().unwrap_or_default();
    let (version, sent) = (text("apiVersion"), text("kind"));
    if (version, sent) != (&*SCALE.api_version(), SCALE.kind) {
        let text = format!("invalid object type: {version}, Kind={sent}");
        return Err(Status::bad_request(text));
    }
    let scale = subresource_body::decode_as(txn, &SCALE, options.validation, document.clone())?;
    if !metadata::text(&scale, "name").is_empty() {
        check_name(&call.target, &scale)?;
    }
    let mut wanted = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": {"name": call.target.name(), "namespace": call.target.namespace},
    });
    if let Some(replicas) = document.value["spec"].get("replicas") {
        put_replicas(kind, &mut wanted, replicas.clone());
    }
    let force = call.params.flag("force").unwrap_or_default();
    let before = to_validated_version(txn, kind, &old)?;
    let applied = call
        .field_manager()
        .apply(&txn.now, Some(&before), &wanted, force);
    let (mut object, owners) =
        applied.map_err(|conflict| with_scale_version(conflict, &kind.api_version()))?;
    managed::set_managed_fields(&mut object, owners);
    let whole = Target {
        part: Part::Main,
        ..call.target.clone()
    };
    if txn.admission.is_some() {
        let wanted = scale_of(kind, &object)?;
        let wanted = admit_scale(txn, call, &before, wanted)?;
        put_replicas(kind, &mut object, wanted["spec"]["replicas"].clone());
    }
    let written = replace_admitted(txn, &whole, &old, object, false)?;
    answer_written(kind, written)
}

/// Replaces the apiVersion of the workload in a conflict error by the apiVersion of the Scale.
fn with_scale_version(mut conflict: Status, whole: &str) -> Status {
    let shown = |text: &str| {
        text.replace(
            &format!("using {whole}"),
            &format!("using {}", SCALE.api_version()),
        )
    };
    conflict.message = shown(&conflict.message);
    if let Some(details) = &mut conflict.details {
        for cause in &mut details.causes {
            cause.message = shown(&cause.message);
        }
    }
    conflict
}

fn answer(kind: &Kind, object: &Object) -> Result<Answer, Status> {
    Ok(Answer::object(
        200,
        Object::new(scale_of(kind, object.value())?, object.revision),
    ))
}

/// Responds with the Scale of a workload that was just written. If only a webhook can convert the workload, uses its storage version.
fn answer_written(kind: &Kind, written: Arc<Object>) -> Result<Answer, Status> {
    match needs_webhook_conversion(kind, &written) {
        true => answer(&kind.in_storage_version(), &written),
        false if kind.defined().is_none() => answer(kind, &written),
        false => answer(kind, &to_requested_version(kind, written)),
    }
}

fn put_replicas(kind: &Kind, workload: &mut Value, replicas: Value) {
    let own = ["spec", "replicas"].map(str::to_owned);
    let scale = kind.defined().and_then(|defined| defined.scale.as_ref());
    let path = scale.map_or(&own[..], |scale| &scale.replicas);
    if let Some((last, way)) = path.split_last() {
        let parent = way
            .iter()
            .fold(workload, |parent, name| json::member_or_insert_null(parent, name));
        *json::member_or_insert_null(parent, last) = replicas;
    }
}

/// Desired replicas, observed replicas and selector of a workload.
fn replicas_and_selector(kind: &Kind, workload: &Value) -> Result<(i64, i64, String), Status> {
    let Some(scale) = kind.defined().and_then(|defined| defined.scale.as_ref()) else {
        return Ok((
            workload["spec"]["replicas"].as_i64().unwrap_or_default(),
            workload["status"]["replicas"].as_i64().unwrap_or_default(),
            selector(&workload["spec"]["selector"]),
        ));
    };
    let Some(wanted) = member_at(workload, &scale.replicas) else {
        let path = scale.replicas.join(".");
        return Err(Status::internal(format!(
            "the spec replicas field {:?} does not exist",
            format!(".{path}")
        )));
    };
    let observed = member_at(workload, &scale.observed).and_then(Value::as_i64);
    let selector = scale
        .selector
        .as_ref()
        .and_then(|path| member_at(workload, path)?.as_str());
    Ok((
        wanted.as_i64().unwrap_or_default(),
        observed.unwrap_or_default(),
        selector.unwrap_or_default().to_owned(),
    ))
}

fn scale_of(kind: &Kind, workload: &Value) -> Result<Value, Status> {
    let (wanted, observed, selector) = replicas_and_selector(kind, workload)?;
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = workload["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let mut spec = json!({});
    if wanted != 0 {
        spec["replicas"] = wanted.into();
    }
    let mut status = json!({"replicas": observed});
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    Ok(
        json!({"kind": SCALE.kind, "apiVersion": SCALE.api_version(), "metadata": metadata, "spec": spec, "status": status}),
    )
}

/// A selector in the syntax of the `labelSelector` query parameter.
fn selector(selector: &Value) -> String {
    let labels = selector.get("matchLabels");
    let expressions = selector.get("matchExpressions");
    // The selector of a ReplicationController is a plain map of labels.
    let labels = if labels.is_none() && expressions.is_none() {
        selector
    } else {
        labels.unwrap_or(&Value::Null)
    };
    let equal = json::string_members(labels).map(|(key, value)| format!("{key}={value}"));
    let rest = expressions
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|one| {
            let key = one["key"].as_str().unwrap_or_default();
            let values = json::texts(&one["values"]).join(",");
            match one["operator"].as_str() {
                Some("In") => format!("{key} in ({values})"),
                Some("NotIn") => format!("{key} notin ({values})"),
                Some("DoesNotExist") => format!("!{key}"),
                _ => key.to_owned(),
            }
        });
    let mut all: Vec<String> = equal.chain(rest).collect();
    all.sort();
    all.join(",")
}
