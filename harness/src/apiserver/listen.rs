//! The sockets at which the systems of a case reach the server: on loopback, with or without TLS, each client by its token.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fake_apiserver::{Kubeconfig, Tls};
use futures::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::case::Case;
use super::message::{ClientRequest, Reply, Whole};
use super::proxy::answer;

/// Bytes that the body of a request may have, as for the real server.
const BODY_MAX: usize = 3 << 20;
/// Connections that a listener may have.
const CONNECTIONS_MAX: usize = 1024;
/// How long a peer may take to shake hands.
const HANDSHAKE: Duration = Duration::from_secs(10);

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A listener; dropping it ends its connections.
pub(crate) struct Listening {
    address: SocketAddr,
    tls: Option<Tls>,
    _stop: DropGuard,
}

/// The connection is to be cut.
#[derive(Debug, thiserror::Error)]
#[error("cut")]
struct Cut;

impl Listening {
    /// Opens a free port of 127.0.0.1 for a case.
    async fn open(case: &Arc<Case>, with_tls: bool) -> std::io::Result<Self> {
        let tls = match with_tls {
            true => Some(Tls::generate(Ipv4Addr::LOCALHOST.into()).map_err(std::io::Error::other)?),
            false => None,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept(
            case.clone(),
            listener,
            tls.clone(),
            stop.clone(),
        )));
        Ok(Listening {
            address,
            tls,
            _stop: stop.drop_guard(),
        })
    }

    /// The address as a URL without a path.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of the authority that clients have to trust, in PEM; empty without TLS.
    pub(crate) fn authority_pem(&self) -> &str {
        self.tls.as_ref().map_or("", Tls::authority_pem)
    }

    /// Writes a kubeconfig for the client with that token.
    pub(crate) fn write_kubeconfig(&self, path: &Path, token: &str) -> std::io::Result<()> {
        let config = Kubeconfig {
            server: &self.url(),
            authority_pem: self.tls.as_ref().map(Tls::authority_pem),
            token,
        };
        config.write(path)
    }
}

impl Case {
    /// Opens a listener before the server.
    pub(crate) async fn listen(self: &Arc<Self>, with_tls: bool) -> std::io::Result<Listening> {
        Listening::open(self, with_tls).await
    }
}

async fn accept(case: Arc<Case>, listener: TcpListener, tls: Option<Tls>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The peer's fault, or this machine's for a moment.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            continue;
        };
        let (case, tls) = (case.clone(), tls.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            let _place = place;
            let _ = stream.set_nodelay(true);
            match tls {
                None => connection(case, stream).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                        connection(case, stream).await;
                    }
                }
            }
        }));
    }
}

async fn connection(case: Arc<Case>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let service = service_fn(|request| serve(case.clone(), request));
    let served = Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn serve(case: Arc<Case>, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let (head, body) = request.into_parts();
    let token = head
        .headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let token = token.and_then(|text| text.strip_prefix("Bearer "));
    let Some(client) = token.and_then(|token| case.client(token)) else {
        return Ok(whole(Whole::failure(401, "Unauthorized", "Unauthorized")));
    };
    let Ok(body) = Limited::new(body, BODY_MAX).collect().await else {
        let text = "the request is larger than an API server takes";
        return Ok(whole(Whole::failure(413, "RequestEntityTooLarge", text)));
    };
    let asked = ClientRequest {
        client,
        is_ours: false,
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: body.to_bytes(),
    };
    match answer(&case, asked).await {
        Reply::Whole(answered) => Ok(whole(answered)),
        Reply::Cut => Err(Cut),
        Reply::Events(events) => {
            let frames = events.into_stream().map(|line| Ok(Frame::data(line)));
            let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            Ok(response)
        }
    }
}

fn whole(answered: Whole) -> Response<Body> {
    let mut response = Response::new(Full::new(answered.body).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(answered.code).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = answered.headers;
    response
}
