//! Response bodies: complete bytes, lists, either of them compressed, and watch streams.

use super::gzip::Zipped;
use super::pieces::Pieces;
use super::stream::WatchBody;
use super::untaken::OnItsWay;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Maximum bytes per frame of a complete body. The client's progress is recorded per frame, so that a client that stops reading a
/// large body is detected.
const PIECE_BYTES: usize = 64 * 1024;

/// A response body. The request counts as in flight until the connection has taken all of it.
pub(super) enum Body {
    /// Complete bytes.
    Whole { bytes: Bytes, way: OnItsWay },
    /// A list, serialized piece by piece.
    List { pieces: Box<Pieces>, way: OnItsWay },
    /// Bytes or a list, compressed while they are sent.
    Zipped { zipped: Box<Zipped>, way: OnItsWay },
    /// Watch events as they occur.
    Watch(Box<WatchBody>),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (way, piece) = match &mut *self {
            Self::Whole { bytes, way } => {
                let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
                (way, Some(piece).filter(|piece| !piece.is_empty()))
            }
            Self::List { pieces, way } => (way, pieces.next()),
            Self::Zipped { zipped, way } => (way, zipped.next()),
            Self::Watch(watch) => {
                let bytes = watch.poll_bytes(cx);
                return bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))));
            }
        };
        way.moved();
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { bytes, .. } => bytes.is_empty(),
            Self::List { pieces, .. } => pieces.left() == 0,
            Self::Zipped { zipped, .. } => zipped.is_done(),
            Self::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Self::List { pieces, .. } => SizeHint::with_exact(pieces.left() as u64),
            Self::Zipped { .. } | Self::Watch(_) => SizeHint::default(),
        }
    }
}
