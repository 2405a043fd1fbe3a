//! Listeners and connections, with or without TLS.
//!
//! Owns the limits on connections. Does not know the content of requests.

use super::answer::answer;
use super::client_certificate;
use super::endpoint::Endpoint;
use super::patience::Patient;
use super::service::Service;
use super::untaken::Untaken;
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

/// Maximum total bytes of the headers of a request. hyper's default limit of 100 headers remains; any other number would cost
/// an allocation per request.
const HEADER_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of open streams of an HTTP/2 connection: clients run all their watches over one connection.
const STREAMS_MAX: u32 = 1000;
/// Interval and timeout of pings on HTTP/2 connections.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Time that connections get to finish their responses when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Pause after a failed `accept`, for example because file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Send buffer of an HTTP/2 stream in bytes: a client that does not read may have [`STREAMS_MAX`] of them.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// Settings of a listener.
pub(crate) struct Listening {
    /// TLS; `None` for plain HTTP.
    tls: Option<Tls>,
    /// The user of requests without a token; `None`: anonymous.
    tokenless: Option<Arc<User>>,
}

impl Listening {
    /// Plain HTTP. Requests without a token are those of the named client, who may do everything; without a name, anonymous.
    pub(crate) fn plain(tokenless: Option<&str>) -> Self {
        Self {
            tls: None,
            tokenless: tokenless.map(User::trusted),
        }
    }

    /// TLS.
    pub(crate) fn tls(tls: &Tls) -> Self {
        Self {
            tls: Some(tls.clone()),
            tokenless: None,
        }
    }
}

/// Accepts and serves connections until `shutdown` resolves.
pub(crate) async fn serve(
    service: &Arc<Service>,
    listener: TcpListener,
    listening: Listening,
    shutdown: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let stop = CancellationToken::new();
    let _stop_on_drop = stop.clone().drop_guard();
    let limits = service.store.limits();
    let endpoint = Endpoint {
        service: service.clone(),
        tokenless: listening.tokenless,
        certified: None,
        stop: stop.clone(),
    };
    let (tasks, places) = (TaskTracker::new(), Arc::new(Semaphore::new(limits.connections)));
    let (mut shutdown, mut fails) = (std::pin::pin!(shutdown), false);
    let outcome = loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break Ok(()),
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_peers_fault(&error) => continue,
            Err(error) if is_listener_closed(&error) => break Err(error),
            Err(error) => {
                if !std::mem::replace(&mut fails, true) {
                    tracing::warn!(%error, "a connection could not be accepted; trying again");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        fails = false;
        let Ok(place) = places.clone().try_acquire_owned() else {
            tracing::warn!(
                most = limits.connections,
                "a connection was closed: there are too many"
            );
            continue;
        };
        drop(tasks.spawn(accept(
            endpoint.clone(),
            listening.tls.clone(),
            stream,
            limits,
            place,
        )));
    };
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    outcome
}

/// Whether `accept` failed because of a single connection rather than the listener.
fn is_peers_fault(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// Whether no later `accept` can succeed (EINVAL). A lack of file descriptors or memory, in contrast, is temporary.
fn is_listener_closed(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::InvalidInput
}

/// Serves one connection that was not accepted by a listener, without TLS, until it ends or `shutdown` resolves.
pub(crate) async fn serve_connection(
    service: &Arc<Service>,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    shutdown: CancellationToken,
) {
    let endpoint = Endpoint {
        service: service.clone(),
        tokenless: None,
        certified: None,
        stop: shutdown,
    };
    connection(endpoint, stream, service.store.limits()).await;
}

/// Serves one accepted connection; releases its connection permit at the end.
async fn accept(
    endpoint: Endpoint,
    tls: Option<Tls>,
    stream: TcpStream,
    limits: Limits,
    _place: OwnedSemaphorePermit,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was refused; answers may come late");
    }
    let stream = Patient::new(stream, limits.stalled);
    let Some(tls) = tls else {
        return connection(endpoint, stream, limits).await;
    };
    let handshake = tokio::time::timeout(limits.handshake, tls.acceptor().accept(stream));
    let shaken = tokio::select! {
        biased;
        shaken = handshake => shaken,
        () = endpoint.stop.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => {
            let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
            let certified = chain
                .first()
                .map(|first| client_certificate::user(first).filter(|_| tls.trusts(chain)));
            connection(
                Endpoint {
                    certified,
                    ..endpoint
                },
                stream,
                limits,
            )
            .await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn connection(
    endpoint: Endpoint,
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
    let (began, untaken) = (AtomicBool::new(false), Arc::new(Untaken::default()));
    let service = service_fn(|request| {
        began.store(true, Ordering::Relaxed);
        let (endpoint, untaken) = (endpoint.clone(), untaken.clone());
        async move { answer(&endpoint, &untaken, request).await }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // hyper has no header timeout before it has detected the protocol, and none for HTTP/2.
    let patience = tokio::time::sleep(limits.headers);
    let silent = async {
        patience.await;
        if began.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = silent => return tracing::debug!("a connection was closed: it sent no request"),
        () = untaken.is_left(limits.stalled) => {
            return tracing::debug!("a connection was closed: it did not take an answer");
        }
        () = endpoint.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(STOP_GRACE, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_out_of_file_descriptors_or_memory_does_not_stop_the_listener() {
        // ENFILE, EMFILE and ENOMEM.
        for code in [23, 24, 12] {
            assert!(!is_listener_closed(&std::io::Error::from_raw_os_error(code)));
        }
        // EINVAL.
        assert!(is_listener_closed(&std::io::Error::from_raw_os_error(22)));
    }
}
