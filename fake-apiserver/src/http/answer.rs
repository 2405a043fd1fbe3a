//! The handling of one request, from its head to its response.
//!
//! Owns the order of the steps: authorization, in-flight limit, timeout, fault injection, reading the body, executing the verb. All
//! requests pass through one function, which also reports the outcome and updates metrics.

use super::body::Body;
use super::endpoint::ConnectionContext;
use super::head::RequestHead;
use super::inflight::InFlightGuard;
use super::metrics::Labels;
use super::offload::LongWork;
use super::outcome::{Outcome, Rendered};
use super::pending_responses::PendingResponses;
use super::route::Route;
use super::stream::WatchBody;
use super::{gzip, non_resource, offload, payload, request_timeout, respond};
use crate::execute::{self, Execution, Progress};
use crate::fault_injection::FaultAction;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::request::Verb;
use crate::store::Store;
use crate::verbs::call::{Answer, Call, Params, Reply, Target, WatchPlan};
use crate::verbs::options;
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// The `Status.message` of the 500 response if the handler of a request panicked, as in kube-apiserver.
pub const PANICKED: &str = "This request caused apiserver to panic. Look in the logs for details.";

/// Error: a fault rule closes the connection instead of responding.
#[derive(Debug, thiserror::Error)]
#[error("a fault rule closed the connection")]
pub(super) struct ConnectionClosed;

/// A request that is being handled.
struct Exchange<'a> {
    endpoint: &'a ConnectionContext,
    head: &'a RequestHead,
    params: Params,
    labels: Labels,
    /// The old revision at which the request reads the state because of a fault rule; `None` for the newest state.
    stale: Option<u64>,
}

/// Handles a request, reports its response and updates metrics. Returns an error if a fault rule closes the connection instead.
pub(super) async fn handle_request(
    endpoint: &ConnectionContext,
    pending: &Arc<PendingResponses>,
    request: Request<Incoming>,
) -> Result<Response<Body>, ConnectionClosed> {
    let service = &endpoint.service;
    let latency = service.store.options().latency;
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let began = Instant::now();
    let audit_id = audit_id(&request);
    let mut hold = InFlightGuard::new(
        service.store.activity().begin(),
        pending.clone(),
        service.in_flight.unread.clone(),
    );
    let params = Params::parse(request.uri().query().unwrap_or_default());
    let api = service.store.api();
    let route = Route::parse(request.method(), request.uri().path(), &params, &api.catalogue);
    let route = route.served_by(&api);
    let labels = route.labels(&params);
    let flight = service.metrics.count_in_flight(route.verb().only_reads());
    let (head, authorized) = RequestHead::read(endpoint, &request, &route, &params);
    let exchange = Exchange {
        endpoint,
        head: &head,
        params,
        labels,
        stale: None,
    };
    let outcome = if hold.acquire(&service.in_flight, head.verb, &head.user) {
        let handled = exchange.with_timeout(request, authorized.map(|()| route), began);
        // The default panic hook has logged the panic. Other requests on the connection continue.
        let caught = AssertUnwindSafe(handled).catch_unwind().await;
        caught.unwrap_or_else(|_| Ok(Outcome::of(&head, Err(Status::internal(PANICKED)))))
    } else {
        payload::discard_short_body(request).await;
        Ok(Outcome::of(&head, Ok(Rendered::Plain(respond::too_many()))))
    };
    let response = outcome.map(|outcome| {
        outcome.report(&head, service);
        let mut response = outcome.respond(&head, hold);
        let private = HeaderValue::from_static("no-cache, private");
        response.headers_mut().entry(CACHE_CONTROL).or_insert(private);
        response.headers_mut().insert(AUDIT_ID, audit_id);
        response
    });
    drop(flight);
    let code = response.as_ref().map_or(0, |response| response.status().as_u16());
    service.metrics.record(labels, code, began.elapsed());
    response
}

/// The audit ID in the request's header, or a new one.
fn audit_id(request: &Request<Incoming>) -> HeaderValue {
    let sent = request.headers().get(AUDIT_ID).filter(|id| !id.is_empty());
    sent.cloned().unwrap_or_else(|| {
        let mut text = [0; Hyphenated::LENGTH];
        let text = Uuid::new_v4().hyphenated().encode_lower(&mut text);
        HeaderValue::from_str(text).expect("a UUID is a valid header value")
    })
}

impl Exchange<'_> {
    /// Handles a request and applies the request timeout, except to watches.
    async fn with_timeout(
        self,
        request: Request<Incoming>,
        route: Result<Route, Status>,
        began: Instant,
    ) -> Result<Outcome, ConnectionClosed> {
        let head = self.head;
        let most = self.endpoint.service.store.limits().request;
        let (timeout, route) = match request_timeout::parse(self.params.get("timeout"), most) {
            _ if head.verb == Verb::Watch => return self.with_faults(request, route).await,
            Ok(timeout) => (timeout, route),
            Err(refusal) => (most, Err(refusal)),
        };
        let answer = self.with_faults(request, route);
        match run_until(began, timeout, answer).await {
            Some(outcome) => outcome,
            None => Ok(Outcome::of(head, Ok(Rendered::Plain(respond::timed_out())))),
        }
    }

    /// Evaluates the fault rules for a request, then handles the request unless a rule replaces its processing.
    async fn with_faults(
        mut self,
        request: Request<Incoming>,
        route: Result<Route, Status>,
    ) -> Result<Outcome, ConnectionClosed> {
        let (head, service) = (self.head, &self.endpoint.service);
        let revision = self.params.get("resourceVersion");
        let effect =
            service
                .store
                .evaluate_faults(&head.user.name, head.verb, head.resource.as_ref(), revision);
        if !effect.delay.is_zero() {
            tokio::time::sleep(effect.delay).await;
        }
        let route = match effect.action {
            None => route,
            Some(FaultAction::Disconnect) => return Err(ConnectionClosed),
            Some(FaultAction::Refuse(status)) if status.code == 410 && head.verb == Verb::Watch => {
                if let Ok(Route::Resource { target, .. }) = &route {
                    return Ok(self.expired_watch(target, status));
                }
                route
            }
            Some(FaultAction::Refuse(status)) => route.and(Err(status)),
            Some(FaultAction::Stale(revision)) => {
                self.stale = Some(revision);
                route
            }
            Some(FaultAction::LoseAnswer) => {
                // The request is executed and reported, but its response is dropped. If the response is a watch, the watch ends.
                self.handle(request, route).await.report(head, service);
                return Err(ConnectionClosed);
            }
        };
        Ok(self.handle(request, route).await)
    }

    /// A watch that a fault rule refuses: the watch starts, and its only event is the ERROR event.
    fn expired_watch(&self, target: &Target, status: Status) -> Outcome {
        let store = &self.endpoint.service.store;
        let plan = WatchPlan {
            watcher: Err((store.allocate_watch_id(), status)),
            bookmarks: false,
            marks_end: false,
            timeout_seconds: None,
            revision: store.revision(),
        };
        Outcome::of(self.head, Ok(self.watch(target, plan, String::new())))
    }

    fn watch(&self, target: &Target, plan: WatchPlan, include_object: String) -> Rendered {
        let service = &self.endpoint.service;
        Rendered::Watch(Box::new(WatchBody::new(
            service.store.clone(),
            &target.kind,
            plan,
            self.head.form(include_object),
            self.endpoint.stop.clone(),
            self.head.user.name.clone(),
            service.metrics.begin_watch(self.labels),
        )))
    }

    async fn handle(self, request: Request<Incoming>, route: Result<Route, Status>) -> Outcome {
        let head = self.head;
        match route {
            Ok(Route::Resource { verb, target }) => self.handle_resource(request, verb, target).await,
            Ok(Route::NonResource(path)) => {
                let answer =
                    non_resource::non_resource_response(self.endpoint, head, &request, &path, &self.params);
                payload::discard_short_body(request).await;
                Outcome::of(head, Ok(Rendered::Plain(answer)))
            }
            Ok(Route::Unknown) => {
                payload::discard_short_body(request).await;
                Outcome::of(head, Ok(Rendered::Plain(respond::not_found_text())))
            }
            Ok(Route::Refused { status, .. }) | Err(status) => {
                payload::discard_short_body(request).await;
                Outcome::of(head, Err(status))
            }
        }
    }

    async fn handle_resource(mut self, request: Request<Incoming>, verb: Verb, target: Target) -> Outcome {
        let (head, store) = (self.head, &self.endpoint.service.store);
        let agent = user_agent(&request, verb);
        let payload = match payload::read(request, verb, &target).await {
            Ok(payload) => payload,
            Err(refusal) => {
                let refusal = options::invalid_body_error(verb, &self.params, refusal);
                return Outcome::of(head, Err(refusal));
            }
        };
        self.await_revision(verb, &target.kind).await;
        let include_object = self.params.get("includeObject").to_owned();
        let call = Call {
            user: head.user.clone(),
            verb,
            target: target.clone(),
            params: std::mem::take(&mut self.params),
            payload,
            began: Instant::now(),
            agent,
            stale: self.stale,
        };
        let Reply {
            outcome,
            mut warnings,
        } = execute_call(store, &self.endpoint.service.in_flight.long_work, call).await;
        warnings.splice(0..0, target.kind.deprecation_warning(store.profile()));
        let form_check = head.form(include_object.clone()).validate_include_object();
        let answer = match outcome {
            Ok(Answer::Watch(plan)) => match head.accept.stream_unavailable().map_or(form_check, Err) {
                Err(refusal) => {
                    plan.abandon(store);
                    Err(refusal)
                }
                Ok(()) => Ok(self.watch(&target, plan, include_object)),
            },
            Ok(_) if let Err(refusal) = form_check => Err(refusal),
            Ok(Answer::Object { .. } | Answer::List(_)) if let Some(refusal) = &head.metadata_mismatch => {
                return Outcome::from_store(head, Err(refusal.clone()), warnings).with_error_as_json();
            }
            Ok(answer) => match self.render(&target, answer, include_object).await {
                Some(rendered) => rendered,
                None => return Outcome::of(head, Ok(Rendered::Plain(respond::too_many()))),
            },
            Err(refusal) => Err(refusal),
        };
        Outcome::from_store(head, answer, warnings)
    }

    /// Renders the result of a verb, on a blocking thread if slow. Returns `None` for a long list if too many long lists are being
    /// rendered, or if clients have left too many bytes of responses unread.
    async fn render(
        &self,
        target: &Target,
        answer: Answer,
        include_object: String,
    ) -> Option<Result<Rendered, Status>> {
        let (kind, form) = (target.kind.clone(), self.head.form(include_object));
        let (in_flight, is_long) = (&self.endpoint.service.in_flight, offload::is_long(&answer));
        let _list_permit = match &in_flight.long_lists {
            Some(semaphore) if is_long => Some(semaphore.try_acquire().ok()?),
            _ => None,
        };
        let permit = in_flight.long_work.permit(is_long).await;
        if matches!(answer, Answer::List(_)) && in_flight.unread.is_full() {
            return None;
        }
        let plain =
            offload::run_long_work(permit, move || respond::render_answer(&kind, answer, &form)).await;
        Some(plain.map(|plain| {
            Rendered::Plain(plain.gzip_if_accepted(self.head.accepts_gzip, gzip::OBJECT_BYTES_MIN))
        }))
    }

    /// Waits some seconds for a requested revision that does not exist yet. Does not wait for Event objects: kube-apiserver has no watch
    /// cache for them.
    async fn await_revision(&self, verb: Verb, kind: &Kind) {
        let (params, store) = (&self.params, &self.endpoint.service.store);
        let reads = matches!(verb, Verb::Get | Verb::List) || params.flag("sendInitialEvents") == Some(true);
        let reads = reads && !kind.expires;
        if let Ok(requested) = params.get("resourceVersion").parse()
            && reads
            && requested > store.revision()
        {
            store.wait_for_revision(requested).await;
        }
    }
}

/// Executes a request, and waits for the webhooks that it needs.
async fn execute_call(store: &Arc<Store>, long_work: &LongWork, call: Call) -> Reply {
    let (is_long, kind) = (offload::may_take_long(&call), call.target.kind.clone());
    let mut execution = Execution::new(store, call);
    loop {
        let executing = store.clone();
        let permit = long_work.permit(is_long).await;
        let waiting = match offload::run_long_work(permit, move || execution.attempt(&executing)).await {
            Progress::Done(reply) if kind.conversion().is_none() => return reply,
            Progress::Done(reply) => return Box::pin(execute::convert_reply(store, &kind, reply)).await,
            Progress::Waits(waiting) => waiting,
        };
        if waiting.has_exceeded_attempts() {
            return waiting.conflict_reply();
        }
        execution = Box::pin(waiting.call_webhooks(store)).await;
    }
}

/// Runs a future until `timeout` has passed since `began`; then drops the future.
async fn run_until<T>(began: Instant, timeout: Duration, work: impl Future<Output = T>) -> Option<T> {
    if began.elapsed() >= timeout {
        return None;
    }
    tokio::time::timeout_at(began + timeout, work).await.ok()
}

/// The `User-Agent` of a write, which is the default field manager. Empty for reads.
fn user_agent(request: &Request<Incoming>, verb: Verb) -> String {
    let header = request.headers().get(USER_AGENT).filter(|_| !verb.only_reads());
    header.map_or_else(String::new, |agent| {
        String::from_utf8_lossy(agent.as_bytes()).into_owned()
    })
}
