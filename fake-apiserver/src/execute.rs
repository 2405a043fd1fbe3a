//! The single code path that executes all requests, from HTTP and from in-process clients.
//!
//! Takes the store lock, runs the verb and the controllers, and reports the response before it releases the lock. A request
//! that must wait for webhooks releases the lock and is retried from the start. Does not know encodings.

use crate::admission::{AdmissionSession, Requester};
use crate::kinds::{CLUSTER_ROLE, Kind};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::observe::Event;
use crate::request::{ResourcePath, Verb};
use crate::store::Store;
use crate::verbs::call::{Answer, Call, Reply};
use crate::{controllers, verbs, webhook};
use std::sync::Arc;
use tokio::time::Instant;

/// Maximum number of webhook calls and conversions of one request. More calls occur only if the state changes during each call.
const ATTEMPTS_MAX: usize = 64;

/// A request that is executed in one or more attempts.
pub(crate) struct Execution {
    call: Call,
    /// Admission session: the webhooks and policies for the request; `None` if none matches.
    session: Option<Box<AdmissionSession>>,
    /// Whether the request may have to wait for webhooks.
    may_wait: bool,
}

/// Result of one attempt to execute a request.
pub(crate) enum Progress {
    Done(Reply),
    Waits(Box<WaitingForWebhooks>),
}

/// A request that waits for webhook responses and has not changed any object yet.
pub(crate) struct WaitingForWebhooks(Execution);

impl Execution {
    pub(crate) fn new(store: &Store, call: Call) -> Self {
        let (kind, part) = (&call.target.kind, call.target.part);
        let registry = store.registry().filter(|_| !call.verb.only_reads());
        let registry = registry.filter(|registry| registry.may_match(kind, part));
        let converts = kind.conversion().is_some();
        let calls = registry
            .as_ref()
            .is_some_and(|registry| registry.may_match_webhook(kind, part));
        let registry = registry.or_else(|| converts.then(Arc::default));
        let session = registry.map(|registry| {
            let requester = Requester {
                user: call.user.clone(),
                options: verbs::options_of(&call),
            };
            Box::new(AdmissionSession::new(registry, requester))
        });
        Self {
            call,
            session,
            may_wait: calls || converts,
        }
    }

    /// Executes the request, as far as possible without waiting.
    pub(crate) fn attempt(self, store: &Arc<Store>) -> Progress {
        let Self {
            call,
            session,
            may_wait,
        } = self;
        if !may_wait {
            return Progress::Done(attempt(store, call, session).0);
        }
        let (reply, session) = attempt(store, call.clone(), session);
        match session {
            Some(session) if session.is_waiting() => {
                let session = Some(session);
                Progress::Waits(Box::new(WaitingForWebhooks(Self {
                    call,
                    session,
                    may_wait,
                })))
            }
            _ => Progress::Done(reply),
        }
    }
}

impl WaitingForWebhooks {
    /// Calls the webhooks for which the request waits, and converts objects; the returned request can be retried.
    pub(crate) async fn call_webhooks(mut self, store: &Store) -> Execution {
        if let Some(session) = &mut self.0.session {
            webhook::call_pending_webhooks(store, session).await;
        }
        self.0
    }

    /// The error for a request whose object changed on every retry while its webhooks were called.
    pub(crate) fn conflict_reply(self) -> Reply {
        let target = &self.0.call.target;
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Reply {
            outcome: Err(Status::conflict(target.kind.group_resource(), target.name(), why)),
            warnings: Vec::new(),
        }
    }

    /// The error for an in-process request that needs a webhook: in-process clients cannot wait.
    pub(crate) fn in_process_refusal(self) -> Reply {
        let target = &self.0.call.target;
        let why = format!(
            "a webhook matches this request for {}, and in-process clients cannot call webhooks; send the request over a \
             connection, or exclude it with a selector of the webhook",
            target.kind.plural
        );
        Reply {
            outcome: Err(Status::internal_error(why)),
            warnings: Vec::new(),
        }
    }

    /// Whether too many webhook calls were in vain because the state changed. False for deletecollection, which calls webhooks per object.
    pub(crate) fn has_exceeded_attempts(&self) -> bool {
        let session = self.0.session.as_ref();
        session.is_some_and(|session| session.completed_count() > ATTEMPTS_MAX)
            && self.0.call.verb != Verb::DeleteCollection
    }
}

/// Executes a request once. `session` has the webhooks to call and the webhook responses received so far.
fn attempt(
    store: &Arc<Store>,
    call: Call,
    session: Option<Box<AdmissionSession>>,
) -> (Reply, Option<Box<AdmissionSession>>) {
    let client = call.user.name.clone();
    let mut txn = store.begin(&client);
    controllers::expire(&mut txn);
    txn.user = Some(call.user.clone());
    txn.verb = Some(call.verb);
    if let Some(session) = session {
        txn.attach_admission_session(session);
    }
    let (verb, began) = (call.verb, call.began);
    let mut path = call.target.path();
    let before = txn.revision();
    let changes_roles = call.target.kind == CLUSTER_ROLE && !verb.only_reads();
    let outcome = verbs::run(&mut txn, call);
    controllers::run_queued_work(&mut txn);
    let session = txn.admission.take();
    let waits = session.as_ref().is_some_and(|session| session.is_waiting());
    let written = Some(txn.revision()).filter(|revision| *revision > before);
    if changes_roles && outcome.is_ok() && !txn.dry_run {
        controllers::aggregate_roles(&mut txn);
    }
    let (code, revision) = match &outcome {
        Ok(Answer::Object { code, object }) => {
            let named = Some(metadata::text(object.value(), "name")).filter(|name| !name.is_empty());
            path.name = path.name.or_else(|| named.map(str::to_owned));
            (*code, Some(object.revision).filter(|revision| *revision > 0))
        }
        Ok(Answer::Status(status)) => (status.code, None),
        Ok(Answer::Nothing) => (204, None),
        Ok(Answer::List(plan)) => (200, Some(plan.snapshot.revision)),
        Ok(Answer::Watch(plan)) => (200, Some(plan.revision)),
        Err(status) => (status.code, None),
    };
    if !waits {
        txn.observe(request_event(
            &client,
            verb,
            Some(path),
            (code, outcome.as_ref().err()),
            written.or(revision),
            began,
        ));
    }
    let warnings = std::mem::take(&mut txn.warnings);
    let has_garbage = txn.has_garbage();
    drop(txn);
    if has_garbage {
        controllers::collect_garbage(store);
    }
    (Reply { outcome, warnings }, session)
}

/// Reports a response to the observer that was produced without a transaction, for example a rejection.
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
        .observe(request_event(client, verb, resource, outcome, None, began));
}

fn request_event(
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
        // False for a watch that a fault rule refuses with 410: it starts with 200, and its only event is the error.
        injected: code >= 400 && failure.is_some_and(|status| status.injected),
        revision,
        elapsed: began.elapsed(),
    }
}

/// Calls conversion webhooks for the objects in a response that are not in the requested version.
pub(crate) async fn convert_reply(store: &Store, kind: &Kind, reply: Reply) -> Reply {
    let Ok(answer) = &reply.outcome else {
        return reply;
    };
    let outcome = match webhook::convert_objects(store, kind, &answer.unconverted(kind)).await {
        Ok(()) => reply.outcome.map(|answer| answer.with_converted_object(kind)),
        Err(failure) => Err(failure),
    };
    Reply { outcome, ..reply }
}
