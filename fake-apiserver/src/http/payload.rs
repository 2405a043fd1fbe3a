//! Request bodies: read within limits and decoded, or read and discarded.

use super::body_reader::{self, BodyContext};
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

/// Maximum size of a request body in bytes, as in kube-apiserver.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Maximum size, in bytes, of an unneeded body that is read and discarded. `DRAIN_TIMEOUT` limits the duration of reading.
const DRAIN_BYTES_MAX: u64 = 256 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads and decodes the body of a request, if its verb has one.
pub(super) async fn read(request: Request<Incoming>, verb: Verb, target: &Target) -> Result<Payload, Status> {
    if target.is_connection() {
        // kube-apiserver forwards the body of an upgrade request to the backend. Here, no backend exists, so the body is discarded.
        let upgrades = request.headers().contains_key(UPGRADE);
        discard_short_body(request).await;
        return Ok(if upgrades { Payload::Upgrade } else { Payload::None });
    }
    let media = body_reader::content_type(request.headers());
    match body_reader::reader(verb, &media, &target.kind) {
        Ok(Some(reader)) => reader(BodyContext { verb, target }, &collect(request).await?),
        Ok(None) => {
            discard(request.into_body(), BODY_BYTES_MAX).await;
            Ok(Payload::None)
        }
        Err(refusal) => {
            discard_short_body(request).await;
            Err(refusal)
        }
    }
}

/// Discards a short body of a request that needs none. Otherwise the connection could not be reused, and a client that is still sending
/// might see a write error before the response.
pub(super) async fn discard_short_body(request: Request<Incoming>) {
    // A client that sends `Expect` waits for a response before it sends the body, so there is no body to discard.
    let expects = request.headers().contains_key(EXPECT);
    let body = request.into_body();
    if expects || body.is_end_stream() || body.size_hint().lower() > DRAIN_BYTES_MAX {
        return;
    }
    let rest = discard(body, DRAIN_BYTES_MAX as usize);
    // The response is the same whether or not the body was read completely.
    drop(tokio::time::timeout(DRAIN_TIMEOUT, rest).await);
}

/// Reads and discards a body until its end, an error or `most` bytes.
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
        // The client can no longer read the response, because the connection or stream ended within the body. Only the observer receives
        // this error.
        Err(error) => Err(Status::client_closed(&*error)),
    }
}

/// Copies a body into one buffer: `collect` would need at least 32 bytes of overhead per chunk, even for chunks of one byte.
async fn read_all(body: Incoming) -> Result<Bytes, Box<dyn Error + Send + Sync>> {
    let (mut body, mut all) = (Limited::new(body, BODY_BYTES_MAX), BytesMut::new());
    while let Some(frame) = body.frame().await.transpose()? {
        if let Ok(data) = frame.into_data() {
            all.extend_from_slice(&data);
        }
    }
    Ok(all.freeze())
}

/// Whether the body is malformed, for example by an invalid chunk size.
fn is_malformed(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    causes.any(|cause| {
        let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        matches!(kind, Some(ErrorKind::InvalidInput | ErrorKind::InvalidData))
    })
}
