//! The shell around the core: connections, and one request from bytes to bytes.
//!
//! Owns limits on what a peer may send. Does not know what verbs do or how they store.

mod admit;
mod aside;
mod body;
mod deadline;
mod gzip;
mod health;
mod impersonate;
mod inflight;
mod listener;
pub(crate) mod metrics;
mod negotiate;
mod openapi;
mod patience;
mod pieces;
mod protobuf;
mod render;
mod respond;
mod route;
mod service;
mod special;
mod stream;
mod table;
pub(crate) mod tls;
mod untaken;
mod warnings;

pub(crate) use listener::{Listening, serve};
pub(crate) use service::Service;

use crate::access::auth::User;
use crate::execute;
use crate::http::metrics::Labels;
use crate::machinery::status::Status;
use crate::observe::{ResourcePath, Verb};
use crate::perturb::Blow;
use crate::verbs::call::{Answer, Call, Params, Payload, Reply, Target, WatchPlan};
use admit::Wish;
use body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::USER_AGENT;
use hyper::{Request, Response};
use inflight::{Hold, InFlight, TooMany};
use negotiate::{Accept, Form, Purpose};
use route::Route;
use std::sync::Arc;
use std::time::Instant;
use stream::WatchBody;
use tokio_util::sync::CancellationToken;
use untaken::Untaken;

/// Bytes that a request body may have, as in the real server.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// What all requests of a listener share.
#[derive(Clone)]
struct Endpoint {
    service: Arc<Service>,
    /// Who sends requests without a token; nobody in particular by default.
    tokenless: Option<Arc<User>>,
    in_flight: InFlight,
    /// Ends watches and connections.
    stop: CancellationToken,
}

/// Everything about a request but its body.
struct Head {
    user: Arc<User>,
    verb: Verb,
    resource: Option<ResourcePath>,
    /// The path, where it is no resource and shows which version of an API was looked for.
    group_path: Option<String>,
    accept: Accept,
    /// Why a success cannot have that form.
    misfit: Option<Status>,
    pretty: bool,
    /// The client takes answers that are compressed.
    unzips: bool,
    began: Instant,
}

impl Head {
    /// Reads who asks, for what, and how the answer should look; and whether that is refused already.
    fn read(
        endpoint: &Endpoint,
        request: &Request<Incoming>,
        route: &Route,
        params: &Params,
    ) -> (Self, Result<(), Status>) {
        let sender = admit::sender(endpoint, request);
        let user = sender
            .clone()
            .and_then(|sender| admit::impersonated(endpoint, request, sender));
        let nobody = || endpoint.service.store.authenticator().anonymous().clone();
        let accept = Accept::parse(request.headers(), route.offer());
        let misfit = accept
            .as_ref()
            .ok()
            .and_then(|form| form.misfit(request.headers(), route.offer()));
        let head = Self {
            misfit,
            user: user.clone().or(sender).unwrap_or_else(|_| nobody()),
            verb: route.verb(),
            resource: route.resource(),
            group_path: group_path(request.uri().path()),
            accept: accept.as_ref().map_or_else(|(form, _)| *form, |form| *form),
            pretty: respond::wants_pretty(params, request.headers()),
            unzips: gzip::is_accepted(request.headers()),
            began: Instant::now(),
        };
        // What is not there is not there in any form.
        let formed = match accept {
            Err((_, status)) if !matches!(route, Route::Refused { .. }) => Err(status),
            _ => Ok(()),
        };
        let admitted = user.and_then(|user| Wish::of(route, request, params).admit(endpoint, &user));
        (head, admitted.and(formed))
    }

    /// How the answer should look.
    fn form(&self, include_object: String) -> Form {
        Form {
            accept: self.accept,
            include_object,
            pretty: self.pretty,
        }
    }

    /// Tells the observer of an answer that the store had no part in.
    fn report(&self, service: &Service, code: u16, failure: Option<&Status>) {
        let resource = self.resource.clone();
        let unknown = self
            .group_path
            .as_ref()
            .filter(|_| resource.is_none() && code == 404);
        // The answer itself names no version, as those of a real server do not.
        let named = unknown.zip(failure).map(|(path, failure)| {
            let message = format!("{}: {path}", failure.message);
            Status {
                message,
                ..failure.clone()
            }
        });
        let failure = named.as_ref().or(failure);
        execute::report(
            &service.store,
            &self.user.name,
            self.verb,
            resource,
            (code, failure),
            self.began,
        );
    }
}

/// The path of discovery for a group or version; of any other path nothing is told.
fn group_path(path: &str) -> Option<String> {
    /// More than names of groups and versions take.
    const LONGEST: usize = 128;
    let is_group = path.starts_with("/apis/")
        && path.len() <= LONGEST
        && path.trim_end_matches('/').split('/').count() <= 4;
    is_group.then(|| path.to_owned())
}

/// A perturbation cuts the connection instead of answering.
#[derive(Debug, thiserror::Error)]
#[error("a perturbation cut the connection")]
struct Cut;

/// Answers a request and counts it; a perturbation may cut the connection instead.
async fn answer(
    endpoint: &Endpoint,
    untaken: &Arc<Untaken>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Cut> {
    let (metrics, began) = (&endpoint.service.metrics, Instant::now());
    let hold = Hold::new(endpoint.service.store.activity().begin(), untaken.clone());
    let params = Params::parse(request.uri().query().unwrap_or_default());
    let route = Route::parse(request.method(), request.uri().path(), &params);
    let route = route.served_by(endpoint.service.store.profile());
    let labels = route.labels(&params);
    let flight = metrics.begin(route.verb().only_reads());
    let response = in_time(endpoint, request, (route, params), labels, hold, began).await;
    drop(flight);
    let code = response.as_ref().map_or(0, |response| response.status().as_u16());
    metrics.answered(labels, code, began.elapsed());
    response
}

/// Answers a request if it can be done in the time that it is allotted. Watches take the time that they take.
async fn in_time(
    endpoint: &Endpoint,
    request: Request<Incoming>,
    (route, params): (Route, Params),
    labels: Labels,
    hold: Hold,
    began: Instant,
) -> Result<Response<Body>, Cut> {
    let service = &endpoint.service;
    let spare = hold.spare(service.store.activity());
    let (head, admitted) = Head::read(endpoint, &request, &route, &params);
    let hold = match endpoint.in_flight.enter(head.verb, &head.user, hold) {
        Ok(hold) => hold,
        Err(TooMany(hold)) => {
            head.report(service, 429, None);
            body::drain(request).await;
            return Ok(respond::too_many().with(hold));
        }
    };
    let most = service.store.limits().request;
    let (allotted, admitted) = match deadline::allotted(params.get("timeout"), most) {
        _ if head.verb == Verb::Watch => (None, admitted),
        Ok(allotted) => (Some(allotted), admitted),
        Err(refusal) => (Some(most), Err(refusal)),
    };
    let context = Context {
        labels,
        stale: None,
        hold,
    };
    let route = admitted.map(|()| route);
    let Some(allotted) = allotted else {
        return perturbed(endpoint, request, (&head, params), route, context).await;
    };
    if began.elapsed() < allotted {
        let answer = perturbed(endpoint, request, (&head, params), route, context);
        if let Ok(answer) = tokio::time::timeout_at((began + allotted).into(), answer).await {
            return answer;
        }
    }
    head.report(service, 504, None);
    Ok(respond::timed_out().with(spare))
}

/// Lets a request meet the perturbations, and answers it as far as they let it.
async fn perturbed(
    endpoint: &Endpoint,
    request: Request<Incoming>,
    (head, params): (&Head, Params),
    route: Result<Route, Status>,
    mut context: Context,
) -> Result<Response<Body>, Cut> {
    let revision = params.get("resourceVersion");
    let store = &endpoint.service.store;
    let fate = store.meet(&head.user.name, head.verb, head.resource.as_ref(), revision);
    if !fate.delay.is_zero() {
        tokio::time::sleep(fate.delay).await;
    }
    let route = match fate.blow {
        None => route,
        Some(Blow::Disconnect) => return Err(Cut),
        Some(Blow::Refuse(status)) if status.code == 410 && head.verb == Verb::Watch => {
            if let Ok(Route::Resource { target, .. }) = &route {
                return Ok(expired_watch(endpoint, head, target, status, context.labels));
            }
            route
        }
        Some(Blow::Refuse(status)) => route.and(Err(status)),
        Some(Blow::Stale(revision)) => {
            context.stale = Some(revision);
            route
        }
        Some(Blow::LoseAnswer) => {
            // Dropping the answer is what loses it; a watch that was accepted ends with it.
            drop(respond_to(endpoint, request, (head, params), route, context).await);
            return Err(Cut);
        }
    };
    Ok(respond_to(endpoint, request, (head, params), route, context).await)
}

/// A watch that a perturbation refuses: it begins, and is nothing but its failure.
fn expired_watch(
    endpoint: &Endpoint,
    head: &Head,
    target: &Target,
    status: Status,
    labels: Labels,
) -> Response<Body> {
    head.report(&endpoint.service, 200, None);
    let store = &endpoint.service.store;
    let plan = WatchPlan {
        watcher: Err((store.number_watch(), status)),
        bookmarks: false,
        marks_end: false,
        timeout_seconds: None,
        revision: store.revision(),
    };
    let body = WatchBody::new(
        store.clone(),
        target.kind,
        plan,
        head.form(String::new()),
        endpoint.stop.clone(),
        head.user.name.clone(),
        endpoint.service.metrics.watch(labels),
    );
    respond::watch(body, head.accept, &[])
}

/// What goes with a request to its answer.
struct Context {
    labels: Labels,
    /// Answer from this older revision.
    stale: Option<u64>,
    hold: Hold,
}

async fn respond_to(
    endpoint: &Endpoint,
    request: Request<Incoming>,
    (head, params): (&Head, Params),
    route: Result<Route, Status>,
    context: Context,
) -> Response<Body> {
    let Context { labels, stale, hold } = context;
    let service = &endpoint.service;
    let answer = match route {
        Ok(Route::Resource { verb, target }) => {
            let agent = agent(&request, verb);
            match payload(request, verb, &target).await {
                Ok(payload) => {
                    await_revision(service, verb, &params).await;
                    let call = Call {
                        user: head.user.clone(),
                        verb,
                        target,
                        params,
                        payload,
                        began: Instant::now(),
                        agent,
                        stale,
                    };
                    return carry_out(endpoint, head, call, labels, hold).await;
                }
                Err(status) => Err(status),
            }
        }
        Ok(Route::Special(special)) => {
            let answer = special::answer(endpoint, head, &request, &special, &params);
            body::drain(request).await;
            answer
        }
        Ok(Route::Unknown) => {
            body::drain(request).await;
            Ok(respond::not_found_text())
        }
        Ok(Route::Refused { status, .. }) | Err(status) => {
            body::drain(request).await;
            Err(status)
        }
    };
    match answer {
        Ok(answer) => {
            head.report(service, answer.code(), None);
            answer.with(hold)
        }
        Err(refusal) => {
            head.report(service, refusal.code, Some(&refusal));
            respond::status(&refusal, head.accept, head.pretty, &[]).with(hold)
        }
    }
}

/// What a client that writes calls itself.
fn agent(request: &Request<Incoming>, verb: Verb) -> String {
    let header = request.headers().get(USER_AGENT).filter(|_| !verb.only_reads());
    header.map_or_else(String::new, |agent| {
        String::from_utf8_lossy(agent.as_bytes()).into_owned()
    })
}

/// Gives a revision that a reader asks for, and that is not written yet, the time to come.
async fn await_revision(service: &Service, verb: Verb, params: &Params) {
    let reads = matches!(verb, Verb::Get | Verb::List) || params.flag("sendInitialEvents") == Some(true);
    if let Ok(asked) = params.get("resourceVersion").parse()
        && reads
        && asked > service.store.revision()
    {
        service.store.reached(asked).await;
    }
}

/// Runs a request for a resource and renders what comes of it.
async fn carry_out(
    endpoint: &Endpoint,
    head: &Head,
    call: Call,
    labels: Labels,
    hold: Hold,
) -> Response<Body> {
    let store = &endpoint.service.store;
    let kind = call.target.kind;
    let form = head.form(call.params.get("includeObject").to_owned());
    if let Err(status) = form.check() {
        head.report(&endpoint.service, status.code, Some(&status));
        return respond::status(&status, head.accept, head.pretty, &[]).with(hold);
    }
    let (executing, is_long) = (store.clone(), aside::may_take_long(&call));
    let executed = aside::run(is_long, move || execute::execute(&executing, call));
    let Reply {
        outcome,
        mut warnings,
    } = executed.await;
    warnings.splice(0..0, kind.advice(store.profile()));
    match outcome {
        Ok(Answer::Watch(_)) if let Some(refusal) = form.accept.unstreamed() => {
            respond::status(&refusal, head.accept, head.pretty, &warnings).with(hold)
        }
        Ok(Answer::Watch(plan)) => {
            let body = WatchBody::new(
                store.clone(),
                kind,
                plan,
                form,
                endpoint.stop.clone(),
                head.user.name.clone(),
                endpoint.service.metrics.watch(labels),
            );
            respond::watch(body, head.accept, &warnings)
        }
        Ok(_) if let Some(refusal) = &head.misfit => {
            respond::status(refusal, Accept::Json, head.pretty, &warnings).with(hold)
        }
        Ok(answer) => {
            let is_long = aside::is_long(&answer);
            let render = move || respond::answer(kind, answer, &form, &warnings);
            let plain = aside::run(is_long, render).await;
            plain.zipped(head.unzips, gzip::OBJECT_BYTES_MIN).with(hold)
        }
        Err(status) => respond::status(&status, head.accept, head.pretty, &warnings).with(hold),
    }
}

/// Reads and decodes the body of a request, as far as its verb has one.
async fn payload(request: Request<Incoming>, verb: Verb, target: &Target) -> Result<Payload, Status> {
    let media = negotiate::content_type(request.headers());
    let reader = match negotiate::reader(verb, &media) {
        Ok(reader) => reader,
        Err(refusal) => {
            body::drain(request).await;
            return Err(refusal);
        }
    };
    reader(Purpose { verb, target }, &collect(request).await?)
}

async fn collect(request: Request<Incoming>) -> Result<Bytes, Status> {
    match Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Status::too_large(BODY_BYTES_MAX)),
        Err(error) => Err(Status::bad_request(format!(
            "the request body could not be read: {error}"
        ))),
    }
}
