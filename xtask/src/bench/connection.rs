//! One HTTP/1.1 connection to an API server, as thin as possible: what it costs is missing from the figures.
//!
//! Owns framing. Does not know what requests ask for.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use suites::harness::system::BoxError;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// Bytes of an answer that are kept to tell what went wrong.
const SHOWN_BYTES: usize = 300;

/// Where requests go, and with which credentials.
pub(super) struct Target {
    /// Host and port.
    pub(super) address: String,
    /// The bearer token, unless the connection itself says who comes.
    pub(super) token: Option<String>,
    /// For TLS: what connects, and the name to verify.
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A request, without what all requests share.
pub(super) struct Ask {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) media: &'static str,
    pub(super) body: String,
}

impl Ask {
    /// A request without a body.
    pub(super) fn bare(method: &'static str, path: impl Into<String>) -> Self {
        let (path, media, body) = (path.into(), JSON, String::new());
        Self {
            method,
            path,
            media,
            body,
        }
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const MERGE: &str = "application/merge-patch+json";

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// An open connection.
pub(super) struct Connection {
    target: Arc<Target>,
    stream: Box<dyn Stream>,
    /// What was read and is not used yet is at `used..filled`.
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    body: Left,
    head: Vec<u8>,
}

/// What is still to come of the body of an answer.
#[derive(Clone, Copy)]
enum Left {
    Bytes(usize),
    /// Bytes of the present chunk.
    Chunk(usize),
    NextChunk,
    Done,
}

impl Connection {
    pub(super) async fn open(target: &Arc<Target>) -> Result<Self, BoxError> {
        let tcp = TcpStream::connect(&target.address).await?;
        tcp.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match &target.tls {
            // rustls itself reads little at a time.
            Some((connector, name)) => {
                let tcp = BufReader::with_capacity(READ_BYTES, tcp);
                Box::new(connector.connect(name.clone(), tcp).await?)
            }
            None => Box::new(tcp),
        };
        Ok(Self {
            target: target.clone(),
            stream,
            buffer: vec![0; READ_BYTES],
            used: 0,
            filled: 0,
            body: Left::Done,
            head: Vec::new(),
        })
    }

    /// Sends a request, reads the whole answer, keeps what `keep` takes of it, and fails unless it is a success.
    pub(super) async fn call(&mut self, ask: &Ask, mut keep: impl FnMut(&[u8])) -> Result<(), BoxError> {
        let code = self.send(ask).await?;
        if (200..300).contains(&code) {
            while let Some(piece) = self.piece().await? {
                keep(piece);
            }
            return Ok(());
        }
        let mut text = Vec::new();
        while let Some(piece) = self.piece().await? {
            text.extend_from_slice(&piece[..piece.len().min(SHOWN_BYTES.saturating_sub(text.len()))]);
        }
        let text = String::from_utf8_lossy(&text);
        Err(format!("{} {} is answered {code}: {text}", ask.method, ask.path).into())
    }

    /// Sends a request and reads the head of the answer: its status.
    pub(super) async fn send(&mut self, ask: &Ask) -> Result<u16, BoxError> {
        let Ask {
            method,
            path,
            media,
            body,
        } = ask;
        let (host, length) = (&self.target.address, body.len());
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\naccept: {JSON}\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n"
        );
        if let Some(token) = &self.target.token {
            text.push_str("authorization: Bearer ");
            text.push_str(token);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.stream.write_all(text.as_bytes()).await?;
        self.stream.flush().await?;
        let code = self.read_head().await?;
        Ok(code)
    }

    /// The next piece of the body of the answer; none at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<&[u8]>, BoxError> {
        if let Left::NextChunk = self.body {
            // What ended the chunk before, if there was one, is an empty line.
            self.line().await?;
            if self.head.is_empty() {
                self.line().await?;
            }
            let size = std::str::from_utf8(&self.head)?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)?;
            self.body = Left::Chunk(size);
            if size == 0 {
                self.line().await?;
                self.body = Left::Done;
            }
        }
        let left = match self.body {
            Left::Done | Left::NextChunk | Left::Bytes(0) => return Ok(None),
            Left::Bytes(left) | Left::Chunk(left) => left,
        };
        if self.used == self.filled {
            self.fill().await?;
        }
        let (from, to) = (self.used, self.filled.min(self.used + left));
        self.used = to;
        let left = left - (to - from);
        self.body = match self.body {
            Left::Bytes(_) => Left::Bytes(left),
            _ if left == 0 => Left::NextChunk,
            _ => Left::Chunk(left),
        };
        Ok(Some(&self.buffer[from..to]))
    }

    async fn read_head(&mut self) -> Result<u16, BoxError> {
        self.line().await?;
        let line = std::str::from_utf8(&self.head)?;
        let code: u16 = line.split(' ').nth(1).ok_or("an answer has no status")?.parse()?;
        self.body = Left::Done;
        loop {
            self.line().await?;
            if self.head.is_empty() {
                return Ok(code);
            }
            let line = std::str::from_utf8(&self.head)?;
            let (name, value) = line.split_once(':').ok_or("a header has no value")?;
            if name.eq_ignore_ascii_case("content-length") {
                self.body = Left::Bytes(value.trim().parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                self.body = Left::NextChunk;
            }
        }
    }

    /// Reads a line, without its end, into `head`.
    async fn line(&mut self) -> Result<(), BoxError> {
        self.head.clear();
        loop {
            let unused = &self.buffer[self.used..self.filled];
            let end = unused.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(unused.len());
            self.head.extend_from_slice(&unused[..taken]);
            self.used += taken;
            if end.is_some() {
                self.used += 1;
                if self.head.last() == Some(&b'\r') {
                    self.head.pop();
                }
                return Ok(());
            }
            self.fill().await?;
        }
    }

    /// Reads more after everything was used.
    async fn fill(&mut self) -> Result<(), BoxError> {
        self.used = 0;
        self.filled = self.stream.read(&mut self.buffer).await?;
        if self.filled == 0 {
            return Err("the server closed the connection in the middle of an answer".into());
        }
        Ok(())
    }
}
