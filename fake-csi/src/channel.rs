//! Creates gRPC channels to a driver, which connect on first use and reconnect when the connection is lost.

use std::{io, path::Path};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

/// A channel to the driver on a Unix socket. The socket need not exist yet. Must be called within a tokio runtime.
///
/// Fails if the path is not UTF-8.
pub fn channel(socket: &Path) -> io::Result<Channel> {
    let wrong = || {
        let message = format!("socket path {} is not UTF-8; use a UTF-8 path", socket.display());
        io::Error::new(io::ErrorKind::InvalidInput, message)
    };
    let path = socket.to_str().ok_or_else(wrong)?;
    let endpoint = Endpoint::from_shared(format!("unix:{path}")).map_err(|_| wrong())?;
    Ok(endpoint.connect_lazy())
}

/// A channel to a driver in this process, over streams that `connect` returns. Must be called within a tokio runtime.
pub fn channel_over<S>(connect: impl Fn() -> io::Result<S> + Clone + Send + 'static) -> Channel
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // The host name is a placeholder and never resolved.
    Endpoint::from_static("http://driver").connect_with_connector_lazy(service_fn(move |_| {
        std::future::ready(connect().map(TokioIo::new))
    }))
}
