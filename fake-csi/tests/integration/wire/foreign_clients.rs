//! Raw bytes as clients with non-Rust gRPC libraries send them, and input that the socket rejects.

use fake_csi::Refusal;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

use super::{World, socket};

/// Bytes that grpcio 1.85.3 sends for two GetPluginInfo calls on `unix:///tmp/hp/dir-x/csi.sock`; the second reuses headers of the first.
const GRPCIO: &[u8] = include_bytes!("../../../fuzz/seeds/connection/grpcio-1.85");
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// Sends bytes to the driver; returns type and stream of each received frame until `streams` streams, or the connection, have ended.
async fn frames(world: &World, bytes: &[u8], streams: usize) -> Vec<(u8, u8)> {
    let mut client = UnixStream::connect(socket(&world.running))
        .await
        .expect("the socket accepts connections");
    client.write_all(bytes).await.expect("bytes can be sent");
    let (mut frames, mut ended) = (Vec::new(), 0);
    while ended < streams {
        let mut header = [0; 9];
        if client.read_exact(&mut header).await.is_err() {
            break;
        }
        let [a, b, c, kind, flags, .., stream] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        client.read_exact(&mut payload).await.expect("complete frame");
        frames.push((kind, stream));
        ended += usize::from(match kind {
            DATA | HEADERS => flags & END_STREAM != 0,
            RST_STREAM | GOAWAY => true,
            _ => false,
        });
    }
    frames
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short payload").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags, 0, 0, 0, stream]);
    frame.extend(payload);
    frame
}

/// Encodes a request header block: `:method: POST`, `:scheme: http`, and a path of fewer than 127 bytes.
fn request(path: &str) -> Vec<u8> {
    let mut headers = vec![0x83, 0x86, 0x04, u8::try_from(path.len()).expect("short path")];
    headers.extend(path.as_bytes());
    headers
}

/// Encodes a header with incremental indexing, whose name has index `name` in the HPACK static table.
fn indexed(name: u8, value: &[u8]) -> Vec<u8> {
    let mut header = vec![0x40 | name, u8::try_from(value.len()).expect("short value")];
    header.extend(value);
    header
}

fn call(path: &str, authority: &[u8], message: &[u8]) -> Vec<u8> {
    let headers = [
        request(path),
        authority.to_vec(),
        indexed(31, b"application/grpc"),
    ]
    .concat();
    [
        PREFACE.to_vec(),
        frame(HEADERS, END_HEADERS, 1, &headers),
        frame(DATA, END_STREAM, 1, message),
    ]
    .concat()
}

fn refusals(world: &World) -> Vec<(Option<String>, String)> {
    let refused = |refusal: &Refusal| (refusal.path.clone(), refusal.reason.clone());
    world.record.1.lock().iter().map(refused).collect()
}

const INFO: &str = "/csi.v1.Identity/GetPluginInfo";

#[tokio::test]
async fn calls_of_the_grpc_c_core_are_served() {
    let world = World::new().await;
    let frames = frames(&world, GRPCIO, 2).await;
    for stream in [1, 3] {
        assert!(frames.contains(&(DATA, stream)), "stream {stream}: {frames:?}");
        assert!(
            !frames.contains(&(RST_STREAM, stream)),
            "stream {stream}: {frames:?}"
        );
    }
    assert_eq!(world.events().len(), 2);
    assert_eq!(refusals(&world), []);
}

#[tokio::test]
async fn any_authority_is_accepted() {
    // `a%2Fb` with Huffman coding: the codes 00011 010101 00010 1100001 100011, and padding.
    let huffman = [0x41, 0x84, 0x1a, 0xa2, 0xc3, 0x1f];
    let authorities = [
        indexed(1, b"a%2Fb"),
        indexed(1, b"localhost"),
        indexed(1, b""),
        indexed(1, b"/tmp/csi.sock"),
        huffman.to_vec(),
        b"\x10\x0a:authority\x03%2F".to_vec(),
        Vec::new(),
    ];
    for authority in authorities {
        let world = World::new().await;
        frames(&world, &call(INFO, &authority, &[0; 5]), 1).await;
        assert_eq!(world.events().len(), 1, "{}", authority.escape_ascii());
        assert_eq!(refusals(&world), []);
    }
}

#[tokio::test]
async fn padded_header_block_in_several_frames_is_accepted() {
    let world = World::new().await;
    let headers = [
        request(INFO),
        indexed(1, b"a%2Fb"),
        indexed(31, b"application/grpc"),
    ]
    .concat();
    let (first, rest) = headers.split_at(5);
    let (second, third) = rest.split_at(34);
    const PADDED_WITH_PRIORITY: u8 = 0x28;
    let padded = [b"\x02\0\0\0\0\x10", first, b"\0\0"].concat();
    let bytes = [
        PREFACE.to_vec(),
        frame(HEADERS, PADDED_WITH_PRIORITY, 1, &padded),
        frame(CONTINUATION, 0, 1, second),
        frame(CONTINUATION, END_HEADERS, 1, third),
        frame(DATA, END_STREAM, 1, &[0; 5]),
    ]
    .concat();
    frames(&world, &bytes, 1).await;
    assert_eq!(world.events().len(), 1);
}

#[tokio::test]
async fn rejected_requests_are_reported_with_path_and_reason() {
    let unknown = "/csi.v1.Identity/Unknown";
    let too_large = [0, 0xff, 0xff, 0xff, 0xff];
    let duplicate = [indexed(1, b"a"), request(INFO)].concat();
    let cases: [(Vec<u8>, Option<&str>, &str); 6] = [
        (call(unknown, b"", &[0; 5]), Some(unknown), "UNIMPLEMENTED"),
        (
            call("/csi.v1.Node/NodeGetInfo", b"", &[0; 5]),
            Some("/csi.v1.Node/NodeGetInfo"),
            "UNIMPLEMENTED",
        ),
        (call(INFO, b"", &too_large), Some(INFO), "OUT_OF_RANGE"),
        (
            call(INFO, &duplicate, &[0; 5]),
            Some(INFO),
            "stream reset with PROTOCOL_ERROR",
        ),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            None,
            "not HTTP/2: the connection begins with \"GET / HTTP/1.1",
        ),
        (
            [PREFACE, &frame(HEADERS, END_HEADERS, 1, &[0xff, 0x7f])].concat(),
            None,
            "connection ended with",
        ),
    ];
    for (bytes, path, reason) in cases {
        let world = World::new().await;
        frames(&world, &bytes, 1).await;
        let refused = refusals(&world);
        assert_eq!(world.events(), [], "{reason}");
        let [(named, why)] = refused.as_slice() else {
            panic!("{reason}: {refused:?}");
        };
        assert_eq!(named.as_deref(), path, "{why}");
        assert!(why.starts_with(reason), "{why}");
    }
}

#[tokio::test]
async fn empty_connection_is_not_reported_as_rejected() {
    let world = World::new().await;
    drop(UnixStream::connect(socket(&world.running)).await.unwrap());
    // The second connection got a response, so the first connection was handled as well.
    frames(&world, GRPCIO, 2).await;
    assert_eq!(refusals(&world), []);
}
