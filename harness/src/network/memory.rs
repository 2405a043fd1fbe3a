//! An in-memory network: socket names and the listeners of each name.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use parking_lot::Mutex;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

/// Buffer size per direction in bytes, similar to that of a socket.
const BUFFER_BYTES: usize = 64 * 1024;

/// An in-memory network. All clones share the listeners.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    /// Number of names and listeners created so far, from which the next name or listener gets a unique number.
    count: u64,
    listeners: BTreeMap<String, Listener>,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    streams: mpsc::UnboundedSender<DuplexStream>,
}

impl Memory {
    /// Connects to the in-memory listener of a name. Returns `ConnectionRefused` if the name has no listener.
    pub(super) fn connect(&self, name: &str) -> io::Result<DuplexStream> {
        let (client, server) = tokio::io::duplex(BUFFER_BYTES);
        let names = self.0.lock();
        let listener = names
            .listeners
            .get(name)
            .ok_or(io::ErrorKind::ConnectionRefused)?;
        listener
            .streams
            .send(server)
            .map_err(|_| io::ErrorKind::ConnectionRefused)?;
        Ok(client)
    }

    /// A folder name that is unique in the in-memory network.
    pub(super) fn folder(&self) -> PathBuf {
        let mut names = self.0.lock();
        names.count += 1;
        format!("/memory/{}", names.count).into()
    }

    /// A new name in the in-memory network, on which nothing listens yet.
    pub(super) fn free_name(&self) -> String {
        let mut names = self.0.lock();
        names.count += 1;
        format!("memory:{}", names.count)
    }

    /// Listens on a new name of the in-memory network. Returns the name and the incoming connections.
    pub(super) fn listen_on_free_name(&self) -> (String, Incoming) {
        let name = self.free_name();
        let incoming = self.listen(&name);
        (name, incoming)
    }

    /// Listens on a name of the in-memory network until the returned value is dropped. Replaces an earlier listener of the name.
    pub(crate) fn listen(&self, name: impl AsRef<Path>) -> Incoming {
        let name = name.as_ref().display().to_string();
        let (streams, accepted) = mpsc::unbounded_channel();
        let mut names = self.0.lock();
        names.count += 1;
        let number = names.count;
        names.listeners.insert(name.clone(), Listener { number, streams });
        Incoming {
            network: self.clone(),
            name,
            number,
            accepted,
        }
    }
}

/// Incoming connections of a name in the in-memory network.
#[derive(Debug)]
pub struct Incoming {
    network: Memory,
    name: String,
    number: u64,
    accepted: mpsc::UnboundedReceiver<DuplexStream>,
}

impl Stream for Incoming {
    type Item = DuplexStream;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<DuplexStream>> {
        self.accepted.poll_recv(context)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let mut names = self.network.0.lock();
        // If another listener has replaced this listener under its name, the other listener stays registered.
        if names
            .listeners
            .get(&self.name)
            .is_some_and(|listener| listener.number == self.number)
        {
            names.listeners.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn name_accepts_connections_while_it_has_a_listener() {
        let network = Memory::default();
        let refused = |network: &Memory| network.connect("a").map_err(|error| error.kind()).err();
        assert_eq!(refused(&network), Some(io::ErrorKind::ConnectionRefused));
        let mut listener = network.listen("a");
        let mut client = network.connect("a").expect("the name has a listener");
        let mut server = listener.next().await.expect("incoming connection");
        client.write_all(b"hello").await.expect("the connection is open");
        drop(client);
        let mut read = String::new();
        server.read_to_string(&mut read).await.expect("the stream ends");
        assert_eq!(read, "hello");
        let successor = network.listen("a");
        drop(listener);
        assert!(network.connect("a").is_ok(), "the later listener remains");
        drop(successor);
        assert_eq!(refused(&network), Some(io::ErrorKind::ConnectionRefused));
    }

    #[test]
    fn free_names_are_unique() {
        let network = Memory::default();
        let (first, _listener) = network.listen_on_free_name();
        assert_ne!(first, network.listen_on_free_name().0);
    }
}
