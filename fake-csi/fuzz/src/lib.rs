//! Fuzzing of the driver's socket: any bytes that a client sends.
//!
//! The same function is run by `cargo fuzz` and, over seeds and changed seeds, by the ordinary test `fuzzed`.

use std::time::Duration;

use fake_csi::{DriverSpec, FakeDriver};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// A client sends these bytes and ends its side: the server ends the connection, and does not panic.
pub fn connection(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        let driver = FakeDriver::new(DriverSpec::new("disk.example.com"), None);
        let (client, server) = duplex(1 << 16);
        let running = driver.serve(tokio_stream::once(server), None);
        let (mut answers, mut requests) = tokio::io::split(client);
        let mut answered = Vec::new();
        let conversation = async {
            // The server may end the connection before it has read everything.
            let send = async {
                let _ = requests.write_all(bytes).await;
                let _ = requests.shutdown().await;
            };
            let (_, read) = tokio::join!(send, answers.read_to_end(&mut answered));
            read
        };
        let ended = tokio::time::timeout(Duration::from_secs(10), conversation).await;
        assert!(ended.is_ok(), "the server does not end the connection");
        running.stop().await;
        driver.quiet().await;
    });
}
