//! The connector with which hyper and kube clients open connections.

use std::io;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use super::Network;
use super::stream::NetworkStream;

/// Opens connections for a client of hyper or kube, without TLS.
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
    type Response = TokioIo<NetworkStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<NetworkStream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let network = self.network.clone();
        async move { connect(&network, &url).await.map(TokioIo::new) }.boxed()
    }
}

async fn connect(network: &Network, url: &Uri) -> io::Result<NetworkStream> {
    let address = url.authority().map_or("", |authority| authority.as_str());
    match network {
        Network::Host => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(NetworkStream::Tcp(stream))
        }
        Network::Memory(memory) => memory.connect(address).map(NetworkStream::Memory),
    }
}
