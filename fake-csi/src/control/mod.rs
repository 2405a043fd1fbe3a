//! HTTP control of a driver that runs as a separate program: pools, rules, reservations, volumes and calls as JSON.
//!
//! Disabled unless the program opens a listener for the control. Listens on loopback unless `allow_remote` is set, requires a bearer token,
//! and limits the size of all input. The URL paths are in `route`.

mod context;
mod problem;
mod record;
mod route;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use record::CallRecord;

use crate::FakeDriver;
use context::Context;

/// Maximum number of concurrent connections to the control; more connections wait.
const CONNECTIONS_MAX: usize = 64;

const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Timeout for the request head; the connection is closed after this time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// A running HTTP control. Dropping the value closes the listener.
#[derive(Debug)]
pub struct Control {
    address: SocketAddr,
    token: String,
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Control {
    /// Listens on an address; for port 0 the system picks a free port. The token is random.
    ///
    /// Fails if the port cannot be bound, or if the address is not loopback and `allow_remote` is not set.
    pub async fn listen(
        driver: FakeDriver,
        calls: Arc<CallRecord>,
        address: SocketAddr,
        allow_remote: bool,
    ) -> io::Result<Control> {
        if !address.ip().is_loopback() && !allow_remote {
            let message = format!("{address} is not a loopback address; use 127.0.0.1, or set allow_remote");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        let context = Arc::new(Context {
            driver,
            calls,
            token: token.clone(),
        });
        let stopped = CancellationToken::new();
        let task = tokio::spawn(accept(listener, context, stopped.clone()));
        Ok(Control {
            address,
            token,
            stop: stopped.drop_guard(),
            task,
        })
    }

    /// Base URL of the control, for example `http://127.0.0.1:41000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Token that requests must carry as `Authorization: Bearer <token>`.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Stops the control; resolves when its last connection is closed.
    pub async fn stop(self) {
        let Control { stop, task, .. } = self;
        drop(stop);
        if let Err(error) = task.await {
            tracing::error!(%error, "the task of the HTTP control panicked");
        }
    }
}

async fn accept(listener: TcpListener, context: Arc<Context>, stopped: CancellationToken) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        // `acquire_owned` fails only if the semaphore is closed, which never happens.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped.cancelled() => break,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let serving = serve(stream, Arc::clone(&context), stopped.clone());
                connections.spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the HTTP control could not accept a connection");
                // The usual cause is that the process has run out of file descriptors; retrying at once would be a busy loop.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    while connections.join_next().await.is_some() {}
}

async fn serve(stream: TcpStream, context: Arc<Context>, stopped: CancellationToken) {
    let service = service_fn(move |request| {
        let context = Arc::clone(&context);
        async move { Ok::<_, std::convert::Infallible>(route::respond(&context, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the HTTP control ended early");
    }
}
