//! Connections for hyper's client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tower::Service;

use super::Network;

/// Makes connections for a client of hyper or kube, without TLS.
#[derive(Debug, Clone)]
pub struct HttpConnector {
    network: Network,
}

impl HttpConnector {
    pub(super) fn new(network: Network) -> Self {
        HttpConnector { network }
    }
}

impl Service<Uri> for HttpConnector {
    type Response = TokioIo<HttpStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<HttpStream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let network = self.network.clone();
        async move { connect(&network, &url).await.map(TokioIo::new) }.boxed()
    }
}

async fn connect(network: &Network, url: &Uri) -> io::Result<HttpStream> {
    let address = url.authority().map_or("", |authority| authority.as_str());
    match network {
        Network::Machine => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(HttpStream::Tcp(stream))
        }
        Network::Memory(memory) => memory.connect(address).map(HttpStream::Memory),
    }
}

/// One connection.
#[derive(Debug)]
pub enum HttpStream {
    /// Over loopback.
    Tcp(TcpStream),
    /// In memory.
    Memory(DuplexStream),
}

impl Connection for HttpStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Does the same with the stream, whichever it is.
macro_rules! with_stream {
    ($self:ident, $stream:ident => $do:expr) => {
        match $self.get_mut() {
            HttpStream::Tcp($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
            HttpStream::Memory($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
        }
    };
}

impl AsyncRead for HttpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        with_stream!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for HttpStream {
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
            HttpStream::Tcp(stream) => stream.is_write_vectored(),
            HttpStream::Memory(stream) => stream.is_write_vectored(),
        }
    }
}
