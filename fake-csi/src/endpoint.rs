//! Owns how clients reach a driver: binds, serves and stops a Unix socket, or serves in-process streams.

use std::{
    fs, io,
    os::unix::{fs::FileTypeExt, net::UnixStream as StdUnixStream},
    path::{Path, PathBuf},
    sync::Arc,
};

use csi_proto::v1::{
    controller_server::ControllerServer, identity_server::IdentityServer, node_server::NodeServer,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::UnixListener,
    task::JoinHandle,
};
use tokio_stream::{Stream, StreamExt, wrappers::UnixListenerStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::{Server, server::Router};
use tower::layer::util::{Identity, Stack};

use crate::{
    NodeIdentity,
    call::Endpoint,
    connection::{Connection, RefusalReporter},
    refuse::RefusalReportingLayer,
    state::Shared,
};

pub(crate) type Services = Router<Stack<RefusalReportingLayer, Identity>>;

/// Maximum number of concurrent calls per connection; more calls wait.
const CALLS_PER_CONNECTION_MAX: u32 = 1000;

/// Maximum length of a Unix socket path, in bytes: Linux allows 108, including the terminating NUL.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A serving endpoint. Dropping the value stops the endpoint: calls in flight fail with `UNAVAILABLE`, connections are closed, and the
/// socket file is removed.
#[derive(Debug)]
pub struct Running {
    socket: Option<SocketFile>,
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Running {
    /// Path of the socket; `None` if the endpoint serves in-process streams.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(|file| file.0.as_path())
    }

    /// Stops the endpoint; resolves when its last connection is closed.
    pub async fn stop(self) {
        let Running { socket, stop, task } = self;
        drop(socket);
        drop(stop);
        if let Err(error) = task.await {
            tracing::error!(%error, "the task of the endpoint panicked");
        }
    }
}

/// Removes the socket file when the endpoint stops.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "the socket file could not be removed");
        }
    }
}

/// The CSI services of the fake driver; their calls end when `stopped` is cancelled.
pub(crate) fn services(
    shared: Arc<Shared>,
    node: Option<NodeIdentity>,
    stopped: &CancellationToken,
) -> Services {
    let has_node = node.is_some();
    let endpoint = Endpoint {
        shared,
        node,
        stopped: stopped.clone(),
    };
    server()
        .add_service(IdentityServer::new(endpoint.clone()))
        .add_service(ControllerServer::new(endpoint.clone()))
        .add_optional_service(has_node.then(|| NodeServer::new(endpoint)))
}

/// A gRPC server with the limits that apply to every socket.
pub(crate) fn server() -> Server<Stack<RefusalReportingLayer, Identity>> {
    let server = Server::builder().max_concurrent_streams(CALLS_PER_CONNECTION_MAX);
    server.layer(RefusalReportingLayer)
}

/// Serves on a new socket until the returned value is dropped, which cancels `stopped`.
pub(crate) fn listen(
    path: &Path,
    services: Services,
    reporter: RefusalReporter,
    stopped: CancellationToken,
) -> io::Result<Running> {
    let connections = UnixListenerStream::new(bind(path)?).map(move |stream| {
        let stream = stream?;
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
        Ok(Connection::new(stream, pid, reporter.clone()))
    });
    Ok(Running {
        socket: Some(SocketFile(path.to_owned())),
        ..serve_connections(connections, services, stopped)
    })
}

/// Serves on streams that the caller has accepted.
pub(crate) fn serve<S>(
    streams: impl Stream<Item = S> + Send + 'static,
    services: Services,
    reporter: RefusalReporter,
    stopped: CancellationToken,
) -> Running
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let connections = streams.map(move |stream| Ok(Connection::new(stream, None, reporter.clone())));
    serve_connections(connections, services, stopped)
}

fn serve_connections<S>(
    connections: impl Stream<Item = io::Result<Connection<S>>> + Send + 'static,
    services: Services,
    stopped: CancellationToken,
) -> Running
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let serving = services.serve_with_incoming_shutdown(connections, stopped.clone().cancelled_owned());
    let task = tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "the endpoint failed");
        }
    });
    Running {
        socket: None,
        stop: stopped.drop_guard(),
        task,
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    let length = path.as_os_str().len();
    if length > SOCKET_PATH_BYTES_MAX {
        let message = format!(
            "the socket path has {length} bytes, but the maximum is {SOCKET_PATH_BYTES_MAX}; use a shorter path, for example in /tmp"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    // Removes only a stale socket: a file of another type was not created by a driver.
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        if StdUnixStream::connect(path).is_ok() {
            let message = "another process listens on this socket; stop that process, or use another path";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}
