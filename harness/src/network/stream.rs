//! One connection of a network, independent of the transport.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// One connection of a network.
#[derive(Debug)]
pub enum NetworkStream {
    /// TCP over the loopback interface.
    Tcp(TcpStream),
    /// Unix socket.
    Unix(UnixStream),
    /// In-memory stream.
    Memory(DuplexStream),
}

impl Connection for NetworkStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Evaluates an expression for the inner stream, pinned and bound to the given name, whatever the transport is.
macro_rules! with_stream {
    ($self:ident, $stream:ident => $do:expr) => {
        match $self.get_mut() {
            NetworkStream::Tcp($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
            NetworkStream::Unix($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
            NetworkStream::Memory($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
        }
    };
}

impl AsyncRead for NetworkStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        with_stream!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for NetworkStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        with_stream!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self, stream => stream.poll_shutdown(context))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        with_stream!(self, stream => stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            NetworkStream::Tcp(stream) => stream.is_write_vectored(),
            NetworkStream::Unix(stream) => stream.is_write_vectored(),
            NetworkStream::Memory(stream) => stream.is_write_vectored(),
        }
    }
}
