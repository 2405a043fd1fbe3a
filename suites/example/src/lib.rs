//! Example of a program under test: deletes the capacity objects of drivers that were removed.

use std::time::Duration;

pub use capacity_publisher::Clients;
use capacity_publisher::{CleanerOptions, Error, Options, run_with};

/// Deletes orphaned CSIStorageCapacity objects until `stopped` resolves.
pub async fn clean(
    clients: Clients,
    driver: String,
    namespace: String,
    orphan_after: Duration,
    stopped: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let cleaner = CleanerOptions {
        clean_orphans: true,
        driver_name: Some(driver),
        orphan_after,
    };
    let options = Options {
        cleaner,
        namespace: Some(namespace),
        retry_interval_start: Duration::from_millis(10),
        kube_api_capacity_qps: 0.0,
        ..Options::default()
    };
    run_with(options, clients, stopped).await
}
