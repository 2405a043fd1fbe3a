//! Parses the frames of one HTTP/2 connection as far as the driver's socket needs them: request headers, and rejections by h2.
//!
//! gRPC's C core (C++, Python, Ruby, PHP) sends the percent-encoded socket path as `:authority`. grpc-go accepts any text as authority; h2
//! resets such a stream, because the text is not a valid authority of RFC 3986. So each header block is decoded and forwarded without
//! `:authority`, which no CSI call needs. Input that cannot be decoded is forwarded unchanged, and h2 rejects it.

use std::{collections::VecDeque, mem};

use loona_hpack::Decoder;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of a frame header: length (3), type, flags, stream (4).
const FRAME_HEADER: usize = 9;
/// SETTINGS_MAX_FRAME_SIZE, as h2 announces it.
const FRAME_BYTES_MAX: usize = 16_384;
/// SETTINGS_HEADER_TABLE_SIZE: the default, which h2 does not change.
const TABLE_BYTES_MAX: usize = 4096;
/// Maximum size in bytes of a header block that is decoded. hyper rejects header lists above 16 KiB in any case.
const BLOCK_BYTES_MAX: usize = 65_536;
/// Number of streams whose path is stored, for messages about rejected streams.
const PATHS_MAX: usize = 128;

mod kind {
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RST_STREAM: u8 = 3;
    pub(super) const GOAWAY: u8 = 7;
    pub(super) const CONTINUATION: u8 = 9;
}

mod flag {
    pub(super) const END_STREAM: u8 = 0x1;
    pub(super) const END_HEADERS: u8 = 0x4;
    pub(super) const PADDED: u8 = 0x8;
    pub(super) const PRIORITY: u8 = 0x20;
}

/// Error codes of RFC 9113, section 7, with which h2 rejects client input. Codes that are not listed end streams normally.
const REJECTION_CODES: [(u32, &str); 6] = [
    (0x1, "PROTOCOL_ERROR"),
    (0x3, "FLOW_CONTROL_ERROR"),
    (0x6, "FRAME_SIZE_ERROR"),
    (0x7, "REFUSED_STREAM"),
    (0x9, "COMPRESSION_ERROR"),
    (0xb, "ENHANCE_YOUR_CALM"),
];

struct Frame<'a> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

/// Length of the payload, type, flags and stream of the frame at the start of `bytes`.
fn parse_frame_header(bytes: &[u8]) -> Option<(usize, u8, u8, u32)> {
    let header: &[u8; FRAME_HEADER] = bytes.first_chunk()?;
    let [a, b, c, kind, flags, s1, s2, s3, s4] = *header;
    let length = u32::from_be_bytes([0, a, b, c]) as usize;
    Some((length, kind, flags, u32::from_be_bytes([s1 & 0x7f, s2, s3, s4])))
}

fn parse_frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let (length, kind, flags, stream) = parse_frame_header(bytes)?;
    let payload = bytes.get(FRAME_HEADER..FRAME_HEADER + length)?;
    Some(Frame {
        kind,
        flags,
        stream,
        payload,
    })
}

/// Filters the bytes from the client to h2: removes `:authority` from header blocks.
pub(crate) struct InboundFilter {
    state: State,
    /// Bytes of an incomplete connection preface or header block.
    pending: Vec<u8>,
    decoder: Decoder<'static>,
    paths: VecDeque<(u32, String)>,
    non_http2: Option<String>,
}

enum State {
    Preface,
    /// At the start of an HTTP/2 frame.
    Frame,
    /// Within a frame that is not part of a header block; contains the number of remaining bytes.
    Payload(usize),
    /// All bytes are forwarded unchanged, because h2 rejects the connection.
    Verbatim,
}

/// A header block at the start of the input.
enum Block {
    Incomplete,
    /// The header block cannot be decoded and is forwarded unchanged.
    Irregular,
    /// The header block is complete and has `consumed` bytes, including frame headers.
    Complete {
        consumed: usize,
        frames: Vec<u8>,
    },
}

impl InboundFilter {
    pub(crate) fn new() -> InboundFilter {
        let mut decoder = Decoder::new();
        decoder.set_max_allowed_table_size(TABLE_BYTES_MAX);
        InboundFilter {
            state: State::Preface,
            pending: Vec::new(),
            decoder,
            paths: VecDeque::new(),
            non_http2: None,
        }
    }

    /// Appends to `out` the bytes that h2 reads instead of the client's `bytes`.
    pub(crate) fn forward(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut pending = mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let mut forwarded = 0;
        while let Some(consumed) = self.parse_part(&pending[forwarded..], out) {
            forwarded += consumed;
        }
        pending.drain(..forwarded);
        self.pending = pending;
    }

    /// Returns the stored bytes of an incomplete frame after the client has closed the connection.
    pub(crate) fn take_incomplete_frame(&mut self) -> Vec<u8> {
        mem::take(&mut self.pending)
    }

    /// `:path` of the request on a stream, if it is still stored.
    pub(crate) fn path(&self, stream: u32) -> Option<&str> {
        let (_, path) = self.paths.iter().find(|(id, _)| *id == stream)?;
        Some(path)
    }

    /// The first bytes of a connection that is not HTTP/2; later calls return `None`.
    pub(crate) fn take_non_http2(&mut self) -> Option<String> {
        self.non_http2.take()
    }

    /// Parses the next part of the input, such as a header block; returns the number of consumed bytes, or `None` if more bytes are needed.
    fn parse_part(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        if bytes.is_empty() {
            return None;
        }
        let consumed = match self.state {
            State::Verbatim => bytes.len(),
            State::Preface => {
                let compared = bytes.len().min(PREFACE.len());
                if bytes[..compared] != PREFACE[..compared] {
                    self.non_http2 = Some(bytes[..compared].escape_ascii().to_string());
                    self.state = State::Verbatim;
                } else if compared == PREFACE.len() {
                    self.state = State::Frame;
                } else {
                    return None;
                }
                compared
            }
            State::Payload(remaining) => {
                let consumed = remaining.min(bytes.len());
                self.state = match remaining - consumed {
                    0 => State::Frame,
                    remaining => State::Payload(remaining),
                };
                consumed
            }
            State::Frame => {
                let (length, kind, _, stream) = parse_frame_header(bytes)?;
                if kind != kind::HEADERS {
                    self.state = State::Payload(FRAME_HEADER + length);
                    0
                } else {
                    match header_block(bytes) {
                        Block::Incomplete => return None,
                        Block::Complete { consumed, frames } => {
                            let end_stream = bytes[4] & flag::END_STREAM;
                            if self.reencode_headers(&frames, stream, end_stream, out) {
                                return Some(consumed);
                            }
                        }
                        Block::Irregular => {}
                    }
                    self.state = State::Verbatim;
                    0
                }
            }
        };
        out.extend_from_slice(&bytes[..consumed]);
        Some(consumed)
    }

    /// Re-encodes a header block as HPACK literals that are not added to h2's dynamic table. Returns false if the block cannot be decoded.
    fn reencode_headers(&mut self, block: &[u8], stream: u32, end_stream: u8, out: &mut Vec<u8>) -> bool {
        let mut literals = Vec::with_capacity(2 * block.len());
        let mut path = None;
        let decoded = self.decoder.decode_with_cb(block, |name, value| {
            // A short header block can refer to a long table entry many times, so the decoded size is limited.
            if *name == *b":authority" || literals.len() > BLOCK_BYTES_MAX {
                return;
            }
            if *name == *b":path" {
                path = Some(String::from_utf8_lossy(&value).into_owned());
            }
            literals.push(0);
            encode_string(&name, &mut literals);
            encode_string(&value, &mut literals);
        });
        if decoded.is_err() {
            return false;
        }
        if let Some(path) = path {
            self.paths.truncate(PATHS_MAX - 1);
            self.paths.push_front((stream, path));
        }
        let mut kind = kind::HEADERS;
        let mut remaining = literals.as_slice();
        loop {
            let (payload, after) = remaining.split_at(remaining.len().min(FRAME_BYTES_MAX));
            let mut flags = 0;
            if kind == kind::HEADERS {
                flags |= end_stream;
            }
            if after.is_empty() {
                flags |= flag::END_HEADERS;
            }
            // The payload length is at most `FRAME_BYTES_MAX`, which fits into three bytes.
            let [_, length @ ..] = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
            out.extend_from_slice(&length);
            out.extend_from_slice(&[kind, flags]);
            out.extend_from_slice(&stream.to_be_bytes());
            out.extend_from_slice(payload);
            if after.is_empty() {
                return true;
            }
            kind = kind::CONTINUATION;
            remaining = after;
        }
    }
}

/// Collects the header block in a HEADERS frame and its CONTINUATION frames.
fn header_block(bytes: &[u8]) -> Block {
    let mut consumed = 0;
    let mut block = Vec::new();
    let mut first = None;
    loop {
        let rest = &bytes[consumed..];
        if let Some((length, ..)) = parse_frame_header(rest)
            && (length > FRAME_BYTES_MAX || consumed + length > BLOCK_BYTES_MAX)
        {
            return Block::Irregular;
        }
        let Some(frame) = parse_frame(rest) else {
            return Block::Incomplete;
        };
        consumed += FRAME_HEADER + frame.payload.len();
        let fragment = match first {
            None => header_fragment(&frame),
            Some(stream) if frame.kind == kind::CONTINUATION && frame.stream == stream => Some(frame.payload),
            Some(_) => None,
        };
        let Some(fragment) = fragment else {
            return Block::Irregular;
        };
        first = Some(frame.stream);
        block.extend_from_slice(fragment);
        if frame.flags & flag::END_HEADERS != 0 {
            return Block::Complete {
                consumed,
                frames: block,
            };
        }
    }
}

/// The header block fragment of a HEADERS frame: the bytes between priority and padding.
fn header_fragment<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    let mut payload = frame.payload;
    if frame.flags & flag::PADDED != 0 {
        let (padding, rest) = payload.split_first()?;
        payload = rest.get(..rest.len().checked_sub(usize::from(*padding))?)?;
    }
    match frame.flags & flag::PRIORITY {
        0 => Some(payload),
        _ => payload.get(5..),
    }
}

/// Encodes an HPACK string without Huffman coding: its length with a 7-bit prefix, then its bytes (RFC 7541, section 5).
fn encode_string(text: &[u8], out: &mut Vec<u8>) {
    match u8::try_from(text.len()) {
        Ok(length) if length < 127 => out.push(length),
        _ => {
            out.push(127);
            let mut remaining = text.len() - 127;
            while remaining >= 128 {
                // The lowest seven bits of the length are encoded first.
                out.push(0x80 | (remaining & 0x7f) as u8);
                remaining >>= 7;
            }
            out.push(remaining as u8);
        }
    }
    out.extend_from_slice(text);
}

/// Scans the bytes from h2 to the client for frames that reject a stream or the connection.
#[derive(Default)]
pub(crate) struct OutboundScanner {
    /// Collected bytes of a frame header, followed by those of an error code.
    head: Vec<u8>,
    /// Number of payload bytes to skip until the next frame.
    remaining: usize,
}

/// A stream or connection that h2 rejected because of invalid client input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct H2Rejection {
    /// The rejected stream; `None` if h2 rejected the connection.
    pub(crate) stream: Option<u32>,
    pub(crate) code: &'static str,
}

impl OutboundScanner {
    /// Scans the next bytes from h2; returns the rejections in them.
    pub(crate) fn scan(&mut self, mut bytes: &[u8]) -> Vec<H2Rejection> {
        let mut refused = Vec::new();
        while !bytes.is_empty() {
            let skipped = self.remaining.min(bytes.len());
            self.remaining -= skipped;
            bytes = &bytes[skipped..];
            // Collects a frame header, and the error code of RST_STREAM or GOAWAY: at most 17 bytes.
            while let Some((byte, rest)) = bytes.split_first() {
                self.head.push(*byte);
                bytes = rest;
                let Some((length, kind, _, stream)) = parse_frame_header(&self.head) else {
                    continue;
                };
                let numbers = match kind {
                    kind::RST_STREAM => 4,
                    kind::GOAWAY => 8,
                    _ => 0,
                };
                if self.head.len() < FRAME_HEADER + numbers.min(length) {
                    continue;
                }
                if numbers > 0
                    && let Some(code) = self.head.last_chunk().map(|code| u32::from_be_bytes(*code))
                    && let Some((_, code)) = REJECTION_CODES.iter().find(|(known, _)| *known == code)
                {
                    let stream = (kind == kind::RST_STREAM).then_some(stream);
                    refused.push(H2Rejection { stream, code });
                }
                self.remaining = FRAME_HEADER + length - self.head.len();
                self.head.clear();
                break;
            }
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Headers = Vec<(Vec<u8>, Vec<u8>)>;

    fn header() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let name = prop_oneof![
            Just(b":authority".to_vec()),
            Just(b":path".to_vec()),
            prop::collection::vec(any::<u8>(), 1..200)
        ];
        (name, prop::collection::vec(any::<u8>(), 0..3000))
    }

    /// Decodes the header lists that h2 receives.
    fn read(mut bytes: &[u8]) -> Vec<Headers> {
        bytes = bytes.strip_prefix(PREFACE).expect("the preface is forwarded");
        let mut lists = Vec::new();
        let mut decoder = Decoder::new();
        while let Block::Complete { consumed, frames } = header_block(bytes) {
            lists.push(decoder.decode(&frames).expect("the block contains only literals"));
            bytes = &bytes[consumed..];
        }
        assert_eq!(bytes, b"");
        lists
    }

    proptest! {
        #[test]
        fn headers_except_authority_are_forwarded_however_frames_are_split(
            lists in prop::collection::vec(prop::collection::vec(header(), 0..5), 1..4),
            fragment in 1..9000_usize,
            chunk in 1..5000_usize,
        ) {
            let mut sent = PREFACE.to_vec();
            let mut encoder = loona_hpack::Encoder::new();
            for list in &lists {
                let block = encoder.encode(list.iter().map(|(name, value)| (&name[..], &value[..])));
                let fragments: Vec<&[u8]> = block.chunks(fragment).collect();
                for (at, part) in fragments.iter().enumerate() {
                    let kind = if at == 0 { kind::HEADERS } else { kind::CONTINUATION };
                    let flags = if at + 1 == fragments.len() { flag::END_HEADERS } else { 0 };
                    sent.extend_from_slice(&u32::try_from(part.len()).unwrap().to_be_bytes()[1..]);
                    sent.extend_from_slice(&[kind, flags, 0, 0, 0, 1]);
                    sent.extend_from_slice(part);
                }
            }
            let (mut inbound, mut out) = (InboundFilter::new(), Vec::new());
            sent.chunks(chunk).for_each(|part| inbound.forward(part, &mut out));
            let without_authority = |list: Headers| list.into_iter().filter(|(name, _)| name != b":authority").collect();
            let lists: Vec<Headers> = lists.into_iter().filter(|list| !list.is_empty()).map(without_authority).collect();
            prop_assert_eq!(read(&out), lists);
        }

        #[test]
        fn forwarded_bytes_do_not_depend_on_how_input_is_split(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            is_http2: bool,
            chunk in 1..100_usize,
        ) {
            let mut sent = if is_http2 { PREFACE.to_vec() } else { Vec::new() };
            sent.extend(&bytes);
            let forwarded = |chunk: usize| {
                let (mut inbound, mut out) = (InboundFilter::new(), Vec::new());
                sent.chunks(chunk).for_each(|part| inbound.forward(part, &mut out));
                out.extend(inbound.take_incomplete_frame());
                out
            };
            prop_assert_eq!(forwarded(chunk), forwarded(1000));
        }

        #[test]
        fn rejections_are_found_however_output_is_split(chunk in 1..40_usize, payload in 0..50_usize) {
            let mut sent = vec![0, 0, u8::try_from(payload).unwrap(), 0, 0, 0, 0, 0, 5];
            sent.extend(vec![7; payload]);
            sent.extend(b"\0\0\x04\x03\0\0\0\0\x05\0\0\0\x01");
            sent.extend(b"\0\0\x04\x03\0\0\0\0\x05\0\0\0\x08");
            sent.extend(b"\0\0\x0b\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0bbye");
            let mut outbound = OutboundScanner::default();
            let refused: Vec<H2Rejection> = sent.chunks(chunk).flat_map(|part| outbound.scan(part)).collect();
            let stream = H2Rejection { stream: Some(5), code: "PROTOCOL_ERROR" };
            let connection = H2Rejection { stream: None, code: "ENHANCE_YOUR_CALM" };
            prop_assert_eq!(refused, [stream, connection]);
        }
    }
}
