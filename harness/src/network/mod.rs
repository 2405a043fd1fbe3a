//! How the servers and programs of a case connect: over sockets of this host, or in memory.
//!
//! An address is `host:port` for HTTP and a socket path for CSI, over either transport. Does not know HTTP requests or CSI calls.

mod folder;
mod get;
mod http;
mod memory;
mod stream;

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fake_csi::{Channel, channel, channel_over};
use futures::StreamExt;
use tokio::net::{TcpListener, UnixStream};

pub(crate) use self::folder::Folder;
pub use self::http::HttpConnector;
use self::memory::Incoming;
pub use self::memory::Memory;
pub use self::stream::NetworkStream;

/// The transport between the servers and programs of a case.
#[derive(Debug, Clone, Default)]
pub enum Network {
    /// TCP on the loopback interface, and Unix sockets.
    #[default]
    Host,
    /// In-memory streams, to which no other process can connect.
    Memory(Memory),
}

impl Network {
    /// Creates an in-memory network.
    pub fn in_memory() -> Self {
        Network::Memory(Memory::default())
    }

    /// Creates the folder for the sockets of a case.
    pub(crate) fn folder(&self) -> io::Result<Folder> {
        match self {
            Network::Host => Folder::temporary(),
            Network::Memory(memory) => Ok(Folder::Name(memory.folder())),
        }
    }

    /// The connector with which HTTP clients open connections in this network.
    pub fn http(&self) -> HttpConnector {
        HttpConnector::new(self.clone())
    }

    /// A gRPC channel to the driver at a socket path, which need not exist yet. Must be called within a tokio runtime.
    ///
    /// Returns an error if the path is not UTF-8.
    pub fn channel(&self, socket: &Path) -> io::Result<Channel> {
        match self {
            Network::Host => channel(socket),
            Network::Memory(_) => {
                let (network, socket) = (self.clone(), socket.to_owned());
                Ok(channel_over(move || network.connect(&socket)))
            }
        }
    }

    /// Like [`Network::channel`], but does not reconnect after a lost connection.
    pub(crate) fn channel_once(&self, socket: &Path) -> Channel {
        let (network, socket) = (self.clone(), socket.to_owned());
        let connected = Arc::new(AtomicBool::new(false));
        channel_over(move || {
            if connected.load(Ordering::Relaxed) {
                return Err(io::Error::other("the connection was lost"));
            }
            let stream = network.connect(&socket)?;
            connected.store(true, Ordering::Relaxed);
            Ok(stream)
        })
    }

    fn connect(&self, socket: &Path) -> io::Result<NetworkStream> {
        match self {
            Network::Host => {
                let stream = std::os::unix::net::UnixStream::connect(socket)?;
                stream.set_nonblocking(true)?;
                UnixStream::from_std(stream).map(NetworkStream::Unix)
            }
            Network::Memory(memory) => {
                let stream = memory.connect(&socket.display().to_string())?;
                Ok(NetworkStream::Memory(stream))
            }
        }
    }

    /// An address on which nothing listens, for a program that gets its listen address as an argument.
    pub(crate) fn free_address(&self) -> io::Result<String> {
        match self {
            Network::Host => {
                let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                Ok(listener.local_addr()?.to_string())
            }
            Network::Memory(memory) => Ok(memory.free_name()),
        }
    }

    /// Listens on an address.
    pub async fn listen_at(&self, address: &str) -> io::Result<Connections> {
        match self {
            Network::Host => TcpListener::bind(address).await.map(Connections::Tcp),
            Network::Memory(memory) => Ok(Connections::Memory(memory.listen(address))),
        }
    }

    /// Listens on a free port. Returns the address and the incoming connections.
    pub(crate) async fn listen(&self) -> io::Result<(String, Connections)> {
        match self {
            Network::Host => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let address = listener.local_addr()?.to_string();
                Ok((address, Connections::Tcp(listener)))
            }
            Network::Memory(memory) => {
                let (address, streams) = memory.listen_on_free_name();
                Ok((address, Connections::Memory(streams)))
            }
        }
    }
}

/// Incoming connections of a listener.
#[derive(Debug)]
pub enum Connections {
    /// TCP connections.
    Tcp(TcpListener),
    /// In-memory streams.
    Memory(Incoming),
}

impl Connections {
    /// The next connection; `None` after the listener was closed.
    pub async fn next(&mut self) -> Option<io::Result<NetworkStream>> {
        match self {
            Connections::Tcp(listener) => {
                let accepted = listener.accept().await;
                Some(accepted.map(|(stream, _)| {
                    // An error is ignored: without TCP_NODELAY, small responses are delayed but complete.
                    let _ = stream.set_nodelay(true);
                    NetworkStream::Tcp(stream)
                }))
            }
            Connections::Memory(streams) => streams
                .next()
                .await
                .map(|stream| Ok(NetworkStream::Memory(stream))),
        }
    }
}
