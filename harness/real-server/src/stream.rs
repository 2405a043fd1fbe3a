//! Watches: forwards the server's events with the names of the case, each after the change that it reports is in the journal.

use std::sync::Arc;

use bytes::Bytes;
use fake_apiserver::ResourcePath;
use futures::{Stream, StreamExt};
use harness::body_lines::{Broken, lines};
use harness::journal::{Change, DeliveryFact, What};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::attribution::revision;
use crate::case::Case;
use crate::faults::Watched;
use crate::message::{Events, Reply, Wanted, Whole, line, only_error};
use crate::note::{Noted, note};
use crate::outgoing::request;

/// Events buffered for a client before the server's stream is not read further.
const BEHIND: usize = 64;

/// Starts a watch.
pub(crate) async fn begin(case: &Arc<Case>, wanted: Wanted) -> Reply {
    let Wanted { incoming, verb, path } = &wanted;
    let busy = case.busy();
    if !incoming.is_ours
        && case
            .faults
            .has_forgotten(path, &incoming.parameter("resourceVersion"))
    {
        let status = Whole::failure(
            410,
            "Expired",
            "too old resource version: the history was compacted",
        );
        note(
            case,
            &incoming.client,
            *verb,
            path,
            Noted::of(200, None, &Value::Null),
        );
        return Reply::Events(only_error(&status.value()));
    }
    let request = match request(case, &wanted) {
        Ok(request) => request,
        Err(refused) => return Reply::Whole(*refused),
    };
    let Ok(response) = case.upstream.begin(request).await else {
        return Reply::Cut;
    };
    let code = response.status().as_u16();
    if code != 200 {
        return Reply::Whole(refused(case, &wanted, code, response).await);
    }
    let from = incoming.parameter("resourceVersion");
    let told = json!({"metadata": {"resourceVersion": from}});
    note(case, &incoming.client, *verb, path, Noted::of(code, None, &told));
    let watched = case.faults.begin_watch(&incoming.client, path);
    let (sender, receiver) = mpsc::channel(BEHIND);
    let carrier = Carrier {
        case: case.clone(),
        client: incoming.client.clone(),
        path: path.clone(),
        watched,
        sender,
    };
    tokio::spawn(carrier.carry(Box::pin(lines(response.into_body()))));
    drop(busy);
    Reply::Events(Events(receiver))
}

async fn refused(
    case: &Case,
    wanted: &Wanted,
    code: u16,
    response: hyper::Response<kube::client::Body>,
) -> Whole {
    let bytes = response.into_body().collect_bytes().await.unwrap_or_default();
    let mut value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    case.names.receive(&mut value);
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    note(
        case,
        &wanted.incoming.client,
        wanted.verb,
        &wanted.path,
        Noted::of(code, Some(text("message")), &Value::Null),
    );
    Whole::failure(code, &text("reason"), &text("message"))
}

/// Forwards the events of one watch.
struct Carrier {
    case: Arc<Case>,
    client: Arc<str>,
    path: ResourcePath,
    watched: Watched,
    sender: mpsc::Sender<Bytes>,
}

impl Carrier {
    async fn carry(self, mut lines: impl Stream<Item = Result<Bytes, Broken>> + Unpin) {
        loop {
            let next = tokio::select! {
                biased;
                () = self.watched.ended() => return,
                () = self.sender.closed() => return,
                next = lines.next() => next,
            };
            let line = next.and_then(Result::ok);
            let Some(event) = line.and_then(|line| serde_json::from_slice::<Value>(&line).ok()) else {
                return;
            };
            tokio::select! {
                biased;
                () = self.watched.ended() => return,
                () = self.sender.closed() => return,
                () = self.watched.free() => {}
            }
            if !self.deliver(event).await {
                return;
            }
        }
    }

    /// Sends one event; returns false if the client has disconnected.
    async fn deliver(&self, mut event: Value) -> bool {
        self.case.names.receive(&mut event);
        let change = match event["type"].as_str() {
            Some("ADDED") => Some(Change::Added),
            Some("MODIFIED") => Some(Change::Modified),
            Some("DELETED") => Some(Change::Deleted),
            _ => None,
        };
        if let Some(change) = change {
            self.tell(change, &event["object"]).await;
        }
        let sent = self.sender.send(line(&event)).await.is_ok();
        if change.is_some() {
            self.watched.delivered();
        }
        sent
    }

    async fn tell(&self, change: Change, object: &Value) {
        // For a Table, the object of its first row.
        let object = match &object["rows"] {
            Value::Array(rows) => rows.first().map_or(object, |row| &row["object"]),
            _ => object,
        };
        let revision = revision(object);
        self.case.attribution.seen(&self.path.resource, revision).await;
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        self.case.attribution.sink().put(What::Delivery(DeliveryFact {
            client: self.client.clone(),
            change,
            resource: self.path.resource.as_str().into(),
            namespace: text("namespace"),
            name: text("name").unwrap_or_default(),
            revision,
        }));
    }
}
