//! Fuzzes the driver's socket with arbitrary client bytes.
//!
//! `cargo fuzz` and the ordinary test `fuzzed` call the same function; the test `fuzzed` runs it on the seeds and on mutated seeds.

use std::time::Duration;

use fake_csi::{DriverSpec, FakeDriver};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// Sends `bytes` to a driver and closes the sending side. Panics unless the driver then closes the connection.
pub fn fuzz_connection(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the runtime starts");
    runtime.block_on(async {
        let driver = FakeDriver::new(DriverSpec::new("disk.example.com"), None);
        let (client, server) = duplex(1 << 16);
        let running = driver.serve(tokio_stream::once(server), None);
        let (mut responses, mut requests) = tokio::io::split(client);
        let mut received = Vec::new();
        let exchange = async {
            // The driver may close the connection before it has read all bytes.
            let send = async {
                let _ = requests.write_all(bytes).await;
                let _ = requests.shutdown().await;
            };
            let (_, read) = tokio::join!(send, responses.read_to_end(&mut received));
            read
        };
        let ended = tokio::time::timeout(Duration::from_secs(10), exchange).await;
        assert!(ended.is_ok(), "the server did not close the connection");
        running.stop().await;
        driver.wait_until_idle().await;
    });
}
