//! A network in memory: names, and who listens at them.

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

/// Bytes that are on their way in one direction, at most; what a socket of this machine holds.
const BUFFER_BYTES: usize = 64 * 1024;

/// A network in memory. Clones are handles to the same one.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    /// Listeners and folders so far.
    count: u64,
    listeners: BTreeMap<String, Door>,
}

#[derive(Debug)]
struct Door {
    number: u64,
    streams: mpsc::UnboundedSender<DuplexStream>,
}

impl Memory {
    /// A new connection to whoever listens at that name. Fails as a socket does if nobody listens there.
    pub(super) fn connect(&self, name: &str) -> io::Result<DuplexStream> {
        let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
        let names = self.0.lock();
        let door = names
            .listeners
            .get(name)
            .ok_or(io::ErrorKind::ConnectionRefused)?;
        door.streams
            .send(theirs)
            .map_err(|_| io::ErrorKind::ConnectionRefused)?;
        Ok(ours)
    }

    /// A folder of its own for names.
    pub(super) fn folder(&self) -> PathBuf {
        let mut names = self.0.lock();
        names.count += 1;
        format!("/memory/{}", names.count).into()
    }

    /// A name at which nobody listens.
    pub(super) fn free_name(&self) -> String {
        let mut names = self.0.lock();
        names.count += 1;
        format!("memory:{}", names.count)
    }

    /// Listens at a name of its own, which is returned.
    pub(super) fn listen_anywhere(&self) -> (String, Incoming) {
        let name = self.free_name();
        let incoming = self.listen(&name);
        (name, incoming)
    }

    /// Listens at that name until the result is dropped. Whoever has listened there before does not any more.
    pub(crate) fn listen(&self, name: impl AsRef<Path>) -> Incoming {
        let name = name.as_ref().display().to_string();
        let (streams, accepted) = mpsc::unbounded_channel();
        let mut names = self.0.lock();
        names.count += 1;
        let number = names.count;
        names.listeners.insert(name.clone(), Door { number, streams });
        Incoming {
            network: self.clone(),
            name,
            number,
            accepted,
        }
    }
}

/// The connections that come in at a name.
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
        // Another may listen there by now.
        if names
            .listeners
            .get(&self.name)
            .is_some_and(|door| door.number == self.number)
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
    async fn a_name_is_reached_while_somebody_listens_there() {
        let network = Memory::default();
        let refused = |network: &Memory| network.connect("a").map_err(|error| error.kind()).err();
        assert_eq!(refused(&network), Some(io::ErrorKind::ConnectionRefused));
        let mut listener = network.listen("a");
        let mut client = network.connect("a").expect("somebody listens");
        let mut server = listener.next().await.expect("a connection");
        client.write_all(b"hello").await.expect("it is open");
        drop(client);
        let mut read = String::new();
        server.read_to_string(&mut read).await.expect("it ends");
        assert_eq!(read, "hello");
        let successor = network.listen("a");
        drop(listener);
        assert!(network.connect("a").is_ok(), "the successor is not taken away");
        drop(successor);
        assert_eq!(refused(&network), Some(io::ErrorKind::ConnectionRefused));
    }

    #[test]
    fn every_free_name_is_another() {
        let network = Memory::default();
        let (first, _kept) = network.listen_anywhere();
        assert_ne!(first, network.listen_anywhere().0);
    }
}
