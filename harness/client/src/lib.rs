//! What the reference publisher and scheduler share as Kubernetes clients: discovery of the served version of a resource, accepted
//! connections to their metrics, delays after failures, and delays between watches that end immediately.
//!
//! kube's watchers back off after an error, but restart a watch that ended normally without delay. If a server or proxy ends every watch
//! immediately, kube sends hundreds of requests per second. client-go treats a watch that lasted less than a second as failed, and so does
//! this crate.

mod backoff;
mod discovery;
mod listen;

use std::collections::HashMap;
use std::time::Duration;

use hyper::Uri;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

pub use backoff::ExponentialBackoff;
pub use discovery::{is_type_missing, is_watched_type_missing, served_version};
pub use listen::{Connections, Socket, connections};

/// Media type of metrics in the OpenMetrics text format.
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A watch that lasts less than this duration counts as failed.
const MIN_DURATION: Duration = Duration::from_secs(1);

/// Delays the next watch of a client after a short watch. Stores when each watch started last.
#[derive(Debug)]
pub struct WatchPauses {
    backoff: ExponentialBackoff,
    last: Mutex<HashMap<String, LastWatch>>,
}

#[derive(Clone, Copy, Debug)]
struct LastWatch {
    began: Instant,
    /// Number of consecutive short watches before the current one.
    failures: u32,
}

impl WatchPauses {
    /// Creates `WatchPauses` that store no watches yet. `backoff`: the delay of the next watch, by the number of consecutive short watches.
    pub fn new(backoff: ExponentialBackoff) -> Self {
        WatchPauses {
            backoff,
            last: Mutex::default(),
        }
    }

    /// Waits before a request is sent, if it starts a watch, and the previous watch with equal path and parameters was short.
    pub async fn wait_before_watch(&self, uri: &Uri) {
        let Some(key) = watch_key(uri) else {
            return;
        };
        let now = Instant::now();
        let start = self.start_time(key, now);
        if start > now {
            sleep_until(start).await;
        }
    }

    /// The earliest time at which a watch that is requested at `now` may start.
    fn start_time(&self, key: String, now: Instant) -> Instant {
        let mut last = self.last.lock();
        let before = last.get(&key);
        let failures = match before {
            Some(before) if now < before.began + MIN_DURATION => before.failures.saturating_add(1),
            _ => 0,
        };
        let began = match failures {
            0 => now,
            failures => now + self.backoff.delay(failures),
        };
        last.insert(key, LastWatch { began, failures });
        began
    }
}

/// Path and parameters of a watch request without resourceVersion, which identify a repeated watch. `None` if the request does not start a
/// watch.
fn watch_key(uri: &Uri) -> Option<String> {
    let parameters = uri.query()?.split('&');
    let is_watch = |parameter: &str| matches!(parameter, "watch=true" | "watch=1");
    if !parameters.clone().any(is_watch) {
        return None;
    }
    let mut key = uri.path().to_owned();
    for parameter in parameters.filter(|parameter| !parameter.starts_with("resourceVersion=")) {
        key.push('&');
        key.push_str(parameter);
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of the watch, in milliseconds, for each time in `requested` at which the client requests it.
    fn start_times(pauses: &WatchPauses, uri: &str, requested: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let key = watch_key(&uri.parse().expect("valid URI")).expect("a watch request");
        let start_time = |ms| {
            let at = pauses.start_time(key.clone(), start + Duration::from_millis(ms));
            u64::try_from(at.duration_since(start).as_millis()).expect("fits into u64")
        };
        requested.into_iter().map(start_time).collect()
    }

    fn doubling() -> WatchPauses {
        WatchPauses::new(ExponentialBackoff {
            start: Duration::from_millis(100),
            max: Duration::from_millis(800),
        })
    }

    #[test]
    fn delay_grows_while_watches_are_short_and_resets_after_a_long_one() {
        let requested = [0, 10, 120, 330, 2_000, 2_010];
        let starts = start_times(
            &doubling(),
            "/api/v1/nodes?watch=true&resourceVersion=5",
            requested,
        );
        assert_eq!(starts, [0, 110, 320, 730, 2_000, 2_110]);
    }

    #[test]
    fn delay_longer_than_a_short_watch_does_not_reset_the_count() {
        let starts = start_times(&doubling(), "/api/v1/nodes?watch=1", [0, 0, 100, 300, 700, 1_500]);
        assert_eq!(starts, [0, 100, 300, 700, 1_500, 2_300]);
    }

    #[test]
    fn watches_of_other_resources_do_not_count() {
        let pauses = doubling();
        let at = |uri: &str| start_times(&pauses, uri, [0])[0];
        assert_eq!(at("/api/v1/nodes?watch=true&resourceVersion=1"), 0);
        assert_eq!(
            at("/api/v1/nodes?watch=true&labelSelector=a&resourceVersion=1"),
            0
        );
        assert_eq!(at("/api/v1/pods?watch=true&resourceVersion=1"), 0);
        assert_eq!(at("/api/v1/pods?resourceVersion=2&watch=true"), 100);
    }

    #[test]
    fn requests_without_watch_parameter_are_not_watches() {
        for uri in [
            "/api/v1/nodes",
            "/api/v1/nodes?limit=500",
            "/api/v1/nodes?watch=false",
        ] {
            assert_eq!(watch_key(&uri.parse().expect("valid URI")), None, "{uri}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn second_of_two_short_watches_is_delayed_and_other_requests_are_not() {
        let pauses = doubling();
        let waited = async |uri: &str| {
            let start = Instant::now();
            pauses.wait_before_watch(&uri.parse().expect("valid URI")).await;
            start.elapsed().as_millis()
        };
        assert_eq!(waited("/api/v1/nodes?watch=true").await, 0);
        assert_eq!(waited("/api/v1/nodes").await, 0);
        let second = waited("/api/v1/nodes?watch=true").await;
        assert!((100..102).contains(&second), "{second} ms");
    }
}
