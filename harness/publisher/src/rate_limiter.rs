//! A rate limiter with a burst and a steady rate.

use std::{sync::Arc, time::Duration};

use hyper::Request;
use kube::{Client, client::Body};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};
use tower::service_fn;

/// A limit in requests per second, with a burst (like client-go's `flowcontrol`).
#[derive(Debug)]
pub(crate) struct RateLimiter {
    /// Time between two requests after the burst is used up. `None`: unlimited.
    spacing: Option<Duration>,
    burst: u32,
    /// The time at which the last admitted request would have been sent at the steady rate, without a burst.
    done: Mutex<Option<Instant>>,
}

impl RateLimiter {
    /// Creates a rate limiter. `per_second`: 0 means unlimited.
    pub(crate) fn new(per_second: f64, burst: u32) -> RateLimiter {
        let spacing = (per_second > 0.0).then(|| Duration::try_from_secs_f64(1.0 / per_second).ok());
        RateLimiter {
            spacing: spacing.flatten(),
            burst: burst.max(1),
            done: Mutex::default(),
        }
    }

    /// Waits until the request is admitted. Requests are admitted in call order.
    pub(crate) async fn acquire(&self) {
        if let Some(at) = self.reserve(Instant::now()) {
            sleep_until(at).await;
        }
    }

    /// Returns the time at which the request is admitted; `None`: at once.
    fn reserve(&self, now: Instant) -> Option<Instant> {
        let spacing = self.spacing?;
        let mut done = self.done.lock();
        let mine = done.map_or(now, |done| done.max(now)) + spacing;
        *done = Some(mine);
        let at = mine.checked_sub(spacing.saturating_mul(self.burst))?;
        (at > now).then_some(at)
    }
}

/// Creates a client with a limit on requests per second and a burst. Watches are exempt. `per_second`: 0 means unlimited.
///
/// Fails if the configuration is invalid.
pub fn rate_limited_client(config: kube::Config, per_second: f64, burst: u32) -> kube::Result<Client> {
    let limiter = Arc::new(RateLimiter::new(per_second, burst));
    let client = Client::try_from(config)?;
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, limiter) = (client.clone(), Arc::clone(&limiter));
        async move {
            let watches = request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"));
            if !watches {
                limiter.acquire().await;
            }
            client.send(request).await
        }
    });
    Ok(Client::new(service, namespace))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_burst_is_admitted_at_once_and_the_rest_at_the_steady_rate() {
        let limiter = RateLimiter::new(2.0, 3);
        let now = Instant::now();
        let waits: Vec<u128> = (0..6)
            .map(|_| {
                limiter
                    .reserve(now)
                    .map_or(0, |at| at.duration_since(now).as_millis())
            })
            .collect();
        assert_eq!(waits, [0, 0, 0, 500, 1000, 1500]);
        let later = now + Duration::from_secs(60);
        assert_eq!(
            limiter.reserve(later),
            None,
            "idle time is credited, up to the burst"
        );
    }

    #[test]
    fn an_unlimited_rate_never_waits() {
        let limiter = RateLimiter::new(0.0, 1);
        let now = Instant::now();
        assert!((0..1000).all(|_| limiter.reserve(now).is_none()));
    }

    proptest! {
        /// In no time window more requests are admitted than the burst plus the rate times the length of the window.
        #[test]
        fn no_window_exceeds_the_rate(rate in 1..50_u32, burst in 1..20_u32, gaps in proptest::collection::vec(0..500_u64, 1..100)) {
            let limiter = RateLimiter::new(f64::from(rate), burst);
            let begin = Instant::now();
            let mut now = begin;
            let mut passed = Vec::new();
            for gap in gaps {
                now += Duration::from_millis(gap);
                passed.push(limiter.reserve(now).unwrap_or(now));
            }
            for (index, first) in passed.iter().enumerate() {
                for (count, last) in passed[index..].iter().enumerate() {
                    let window = last.duration_since(*first).as_secs_f64();
                    let allowed = f64::from(burst) + window * f64::from(rate) + 0.001;
                    prop_assert!(((count + 1) as f64) <= allowed + 1.0, "{} in {window}s", count + 1);
                }
            }
        }
    }
}
