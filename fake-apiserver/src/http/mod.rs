//! The shell around the core: connections, and one request from bytes to bytes.
//!
//! Owns limits on what a peer may send. Does not know what verbs do or how they store.

mod body;
mod discovery;
mod negotiate;
mod respond;
mod route;
mod stream;

use crate::activity::Busy;
use crate::call::{Answer, Call, Params, Payload, Reply, Target, WatchPlan};
use crate::observe::{ResourcePath, Verb};
use crate::perturb::Blow;
use crate::release::Profile;
use crate::server::ApiServer;
use crate::status::Status;
use crate::verbs;
use body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HOST, IF_NONE_MATCH};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use negotiate::{Accept, Form};
use route::{Route, Special};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bytes that a request body may have, as in the real server.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Bytes that the headers of a request may have together.
const HEADER_BYTES_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 128;
/// Requests that one HTTP/2 connection may have open: clients put all their watches on one.
const STREAMS_MAX: u32 = 1000;
/// How long a peer may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long connections may take to finish what they were sending when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Who sends requests without a token.
const ANONYMOUS: &str = "system:anonymous";

/// What all requests of a listener share.
#[derive(Clone)]
struct Endpoint {
    server: ApiServer,
    /// Who sends requests without a token; nobody in particular by default.
    tokenless: Option<Arc<str>>,
    /// Ends watches and connections.
    stop: CancellationToken,
}

/// Accepts connections until `shutdown` resolves.
pub(crate) async fn serve(
    server: &ApiServer,
    listener: TcpListener,
    tokenless: Option<Arc<str>>,
    shutdown: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let stop = CancellationToken::new();
    let _stop_on_drop = stop.clone().drop_guard();
    let endpoint = Endpoint {
        server: server.clone(),
        tokenless,
        stop: stop.clone(),
    };
    let tasks = TaskTracker::new();
    let mut shutdown = std::pin::pin!(shutdown);
    let outcome = loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break Ok(()),
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => drop(tasks.spawn(connection(endpoint.clone(), stream))),
            Err(error) if is_peers_fault(&error) => {
                tracing::debug!(%error, "a connection was lost before it began");
            }

            Err(error) => break Err(error),
        }
    };
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    outcome
}

/// Whether accepting failed for the sake of one connection rather than of the listener.
fn is_peers_fault(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

async fn connection(endpoint: Endpoint, stream: TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was refused; answers may come late");
    }
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX as u32);
    let service = service_fn(|request| {
        let endpoint = endpoint.clone();
        async move { answer(&endpoint, request).await }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = endpoint.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(STOP_GRACE, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Everything about a request but its body.
struct Head {
    client: Arc<str>,
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
        let client = client(endpoint, request);
        let accept = Accept::parse(request.headers(), route.serves_text());
        let head = Self {
            client: client.clone().unwrap_or_else(|_| ANONYMOUS.into()),
            verb: route.verb(),
            resource: route.resource(),
            accept: accept.clone().unwrap_or_default(),
            pretty: respond::wants_pretty(params, request.headers()),
            began: Instant::now(),
        };
        (
            head,
            client
                .and_then(|client| admit(&client, route))
                .and_then(|()| accept.map(drop)),
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
            &self.client,
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

/// Lets a request meet the perturbations, and answers it as far as they let it.
async fn answer(endpoint: &Endpoint, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let busy = endpoint.server.store().activity().begin();
    let params = Params::parse(request.uri().query().unwrap_or_default());
    let route = Route::parse(request.method(), request.uri().path(), &params);
    let route = route.in_release(endpoint.server.store().profile());
    let (head, admitted) = Head::read(endpoint, &request, &route, &params);
    let revision = params.get("resourceVersion");
    let store = endpoint.server.store();
    let fate = store.meet(&head.client, head.verb, head.resource.as_ref(), revision);
    if !fate.delay.is_zero() {
        tokio::time::sleep(fate.delay).await;
    }
    let mut stale = None;
    let admitted = match fate.blow {
        None => admitted,
        Some(Blow::Disconnect) => return Err(Cut),
        Some(Blow::Refuse(status)) if status.code == 410 && head.verb == Verb::Watch => {
            if let (Ok(()), Route::Resource { target, .. }) = (&admitted, &route) {
                return Ok(expired_watch(endpoint, &head, target, status));
            }
            admitted
        }
        Some(Blow::Refuse(status)) => admitted.and(Err(status)),
        Some(Blow::Stale(revision)) => {
            stale = Some(revision);
            admitted
        }
        Some(Blow::LoseAnswer) => {
            // Dropping the answer is what loses it; a watch that was accepted ends with it.
            drop(
                respond_to(
                    endpoint,
                    request,
                    (head, params),
                    admitted.map(|()| route),
                    stale,
                    busy,
                )
                .await,
            );
            return Err(Cut);
        }
    };
    Ok(respond_to(
        endpoint,
        request,
        (head, params),
        admitted.map(|()| route),
        stale,
        busy,
    )
    .await)
}

/// A watch that a perturbation refuses: it begins, and is nothing but its failure.
fn expired_watch(endpoint: &Endpoint, head: &Head, target: &Target, status: Status) -> Response<Body> {
    head.report(&endpoint.server, 200, None);
    let store = endpoint.server.store();
    let plan = WatchPlan {
        watcher: Err((store.number_watch(), status)),
        bookmarks: false,
        marks_end: false,
        timeout_seconds: None,
        revision: store.revision(),
    };
    let (form, client) = (head.form(String::new()), head.client.clone());
    stream::response(
        store.clone(),
        target.kind,
        plan,
        form,
        endpoint.stop.clone(),
        client,
    )
}

async fn respond_to(
    endpoint: &Endpoint,
    request: Request<Incoming>,
    (head, params): (Head, Params),
    route: Result<Route, Status>,
    stale: Option<u64>,
    busy: Busy,
) -> Response<Body> {
    let server = &endpoint.server;
    let refusal = match route {
        Ok(Route::Resource { verb, target }) => match payload(request, verb).await {
            Ok(payload) => {
                let client = head.client.clone();
                let call = Call {
                    client,
                    verb,
                    target,
                    params,
                    payload,
                    began: Instant::now(),
                    stale,
                };
                return carry_out(endpoint, &head, call, busy);
            }
            Err(status) => status,
        },
        Ok(Route::Special(special)) => {
            match special_answer(&head, &request, &special, server.store().profile()) {
                Ok(response) => {
                    head.report(server, response.code(), None);
                    return response.with(busy);
                }
                Err(status) => status,
            }
        }
        Ok(Route::Unknown) => {
            head.report(server, 404, None);
            return respond::not_found_text().with(busy);
        }
        Ok(Route::Refused { status, .. }) => status,
        Err(status) => status,
    };
    head.report(server, refusal.code, Some(&refusal));
    respond::status(&refusal, head.pretty, &[]).with(busy)
}

/// Runs a request for a resource and renders what comes of it.
fn carry_out(endpoint: &Endpoint, head: &Head, call: Call, busy: Busy) -> Response<Body> {
    let store = endpoint.server.store();
    let kind = call.target.kind;
    let object = call.params.get("includeObject").to_owned();
    let Reply { outcome, warnings } = verbs::execute(store, call);
    let form = head.form(object);
    match outcome {
        Ok(Answer::Watch(plan)) => stream::response(
            store.clone(),
            kind,
            plan,
            form,
            endpoint.stop.clone(),
            head.client.clone(),
        ),
        Ok(answer) => respond::answer(kind, answer, &form, &warnings).with(busy),
        Err(status) => respond::status(&status, head.pretty, &warnings).with(busy),
    }
}

/// The name of the client that sent a request.
fn client(endpoint: &Endpoint, request: &Request<Incoming>) -> Result<Arc<str>, Status> {
    let Some(header) = request.headers().get(AUTHORIZATION) else {
        return Ok(endpoint.tokenless.clone().unwrap_or_else(|| ANONYMOUS.into()));
    };
    let token = header.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
    token
        .and_then(|token| endpoint.server.authenticate(token.trim()))
        .ok_or_else(Status::unauthorized)
}

/// Every client with a token may do everything; others may ask how the server is.
fn admit(client: &Arc<str>, route: &Route) -> Result<(), Status> {
    if &**client != ANONYMOUS || route.is_public() {
        return Ok(());
    }
    Err(route.forbidden(client))
}

/// Reads and decodes the body of a request, as far as its verb has one.
async fn payload(request: Request<Incoming>, verb: Verb) -> Result<Payload, Status> {
    let media = negotiate::content_type(request.headers());
    let reader = negotiate::reader(verb, &media)?;
    let body = collect(request).await?;
    reader(verb, &body)
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
    head: &Head,
    request: &Request<Incoming>,
    special: &Special,
    profile: Profile,
) -> Result<respond::Plain, Status> {
    if request.method() != Method::GET {
        return Err(Status::method_not_allowed());
    }
    Ok(match special {
        Special::Health => respond::text(200, "ok"),
        Special::Version => respond::json(200, &discovery::version(profile), head.pretty),
        Special::Paths => respond::json(200, &discovery::paths(profile), head.pretty),
        Special::Discovery(document) => {
            let address = request.headers().get(HOST).and_then(|host| host.to_str().ok());
            let found = discovery::document(document, head.accept, address.unwrap_or("127.0.0.1"), profile);
            respond::cached(&found, head.pretty, request.headers().get(IF_NONE_MATCH))
        }
    })
}
