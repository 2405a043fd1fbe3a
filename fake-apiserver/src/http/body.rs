//! Bodies of responses: bytes that are there, lists, either of them compressed, and watch streams.

use super::gzip::Zipped;
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
    /// Either of them, compressed as it is sent.
    Zipped { zipped: Box<Zipped>, way: OnItsWay },
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
