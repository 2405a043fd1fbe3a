//! Sends HTTP requests to extenders.

use std::error::Error;
use std::fmt;

use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;

/// Maximum size of a response: sufficient for a response that contains every node object.
const MAX_RESPONSE_BYTES: usize = 128 << 20;

/// Sends the scheduler's requests to extenders, by default with HTTP over TCP.
pub trait Transport: fmt::Debug + Send + Sync {
    /// POSTs JSON to a URL. Returns the status code and the response body, or an error text.
    fn post<'a>(&'a self, url: &'a str, body: String) -> BoxFuture<'a, Result<(u16, Bytes), String>>;
}

/// A transport with HTTP/1.1, over connections that `C` opens.
#[derive(Debug)]
pub struct Http<C>(Client<C, Full<Bytes>>);

impl<C: Connect + Clone> Http<C> {
    /// Creates an HTTP client with this connector. Must be called within a tokio runtime.
    pub fn with_connector(connector: C) -> Self {
        Self(Client::builder(TokioExecutor::new()).build(connector))
    }
}

impl Default for Http<HttpConnector> {
    fn default() -> Self {
        Self::with_connector(HttpConnector::new())
    }
}

impl<C: Connect + Clone + fmt::Debug + Send + Sync + 'static> Transport for Http<C> {
    fn post<'a>(&'a self, url: &'a str, body: String) -> BoxFuture<'a, Result<(u16, Bytes), String>> {
        Box::pin(async move {
            let request = Request::builder()
                .method(Method::POST)
                .uri(url)
                .header(CONTENT_TYPE, "application/json")
                .body(Full::from(body))
                .map_err(|error| format!("Post \"{url}\": {error}"))?;
            let response = self.0.request(request).await.map_err(|error| {
                let cause = error.source().map(ToString::to_string);
                format!("Post \"{url}\": {}", cause.unwrap_or_else(|| error.to_string()))
            })?;
            let code = response.status().as_u16();
            let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES)
                .collect()
                .await;
            let body = body.map_err(|error| format!("the response of {url} cannot be read: {error}"))?;
            Ok((code, body.to_bytes()))
        })
    }
}
