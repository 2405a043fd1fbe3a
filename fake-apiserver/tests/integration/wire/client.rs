//! A raw HTTP client for tests: returns status, headers and JSON of responses, and watch events one by one.

use super::extensions;
use fake_apiserver::{ApiServer, Observer, Running, ServerOptions};
use http_body_util::BodyExt;
use hyper::{HeaderMap, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;

/// A running API server and an HTTP client for the server.
pub(crate) struct TestServer {
    pub(crate) server: ApiServer,
    pub(crate) running: Running,
    pub(crate) client: kube::Client,
}

pub(crate) struct TestResponse {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

pub(crate) struct TestWatch {
    body: Body,
    pending: VecDeque<Value>,
    rest: Vec<u8>,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(ServerOptions::default(), None).await
    }

    pub(crate) async fn start_with(options: ServerOptions, observer: Option<Arc<dyn Observer>>) -> Self {
        Self::serve_and_connect(ApiServer::with_extensions(options, observer, extensions())).await
    }

    pub(crate) async fn serve_and_connect(server: ApiServer) -> Self {
        let token = server.add_client("tester");
        let running = server.start().await.expect("the server binds a loopback port");
        let client = client(&running, Some(token));
        Self {
            server,
            running,
            client,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], String::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> TestResponse {
        self.send(
            "PUT",
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn merge(&self, path: &str, body: Value) -> TestResponse {
        self.send(
            "PATCH",
            path,
            &[("content-type", "application/merge-patch+json")],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn delete(&self, path: &str) -> TestResponse {
        self.send("DELETE", path, &[], String::new()).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> TestResponse {
        answer(request(&self.client, method, path, headers, body).await).await
    }

    /// Opens a watch; panics if the server rejects it.
    pub(crate) async fn watch(&self, path: &str) -> TestWatch {
        let response = request(&self.client, "GET", path, &[], String::new()).await;
        assert_eq!(response.status(), 200, "the watch of {path} was rejected");
        TestWatch {
            body: response.into_body(),
            pending: VecDeque::new(),
            rest: Vec::new(),
        }
    }

    /// Creates an object and returns it; panics if the server rejects it.
    pub(crate) async fn create(&self, path: &str, body: Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.code, 201, "{}", answer.text);
        answer.body
    }
}

impl TestWatch {
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            let frame = self.body.frame().await?.ok()?;
            self.rest
                .extend_from_slice(&frame.into_data().expect("the body has no trailers"));
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                self.pending
                    .push_back(serde_json::from_slice(&line).expect("every line is JSON"));
            }
        }
    }

    /// The next `count` watch events, each as `TYPE name`.
    pub(crate) async fn next_events(&mut self, count: usize) -> Vec<String> {
        let mut events = Vec::new();
        for _ in 0..count {
            let event = self.next().await.expect("the watch has not ended");
            events.push(type_and_name(&event));
        }
        events
    }
}

/// Formats a watch event as `TYPE name`.
pub(crate) fn type_and_name(event: &Value) -> String {
    format!(
        "{} {}",
        event["type"].as_str().unwrap_or("?"),
        event["object"]["metadata"]["name"].as_str().unwrap_or("-")
    )
}

pub(crate) fn client(running: &Running, token: Option<String>) -> kube::Client {
    let mut config = kube::Config::new(running.url().parse().expect("the server URL is valid"));
    config.auth_info.token = token.map(Into::into);
    config.default_retry = false;
    // The connection is plain HTTP; without `root_cert` the client would load all certificates of the host.
    config.root_cert = Some(Vec::new());
    kube::Client::try_from(config).expect("the client configuration is valid")
}

pub(crate) async fn request(
    client: &kube::Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Body::from(body.into());
    client
        .send(request.body(body).expect("the request is well formed"))
        .await
        .expect("the server responds")
}

pub(crate) async fn answer(response: Response<Body>) -> TestResponse {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.expect("a complete body").to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    TestResponse {
        code: head.status.as_u16(),
        headers: head.headers,
        body,
        text,
    }
}

/// A CSIStorageCapacity for the StorageClass `fast`.
pub(crate) fn capacity(name: &str, amount: &str) -> Value {
    json!({"metadata": {"name": name}, "storageClassName": "fast", "capacity": amount})
}

pub(crate) fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "example.com/app:1"}]}})
}

pub(crate) const CAPACITIES: &str = "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities";
pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
