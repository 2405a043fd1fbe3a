//! Bodies of requests: read within bounds and decoded, or taken off the connection unread.

use super::body_reader::{self, Purpose};
use crate::machinery::status::Status;
use crate::request::Verb;
use crate::verbs::call::{Payload, Target};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::{Body as _, Incoming};
use hyper::header::{EXPECT, UPGRADE};
use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

/// Bytes that a request body may have, as in the real server.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// How many bytes of an unneeded body are read and dropped, and how long the server waits for them.
const UNWANTED_BYTES: u64 = 256 * 1024;
const UNWANTED_PATIENCE: Duration = Duration::from_secs(1);

/// Reads and decodes the body of a request, as far as its verb has one.
pub(super) async fn read(request: Request<Incoming>, verb: Verb, target: &Target) -> Result<Payload, Status> {
    if target.is_connection() {
        // What is sent is for the other end.
        let upgrades = request.headers().contains_key(UPGRADE);
        drain(request).await;
        return Ok(if upgrades { Payload::Upgrade } else { Payload::None });
    }
    let media = body_reader::content_type(request.headers());
    match body_reader::reader(verb, &media, &target.kind) {
        Ok(Some(reader)) => reader(Purpose { verb, target }, &collect(request).await?),
        Ok(None) => {
            discard(request.into_body(), BODY_BYTES_MAX).await;
            Ok(Payload::None)
        }
        Err(refusal) => {
            drain(request).await;
            Err(refusal)
        }
    }
}

/// Reads the body of a request that is answered without it, as far as it is short: otherwise the connection could not be
/// used again, and a client that is still sending would learn of that before it learns of the answer.
pub(super) async fn drain(request: Request<Incoming>) {
    // A client that sends `Expect` waits for an answer before it sends its body: this answer tells it not to.
    let expects = request.headers().contains_key(EXPECT);
    let body = request.into_body();
    if expects || body.is_end_stream() || body.size_hint().lower() > UNWANTED_BYTES {
        return;
    }
    let rest = discard(body, UNWANTED_BYTES as usize);
    // However it went: the answer is the same.
    drop(tokio::time::timeout(UNWANTED_PATIENCE, rest).await);
}

/// Reads a body to its end, to an error or to `most` bytes, and stores none of it.
async fn discard(body: Incoming, most: usize) {
    let mut body = Limited::new(body, most);
    while let Some(Ok(_)) = body.frame().await {}
}

async fn collect(request: Request<Incoming>) -> Result<Bytes, Status> {
    match read_all(request.into_body()).await {
        Ok(body) => Ok(body),
        Err(error) if error.is::<LengthLimitError>() => Err(Status::too_large(BODY_BYTES_MAX)),
        Err(error) if is_malformed(&*error) => Err(Status::bad_request(format!(
            "the request body could not be read: {error}"
        ))),
        // The connection or the stream ended within the body: no client reads this answer, only observers of requests see it.
        Err(error) => Err(Status::client_closed(&*error)),
    }
}

/// Copies a body into one buffer: `collect` would keep 32 bytes and more for each chunk, though a chunk may be one byte.
async fn read_all(body: Incoming) -> Result<Bytes, Box<dyn Error + Send + Sync>> {
    let (mut body, mut all) = (Limited::new(body, BODY_BYTES_MAX), BytesMut::new());
    while let Some(frame) = body.frame().await.transpose()? {
        if let Ok(data) = frame.into_data() {
            all.extend_from_slice(&data);
        }
    }
    Ok(all.freeze())
}

/// Whether the body itself is wrong, such as a chunk size that is no number.
fn is_malformed(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    causes.any(|cause| {
        let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        matches!(kind, Some(ErrorKind::InvalidInput | ErrorKind::InvalidData))
    })
}
