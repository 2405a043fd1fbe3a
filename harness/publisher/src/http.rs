//! The HTTP endpoint for metrics and health: a few fixed paths; any other path returns 404.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use capacity_client::{Connections, OPENMETRICS_TYPE, Socket};
use futures::StreamExt;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::CONTENT_TYPE,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::Semaphore, time::Instant};

use crate::{metrics::Metrics, options::HttpOptions};

/// Maximum number of concurrent connections; another connection is accepted when one of them ends.
const CONNECTIONS_MAX: usize = 32;

const HEADERS_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum lifetime of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(120);

/// A leader is unhealthy if it still runs this long after its Lease expired.
const LEASE_GRACE: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(crate) struct Health {
    ready: AtomicBool,
    /// Expiry of the Lease. `None` if this instance does not hold the Lease.
    lease: Mutex<Option<Instant>>,
    election_check: AtomicBool,
}

impl Health {
    /// Marks the instance as ready: all initial lists are complete, or another instance is the leader.
    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Makes the health check fail if this instance is still running after its Lease has expired.
    pub(crate) fn enable_election_check(&self) {
        self.election_check.store(true, Ordering::Relaxed);
    }

    /// Sets the expiry of the Lease. `None`: this instance does not hold the Lease.
    pub(crate) fn set_lease(&self, until: Option<Instant>) {
        *self.lease.lock() = until;
    }

    /// Expiry of the Lease. `None` if this instance does not hold the Lease.
    #[cfg(test)]
    pub(crate) fn lease(&self) -> Option<Instant> {
        *self.lease.lock()
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    fn is_alive(&self) -> bool {
        self.lease
            .lock()
            .is_none_or(|until| Instant::now() < until + LEASE_GRACE)
    }
}

pub(crate) struct Endpoint {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) health: Arc<Health>,
    pub(crate) metrics_path: String,
}

/// Listens on the configured address. `None` if no address is configured.
pub(crate) async fn bind(options: &HttpOptions) -> std::io::Result<Option<TcpListener>> {
    let address: Option<SocketAddr> = options.http_endpoint.or(options.metrics_address);
    let Some(address) = address else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "serving metrics and health");
    Ok(Some(listener))
}

pub(crate) async fn serve(connections: Option<Connections>, endpoint: Endpoint) -> Infallible {
    let Some(mut connections) = connections else {
        return std::future::pending().await;
    };
    let (endpoint, permits) = (Arc::new(endpoint), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
    loop {
        // `acquire_owned` fails only if the semaphore is closed, which never happens.
        let permit = Arc::clone(&permits).acquire_owned().await.ok();
        let Some(accepted) = connections.next().await else {
            return std::future::pending().await;
        };
        match accepted {
            Ok(stream) => {
                let endpoint = Arc::clone(&endpoint);
                tokio::spawn(async move {
                    let _permit = permit;
                    let _ =
                        tokio::time::timeout(CONNECTION_TIMEOUT, serve_connection(stream, endpoint)).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve_connection(stream: Box<dyn Socket>, endpoint: Arc<Endpoint>) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = endpoint.response(request.method(), request.uri().path());
        async { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the metrics endpoint failed");
    }
}

impl Endpoint {
    fn response(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return text_response(StatusCode::METHOD_NOT_ALLOWED, "only GET is served\n");
        }
        let health = &self.health;
        match path {
            path if path == self.metrics_path => {
                let mut response = Response::new(self.metrics.text().into());
                let media = hyper::header::HeaderValue::from_static(OPENMETRICS_TYPE);
                response.headers_mut().insert(CONTENT_TYPE, media);
                response
            }
            "/healthz" => health_response(health.is_alive(), "the Lease has expired"),
            "/readyz" => health_response(health.is_ready(), "the initial lists are not complete"),
            "/healthz/leader-election" if health.election_check.load(Ordering::Relaxed) => {
                health_response(health.is_alive(), "the Lease has expired")
            }
            _ => text_response(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

fn health_response(is_healthy: bool, problem: &'static str) -> Response<Full<Bytes>> {
    if is_healthy {
        text_response(StatusCode::OK, "ok")
    } else {
        text_response(StatusCode::INTERNAL_SERVER_ERROR, problem)
    }
}

fn text_response(code: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = code;
    response
}

#[cfg(test)]
mod tests {
    use capacity_client::connections;
    use http_body_util::BodyExt;

    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint {
            metrics: Metrics::new(),
            health: Arc::default(),
            metrics_path: "/custom-metrics".to_owned(),
        }
    }

    async fn get(endpoint: &Endpoint, path: &str) -> (u16, String) {
        let response = endpoint.response(&Method::GET, path);
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    fn response(code: u16, body: &str) -> (u16, String) {
        (code, body.to_owned())
    }

    #[tokio::test]
    async fn metrics_are_served_at_their_path_only() {
        let endpoint = endpoint();
        endpoint.metrics.set_leader(false);
        let metrics_response = endpoint.response(&Method::HEAD, "/custom-metrics");
        assert_eq!(metrics_response.headers()[CONTENT_TYPE], OPENMETRICS_TYPE);
        let (code, text) = get(&endpoint, "/custom-metrics").await;
        assert_eq!(code, 200);
        assert!(text.contains("leader_election_master_status"), "{text}");
        let not_found = response(404, "404 page not found\n");
        assert_eq!(get(&endpoint, "/metrics").await, not_found);
        assert_eq!(
            get(&endpoint, "/healthz/leader-election").await,
            not_found,
            "leader election is disabled"
        );
        let posted = endpoint.response(&Method::POST, "/custom-metrics");
        assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[tokio::test]
    async fn readyz_succeeds_after_set_ready() {
        let endpoint = endpoint();
        assert_eq!(
            get(&endpoint, "/readyz").await,
            response(500, "the initial lists are not complete")
        );
        endpoint.health.set_ready();
        assert_eq!(get(&endpoint, "/readyz").await, response(200, "ok"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_is_healthy_until_the_grace_period_after_lease_expiry() {
        let endpoint = endpoint();
        assert_eq!(get(&endpoint, "/healthz").await.0, 200, "no lease is held");
        endpoint.health.enable_election_check();
        assert_eq!(get(&endpoint, "/healthz/leader-election").await.0, 200);
        endpoint
            .health
            .set_lease(Some(Instant::now() + Duration::from_secs(5)));
        tokio::time::advance(Duration::from_millis(24_999)).await;
        assert_eq!(get(&endpoint, "/healthz").await, response(200, "ok"));
        tokio::time::advance(Duration::from_millis(1)).await;
        let expired = response(500, "the Lease has expired");
        assert_eq!(get(&endpoint, "/healthz").await, expired);
        assert_eq!(get(&endpoint, "/healthz/leader-election").await, expired);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(get(&endpoint, "/healthz").await, expired);
    }

    #[tokio::test]
    async fn both_address_flags_are_served_and_without_them_nothing_listens() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let options = |http_endpoint, metrics_address| HttpOptions {
            http_endpoint,
            metrics_address,
            ..HttpOptions::default()
        };
        assert!(bind(&options(None, None)).await.unwrap().is_none());
        for which in [0, 1] {
            let any = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
            let options = [options(any, None), options(None, any)][which].clone();
            let listener = bind(&options).await.unwrap().expect("an address is configured");
            let address = listener.local_addr().unwrap();
            let served = tokio::spawn(async move { serve(Some(connections(listener)), endpoint()).await });
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            assert!(
                response.starts_with("HTTP/1.1 200") && response.ends_with("ok"),
                "{response}"
            );
            served.abort();
        }
    }
}
