//! One Unix socket: binding, serving, stopping. Does not know what the services answer.

use std::{
    fs, io,
    os::unix::{fs::FileTypeExt, net::UnixStream as StdUnixStream},
    path::{Path, PathBuf},
    sync::Arc,
};

use csi_proto::v1::{
    controller_server::ControllerServer, identity_server::IdentityServer, node_server::NodeServer,
};
use tokio::{net::UnixListener, task::JoinHandle};
use tokio_stream::{StreamExt, wrappers::UnixListenerStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::{Server, server::Router};

use crate::{NodeIdentity, call::Endpoint, connection::Connection, state::Shared};

/// More calls at once on one connection have to wait.
const CALLS_PER_CONNECTION_MAX: u32 = 1000;

/// Longest path of a Unix socket, in bytes: the system keeps 108, with an end mark.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A listening socket. Dropping it stops the endpoint: calls in flight fail with `UNAVAILABLE`, connections end, the file goes away.
#[derive(Debug)]
pub struct Running {
    socket: SocketFile,
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Running {
    /// Path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket.0
    }

    /// Stops like dropping does, and returns when the last connection has ended.
    pub async fn stop(self) {
        let Running { socket, stop, task } = self;
        drop(socket);
        drop(stop);
        if let Err(error) = task.await {
            tracing::error!(%error, "the endpoint ended badly");
        }
    }
}

/// Removes the file when the endpoint stops.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "the socket file stays behind");
        }
    }
}

pub(crate) fn listen(shared: Arc<Shared>, path: &Path, node: Option<NodeIdentity>) -> io::Result<Running> {
    let stopped = CancellationToken::new();
    let has_node = node.is_some();
    let endpoint = Endpoint {
        shared,
        node,
        stopped: stopped.clone(),
    };
    let router = server()
        .add_service(IdentityServer::new(endpoint.clone()))
        .add_service(ControllerServer::new(endpoint.clone()))
        .add_optional_service(has_node.then(|| NodeServer::new(endpoint)));
    serve(path, router, stopped)
}

/// A server with the limits that every socket has.
pub(crate) fn server() -> Server {
    Server::builder().max_concurrent_streams(CALLS_PER_CONNECTION_MAX)
}

/// Serves these services on a new socket until the result is dropped, and cancels `stopped` then.
pub(crate) fn serve(path: &Path, router: Router, stopped: CancellationToken) -> io::Result<Running> {
    let listener = bind(path)?;
    let serving = router.serve_with_incoming_shutdown(
        UnixListenerStream::new(listener).map(|stream| stream.map(Connection::new)),
        stopped.clone().cancelled_owned(),
    );
    let task = tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "the endpoint failed");
        }
    });
    Ok(Running {
        socket: SocketFile(path.to_owned()),
        stop: stopped.drop_guard(),
        task,
    })
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    let length = path.as_os_str().len();
    if length > SOCKET_PATH_BYTES_MAX {
        let message = format!(
            "the path of the socket has {length} bytes, and {SOCKET_PATH_BYTES_MAX} are the most; use a shorter folder, such as one in /tmp"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    // Only a socket that a dead endpoint left behind; anything else in the way is not ours to remove.
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        if StdUnixStream::connect(path).is_ok() {
            let message = "another process serves on this socket; stop it, or use another path";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}
