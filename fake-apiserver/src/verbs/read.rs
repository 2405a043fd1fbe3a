//! The verb get, and reading the object of a request for other verbs.

use super::call::{Answer, Call};
use super::convert::to_requested_version;
use super::list;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::store::Txn;
use std::sync::Arc;

pub(super) fn get(txn: &Txn<'_>, call: &Call) -> Result<Answer, Status> {
    if call.params.flag("export") == Some(true) {
        let text = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(text));
    }
    let kind = &call.target.kind;
    let revision = list::parse_revision(call.params.get("resourceVersion"));
    let revision = revision.map_err(|why| match kind.expires {
        true => list::invalid_revision(&why),
        false => Status::internal(why),
    })?;
    list::refuse_future(txn, kind, revision)?;
    let object = match call.stale {
        Some(_) => read_at_old_revision(txn, call)?,
        None => existing(txn, call)?,
    };
    Ok(Answer::object(200, to_requested_version(kind, object)))
}

/// Reads the object at the old revision that a fault rule selects.
fn read_at_old_revision(txn: &Txn<'_>, call: &Call) -> Result<Arc<Object>, Status> {
    let target = &call.target;
    let snapshot = txn.snapshot_as_of(&target.kind, call.stale);
    let found = snapshot.objects.get(target.key().as_str()).cloned();
    found.ok_or_else(|| Status::not_found(target.kind.group_resource(), target.name()))
}

/// The stored object that the request names.
pub(super) fn existing(txn: &Txn<'_>, call: &Call) -> Result<Arc<Object>, Status> {
    let target = &call.target;
    txn.get(&target.kind, &target.key())
        .ok_or_else(|| Status::not_found(target.kind.group_resource(), target.name()))
}
