//! The shell around the core: connections, and one request from bytes to bytes.
//!
//! Owns limits on what a peer may send. Does not know what verbs do or how they store.

mod admit;
mod body;
mod discovery;
mod health;
mod impersonate;
mod inflight;
mod listener;
mod negotiate;
mod openapi;
mod patience;
mod pieces;
mod protobuf;
mod respond;
mod route;
mod stream;

pub(crate) use inflight::InFlight;
pub(crate) use listener::{Listening, serve};

use crate::auth::User;
use crate::call::{Answer, Call, Params, Payload, Reply, Target, WatchPlan};
use crate::metrics::{self, Labels};
use crate::observe::{ResourcePath, Verb};
use crate::perturb::Blow;
use crate::server::ApiServer;
use crate::status::Status;
use crate::verbs;
use admit::Wish;
use body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{HOST, IF_NONE_MATCH, USER_AGENT};
use hyper::{Method, Request, Response};
use inflight::{Hold, TooMany};
use negotiate::{Accept, Form, Purpose};
use route::{Route, Special};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Bytes that a request body may have, as in the real server.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// What all requests of a listener share.
#[derive(Clone)]
struct Endpoint {
    server: ApiServer,
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
    accept: Accept,
    pretty: bool,
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
        let nobody = || endpoint.server.store().authenticator().anonymous().clone();
        let accept = Accept::parse(request.headers(), route.offer());
        let head = Self {
            user: user.clone().or(sender).unwrap_or_else(|_| nobody()),
            verb: route.verb(),
            resource: route.resource(),
            accept: accept.as_ref().map_or_else(|(form, _)| *form, |form| *form),
            pretty: respond::wants_pretty(params, request.headers()),
            began: Instant::now(),
        };
        (
            head,
            user.and_then(|user| Wish::of(route, request, params).admit(endpoint, &user))
                .and_then(|()| accept.map(drop).map_err(|(_, status)| status)),
        )
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
    fn report(&self, server: &ApiServer, code: u16, failure: Option<&Status>) {
        let resource = self.resource.clone();
        verbs::report(
            server.store(),
            &self.user.name,
            self.verb,
            resource,
            (code, failure),
            self.began,
        );
    }
}

/// A perturbation cuts the connection instead of answering.
#[derive(Debug, thiserror::Error)]
#[error("a perturbation cut the connection")]
struct Cut;

/// Answers a request and counts it; a perturbation may cut the connection instead.
async fn answer(endpoint: &Endpoint, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let (metrics, began) = (endpoint.server.metrics(), Instant::now());
    let hold = Hold::new(endpoint.server.store().activity().begin());
    let params = Params::parse(request.uri().query().unwrap_or_default());
    let route = Route::parse(request.method(), request.uri().path(), &params);
    let route = route.served_by(endpoint.server.store().profile());
    let labels = route.labels(&params);
    let flight = metrics.begin(route.verb().only_reads());
    let response = perturbed(endpoint, request, route, params, labels, hold).await;
    drop(flight);
    let code = response.as_ref().map_or(0, |response| response.status().as_u16());
    metrics.answered(labels, code, began.elapsed());
    response
}

/// Lets a request meet the perturbations, and answers it as far as they let it.
async fn perturbed(
    endpoint: &Endpoint,
    request: Request<Incoming>,
    route: Route,
    params: Params,
    labels: Labels,
    hold: Hold,
) -> Result<Response<Body>, Cut> {
    let (head, admitted) = Head::read(endpoint, &request, &route, &params);
    let hold = match endpoint.in_flight.enter(head.verb, &head.user, hold) {
        Ok(hold) => hold,
        Err(TooMany(hold)) => {
            head.report(&endpoint.server, 429, None);
            return Ok(respond::too_many().with(hold));
        }
    };
    let revision = params.get("resourceVersion");
    let store = endpoint.server.store();
    let fate = store.meet(&head.user.name, head.verb, head.resource.as_ref(), revision);
    if !fate.delay.is_zero() {
        tokio::time::sleep(fate.delay).await;
    }
    let mut context = Context {
        labels,
        stale: None,
        hold,
    };
    let admitted = match fate.blow {
        None => admitted,
        Some(Blow::Disconnect) => return Err(Cut),
        Some(Blow::Refuse(status)) if status.code == 410 && head.verb == Verb::Watch => {
            if let (Ok(()), Route::Resource { target, .. }) = (&admitted, &route) {
                return Ok(expired_watch(endpoint, &head, target, status, labels));
            }
            admitted
        }
        Some(Blow::Refuse(status)) => admitted.and(Err(status)),
        Some(Blow::Stale(revision)) => {
            context.stale = Some(revision);
            admitted
        }
        Some(Blow::LoseAnswer) => {
            let route = admitted.map(|()| route);
            // Dropping the answer is what loses it; a watch that was accepted ends with it.
            drop(respond_to(endpoint, request, (head, params), route, context).await);
            return Err(Cut);
        }
    };
    let route = admitted.map(|()| route);
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
    head.report(&endpoint.server, 200, None);
    let store = endpoint.server.store();
    let plan = WatchPlan {
        watcher: Err((store.number_watch(), status)),
        bookmarks: false,
        marks_end: false,
        timeout_seconds: None,
        revision: store.revision(),
    };
    stream::response(
        store.clone(),
        target.kind,
        plan,
        head.form(String::new()),
        endpoint.stop.clone(),
        head.user.name.clone(),
        endpoint.server.metrics().watch(labels),
    )
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
    (head, params): (Head, Params),
    route: Result<Route, Status>,
    context: Context,
) -> Response<Body> {
    let Context { labels, stale, hold } = context;
    let server = &endpoint.server;
    let refusal = match route {
        Ok(Route::Resource { verb, target }) => {
            let agent = agent(&request, verb);
            match payload(request, verb, &target, server.store().limits().body).await {
                Ok(payload) => {
                    await_revision(server, verb, &params).await;
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
                    return carry_out(endpoint, &head, call, labels, hold);
                }
                Err(status) => status,
            }
        }
        Ok(Route::Special(special)) => match special_answer(endpoint, &head, &request, &special, &params) {
            Ok(response) => {
                head.report(server, response.code(), None);
                return response.with(hold);
            }
            Err(status) => status,
        },
        Ok(Route::Unknown) => {
            head.report(server, 404, None);
            return respond::not_found_text().with(hold);
        }
        Ok(Route::Refused { status, .. }) => status,
        Err(status) => status,
    };
    head.report(server, refusal.code, Some(&refusal));
    respond::status(&refusal, head.accept, head.pretty, &[]).with(hold)
}

/// What a client that writes calls itself.
fn agent(request: &Request<Incoming>, verb: Verb) -> String {
    let header = request.headers().get(USER_AGENT).filter(|_| !verb.only_reads());
    header.map_or_else(String::new, |agent| {
        String::from_utf8_lossy(agent.as_bytes()).into_owned()
    })
}

/// Gives a revision that a reader asks for, and that is not written yet, the time to come.
async fn await_revision(server: &ApiServer, verb: Verb, params: &Params) {
    let reads = matches!(verb, Verb::Get | Verb::List) || params.flag("sendInitialEvents") == Some(true);
    if let Ok(asked) = params.get("resourceVersion").parse()
        && reads
        && asked > server.revision()
    {
        server.store().reached(asked).await;
    }
}

/// Runs a request for a resource and renders what comes of it.
fn carry_out(endpoint: &Endpoint, head: &Head, call: Call, labels: Labels, hold: Hold) -> Response<Body> {
    let store = endpoint.server.store();
    let kind = call.target.kind;
    let object = call.params.get("includeObject").to_owned();
    let form = head.form(object);
    if let Err(status) = form.check() {
        head.report(&endpoint.server, status.code, Some(&status));
        return respond::status(&status, head.accept, head.pretty, &[]).with(hold);
    }
    let Reply { outcome, warnings } = verbs::execute(store, call);
    match outcome {
        Ok(Answer::Watch(plan)) => stream::response(
            store.clone(),
            kind,
            plan,
            form,
            endpoint.stop.clone(),
            head.user.name.clone(),
            endpoint.server.metrics().watch(labels),
        ),
        Ok(answer) => respond::answer(kind, answer, &form, &warnings).with(hold),
        Err(status) => respond::status(&status, head.accept, head.pretty, &warnings).with(hold),
    }
}

/// Reads and decodes the body of a request, as far as its verb has one.
async fn payload(
    request: Request<Incoming>,
    verb: Verb,
    target: &Target,
    within: Duration,
) -> Result<Payload, Status> {
    let media = negotiate::content_type(request.headers());
    let reader = negotiate::reader(verb, &media)?;
    let body = tokio::time::timeout(within, collect(request))
        .await
        .map_err(|_| Status::timed_out())??;
    reader(Purpose { verb, target }, &body)
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

fn special_answer(
    endpoint: &Endpoint,
    head: &Head,
    request: &Request<Incoming>,
    special: &Special,
    params: &Params,
) -> Result<respond::Plain, Status> {
    let profile = endpoint.server.store().profile();
    if request.method() != Method::GET {
        return Err(Status::method_not_allowed());
    }
    Ok(match special {
        Special::Health(which, rest) => {
            let (store, stop) = (endpoint.server.store(), &endpoint.stop);
            health::answer(which, rest, params, store, stop).unwrap_or_else(respond::not_found_text)
        }
        Special::Metrics => respond::typed(200, metrics::MEDIA, endpoint.server.metrics().text()),
        Special::Version => respond::json(200, &discovery::version(profile), head.pretty),
        Special::Paths => respond::json(200, &discovery::paths(profile), head.pretty),
        Special::OpenApi(None) => openapi::index(profile),
        Special::OpenApi(Some(place)) => {
            openapi::answer(place, profile, params, request.headers()).unwrap_or_else(respond::not_found_text)
        }
        Special::Discovery(document) => {
            let address = request.headers().get(HOST).and_then(|host| host.to_str().ok());
            let found = discovery::document(document, head.accept, address.unwrap_or("127.0.0.1"), profile);
            respond::cached(
                &found,
                head.accept,
                head.pretty,
                request.headers().get(IF_NONE_MATCH),
            )
        }
    })
}
