//! create: a new object from a body.
//!
//! The order of checks is the real server's: decoding, namespace, admission, preparation, validation, existence.

use super::options::WriteOptions;
use super::{admission, namespace, setting, shown};
use crate::call::{Answer, Call, Payload, Target};
use crate::decode::decode;
use crate::faults::Faults;
use crate::kinds::{Generation, Kind, NAMESPACE};
use crate::meta;
use crate::rbac;
use crate::schema::{Type, zero};
use crate::status::Status;
use crate::store::{Object, Txn};
use rand::RngExt;
use serde_json::Value;

/// Characters of generated names: no vowels, so that no words come out.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// A generated name has at most 63 characters, 5 of them random.
const GENERATED_BASE: usize = 58;
const GENERATED_SUFFIX: usize = 5;
const GENERATE_ATTEMPTS: usize = 8;

pub(super) fn create(txn: &mut Txn<'_>, mut call: Call) -> Result<Answer, Status> {
    let kind = call.target.kind;
    let Payload::Object(body) = std::mem::replace(&mut call.payload, Payload::None) else {
        return Err(no_body());
    };
    let options = WriteOptions::read(&call.params, "CreateOptions")?;
    txn.dry_run = options.dry_run;
    let decoded = decode(kind, body).map_err(|why| why.of_body(kind))?;
    txn.warnings
        .extend(options.validation.of_body(kind, decoded.flaws)?);
    let mut object = decoded.object;
    if call
        .target
        .name
        .as_deref()
        .is_some_and(|name| name != meta::text(&object, "name"))
    {
        return Err(Status::bad_request(
            "the name in the object does not match the name on the request",
        ));
    }
    place(kind, call.target.namespace.as_deref(), &mut object)?;
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        meta::set(&mut object, field, None);
    }
    call.writer().track(&txn.now, None, &mut object);
    insert(txn, &call.target, object)
}

/// Makes an object of one whose owners are recorded.
pub(super) fn insert(txn: &mut Txn<'_>, target: &Target, mut object: Value) -> Result<Answer, Status> {
    let kind = target.kind;
    namespace::admit(txn, kind, &object)?;
    admission::admit(txn, kind, &mut object)?;
    prepare(txn, kind, &mut object)?;
    rbac::check_escalation(txn, kind, None, &object)?;
    validate(kind, &object)?;
    let key = kind.key(target.namespace.as_deref(), meta::text(&object, "name"));
    if let Some(present) = txn.get(kind, &key) {
        return Err(exists(kind, &object, &present));
    }
    txn.warnings.extend((kind.hooks.warn)(&object, &Value::Null));
    txn.warnings.extend(kind.caveat.map(str::to_owned));
    let object = txn.put_limited(kind, &key, object)?;
    if std::ptr::eq(kind, NAMESPACE) {
        namespace::add_account(txn, &key);
    }
    Ok(Answer::Object {
        code: 201,
        object: shown(kind, object),
    })
}

/// The refusal of a request that needs a body and has none.
pub(super) fn no_body() -> Status {
    Status::bad_request("the request has no body; send the object as JSON")
}

/// Fills in the namespace from the request, or checks that the object agrees with it.
pub(super) fn place(kind: &Kind, namespace: Option<&str>, object: &mut Value) -> Result<(), Status> {
    let requested = if kind.namespaced {
        namespace.unwrap_or_default()
    } else {
        ""
    };
    let own = meta::text(object, "namespace");
    if own == requested {
        return Ok(());
    }
    if !kind.namespaced {
        meta::set(object, "namespace", None);
        return Ok(());
    }
    if !own.is_empty() {
        let text = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(text));
    }
    meta::set(object, "namespace", Some(requested.into()));
    Ok(())
}

fn prepare(txn: &mut Txn<'_>, kind: &'static Kind, object: &mut Value) -> Result<(), Status> {
    // A revision that is no number is none.
    if meta::text(object, "resourceVersion")
        .parse::<u64>()
        .is_ok_and(|revision| revision > 0)
    {
        return Err(Status::internal(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let stored = kind.stored();
    if stored.status && stored.plural != "nodes" {
        // Only the kubelet's registration may bring a status along.
        let empty = Type::of(stored).field("status").map(|field| zero(&field.form));
        meta::assign(object, "status", empty.unwrap_or_default());
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        meta::set(object, field, None);
    }
    let uid = uuid::Builder::from_random_bytes(txn.random().random())
        .into_uuid()
        .to_string();
    meta::set(object, "uid", Some(uid.into()));
    meta::set(object, "creationTimestamp", Some((*txn.now).into()));
    if kind.generation == Generation::FromCreation {
        meta::set(object, "generation", Some(1.into()));
    }
    generate_name(txn, kind, object);
    (stored.hooks.create)(object, &setting(txn));
    Ok(())
}

/// Completes `generateName`; whether the name is free is tried a few times, as the real server does.
fn generate_name(txn: &mut Txn<'_>, kind: &'static Kind, object: &mut Value) {
    let base = meta::text(object, "generateName").to_owned();
    if base.is_empty() || !meta::text(object, "name").is_empty() {
        return;
    }
    let namespace = meta::text(object, "namespace").to_owned();
    let base: String = base.chars().take(GENERATED_BASE).collect();
    for _ in 0..GENERATE_ATTEMPTS {
        let name = format!("{base}{}", suffix(txn));
        let free = txn.get(kind, &kind.key(Some(&namespace), &name)).is_none();
        meta::set(object, "name", Some(name.into()));
        if free {
            return;
        }
    }
}

/// The random end of a generated name.
pub(super) fn suffix(txn: &mut Txn<'_>) -> String {
    (0..GENERATED_SUFFIX)
        .map(|_| char::from(ALPHABET[txn.random().random_range(0..ALPHABET.len())]))
        .collect()
}

fn validate(kind: &'static Kind, object: &Value) -> Result<(), Status> {
    let mut faults = Faults::default();
    meta::validate_generated(object, kind.name_rule, &mut faults);
    meta::validate(object, kind.name_rule, &mut faults);
    (kind.hooks.validate)(object, &mut faults);
    (kind.hooks.validate_create)(object, &mut faults);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(
            kind.stored().subject(),
            meta::text(object, "name"),
            faults,
        ))
    }
}

fn exists(kind: &Kind, object: &Value, present: &Object) -> Status {
    let mut status = Status::already_exists(kind, meta::text(object, "name"));
    if meta::is_deleting(&present.value) {
        status.message.insert_str(0, "object is being deleted: ");
    }
    if !meta::text(object, "generateName").is_empty() {
        status
            .message
            .push_str(", the server was not able to generate a unique name for the object");
    }
    status
}
