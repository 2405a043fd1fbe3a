//! The proxy before the API server of one system: reads what comes by, lets the rules change it, and passes it on.
//!
//! Knows how messages are framed; what becomes of them is `traffic`'s.

use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use fake_apiserver::{Tls, json_of_protobuf};
use futures::{Stream, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::rule::EventKind;
use super::traffic::{Target, Traffic};
use crate::system::BoxError;

/// Bytes that the body of a request may have, as for the server behind.
const BODY_MAX: usize = 3 << 20;
/// Bytes that one answer, or one event of a watch, may have.
const ANSWER_MAX: usize = 256 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

type Body = UnsyncBoxBody<Bytes, Broken>;

/// The connection is to be cut, for this reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(String);

fn broken(error: impl Display) -> Broken {
    Broken(error.to_string())
}

/// A listener before an API server; dropping it ends its connections.
pub(super) struct Proxy {
    address: SocketAddr,
    tls: Option<Tls>,
    _stop: DropGuard,
}

/// What all connections share.
struct Shared {
    /// Base URL of the server, without TLS.
    server: String,
    client: Client<HttpConnector, Full<Bytes>>,
    traffic: Traffic,
}

impl Proxy {
    /// Opens a free port of 127.0.0.1 before the server at that URL.
    pub(super) async fn open(server: &str, traffic: Traffic, with_tls: bool) -> Result<Self, BoxError> {
        let tls = match with_tls {
            true => Some(Tls::generate(Ipv4Addr::LOCALHOST.into())?),
            false => None,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared {
            server: server.trim_end_matches('/').to_owned(),
            client: Client::builder(TokioExecutor::new()).build_http(),
            traffic,
        });
        let accepting = accept(shared, listener, tls.clone(), stop.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(accepting));
        Ok(Proxy {
            address,
            tls,
            _stop: stop.drop_guard(),
        })
    }

    /// The address as a URL without a path.
    pub(super) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of the authority that clients have to trust, in PEM; empty without TLS.
    pub(super) fn authority_pem(&self) -> &str {
        self.tls.as_ref().map_or("", Tls::authority_pem)
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, tls: Option<Tls>, stop: CancellationToken) {
    while let Ok((stream, _)) = listener.accept().await {
        let (shared, tls) = (Arc::clone(&shared), tls.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            let _ = stream.set_nodelay(true);
            match tls {
                None => connection(shared, stream).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        connection(shared, stream).await;
                    }
                }
            }
        }));
    }
}

async fn connection(shared: Arc<Shared>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { shared.serve(request).await }
    });
    let served = Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a spoilt connection ended");
    }
}

impl Shared {
    /// Answers one request. An error cuts the connection, as whatever was behind it was cut.
    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Body>, Broken> {
        let (mut head, body) = request.into_parts();
        let body = Limited::new(body, BODY_MAX)
            .collect()
            .await
            .map_err(broken)?
            .to_bytes();
        let mut query = head.uri.query().unwrap_or_default().to_owned();
        let Some(target) = Target::of(&head.method, head.uri.path(), &query) else {
            return self.pass(&head, &query, body).await.map(whole);
        };
        let mut value = read(&head, &body);
        let rules: Vec<_> = self.traffic.rules_for(&target, &value).cloned().collect();
        if let Some((code, answer)) = rules.iter().find_map(|rule| rule.pretend(target.verb, &value)) {
            return Ok(answered(code, &answer));
        }
        for rule in &rules {
            rule.apply(&mut value, &mut query);
        }
        let body = match rules.is_empty() || value.is_null() {
            true => body,
            false => {
                if is_protobuf(head.headers.get(CONTENT_TYPE)) {
                    head.headers.insert(CONTENT_TYPE, JSON);
                }
                value.to_string().into()
            }
        };
        let shows = self.traffic.shows(&target.resource);
        if shows
            && head
                .headers
                .get(ACCEPT)
                .is_none_or(|accept| is_protobuf(Some(accept)))
        {
            head.headers.insert(ACCEPT, JSON);
        }
        if shows {
            head.headers.remove(ACCEPT_ENCODING);
        }
        let answer = self.pass(&head, &query, body.clone()).await?;
        for _ in 0..rules.iter().map(|rule| rule.repeat).sum() {
            // Whatever the server says to that.
            drop(
                self.pass(&head, &query, body.clone())
                    .await?
                    .into_body()
                    .collect()
                    .await,
            );
        }
        match target.verb {
            "watch" if shows && answer.status() == StatusCode::OK => Ok(self.watched(answer, target, &query)),
            "list" | "get" if shows && answer.status() == StatusCode::OK => {
                self.listed(answer, &target).await
            }
            _ => Ok(whole(answer)),
        }
    }

    async fn pass(&self, head: &Parts, query: &str, body: Bytes) -> Result<Response<Incoming>, Broken> {
        let question = if query.is_empty() { "" } else { "?" };
        let uri: Uri = format!("{}{}{question}{query}", self.server, head.uri.path())
            .parse()
            .map_err(broken)?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = head.headers.clone();
        // Those of the connection behind come anew.
        request.headers_mut().remove(HOST);
        request.headers_mut().remove(CONTENT_LENGTH);
        self.client.request(request).await.map_err(broken)
    }

    async fn listed(&self, answer: Response<Incoming>, target: &Target) -> Result<Response<Body>, Broken> {
        let (mut head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_MAX)
            .collect()
            .await
            .map_err(broken)?
            .to_bytes();
        let mut value: Value = serde_json::from_slice(&body).map_err(broken)?;
        let resource = target.resource.as_str();
        match value["items"].as_array_mut() {
            Some(items) => items.retain_mut(|object| self.traffic.show_listed(resource, object)),
            None => drop(self.traffic.show_listed(resource, &mut value)),
        }
        head.headers.remove(CONTENT_LENGTH);
        Ok(Response::from_parts(head, full(value.to_string().into())))
    }

    /// The events of a watch as the system sees them.
    fn watched(&self, answer: Response<Incoming>, target: Target, query: &str) -> Response<Body> {
        let mut listing = form_urlencoded::parse(query.as_bytes())
            .any(|(key, value)| key == "sendInitialEvents" && value == "true");
        let traffic = self.traffic.clone();
        let (head, body) = answer.into_parts();
        let events = lines(body).filter_map(move |line| {
            let shown = line.map(|line| shown(&traffic, &target.resource, &mut listing, line));
            std::future::ready(shown.transpose())
        });
        let frames = events.map(|line| line.map(Frame::data));
        Response::from_parts(head, StreamBody::new(frames).boxed_unsync())
    }
}

/// One event as the system sees it; none: it does not. `listing`: the watch has not yet told all objects that were there before.
fn shown(traffic: &Traffic, resource: &str, listing: &mut bool, line: Bytes) -> Option<Bytes> {
    let Ok(mut event) = serde_json::from_slice::<Value>(&line) else {
        return Some(line);
    };
    let kind = match event["type"].as_str() {
        Some("ADDED") => EventKind::Added,
        Some("MODIFIED") => EventKind::Modified,
        Some("DELETED") => EventKind::Deleted,
        _ => {
            *listing &= event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] != "true";
            return Some(line);
        }
    };
    let object = &mut event["object"];
    let is_seen = match *listing {
        true => traffic.show_listed(resource, object),
        false => traffic.show_event(resource, kind, object),
    };
    is_seen.then(|| format!("{event}\n").into())
}

/// The body of a request as JSON; null where it is none.
fn read(head: &Parts, body: &Bytes) -> Value {
    match is_protobuf(head.headers.get(CONTENT_TYPE)) {
        true => json_of_protobuf(body).unwrap_or_default(),
        false => serde_json::from_slice(body).unwrap_or_default(),
    }
}

fn is_protobuf(media: Option<&HeaderValue>) -> bool {
    let media = media.and_then(|media| media.to_str().ok());
    media.is_some_and(|media| media.contains("protobuf"))
}

/// The lines of a body, each with its end.
fn lines(body: Incoming) -> impl Stream<Item = Result<Bytes, Broken>> {
    let begun = (body, BytesMut::new());
    futures::stream::try_unfold(begun, |(mut body, mut buffer)| async move {
        loop {
            if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line = buffer.split_to(end + 1).freeze();
                return Ok(Some((line, (body, buffer))));
            }
            if buffer.len() > ANSWER_MAX {
                return Err(broken("an event is larger than any object"));
            }
            match body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame.map_err(broken)?.into_data() {
                        buffer.extend_from_slice(&data);
                    }
                }
                None => return Ok(None),
            }
        }
    })
}

fn whole(answer: Response<Incoming>) -> Response<Body> {
    answer.map(|body| body.map_err(broken).boxed_unsync())
}

fn full(body: Bytes) -> Body {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn answered(code: u16, body: &Value) -> Response<Body> {
    let mut response = Response::new(full(body.to_string().into()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}
