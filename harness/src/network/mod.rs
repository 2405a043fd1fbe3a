//! How the servers and systems of a case reach each other: over sockets of this machine, or in memory.
//!
//! Addresses look the same in both: `host:port` for HTTP, and a path for CSI. Knows no requests and no calls.

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

/// What connects the servers and systems of a case.
#[derive(Debug, Clone, Default)]
pub enum Network {
    /// TCP on loopback, and Unix sockets.
    #[default]
    Machine,
    /// Streams in memory, which nobody outside can reach.
    Memory(Memory),
}

impl Network {
    /// A network of its own, in memory.
    pub fn in_memory() -> Self {
        Network::Memory(Memory::default())
    }

    /// A folder for sockets.
    pub(crate) fn folder(&self) -> io::Result<Folder> {
        match self {
            Network::Machine => Folder::temporary(),
            Network::Memory(memory) => Ok(Folder::Name(memory.folder())),
        }
    }

    /// Connects HTTP clients.
    pub fn http(&self) -> HttpConnector {
        HttpConnector::new(self.clone())
    }

    /// A channel to the driver at that path, which need not be there yet. Must be called within a tokio runtime.
    ///
    /// Fails if the path is not UTF-8.
    pub fn channel(&self, socket: &Path) -> io::Result<Channel> {
        match self {
            Network::Machine => channel(socket),
            Network::Memory(_) => {
                let (network, socket) = (self.clone(), socket.to_owned());
                Ok(channel_over(move || network.connect(&socket)))
            }
        }
    }

    /// Like [`Network::channel`], but a connection that is lost is not made again.
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

    /// Connects to a socket.
    fn connect(&self, socket: &Path) -> io::Result<NetworkStream> {
        match self {
            Network::Machine => {
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

    /// An address at which nobody listens, for a program that is told where to listen.
    pub(crate) fn free_address(&self) -> io::Result<String> {
        match self {
            Network::Machine => {
                let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                Ok(listener.local_addr()?.to_string())
            }
            Network::Memory(memory) => Ok(memory.free_name()),
        }
    }

    /// Listens at that address.
    pub async fn listen_at(&self, address: &str) -> io::Result<Connections> {
        match self {
            Network::Machine => TcpListener::bind(address).await.map(Connections::Tcp),
            Network::Memory(memory) => Ok(Connections::Memory(memory.listen(address))),
        }
    }

    /// Opens a free port; returns its address, and the connections that come.
    pub(crate) async fn listen(&self) -> io::Result<(String, Connections)> {
        match self {
            Network::Machine => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let address = listener.local_addr()?.to_string();
                Ok((address, Connections::Tcp(listener)))
            }
            Network::Memory(memory) => {
                let (address, streams) = memory.listen_anywhere();
                Ok((address, Connections::Memory(streams)))
            }
        }
    }
}

/// The connections of a port, as they come.
#[derive(Debug)]
pub enum Connections {
    /// Of this machine.
    Tcp(TcpListener),
    /// In memory.
    Memory(Incoming),
}

impl Connections {
    /// The next connection. None: there will never be one again.
    pub async fn next(&mut self) -> Option<io::Result<NetworkStream>> {
        match self {
            Connections::Tcp(listener) => {
                let accepted = listener.accept().await;
                Some(accepted.map(|(stream, _)| {
                    // Answers come late without it; they come all the same.
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
