//! Watches: forwards the server's events with the names of the case. Each event is forwarded after the journal contains the change that the
//! event reports.

use std::sync::Arc;

use bytes::Bytes;
use fake_apiserver::ResourcePath;
use futures::{Stream, StreamExt};
use harness::body_lines::{BodyError, lines};
use harness::journal::{Change, DeliveryFact, Observation};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::attribution::revision;
use crate::case::Case;
use crate::faults::WatchGuard;
use crate::message::{Events, FullResponse, Reply, ResourceRequest, encode_event_line, error_events};
use crate::outgoing::server_request;
use crate::request_fact::{RecordedResponse, record_request};

/// Number of watch events that are buffered for a client. While the buffer is full, the server's stream is not read.
const BUFFERED_EVENTS: usize = 64;

/// Starts a client's watch: opens a watch on the server, and forwards its events.
pub(crate) async fn begin_watch(case: &Arc<Case>, resource_request: ResourceRequest) -> Reply {
    let ResourceRequest { incoming, verb, path } = &resource_request;
    let guard = case.begin_request();
    if !incoming.is_internal
        && case
            .faults
            .is_compacted(path, &incoming.parameter("resourceVersion"))
    {
        let status = FullResponse::failure(
            410,
            "Expired",
            "too old resource version: the history was compacted",
        );
        record_request(
            case,
            &incoming.client,
            *verb,
            path,
            RecordedResponse::of(200, None, &Value::Null),
        );
        return Reply::Events(error_events(&status.body_json()));
    }
    let request = match server_request(case, &resource_request) {
        Ok(request) => request,
        Err(refused) => return Reply::Full(*refused),
    };
    let Ok(response) = case.upstream.start_request(request).await else {
        return Reply::Cut;
    };
    let code = response.status().as_u16();
    if code != 200 {
        return Reply::Full(refused_watch_response(case, &resource_request, code, response).await);
    }
    let from = incoming.parameter("resourceVersion");
    let recorded = json!({"metadata": {"resourceVersion": from}});
    record_request(
        case,
        &incoming.client,
        *verb,
        path,
        RecordedResponse::of(code, None, &recorded),
    );
    let watch_guard = case.faults.begin_watch(&incoming.client, path);
    let (sender, receiver) = mpsc::channel(BUFFERED_EVENTS);
    let forwarder = WatchForwarder {
        case: case.clone(),
        client: incoming.client.clone(),
        path: path.clone(),
        watch_guard,
        sender,
    };
    tokio::spawn(forwarder.run(Box::pin(lines(response.into_body()))));
    drop(guard);
    Reply::Events(Events(receiver))
}

async fn refused_watch_response(
    case: &Case,
    resource_request: &ResourceRequest,
    code: u16,
    response: hyper::Response<kube::client::Body>,
) -> FullResponse {
    let bytes = response.into_body().collect_bytes().await.unwrap_or_default();
    let mut value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    case.names.to_case_names(&mut value);
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    record_request(
        case,
        &resource_request.incoming.client,
        resource_request.verb,
        &resource_request.path,
        RecordedResponse::of(code, Some(text("message")), &Value::Null),
    );
    FullResponse::failure(code, &text("reason"), &text("message"))
}

struct WatchForwarder {
    case: Arc<Case>,
    client: Arc<str>,
    path: ResourcePath,
    watch_guard: WatchGuard,
    sender: mpsc::Sender<Bytes>,
}

impl WatchForwarder {
    async fn run(self, mut lines: impl Stream<Item = Result<Bytes, BodyError>> + Unpin) {
        loop {
            let next = tokio::select! {
                biased;
                () = self.watch_guard.wait_until_closed() => return,
                () = self.sender.closed() => return,
                next = lines.next() => next,
            };
            let line = next.and_then(Result::ok);
            let Some(event) = line.and_then(|line| serde_json::from_slice::<Value>(&line).ok()) else {
                return;
            };
            tokio::select! {
                biased;
                () = self.watch_guard.wait_until_closed() => return,
                () = self.sender.closed() => return,
                () = self.watch_guard.wait_until_released() => {}
            }
            if !self.deliver(event).await {
                return;
            }
        }
    }

    /// Forwards one watch event. Returns false if the client has disconnected.
    async fn deliver(&self, mut event: Value) -> bool {
        self.case.names.to_case_names(&mut event);
        let change = match event["type"].as_str() {
            Some("ADDED") => Some(Change::Added),
            Some("MODIFIED") => Some(Change::Modified),
            Some("DELETED") => Some(Change::Deleted),
            _ => None,
        };
        if let Some(change) = change {
            self.record_delivery(change, &event["object"]).await;
        }
        let sent = self.sender.send(encode_event_line(&event)).await.is_ok();
        if change.is_some() {
            self.watch_guard.count_delivered_event();
        }
        sent
    }

    async fn record_delivery(&self, change: Change, object: &Value) {
        // In a watch of Tables, the first row contains the changed object.
        let object = match &object["rows"] {
            Value::Array(rows) => rows.first().map_or(object, |row| &row["object"]),
            _ => object,
        };
        let revision = revision(object);
        self.case
            .attribution
            .wait_for_revision(&self.path.resource, revision)
            .await;
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        self.case
            .attribution
            .sink()
            .record(Observation::Delivery(DeliveryFact {
                client: self.client.clone(),
                change,
                resource: self.path.resource.as_str().into(),
                namespace: text("namespace"),
                name: text("name").unwrap_or_default(),
                revision,
            }));
    }
}
