//! Splits a streamed HTTP body, such as that of a watch, into lines.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http_body_util::BodyExt;
use hyper::body::Body;

/// Maximum length of a line, in bytes.
const LINE_MAX: usize = 64 << 20;

/// Why an HTTP body ended prematurely: the connection was closed, or a line is too long.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BodyError(pub(crate) String);

/// Splits an HTTP body into lines, each with its newline. A line longer than `LINE_MAX` is an error, and so is a truncated body.
pub fn lines<B>(body: B) -> impl Stream<Item = Result<Bytes, BodyError>> + Send
where
    B: Body<Data = Bytes, Error: Error> + Send + Unpin,
{
    let state = (body, BytesMut::new());
    futures::stream::try_unfold(state, |(mut body, mut rest)| async move {
        loop {
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let line = rest.split_to(at + 1).freeze();
                return Ok(Some((line, (body, rest))));
            }
            if rest.len() > LINE_MAX {
                return Err(BodyError(
                    "a line of the response is longer than 64 MiB, the maximum for a watch event".to_owned(),
                ));
            }
            let Some(frame) = body.frame().await else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| BodyError(error.to_string()))?;
            if let Ok(data) = frame.into_data() {
                rest.extend_from_slice(&data);
            }
        }
    })
}
