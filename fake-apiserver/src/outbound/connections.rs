//! Connections to webhooks, reused across requests: a TLS handshake takes longer than most calls.
//!
//! Owns when a connection can be reused. Does not know the content of requests.

use super::destination::Destination;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, body};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::collections::HashMap;
use tokio::io::{AsyncRead, AsyncWrite};

const ANSWER_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Maximum number of idle connections per webhook destination.
const IDLE_MAX: usize = 8;

type Sender = SendRequest<Full<Bytes>>;

/// Pool of idle connections to webhooks.
#[derive(Default)]
pub(crate) struct Connections(Mutex<HashMap<Destination, Vec<Sender>>>);

/// Why a request to a webhook got no response.
pub(super) enum Unanswered {
    /// The peer closed an idle connection before it sent a response.
    Stale,
    Failed(String),
}

impl Connections {
    pub(super) fn take(&self, to: &Destination) -> Option<Sender> {
        let mut idle = self.0.lock();
        let senders = idle.get_mut(to)?;
        senders.retain(|sender| !sender.is_closed());
        let sender = senders.pop();
        if senders.is_empty() {
            idle.remove(to);
        }
        sender
    }

    /// Returns a connection to the pool, unless it is closed or the pool is full.
    pub(super) fn put_back(&self, to: &Destination, sender: Sender) {
        if sender.is_closed() {
            return;
        }
        let mut idle = self.0.lock();
        match idle.get_mut(to) {
            Some(senders) if senders.len() < IDLE_MAX => senders.push(sender),
            Some(_) => {}
            None => drop(idle.insert(to.clone(), vec![sender])),
        }
    }
}

/// Starts HTTP/1.1 on a stream. The connection is closed when its sender is dropped.
pub(super) async fn open(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Sender, String> {
    let opened = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = opened.map_err(|why| why.to_string())?;
    tokio::spawn(async move {
        // An error is ignored here: `SendRequest` reports it to the request that uses the connection.
        drop(connection.await);
    });
    Ok(sender)
}

/// Sends a request and waits for the complete response.
pub(super) async fn exchange(
    sender: &mut Sender,
    request: Request<Full<Bytes>>,
) -> Result<(u16, Bytes), Unanswered> {
    let stale = |why: hyper::Error| match why.is_canceled() || why.is_closed() || why.is_incomplete_message()
    {
        true => Unanswered::Stale,
        false => Unanswered::Failed(why.to_string()),
    };
    sender.ready().await.map_err(stale)?;
    let (head, body) = sender.send_request(request).await.map_err(stale)?.into_parts();
    Ok((
        head.status.as_u16(),
        read_body(body).await.map_err(Unanswered::Failed)?,
    ))
}

async fn read_body(body: body::Incoming) -> Result<Bytes, String> {
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    Ok(body.map_err(|why| why.to_string())?.to_bytes())
}
