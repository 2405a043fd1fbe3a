//! get and list of objects that are computed on read and not stored (componentstatuses).

use super::call::{Answer, Call, ListPlan};
use super::list::selection;
use crate::machinery::metadata;
use crate::machinery::status::{GroupResource, Status};
use crate::object::{Object, Objects};
use crate::request::Verb;
use crate::store::{Snapshot, Txn};
use serde_json::Value;
use std::sync::Arc;

/// Returns one of the objects, or a list.
pub(super) fn tell(txn: &Txn<'_>, objects: fn() -> Vec<Value>, call: &Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let named = |object: Value| {
        (
            Arc::<str>::from(metadata::text(&object, "name")),
            Object::new(object, 0),
        )
    };
    let objects: Objects = objects().into_iter().map(named).collect();
    match call.verb {
        Verb::Get => {
            let named = GroupResource {
                group: kind.group,
                kind: kind.singular,
            };
            let found = objects.get(call.target.name()).cloned();
            let object = found.ok_or_else(|| Status::not_found(named, call.target.name()))?;
            Ok(Answer::Object { code: 200, object })
        }
        Verb::List => {
            let revision = txn.revision();
            Ok(Answer::List(ListPlan {
                kind: kind.clone(),
                snapshot: Snapshot { objects, revision },
                selection: selection(call)?,
                limit: usize::MAX,
                after: None,
            }))
        }
        _ => Err(Status::method_not_allowed()),
    }
}
