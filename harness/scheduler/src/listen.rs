//! Serves connections, up to a limit, each with the same function.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use capacity_client::Connections;
use futures::stream::StreamExt;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use tracing::{debug, warn};

const CONNECTIONS_MAX: usize = 16;

/// Serves every connection until the stream ends.
pub(crate) async fn serve_connections<F>(
    mut connections: Connections,
    respond: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Some(accepted) = connections.next().await {
        let socket = match accepted {
            Ok(socket) => socket,
            Err(error) => {
                warn!(%error, "a connection was not accepted");
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            warn!("too many concurrent connections; a new connection was closed");
            continue;
        };
        let respond = respond.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(move |request| {
                let response = respond(request);
                async move { Ok::<_, Infallible>(response.await) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            if let Err(error) = connection.serve_connection(TokioIo::new(socket), service).await {
                debug!(%error, "a connection ended");
            }
        });
    }
}
