//! Connections to webhooks, which are kept for the next request: to shake hands takes longer than most answers.
//!
//! Owns when a connection can be used again. Does not know what is sent.

use super::destination::Destination;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, body};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::collections::HashMap;
use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes that an answer may have.
const ANSWER_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Connections to one place that are kept.
const KEPT_MAX: usize = 8;

type Sender = SendRequest<Full<Bytes>>;

/// Connections that nobody uses at the moment, by where they lead.
#[derive(Default)]
pub(crate) struct Connections(Mutex<HashMap<Destination, Vec<Sender>>>);

/// Why a request was not answered.
pub(super) enum Unanswered {
    /// The connection had ended before an answer began.
    Stale,
    Failed(String),
}

impl Connections {
    /// A connection to a place, if one is kept.
    pub(super) fn take(&self, to: &Destination) -> Option<Sender> {
        let mut kept = self.0.lock();
        let senders = kept.get_mut(to)?;
        senders.retain(|sender| !sender.is_closed());
        let sender = senders.pop();
        if senders.is_empty() {
            kept.remove(to);
        }
        sender
    }

    /// Keeps a connection.
    pub(super) fn keep(&self, to: &Destination, sender: Sender) {
        if sender.is_closed() {
            return;
        }
        let mut kept = self.0.lock();
        match kept.get_mut(to) {
            Some(senders) if senders.len() < KEPT_MAX => senders.push(sender),
            Some(_) => {}
            None => drop(kept.insert(to.clone(), vec![sender])),
        }
    }
}

/// Speaks HTTP over a stream. The connection lives until nobody can send over it any more.
pub(super) async fn open(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Sender, String> {
    let opened = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = opened.map_err(|why| why.to_string())?;
    tokio::spawn(async move {
        // However it has ended: whoever sends over it finds out.
        drop(connection.await);
    });
    Ok(sender)
}

/// Sends a request and waits for the whole answer.
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
        whole(body).await.map_err(Unanswered::Failed)?,
    ))
}

async fn whole(body: body::Incoming) -> Result<Bytes, String> {
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    Ok(body.map_err(|why| why.to_string())?.to_bytes())
}
