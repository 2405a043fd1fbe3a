//! One HTTP/1.1 connection to an API server that streams response bodies. Does not know the API.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use suites::harness::system::BoxError;

const READ_BYTES: usize = 64 * 1024;
/// Maximum number of bytes of an error response that an error message quotes.
const SHOWN_BYTES: usize = 300;

/// Address and credentials of an API server.
pub(super) struct Target {
    /// Host and port.
    pub(super) address: String,
    /// Bearer token; `None` if a client certificate authenticates the connection.
    pub(super) token: Option<String>,
    /// For TLS: the connector, and the server name to verify.
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// An HTTP request, without the headers common to all requests.
pub(super) struct ApiRequest {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) media: &'static str,
    pub(super) body: String,
}

impl ApiRequest {
    pub(super) fn without_body(method: &'static str, path: impl Into<String>) -> Self {
        let (path, media, body) = (path.into(), JSON, String::new());
        Self {
            method,
            path,
            media,
            body,
        }
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const MERGE: &str = "application/merge-patch+json";

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// An open connection, closed on drop.
pub(super) struct Connection {
    target: Arc<Target>,
    requests: SendRequest<String>,
    /// Body of the last response, which `chunk` reads.
    body: Option<Incoming>,
}

impl Connection {
    pub(super) async fn open(target: &Arc<Target>) -> Result<Self, BoxError> {
        let tcp = TcpStream::connect(&target.address).await?;
        tcp.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match &target.tls {
            // Reads are buffered, because rustls reads only a few bytes at a time.
            Some((connector, name)) => {
                let tcp = BufReader::with_capacity(READ_BYTES, tcp);
                Box::new(connector.connect(name.clone(), tcp).await?)
            }
            None => Box::new(tcp),
        };
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // This task drives the connection. `send` also returns connection errors to its caller, so the task drops them.
        tokio::spawn(async { drop(connection.await) });
        Ok(Self {
            target: target.clone(),
            requests,
            body: None,
        })
    }

    /// Sends a request, passes the response body to `on_chunk`, and fails unless the status is a success.
    pub(super) async fn call(
        &mut self,
        request: &ApiRequest,
        mut on_chunk: impl FnMut(&[u8]),
    ) -> Result<(), BoxError> {
        let code = self.send(request).await?;
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if (200..300).contains(&code) {
                on_chunk(&chunk);
            } else {
                text.extend_from_slice(&chunk[..chunk.len().min(SHOWN_BYTES.saturating_sub(text.len()))]);
            }
        }
        if (200..300).contains(&code) {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&text);
        Err(format!("{} {} returned {code}: {text}", request.method, request.path).into())
    }

    /// Sends a request and returns the status code of the response; `chunk` reads the body.
    pub(super) async fn send(&mut self, request: &ApiRequest) -> Result<u16, BoxError> {
        let mut builder = Request::builder()
            .method(request.method)
            .uri(&request.path)
            .header(HOST, &self.target.address)
            .header(ACCEPT, JSON)
            .header(CONTENT_TYPE, request.media);
        if let Some(token) = &self.target.token {
            builder = builder.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = builder.body(request.body.clone())?;
        self.requests.ready().await?;
        let response = self.requests.send_request(request).await?;
        let code = response.status().as_u16();
        self.body = Some(response.into_body());
        Ok(code)
    }

    /// The next chunk of the response body; `None` after the last chunk.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, BoxError> {
        let Some(body) = &mut self.body else {
            return Ok(None);
        };
        while let Some(frame) = body.frame().await {
            if let Ok(chunk) = frame?.into_data() {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }
}
