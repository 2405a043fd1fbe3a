//! Prints what a driver with 10 GiB of fragmented storage responds to clients: `cargo run -p fake-csi --example full`.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use fake_csi::{CsiClient, CsiRequest, DriverSpec, FakeDriver, Pool, channel};

const GI: u64 = 1 << 30;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = FakeDriver::new(DriverSpec::new("disk.example.com"), None);
    let everywhere = BTreeMap::new();
    driver.set_pool(Pool::linear(everywhere, 10 * GI, Some(4 * GI)));

    let socket = std::env::temp_dir().join(format!("full-{}.sock", std::process::id()));
    let serving = driver.listen(&socket, None).await?;
    let client = CsiClient::new(channel(&socket)?, Duration::from_secs(5));
    let request = CsiRequest::Capacity {
        segment: None,
        parameters: BTreeMap::new(),
    };
    let reply = client.call(request).await;
    writeln!(std::io::stdout(), "{}: {:?}", reply.code, reply.values)?;
    serving.stop().await;
    Ok(())
}
