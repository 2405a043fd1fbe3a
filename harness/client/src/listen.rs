//! Accepts connections to the metrics endpoints of publisher and scheduler. Does not know HTTP.

use futures::stream::{self, BoxStream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

/// A byte stream to a client.
pub trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// A stream of accepted connections.
pub type Connections = BoxStream<'static, std::io::Result<Box<dyn Socket>>>;

/// Accepts the connections of a listener. The stream does not end.
pub fn connections(listener: TcpListener) -> Connections {
    let accepted = stream::unfold(listener, async |listener| {
        let accepted = listener.accept().await;
        Some((accepted.map(|(socket, _)| Box::new(socket) as _), listener))
    });
    accepted.boxed()
}
