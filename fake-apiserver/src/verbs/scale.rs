//! scale: how many pods a workload is to have, read and written as a `Scale` of autoscaling/v1.
//!
//! Owns the conversion. The workload is written as by an update of it; nothing here makes pods.

use super::body::{check_name, no_body};
use super::call::{Answer, Call, Patch, Payload, Target};
use super::decode::{FieldValidation, said};
use super::options::WriteOptions;
use super::patch::ParsedPatch;
use super::read::existing;
use super::write::replace;
use crate::kinds::Part;
use crate::machinery::document::Document;
use crate::machinery::faults::Faults;
use crate::machinery::status::{GroupResource, Status};
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::observe::Verb;
use crate::patch::managed;
use crate::schema::{Type, conform};
use crate::store::Txn;
use serde_json::{Value, json};

const VERSION: &str = "autoscaling/v1";
const SCALE: GroupResource<'static> = GroupResource {
    group: "autoscaling",
    kind: "Scale",
};

/// Reads or writes the scale of a workload.
pub(super) fn scale(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let (old, options, changed) = match (call.verb, &call.payload) {
        (Verb::Get, _) => {
            let found = existing(txn, call)?;
            return Ok(answer(&found));
        }
        (Verb::Update, Payload::Object(body)) => {
            let options = WriteOptions::read(&call.params, "UpdateOptions")?;
            (existing(txn, call)?, options, body.value.clone())
        }
        (Verb::Patch, Payload::Patch(style, body)) => {
            let options = WriteOptions::of_patch(&call.params, false)?;
            let old = existing(txn, call)?;
            let changed = patched(&old, *style, body)?;
            (old, options, changed)
        }
        (_, Payload::Apply(body)) => return apply(txn, call, body),
        _ => return Err(no_body()),
    };
    txn.dry_run = options.dry_run;
    let changed = decode(txn, options.validation, changed)?;
    check_name(&call.target, &changed)?;
    let replicas = changed["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas < 0 {
        let mut faults = Faults::default();
        faults.invalid("spec.replicas", replicas, "must be greater than or equal to 0");
        return Err(Status::invalid(SCALE, call.target.name(), faults));
    }
    let mut new = Value::clone(&old.value);
    json::member(&mut new, "spec").insert("replicas".to_owned(), replicas.into());
    for precondition in ["resourceVersion", "uid"] {
        let wanted = changed["metadata"].get(precondition).cloned();
        metadata::set(&mut new, precondition, wanted);
    }
    let whole = Target {
        part: Part::Main,
        ..call.target.clone()
    };
    let written = replace(txn, &whole, &old, new, Some(call.field_manager()))?;
    Ok(answer(&written))
}

/// Checks that a document is a scale.
fn decode(txn: &mut Txn<'_>, validation: FieldValidation, mut document: Value) -> Result<Value, Status> {
    for (field, known) in [("apiVersion", VERSION), ("kind", SCALE.kind)] {
        let sent = document[field].as_str().unwrap_or_default();
        if !["", known].contains(&sent) {
            let text = format!("a scale has the {field} {known:?}, not {sent:?}");
            return Err(Status::bad_request(text));
        }
    }
    let refuse = |why: &str| {
        Status::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: {why}"
        ))
    };
    let Some(of) = Type::find(VERSION, SCALE.kind) else {
        return Err(Status::internal("the type of scales is missing"));
    };
    let unknown = conform(of, &mut document).map_err(|error| refuse(&error.to_string()))?;
    let flaws: Vec<String> = said(&unknown, "unknown").collect();
    match validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => txn.warnings.extend(flaws),
        FieldValidation::Strict if flaws.is_empty() => {}
        FieldValidation::Strict => {
            return Err(refuse(&format!("strict decoding error: {}", flaws.join(", "))));
        }
    }
    Ok(document)
}

fn patched(old: &Object, style: Patch, patch: &Result<Document, String>) -> Result<Value, Status> {
    let mut document = scale_of(&old.value);
    let (change, _) = ParsedPatch::read(style, patch)?;
    let of = Type::find(VERSION, SCALE.kind);
    let of = of.ok_or_else(|| Status::internal("the type of scales is missing"))?;
    change.apply(of, &mut document)?;
    Ok(document)
}

/// Applies a scale: it is the number of replicas of the workload that somebody wants to own.
fn apply(txn: &mut Txn<'_>, call: &Call, body: &Result<Document, String>) -> Result<Answer, Status> {
    let options = WriteOptions::of_patch(&call.params, true)?;
    txn.dry_run = options.dry_run;
    let old = existing(txn, call)?;
    let document = body.as_ref();
    let document = document.map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
    let text = |name: &str| document.value[name].as_str().unwrap_or_default();
    let (version, sent) = (text("apiVersion"), text("kind"));
    if (version, sent) != (VERSION, SCALE.kind) {
        let text = format!("invalid object type: {version}, Kind={sent}");
        return Err(Status::bad_request(text));
    }
    let scale = decode(txn, options.validation, document.value.clone())?;
    check_name(&call.target, &scale)?;
    let kind = &call.target.kind;
    let mut wanted = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": {"name": call.target.name(), "namespace": call.target.namespace},
    });
    if let Some(replicas) = document.value["spec"].get("replicas") {
        wanted["spec"] = json!({"replicas": replicas});
    }
    let force = call.params.flag("force").unwrap_or_default();
    let applied = call.field_manager().apply(&txn.now, Some(&old), &wanted, force);
    let (mut object, owners) = applied.map_err(|conflict| in_scale(conflict, &kind.api_version()))?;
    managed::mark(&mut object, owners);
    let whole = Target {
        part: Part::Main,
        ..call.target.clone()
    };
    let written = replace(txn, &whole, &old, object, None)?;
    Ok(answer(&written))
}

/// A conflict about the fields of a scale, which has a version of its own.
fn in_scale(mut conflict: Status, whole: &str) -> Status {
    let shown = |text: &str| text.replace(&format!("using {whole}"), &format!("using {VERSION}"));
    conflict.message = shown(&conflict.message);
    if let Some(details) = &mut conflict.details {
        for cause in &mut details.causes {
            cause.message = shown(&cause.message);
        }
    }
    conflict
}

fn answer(object: &Object) -> Answer {
    Answer::Object {
        code: 200,
        object: Object::new(scale_of(&object.value), object.revision),
    }
}

/// The scale of a workload.
fn scale_of(workload: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = workload["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let mut spec = json!({});
    if let Some(replicas) = workload["spec"]["replicas"]
        .as_i64()
        .filter(|replicas| *replicas != 0)
    {
        spec["replicas"] = replicas.into();
    }
    let mut status = json!({"replicas": workload["status"]["replicas"].as_i64().unwrap_or_default()});
    let selector = selector(&workload["spec"]["selector"]);
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    json!({"kind": SCALE.kind, "apiVersion": VERSION, "metadata": metadata, "spec": spec, "status": status})
}

/// A selector as one text, as requests spell it.
fn selector(selector: &Value) -> String {
    let labels = selector.get("matchLabels");
    let expressions = selector.get("matchExpressions");
    // The oldest workload has nothing but labels.
    let labels = if labels.is_none() && expressions.is_none() {
        selector
    } else {
        labels.unwrap_or(&Value::Null)
    };
    let equal = json::pairs(labels).map(|(key, value)| format!("{key}={value}"));
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
