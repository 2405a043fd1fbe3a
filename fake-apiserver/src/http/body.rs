//! Response bodies: bytes that are there, lists, and watch streams.

use super::pieces::Pieces;
use super::stream::WatchBody;
use super::untaken::OnItsWay;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes that are handed over at once: of what is longer, a peer that takes nothing keeps no more than this out of our
/// sight.
const PIECE_BYTES: usize = 64 * 1024;

/// The body of a response. The request counts as being answered until the connection has taken all of it.
pub(super) enum Body {
    /// Bytes that are there.
    Whole { bytes: Bytes, way: OnItsWay },
    /// A list, piece by piece.
    List { pieces: Box<Pieces>, way: OnItsWay },
    /// Events as they come.
    Watch(Box<WatchBody>),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole { bytes, way } => {
                way.moved();
                let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
                Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
            }
            Self::List { pieces, way } => {
                way.moved();
                Poll::Ready(pieces.next().map(|bytes| Ok(Frame::data(bytes))))
            }
            Self::Watch(watch) => watch
                .poll_bytes(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { bytes, .. } => bytes.is_empty(),
            Self::List { pieces, .. } => pieces.left() == 0,
            Self::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Self::List { pieces, .. } => SizeHint::with_exact(pieces.left() as u64),
            Self::Watch(_) => SizeHint::default(),
        }
    }
}
