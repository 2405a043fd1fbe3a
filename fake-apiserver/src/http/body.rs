//! Response bodies: bytes that are there, lists, either of them compressed, and watch streams.

use super::gzip::Zipped;
use super::inflight::Hold;
use super::pieces::Pieces;
use super::stream::WatchBody;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of a response.
pub(super) enum Body {
    /// All of it at once. The request counts as in flight until the connection has taken it.
    Whole { bytes: Option<Bytes>, _hold: Hold },
    /// A list, piece by piece.
    List { pieces: Box<Pieces>, _hold: Hold },
    /// Either of them, compressed as it is sent.
    Zipped { zipped: Box<Zipped>, _hold: Hold },
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
            Self::Whole { bytes, .. } => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::List { pieces, .. } => Poll::Ready(pieces.next().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Zipped { zipped, .. } => Poll::Ready(zipped.next().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Watch(watch) => watch
                .poll_bytes(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { bytes, .. } => bytes.is_none(),
            Self::List { pieces, .. } => pieces.left() == 0,
            Self::Zipped { zipped, .. } => zipped.is_done(),
            Self::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Self::List { pieces, .. } => SizeHint::with_exact(pieces.left() as u64),
            Self::Zipped { .. } | Self::Watch(_) => SizeHint::default(),
        }
    }
}
