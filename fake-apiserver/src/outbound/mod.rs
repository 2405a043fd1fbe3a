//! Requests that the server sends itself: JSON over HTTPS to webhooks.
//!
//! Owns connections, certificates and the error messages of Go's HTTP client. Does not know the content of requests or how the addresses of
//! services are resolved.

mod answer;
mod client_config;
mod connections;
mod destination;
mod trust;

pub use client_config::ClientConfig;
pub(crate) use client_config::Endpoint;
pub(crate) use connections::Connections;
pub(crate) use destination::Destination;

use bytes::Bytes;
use connections::{Unanswered, exchange};
use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use rustls::pki_types::ServerName;
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const AGENT: &str = "kube-apiserver-admission";
const REMOTE: &str = "not a loopback address; use --allow-remote-webhooks (ServerOptions::remote_webhooks) to allow other addresses";

/// Calls webhooks (`webhook.ClientManager` of k8s.io/apiserver).
pub trait WebhookClient: Send + Sync {
    /// Sends a review object and returns the JSON response, or the error message.
    fn post<'a>(
        &'a self,
        config: &'a ClientConfig,
        review: &'a Value,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Value, String>>;
}

impl Connections {
    /// POSTs JSON to a webhook and returns the JSON response, or the error message.
    pub(crate) async fn post(
        &self,
        to: &Destination,
        body: &Value,
        timeout: Duration,
    ) -> Result<Value, String> {
        let url = format!("{}{}?timeout={}s", to.origin, to.path, seconds(timeout));
        let failed = |why: String| format!("Post {url:?}: {why}");
        let sent = tokio::time::timeout(timeout, self.send(to, &url, body));
        let (code, bytes) = match sent.await {
            Ok(answered) => answered.map_err(failed)?,
            Err(_) => return Err(failed("context deadline exceeded".to_owned())),
        };
        answer::read(code, &bytes)
    }

    async fn send(&self, to: &Destination, url: &str, body: &Value) -> Result<(u16, Bytes), String> {
        let bytes = Bytes::from(body.to_string());
        while let Some(mut sender) = self.take(to) {
            match exchange(&mut sender, request(to, url, bytes.clone())?).await {
                Ok(answered) => {
                    self.put_back(to, sender);
                    return Ok(answered);
                }
                // The webhook has closed the idle connection: retry with another connection.
                Err(Unanswered::Stale) => {}
                Err(Unanswered::Failed(why)) => return Err(why),
            }
        }
        let mut sender = connections::open(connect(to).await?).await?;
        match exchange(&mut sender, request(to, url, bytes)?).await {
            Ok(answered) => {
                self.put_back(to, sender);
                Ok(answered)
            }
            Err(Unanswered::Stale) => Err("EOF".to_owned()),
            Err(Unanswered::Failed(why)) => Err(why),
        }
    }
}

/// The timeout in seconds, rounded up.
fn seconds(timeout: Duration) -> u64 {
    timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0)
}

/// Connects to a destination and verifies its certificate.
async fn connect(to: &Destination) -> Result<TlsStream<TcpStream>, String> {
    let stream = dial(to).await?;
    // Disables Nagle's algorithm, because the server waits for the response to each write.
    drop(stream.set_nodelay(true));
    let name = ServerName::try_from(to.name.clone())
        .map_err(|_| format!("tls: {:?} is not a valid server name", to.name))?;
    let connector = TlsConnector::from(trust::config(&to.authorities)?);
    let stream = connector.connect(name, stream).await;
    stream.map_err(|why| trust::handshake_error(&why, &to.name))
}

/// Dials an address of `to`. The host name is resolved once, so that it cannot resolve to other addresses after the loopback check.
async fn dial(to: &Destination) -> Result<TcpStream, String> {
    let address = to.address.as_ref().map_err(Clone::clone)?;
    let failed = |why: io::Error| format!("dial tcp {address}: {}", dial_error(&why));
    let mut found: Vec<SocketAddr> = lookup_host(address.as_str()).await.map_err(failed)?.collect();
    found.retain(|one| to.is_remote_allowed || one.ip().to_canonical().is_loopback());
    if found.is_empty() {
        return Err(format!("dial tcp {address}: {REMOTE}"));
    }
    TcpStream::connect(found.as_slice()).await.map_err(failed)
}

fn request(to: &Destination, url: &str, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
    let host = to.origin.trim_start_matches("https://");
    let path = url.strip_prefix(&to.origin).unwrap_or("/");
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(HOST, host)
        .header(ACCEPT, "application/json, */*")
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, AGENT)
        .body(Full::new(body))
        .map_err(|why| why.to_string())
}

/// The error of a failed connection attempt, with Go's message.
fn dial_error(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => why.to_string(),
    }
}
