//! How the servers and systems of a case reach each other: over sockets of this machine, or in memory.
//!
//! Addresses look the same in both: `host:port` for HTTP, and a path for CSI. Knows no requests and no calls.

mod folder;
mod http;
mod memory;

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use fake_csi::{Channel, channel, channel_over};
use futures::{StreamExt, stream};
use tokio::io::DuplexStream;
use tokio::net::TcpListener;

pub(crate) use self::folder::Folder;
pub use self::http::{HttpConnector, HttpStream};
pub use self::memory::Memory;

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
            Network::Memory(memory) => {
                let (memory, name) = (memory.clone(), socket.display().to_string());
                Ok(channel_over(move || memory.connect(&name)))
            }
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
                Ok((address, Connections::Memory(streams.boxed())))
            }
        }
    }
}

/// The connections of a port, as they come.
pub(crate) enum Connections {
    Tcp(TcpListener),
    Memory(stream::BoxStream<'static, DuplexStream>),
}

impl Connections {
    /// The next connection. None: there will never be one again.
    pub(crate) async fn next(&mut self) -> Option<io::Result<HttpStream>> {
        match self {
            Connections::Tcp(listener) => {
                let accepted = listener.accept().await;
                Some(accepted.map(|(stream, _)| {
                    // Answers come late without it; they come all the same.
                    let _ = stream.set_nodelay(true);
                    HttpStream::Tcp(stream)
                }))
            }
            Connections::Memory(streams) => streams.next().await.map(|stream| Ok(HttpStream::Memory(stream))),
        }
    }
}
