//! Listeners and connections, with or without TLS.
//!
//! Owns the limits on connections. Does not know the content of requests.

use super::answer::handle_request;
use super::client_certificate;
use super::endpoint::ConnectionContext;
use super::pending_responses::PendingResponses;
use super::service::Service;
use super::write_timeout::WriteTimeout;
use crate::access::auth::User;
use crate::config::options::Limits;
use crate::http::tls::Tls;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Maximum total bytes of the headers of a request. hyper's default limit of 100 headers remains; with any other limit, hyper allocates
/// memory for each request.
const HEADER_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of open streams of an HTTP/2 connection. Large, because clients open all their watches on one connection.
const STREAMS_MAX: u32 = 1000;
/// Interval and timeout of pings on HTTP/2 connections.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for connections to finish their responses when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Pause after a failed `accept`, for example because file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Send buffer of an HTTP/2 stream in bytes: a client that does not read can fill [`STREAMS_MAX`] of these buffers.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// How a listener authenticates clients and whether it uses TLS.
pub(crate) struct ListenerConfig {
    tls: Option<Tls>,
    /// The user of requests without a token. `None`: the anonymous user.
    default_user: Option<Arc<User>>,
}

impl ListenerConfig {
    /// Settings for plain HTTP. The user of requests without a token is `default_user`, who has all permissions, or else the anonymous
    /// user.
    pub(crate) fn plain(default_user: Option<&str>) -> Self {
        Self {
            tls: None,
            default_user: default_user.map(User::trusted),
        }
    }

    /// Settings for HTTPS. Clients authenticate with a token or, if `tls` has an authority for them, a certificate.
    pub(crate) fn tls(tls: &Tls) -> Self {
        Self {
            tls: Some(tls.clone()),
            default_user: None,
        }
    }
}

/// Accepts and serves connections until `shutdown` resolves.
pub(crate) async fn serve(
    service: &Arc<Service>,
    listener: TcpListener,
    listener_config: ListenerConfig,
    shutdown: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let stop = CancellationToken::new();
    let _stop_on_drop = stop.clone().drop_guard();
    let limits = service.store.limits();
    let endpoint = ConnectionContext {
        service: service.clone(),
        default_user: listener_config.default_user,
        certificate_user: None,
        stop: stop.clone(),
    };
    let (tasks, permits) = (TaskTracker::new(), Arc::new(Semaphore::new(limits.connections)));
    let (mut shutdown, mut is_failing) = (std::pin::pin!(shutdown), false);
    let outcome = loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break Ok(()),
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_connection_error(&error) => continue,
            Err(error) if is_listener_closed(&error) => break Err(error),
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(%error, "a connection could not be accepted; trying again");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        is_failing = false;
        let Ok(permit) = permits.clone().try_acquire_owned() else {
            tracing::warn!(
                most = limits.connections,
                "a connection was closed: the maximum number of connections is open"
            );
            continue;
        };
        drop(tasks.spawn(serve_accepted(
            endpoint.clone(),
            listener_config.tls.clone(),
            stream,
            limits,
            permit,
        )));
    };
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    outcome
}

/// Whether `accept` failed because of a single connection, so that the listener still works.
fn is_connection_error(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// Whether the listener is closed (EINVAL), so that all later calls of `accept` fail. A lack of file descriptors or memory is temporary.
fn is_listener_closed(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::InvalidInput
}

/// Serves one connection that does not come from a listener, without TLS, until it ends or `shutdown` resolves.
pub(crate) async fn serve_connection(
    service: &Arc<Service>,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    shutdown: CancellationToken,
) {
    let endpoint = ConnectionContext {
        service: service.clone(),
        default_user: None,
        certificate_user: None,
        stop: shutdown,
    };
    serve_http(endpoint, stream, service.store.limits()).await;
}

/// Serves one accepted connection; releases its connection permit at the end.
async fn serve_accepted(
    endpoint: ConnectionContext,
    tls: Option<Tls>,
    stream: TcpStream,
    limits: Limits,
    _permit: OwnedSemaphorePermit,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set; responses may be delayed");
    }
    let stream = WriteTimeout::new(stream, limits.stalled);
    let Some(tls) = tls else {
        return serve_http(endpoint, stream, limits).await;
    };
    let handshake = tokio::time::timeout(limits.handshake, tls.acceptor().accept(stream));
    let handshake = tokio::select! {
        biased;
        result = handshake => result,
        () = endpoint.stop.cancelled() => return,
    };
    match handshake {
        Ok(Ok(stream)) => {
            let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
            let certificate_user = chain
                .first()
                .map(|first| client_certificate::user(first).filter(|_| tls.trusts(chain)));
            serve_http(
                ConnectionContext {
                    certificate_user,
                    ..endpoint
                },
                stream,
                limits,
            )
            .await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake timed out"),
    }
}

async fn serve_http(
    endpoint: ConnectionContext,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    limits: Limits,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers)
        .max_buf_size(HEADER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .max_header_list_size(HEADER_BYTES_MAX as u32);
    let (has_request, pending_responses) = (AtomicBool::new(false), Arc::new(PendingResponses::default()));
    let service = service_fn(|request| {
        has_request.store(true, Ordering::Relaxed);
        let (endpoint, pending_responses) = (endpoint.clone(), pending_responses.clone());
        async move { handle_request(&endpoint, &pending_responses, request).await }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // hyper applies its header timeout only after it has detected HTTP/1.1, and has none for HTTP/2.
    let header_timeout = tokio::time::sleep(limits.headers);
    let first_request_timeout = async {
        header_timeout.await;
        if has_request.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = first_request_timeout => return tracing::debug!("a connection was closed: no request arrived in time"),
        () = pending_responses.wait_until_stalled(limits.stalled) => {
            return tracing::debug!("a connection was closed: the client did not read a response in time");
        }
        () = endpoint.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(STOP_GRACE, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_out_of_file_descriptors_or_memory_does_not_stop_the_listener() {
        // The error numbers ENFILE, EMFILE and ENOMEM.
        for code in [23, 24, 12] {
            assert!(!is_listener_closed(&std::io::Error::from_raw_os_error(code)));
        }
        // The error number EINVAL.
        assert!(is_listener_closed(&std::io::Error::from_raw_os_error(22)));
    }
}
