//! What each verb does, as functions over a transaction.
//!
//! `execute` is the one way through for requests from HTTP and in-process clients alike: it takes the lock, runs the
//! verb, and reports the answer before it lets go. Does not know encodings.

mod admission;
mod apply;
mod bind;
mod create;
mod delete;
mod events;
mod evict;
mod garbage;
mod list;
mod namespace;
mod options;
mod patch;
mod review;
mod scale;
mod token;
mod token_volume;
mod update;
mod watch;

use crate::call::{Answer, Call, Part, Reply};
use crate::kinds::{CLUSTER_ROLE, Kind, Setting, Subresource};
use crate::meta;
use crate::observe::{Event, ResourcePath, Verb};
use crate::rbac;
use crate::status::Status;
use crate::store::{Object, Store, Txn};
use std::sync::Arc;
use std::time::Instant;

pub(crate) use garbage::collect as collect_garbage;
pub(crate) use namespace::create_initial;

/// Carries out a request.
pub(crate) fn execute(store: &Arc<Store>, call: Call) -> Reply {
    let client = call.user.name.clone();
    let mut txn = store.begin(&client);
    events::expire(&mut txn);
    txn.user = Some(call.user.clone());
    let (verb, began) = (call.verb, call.began);
    let mut path = call.target.path();
    let before = txn.revision();
    let changes_roles = std::ptr::eq(call.target.kind, CLUSTER_ROLE) && !verb.only_reads();
    let outcome = run(&mut txn, call);
    let written = Some(txn.revision()).filter(|revision| *revision > before);
    if changes_roles && outcome.is_ok() && !txn.dry_run {
        rbac::settle(&mut txn);
    }
    let (code, revision) = match &outcome {
        Ok(Answer::Object { code, object }) => {
            let named = Some(meta::text(&object.value, "name")).filter(|name| !name.is_empty());
            path.name = path.name.or_else(|| named.map(str::to_owned));
            (*code, Some(object.revision).filter(|revision| *revision > 0))
        }
        Ok(Answer::Status(status)) => (status.code, None),
        Ok(Answer::List(plan)) => (200, Some(plan.snapshot.revision)),
        Ok(Answer::Watch(plan)) => (200, Some(plan.revision)),
        Err(status) => (status.code, None),
    };
    txn.observe(answered(
        &client,
        verb,
        Some(path),
        (code, outcome.as_ref().err()),
        written.or(revision),
        began,
    ));
    let warnings = std::mem::take(&mut txn.warnings);
    let has_garbage = txn.has_garbage();
    drop(txn);
    if has_garbage {
        garbage::collect(store);
    }
    Reply { outcome, warnings }
}

/// Reports a request that was answered without a look at the store, such as one that was refused.
pub(crate) fn report(
    store: &Store,
    client: &Arc<str>,
    verb: Verb,
    resource: Option<ResourcePath>,
    outcome: (u16, Option<&Status>),
    began: Instant,
) {
    store
        .begin(client)
        .observe(answered(client, verb, resource, outcome, None, began));
}

fn answered(
    client: &Arc<str>,
    verb: Verb,
    resource: Option<ResourcePath>,
    (code, failure): (u16, Option<&Status>),
    revision: Option<u64>,
    began: Instant,
) -> Event {
    Event::Request {
        client: client.clone(),
        verb,
        resource,
        code,
        reason: failure.and_then(|status| status.reason).map(str::to_owned),
        message: failure.map(|status| status.message.clone()),
        revision,
        elapsed: began.elapsed(),
    }
}

fn run(txn: &mut Txn<'_>, call: Call) -> Result<Answer, Status> {
    // The release may have changed since the path was read.
    if !call.target.kind.life.contains(txn.profile()) {
        return Err(Status::no_such_resource());
    }
    match (call.verb, call.target.part) {
        (Verb::Create, Part::Main) if let Some(asked) = call.target.kind.review => {
            review::review(txn, asked, call)
        }
        (Verb::Create, Part::Main) => create::create(txn, call),
        (Verb::Create, Part::Sub(Subresource::Binding)) => bind::bind(txn, &call),
        (Verb::Create, Part::Sub(Subresource::Eviction)) => evict::evict(txn, &call),
        (Verb::Create, Part::Sub(Subresource::Token)) => token::create(txn, &call),
        (Verb::Update, Part::Sub(Subresource::Finalize)) => namespace::finalize(txn, &call),
        (_, Part::Sub(Subresource::Scale)) => scale::scale(txn, &call),
        (Verb::Get, Part::Main | Part::Status | Part::Sub(Subresource::Approval)) => get(txn, &call),
        (Verb::List, Part::Main) => list::list(txn, &call),
        (Verb::Watch, Part::Main) => watch::watch(txn, &call),
        (Verb::Update, Part::Main | Part::Status | Part::Sub(Subresource::Approval)) => {
            update::update(txn, call)
        }
        (Verb::Patch, Part::Main | Part::Status | Part::Sub(Subresource::Approval)) => {
            patch::patch(txn, &call)
        }
        (Verb::Delete, Part::Main) => delete::delete(txn, &call),
        (Verb::DeleteCollection, Part::Main) => delete::delete_collection(txn, &call),
        _ => Err(Status::method_not_allowed()),
    }
}

fn get(txn: &Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let revision = list::revision(call.params.get("resourceVersion")).map_err(Status::internal)?;
    if let Some(asked) = revision.filter(|asked| *asked > txn.revision()) {
        return Err(Status::revision_too_large(asked, txn.revision()));
    }
    let object = match call.stale {
        Some(_) => stale(txn, call)?,
        None => existing(txn, call)?,
    };
    Ok(Answer::Object {
        code: 200,
        object: shown(call.target.kind, object),
    })
}

/// The object that a request names, as a perturbation has it seen.
fn stale(txn: &Txn<'_>, call: &Call) -> Result<Arc<Object>, Status> {
    let target = &call.target;
    let snapshot = txn.snapshot_as_of(target.kind, call.stale);
    let found = snapshot.objects.get(target.key().as_str()).cloned();
    found.ok_or_else(|| Status::not_found(target.kind.resource(), target.name()))
}

/// The object that a request names.
fn existing(txn: &Txn<'_>, call: &Call) -> Result<Arc<Object>, Status> {
    let target = &call.target;
    txn.get(target.kind, &target.key())
        .ok_or_else(|| Status::not_found(target.kind.resource(), target.name()))
}

/// An object in the form of the resource through which it is read.
pub(crate) fn shown(kind: &Kind, object: Arc<Object>) -> Arc<Object> {
    match kind.view {
        None => object,
        Some(view) => object.like((view.from_stored)(&object.value), object.revision),
    }
}

/// What hooks may look at during a transaction. The time is passed in because the transaction stays borrowed.
fn setting<'a>(txn: &'a Txn<'_>) -> Setting<'a> {
    Setting {
        now: &txn.now,
        options: txn.options(),
        profile: txn.profile(),
    }
}
