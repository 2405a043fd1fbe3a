//! Response bodies: complete bytes and lists, both optionally compressed, and watch streams.

use super::gzip::Zipped;
use super::pending_responses::PendingResponse;
use super::pieces::Pieces;
use super::stream::WatchBody;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Maximum bytes per frame of a complete body. The progress of the client is recorded per frame, to detect clients that stop reading a
/// large body.
const PIECE_BYTES: usize = 64 * 1024;

/// A response body. The request counts as in flight until the connection has accepted the whole body.
pub(super) enum Body {
    /// The complete bytes of the response body.
    Whole { bytes: Bytes, pending: PendingResponse },
    /// A list, serialized while it is sent.
    List {
        pieces: Box<Pieces>,
        pending: PendingResponse,
    },
    /// Bytes or a list, compressed while being sent.
    Zipped {
        zipped: Box<Zipped>,
        pending: PendingResponse,
    },
    /// Watch events, sent as they occur.
    Watch(Box<WatchBody>),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (pending, piece) = match &mut *self {
            Self::Whole { bytes, pending } => {
                let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
                (pending, Some(piece).filter(|piece| !piece.is_empty()))
            }
            Self::List { pieces, pending } => (pending, pieces.next()),
            Self::Zipped { zipped, pending } => (pending, zipped.next()),
            Self::Watch(watch) => {
                let bytes = watch.poll_bytes(cx);
                return bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))));
            }
        };
        pending.record_progress();
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { bytes, .. } => bytes.is_empty(),
            Self::List { pieces, .. } => pieces.unsent_bytes() == 0,
            Self::Zipped { zipped, .. } => zipped.is_done(),
            Self::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Self::List { pieces, .. } => SizeHint::with_exact(pieces.unsent_bytes() as u64),
            Self::Zipped { .. } | Self::Watch(_) => SizeHint::default(),
        }
    }
}
