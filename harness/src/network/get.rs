//! Performs HTTP GET requests, for example for metrics. Does not know the content of responses.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::header::AUTHORIZATION;
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::Network;
use crate::system::BoxError;

/// Maximum size of a response, in bytes.
const RESPONSE_MAX: usize = 16 << 20;

impl Network {
    pub(crate) async fn get(&self, url: &str, token: Option<&str>) -> Result<String, String> {
        if url.starts_with("https://") {
            return get_over_tls(url).await.map_err(|error| error.to_string());
        }
        let mut request = Request::get(url);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(|error| error.to_string())?;
        let client = Client::builder(TokioExecutor::new()).build(self.http());
        let response =
            client
                .request(request)
                .await
                .map_err(|error| match std::error::Error::source(&error) {
                    Some(cause) => cause.to_string(),
                    None => error.to_string(),
                })?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("status {status}"));
        }
        let body = Limited::new(response.into_body(), RESPONSE_MAX).collect().await;
        let bytes = body.map_err(|error| error.to_string())?.to_bytes();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Requests an HTTPS URL without verifying the certificate, because Kubernetes components serve metrics with self-signed certificates.
async fn get_over_tls(url: &str) -> Result<String, BoxError> {
    let url: Uri = url.parse()?;
    let path = url.path().to_owned();
    let mut config = kube::Config::new(url);
    config.accept_invalid_certs = true;
    let base = Uri::builder()
        .scheme("https")
        .authority(config.cluster_url.authority().map_or("", |it| it.as_str()));
    config.cluster_url = base.path_and_query("/").build()?;
    let client = kube::Client::try_from(config)?;
    Ok(client.request_text(Request::get(path).body(Vec::new())?).await?)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::Full;
    use hyper::Response;

    use super::*;
    use crate::listening::HttpListener;

    #[tokio::test]
    async fn text_is_read_over_http_and_tls_and_errors_are_reported() {
        for with_tls in [false, true] {
            let serve = |request: Request<hyper::body::Incoming>| async move {
                let mut answer = Response::new(Full::from("up 1\n").boxed_unsync());
                if request.uri().path() != "/metrics" {
                    *answer.status_mut() = hyper::StatusCode::NOT_FOUND;
                }
                Ok::<_, Infallible>(answer)
            };
            let listening = HttpListener::open(&Network::Host, with_tls, serve).await.unwrap();
            let url = listening.url();
            let read = Network::Host.get(&format!("{url}/metrics"), None).await;
            assert_eq!(read.as_deref(), Ok("up 1\n"), "{url}");
            let refused = Network::Host.get(&format!("{url}/other"), None).await;
            assert!(refused.unwrap_err().contains("404"), "{url}");
            drop(listening);
            assert!(Network::Host.get(&url, None).await.is_err(), "no server listens");
        }
    }
}
