//! An HTTP listener for the programs of a case, with or without TLS, which limits its clients.
//!
//! Handles connections; the caller provides the handler of requests.

use std::error::Error;
use std::future::Future;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fake_apiserver::{Kubeconfig, Tls};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::network::{Connections, Network};

/// Maximum size of a request body in bytes: the limit of kube-apiserver.
pub const BODY_MAX: usize = 3 << 20;
const CONNECTIONS_MAX: usize = 1024;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP listener. Dropping the value closes the listener's connections.
pub struct HttpListener {
    address: String,
    tls: Option<Tls>,
    _stop: DropGuard,
}

impl HttpListener {
    /// Listens on a free port of a network. `serve` handles each HTTP request; if `serve` returns an error, the connection is closed.
    pub async fn open<S, F, E>(network: &Network, with_tls: bool, serve: S) -> std::io::Result<Self>
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<UnsyncBoxBody<Bytes, E>>, E>> + Send + 'static,
        E: Error + Send + Sync + 'static,
    {
        let tls = match with_tls {
            true => Some(Tls::generate(Ipv4Addr::LOCALHOST.into()).map_err(std::io::Error::other)?),
            false => None,
        };
        let (address, connections) = network.listen().await?;
        Ok(Self::start_accepting(address, connections, tls, serve))
    }

    /// Listens on this address of a network, without TLS.
    pub(crate) async fn open_at<S, F, E>(network: &Network, address: &str, serve: S) -> std::io::Result<Self>
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<UnsyncBoxBody<Bytes, E>>, E>> + Send + 'static,
        E: Error + Send + Sync + 'static,
    {
        let connections = network.listen_at(address).await?;
        Ok(Self::start_accepting(
            address.to_owned(),
            connections,
            None,
            serve,
        ))
    }

    fn start_accepting<S, F, E>(address: String, connections: Connections, tls: Option<Tls>, serve: S) -> Self
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<UnsyncBoxBody<Bytes, E>>, E>> + Send + 'static,
        E: Error + Send + Sync + 'static,
    {
        let stop = CancellationToken::new();
        let accepting = accept(connections, tls.clone(), stop.clone(), serve);
        tokio::spawn(stop.clone().run_until_cancelled_owned(accepting));
        HttpListener {
            address,
            tls,
            _stop: stop.drop_guard(),
        }
    }

    /// The URL of the listener, without a path.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Certificate of the CA that clients must trust, as PEM; empty without TLS.
    pub(crate) fn authority_pem(&self) -> &str {
        self.tls.as_ref().map_or("", Tls::authority_pem)
    }

    pub(crate) fn write_kubeconfig(&self, path: &Path, token: &str) -> std::io::Result<()> {
        let config = Kubeconfig {
            server: &self.url(),
            authority_pem: self.tls.as_ref().map(Tls::authority_pem),
            token,
        };
        config.write(path)
    }
}

async fn accept<S, F, E>(mut connections: Connections, tls: Option<Tls>, stop: CancellationToken, serve: S)
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<UnsyncBoxBody<Bytes, E>>, E>> + Send + 'static,
    E: Error + Send + Sync + 'static,
{
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Some(accepted) = connections.next().await {
        let Ok(stream) = accepted else {
            // The client closed the connection early, or the host lacks file descriptors: accept the next connection after a pause.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Ok(permit) = permits.clone().try_acquire_owned() else {
            continue;
        };
        let (serve, tls) = (serve.clone(), tls.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            let _permit = permit;
            match tls {
                None => connection(stream, serve).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await
                    {
                        connection(stream, serve).await;
                    }
                }
            }
        }));
    }
}

async fn connection<S, F, E>(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, serve: S)
where
    S: Fn(Request<Incoming>) -> F + Send + 'static,
    F: Future<Output = Result<Response<UnsyncBoxBody<Bytes, E>>, E>> + Send + 'static,
    E: Error + Send + Sync + 'static,
{
    let served = Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service_fn(serve))
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "HTTP connection ended with an error");
    }
}
