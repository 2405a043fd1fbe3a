//! Gzip compression of responses, for clients that accept it.
//!
//! Owns the minimum sizes and the amount compressed at a time. Does not know the content.

use super::pieces::Pieces;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;
use std::io::Write;

/// Size in bytes above which objects, lists and discovery documents are compressed, as in kube-apiserver.
pub(super) const OBJECT_BYTES_MIN: usize = 128 * 1024;
/// Size in bytes above which the OpenAPI v2 document is compressed.
pub(super) const DOCUMENT_BYTES_MIN: usize = 1400;
/// Number of bytes compressed at a time. Small, so that a watch on the same connection is not delayed for long.
const PIECE_BYTES: usize = 64 * 1024;
/// Memory that an encoder uses, in bytes, measured before its first output.
pub(super) const ENCODER_BYTES: usize = 256 * 1024;

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

/// A response body that is compressed while it is sent.
pub(super) struct Zipped {
    /// The part of the list that is not compressed yet; `None` if the body is not a list.
    list: Option<Box<Pieces>>,
    /// The part of the body that is not compressed yet; empty if the body is a list.
    rest: Bytes,
    /// The gzip encoder; `None` after the end of the compressed body was produced.
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

    /// The next compressed bytes of the body; `None` at its end.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        // Loops because the encoder may buffer small pieces without producing output.
        while let Some(mut encoder) = self.encoder.take() {
            let Some(piece) = self.next_uncompressed_piece() else {
                // The encoder writes to memory, which cannot fail.
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

    fn next_uncompressed_piece(&mut self) -> Option<Bytes> {
        match &mut self.list {
            Some(list) => list.next(),
            None if self.rest.is_empty() => None,
            None => Some(self.rest.split_to(self.rest.len().min(PIECE_BYTES))),
        }
    }
}
