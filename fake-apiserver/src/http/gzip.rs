//! Compression of what is sent, for clients that take it.
//!
//! Owns when it is worth while and how much of it is done at a time. Does not know what is compressed.

use super::pieces::Pieces;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;
use std::io::Write;

/// Bytes above which objects, lists and discovery are compressed, as in the real server.
pub(super) const OBJECT_BYTES_MIN: usize = 128 * 1024;
/// Bytes above which the OpenAPI document of version 2 is.
pub(super) const DOCUMENT_BYTES_MIN: usize = 1400;
/// Bytes that are compressed at a time: a watch on the same connection should not wait long for its turn.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes that an encoder holds, as measured before its first output.
pub(super) const ENCODER_BYTES: usize = 256 * 1024;

/// Whether the client takes gzip.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT_ENCODING).iter();
    let mut codings = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next() == Some("gzip");
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_gzip && weight.is_none_or(|weight| weight.parse::<f64>().is_ok_and(|weight| weight > 0.0))
    })
}

/// A body on its way out.
pub(super) struct Zipped {
    /// A list, if it is one.
    list: Option<Box<Pieces>>,
    /// All of it, if it is not.
    rest: Bytes,
    /// None when everything was sent.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Zipped {
    pub(super) fn new(list: Option<Box<Pieces>>, rest: Bytes) -> Self {
        Self {
            list,
            rest,
            encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())),
        }
    }

    /// The next piece; none at the end.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        // Small pieces may leave nothing behind but a fuller encoder.
        while let Some(mut encoder) = self.encoder.take() {
            let Some(piece) = self.piece() else {
                // Writing to memory does not fail.
                return encoder.finish().ok().map(Bytes::from);
            };
            encoder.write_all(&piece).ok()?;
            let out = std::mem::take(encoder.get_mut());
            self.encoder = Some(encoder);
            if !out.is_empty() {
                return Some(out.into());
            }
        }
        None
    }

    pub(super) fn is_done(&self) -> bool {
        self.encoder.is_none()
    }

    fn piece(&mut self) -> Option<Bytes> {
        match &mut self.list {
            Some(list) => list.next(),
            None if self.rest.is_empty() => None,
            None => Some(self.rest.split_to(self.rest.len().min(PIECE_BYTES))),
        }
    }
}
