//! Dispatches a request to its implementation, by verb and subresource.

use super::call::{Answer, Call};
use super::{
    bind, connect, create, delete, evict, finalize, list, patch, read, review, scale, token, update, watch,
};
use crate::kinds::{Part, Subresource, UnstoredAction};
use crate::machinery::status::Status;
use crate::request::Verb;
use crate::store::Txn;

pub(crate) fn run(txn: &mut Txn<'_>, mut call: Call) -> Result<Answer, Status> {
    // The served release or the CRD may have changed since the path was parsed.
    let api = txn.api();
    match api.current_definition(&call.target.kind) {
        Some(kind) => call.target.kind = kind.clone(),
        None => return Err(Status::no_such_resource()),
    }
    match (call.verb, call.target.part) {
        (Verb::Create, Part::Main) if let Some(what) = call.target.kind.unstored => match what {
            UnstoredAction::Binding => bind::bind_named(txn, &call),
            UnstoredAction::Review(review) => review::review(txn, review, call),
        },
        (Verb::Create, Part::Main) => create::create(txn, call),
        (_, Part::Sub(sub)) if sub.is_forwarded() => connect::connect(txn, &call, sub),
        (Verb::Create, Part::Sub(Subresource::Binding)) => bind::bind(txn, &call),
        (Verb::Create, Part::Sub(Subresource::Eviction)) => evict::evict(txn, &call),
        (Verb::Create, Part::Sub(Subresource::Token)) => token::create(txn, &call),
        (Verb::Update, Part::Sub(Subresource::Finalize)) => finalize::finalize(txn, &call),
        (_, Part::Sub(Subresource::Scale)) => scale::scale(txn, &call),
        (Verb::Get, part) if uses_resource_kind(part) => read::get(txn, &call),
        (Verb::List, Part::Main) => list::list(txn, &call),
        (Verb::Watch, Part::Main) => watch::watch(txn, &call),
        (Verb::Update, part) if uses_resource_kind(part) => update::update(txn, call),
        (Verb::Patch, part) if uses_resource_kind(part) => patch::patch(txn, &call),
        (Verb::Delete, Part::Main) => delete::delete(txn, &call),
        (Verb::DeleteCollection, Part::Main) => delete::delete_collection(txn, &call),
        _ => Err(Status::method_not_allowed()),
    }
}

/// Whether requests to this part read and write the object in its own kind, not in the kind of a subresource body.
fn uses_resource_kind(part: Part) -> bool {
    match part {
        Part::Main | Part::Status => true,
        Part::Sub(sub) => sub.has_object_type(),
    }
}
