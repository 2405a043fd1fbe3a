//! Owns one client connection: its peer, requests that are rejected before they become calls, and cutting the connection during a call.
//! Does not know the content of the calls.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::{Request, transport::server::Connected};

use crate::{
    Observer, Peer, Refusal,
    http2::{InboundFilter, OutboundScanner},
};

/// Size of one read from a client, in bytes.
const CHUNK_BYTES: usize = 8192;

/// Number of the next connection of this process, for [`Peer::connection`](crate::Peer::connection).
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// Reports connections and requests that a socket rejects to the observer.
#[derive(Clone, Default)]
pub(crate) struct RefusalReporter {
    pub(crate) node: Option<String>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

/// The connection of a request; attached to each request as a gRPC extension.
#[derive(Clone)]
pub(crate) struct ConnectionInfo {
    pub(crate) peer: Peer,
    /// Cancelling the token cuts the connection: unsent bytes are never sent.
    pub(crate) cut: CancellationToken,
    /// Whether the request has reached a CSI service.
    pub(crate) is_call: Arc<AtomicBool>,
    reporter: RefusalReporter,
}

impl ConnectionInfo {
    /// Returns the connection data of a request that reached a CSI service, and marks the request as a call.
    pub(crate) fn of_call<T>(request: &Request<T>) -> Option<ConnectionInfo> {
        let info = request.extensions().get::<ConnectionInfo>()?.clone();
        info.is_call.store(true, Ordering::Relaxed);
        Some(info)
    }

    /// Reports a rejected request to the observer; without `path`, a rejected connection.
    pub(crate) fn report_refused(&self, path: Option<&str>, reason: String) {
        tracing::debug!(path, reason, "refused");
        if let Some(observer) = &self.reporter.observer {
            observer.refused(Refusal {
                node: self.reporter.node.clone(),
                peer: self.peer,
                path: path.map(str::to_owned),
                reason,
            });
        }
    }
}

/// A client connection that a fault rule can cut.
pub(crate) struct Connection<S> {
    stream: S,
    info: ConnectionInfo,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    inbound: InboundFilter,
    outbound: OutboundScanner,
    /// Bytes for h2 to read, and how many of these bytes h2 has read already.
    ready: (Vec<u8>, usize),
    has_ended: bool,
}

impl<S> Connection<S> {
    /// Creates a connection with the next free number. `pid`: id of the client's process, if known.
    pub(crate) fn new(stream: S, pid: Option<i32>, reporter: RefusalReporter) -> Self {
        let connection = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let info = ConnectionInfo {
            peer: Peer { connection, pid },
            cut: CancellationToken::new(),
            is_call: Arc::default(),
            reporter,
        };
        let cut = Box::pin(info.cut.clone().cancelled_owned());
        Connection {
            stream,
            info,
            cut,
            inbound: InboundFilter::new(),
            outbound: OutboundScanner::default(),
            ready: (Vec::new(), 0),
            has_ended: false,
        }
    }

    /// Fails if the connection was cut; otherwise registers the task of `context`, which is woken when the connection is cut.
    fn check_not_cut(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(context) {
            Poll::Pending => Ok(()),
            Poll::Ready(()) => Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "a fault rule cut the connection",
            )),
        }
    }
}

impl<S> Connected for Connection<S> {
    type ConnectInfo = ConnectionInfo;

    fn connect_info(&self) -> ConnectionInfo {
        self.info.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_not_cut(context)?;
        let this = &mut *self;
        loop {
            let (bytes, read) = &mut this.ready;
            let unread = &bytes[*read..];
            if !unread.is_empty() || this.has_ended {
                let copied = unread.len().min(buffer.remaining());
                buffer.put_slice(&unread[..copied]);
                *read += copied;
                return Poll::Ready(Ok(()));
            }
            bytes.clear();
            *read = 0;
            let mut chunk = [0; CHUNK_BYTES];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut chunk))?;
            match chunk.filled() {
                [] => {
                    *bytes = this.inbound.take_incomplete_frame();
                    this.has_ended = true;
                }
                filled => this.inbound.forward(filled, bytes),
            }
            if let Some(beginning) = this.inbound.take_non_http2() {
                let reason = format!("not HTTP/2: the connection begins with \"{beginning}\"");
                this.info.report_refused(None, reason);
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_not_cut(context)?;
        let this = &mut *self;
        let written = ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?;
        for refused in this.outbound.scan(&bytes[..written]) {
            let path = refused.stream.and_then(|stream| this.inbound.path(stream));
            let what = match refused.stream {
                Some(_) => "stream reset with",
                None => "connection ended with",
            };
            this.info.report_refused(path, format!("{what} {}", refused.code));
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
