//! One connection: who is at the other end, and cutting it in the middle of a call. Does not know the calls.

use std::{
    io,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

/// Numbers the connections of the process.
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// Who called: one connection of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Number of the connection, unique among all sockets of this process.
    pub connection: u64,
    /// Id of the process at the other end, where the system reports it.
    pub pid: Option<i32>,
}

/// What calls know of their connection.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) peer: Peer,
    /// Cancelling it cuts the connection: nothing that was not sent by then will be.
    pub(crate) cut: CancellationToken,
}

/// A connection that can be cut.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    stream: S,
    line: Line,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S> Connection<S> {
    /// `pid`: of the process at the other end, where it is known.
    pub(crate) fn new(stream: S, pid: Option<i32>) -> Self {
        let connection = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let line = Line {
            peer: Peer { connection, pid },
            cut: CancellationToken::new(),
        };
        let cut = Box::pin(line.cut.clone().cancelled_owned());
        Connection { stream, line, cut }
    }

    /// Fails if the connection was cut; otherwise the task is woken when it is.
    fn uncut(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(context) {
            Poll::Pending => Ok(()),
            Poll::Ready(()) => Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the script cut the connection",
            )),
        }
    }
}

impl<S> Connected for Connection<S> {
    type ConnectInfo = Line;

    fn connect_info(&self) -> Line {
        self.line.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.uncut(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.uncut(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
