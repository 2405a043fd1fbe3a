//! Starts two short watches of one resource with `WatchPauses`, which delays the second one: `cargo run -p capacity-client --example
//! watch`.

use std::io::Write;
use std::time::{Duration, Instant};

use capacity_client::{ExponentialBackoff, WatchPauses};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pauses = WatchPauses::new(ExponentialBackoff {
        start: Duration::from_millis(100),
        max: Duration::from_secs(30),
    });
    let uri = "/api/v1/nodes?watch=true".parse()?;
    for watch in ["first", "second"] {
        let start = Instant::now();
        pauses.wait_before_watch(&uri).await;
        writeln!(std::io::stdout(), "{watch} watch after {:?}", start.elapsed())?;
    }
    Ok(())
}
