//! Response bodies: bytes that are there, and watch streams.

use super::stream::WatchBody;
use crate::activity::Busy;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of a response.
pub(super) enum Body {
    /// All of it at once. The request counts as in flight until the connection has taken it.
    Whole { bytes: Option<Bytes>, _busy: Busy },
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
            Self::Watch(watch) => watch
                .poll_bytes(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole { bytes: None, .. })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Self::Watch(_) => SizeHint::default(),
        }
    }
}
