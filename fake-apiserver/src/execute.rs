//! The one way through for requests from HTTP and in-process clients alike.
//!
//! Takes the lock, runs the verb and the controllers, and reports the answer before it lets go. Does not know encodings.

use crate::kinds::CLUSTER_ROLE;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::observe::{Event, ResourcePath, Verb};
use crate::store::Store;
use crate::verbs::call::{Answer, Call, Reply};
use crate::{controllers, verbs};
use std::sync::Arc;
use tokio::time::Instant;

/// Carries out a request.
pub(crate) fn execute(store: &Arc<Store>, call: Call) -> Reply {
    let client = call.user.name.clone();
    let mut txn = store.begin(&client);
    controllers::expire(&mut txn);
    txn.user = Some(call.user.clone());
    let (verb, began) = (call.verb, call.began);
    let mut path = call.target.path();
    let before = txn.revision();
    let changes_roles = call.target.kind == CLUSTER_ROLE && !verb.only_reads();
    let outcome = verbs::run(&mut txn, call);
    controllers::follow_up(&mut txn);
    let written = Some(txn.revision()).filter(|revision| *revision > before);
    if changes_roles && outcome.is_ok() && !txn.dry_run {
        controllers::aggregate_roles(&mut txn);
    }
    let (code, revision) = match &outcome {
        Ok(Answer::Object { code, object }) => {
            let named = Some(metadata::text(&object.value, "name")).filter(|name| !name.is_empty());
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
        controllers::collect_garbage(store);
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
