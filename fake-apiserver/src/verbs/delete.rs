//! delete and deletecollection: selects the objects to delete and builds the response.

use super::call::{Answer, Call, ListPlan, Payload};
use super::delete_options::DeleteOptions;
use super::deletion_admission::{admit_deletion, admit_deletions};
use super::list::{self, selected, selection};
use super::read::existing;
use super::remove::{remove, remove_each};
use crate::machinery::status::Status;
use crate::object::Object;
use crate::store::{Snapshot, Txn};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn delete(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let options = DeleteOptions::read(&call.params, body(&call.payload))?;
    txn.dry_run = options.dry_run;
    let (kind, name) = (&call.target.kind, call.target.name());
    if kind.undeletable.contains(&name) {
        let why = format!("this {} may not be deleted", kind.singular());
        return Err(Status::forbidden(kind.group_resource(), name, &why));
    }
    let old = existing(txn, call)?;
    options.check_preconditions(kind, name, old.value())?;
    admit_deletion(txn, kind, &old)?;
    remove(txn, &call.target, &old, &options)
}

/// Deletes the selected objects and returns them as a list. Objects with finalizers only get a deletionTimestamp.
pub(super) fn delete_collection(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let (kind, selection) = (&call.target.kind, selection(call)?);
    let options = DeleteOptions::read(&call.params, body(&call.payload))?;
    txn.dry_run = options.dry_run;
    let limit = list::page_size(&call.params)?;
    let (snapshot, after) = list::snapshot(txn, call)?;
    let objects: Vec<Arc<Object>> = selected(&snapshot.objects, &selection, after.as_deref())
        .take(limit)
        .cloned()
        .collect();
    let (count, refusal) = admit_deletions(txn, kind, &objects)?;
    remove_each(txn, kind, &objects[..count], &options)?;
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let snapshot = Snapshot {
        revision: txn.revision(),
        ..snapshot
    };
    Ok(Answer::List(ListPlan {
        kind: kind.clone(),
        snapshot,
        selection,
        limit,
        after,
    }))
}

fn body(payload: &Payload) -> &Value {
    match payload {
        Payload::Object(body) => &body.value,
        _ => &Value::Null,
    }
}
