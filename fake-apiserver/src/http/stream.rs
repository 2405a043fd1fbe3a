//! The body of a watch: events as JSON lines or protobuf frames, bookmarks, and the end of the stream.
//!
//! Owns timers and framing. The watcher determines the events and their order.

use super::converting::ConvertingEvents;
use super::negotiate::{Accept, ResponseForm};
use super::render::{document_body, json_bytes, object_body, status_body};
use super::table;
use crate::http::metrics::GaugeGuard;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::observe::WatchEnd;
use crate::protobuf::watch_frame;
use crate::store::{Batch, FrameForm, QueuedEvent, Store, Watcher};
use crate::verbs::call::WatchPlan;
use crate::verbs::to_requested_version;
use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use rand::RngExt;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Maximum number of events per frame. Sending many events with one system call makes fan-out to many watches cheap.
const EVENTS_PER_FRAME: usize = 64;
/// Interval of bookmarks, if the client requested bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// A watch sends its last bookmark this long before it ends.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Range, in minutes, of the random default timeout of a watch. Random, so that clients do not all reconnect at once.
const DEFAULT_MINUTES: std::ops::Range<u64> = 30..60;

pub(super) struct WatchBody {
    store: Arc<Store>,
    kind: Kind,
    /// The watcher, or the error response if the watch could not start.
    source: Source,
    bookmarks: bool,
    marks_end: bool,
    form: ResponseForm,
    /// Whether no event was sent yet: only the first table of a watch includes the column definitions.
    first: bool,
    deadline: Pin<Box<Sleep>>,
    bookmark: Pin<Box<Sleep>>,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    _flight: GaugeGuard,
    /// The time until which a fault rule holds the watch (`HoldWatch`).
    held: Option<Pin<Box<Sleep>>>,
    converting: Option<ConvertingEvents>,
}

enum Source {
    Open(Arc<Watcher>),
    Failed(u64, Arc<str>, Status),
    Ended,
}

/// The time of the next bookmark: after `BOOKMARK_EVERY`, or shortly before the watch ends, whichever is earlier.
fn next_bookmark(deadline: Instant) -> Instant {
    let now = Instant::now();
    let last = deadline.checked_sub(BOOKMARK_BEFORE_END).unwrap_or(now);
    if now >= last {
        deadline + BOOKMARK_EVERY
    } else {
        last.min(now + BOOKMARK_EVERY)
    }
}

impl WatchBody {
    pub(super) fn new(
        store: Arc<Store>,
        kind: &Kind,
        plan: WatchPlan,
        form: ResponseForm,
        stop: CancellationToken,
        client: Arc<str>,
        flight: GaugeGuard,
    ) -> Self {
        let limit = match plan.timeout_seconds {
            Some(seconds) => Duration::from_secs(seconds),
            None => Duration::from_secs(60 * rand::rng().random_range(DEFAULT_MINUTES)),
        };
        let deadline = Instant::now() + limit;
        Self {
            store,
            kind: kind.clone(),
            source: match plan.watcher {
                Ok(watcher) => Source::Open(watcher),
                Err((id, status)) => Source::Failed(id, client, status),
            },
            bookmarks: plan.bookmarks,
            marks_end: plan.marks_end,
            form,
            first: true,
            deadline: Box::pin(tokio::time::sleep_until(deadline)),
            bookmark: Box::pin(tokio::time::sleep_until(next_bookmark(deadline))),
            stop: Box::pin(stop.cancelled_owned()),
            _flight: flight,
            held: None,
            converting: None,
        }
    }

    /// The next bytes of the watch stream; `None` at its end.
    pub(super) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let watcher = match &self.source {
            Source::Ended => return Poll::Ready(None),
            Source::Failed(..) => return Poll::Ready(self.take_start_error()),
            Source::Open(watcher) => watcher.clone(),
        };
        if self.stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(self.end_with_reason(WatchEnd::Shutdown));
        }
        if self.converting.is_some() {
            let frame = ready!(self.poll_converted(&watcher, cx));
            return Poll::Ready(Some(frame));
        }
        loop {
            match watcher.take_batch(EVENTS_PER_FRAME, self.store.activity(), cx) {
                Batch::Events { events, .. } if events.is_empty() => {}
                Batch::Events { events, counted } if self.kind.conversion().is_some() => {
                    self.converting = Some(ConvertingEvents::new(&self.store, &self.kind, events, counted));
                    let frame = ready!(self.poll_converted(&watcher, cx));
                    return Poll::Ready(Some(frame));
                }
                Batch::Events { events, counted } => {
                    return Poll::Ready(Some(self.deliver(&watcher, &events, counted)));
                }
                Batch::Complete(revision) if self.marks_end => {
                    return Poll::Ready(Some(self.bookmark(revision, true)));
                }
                Batch::Complete(_) => {}
                Batch::Closed(why) => return Poll::Ready(self.end_with_reason(why)),
                Batch::Held(until) => {
                    let sleep = || Box::pin(tokio::time::sleep_until(until));
                    if self.held.get_or_insert_with(sleep).as_mut().poll(cx).is_pending() {
                        return self.poll_timers(&watcher, cx);
                    }
                    self.held = None;
                }
                Batch::Pending => return self.poll_timers(&watcher, cx),
            }
        }
    }

    /// Serializes watch events into one frame and reports their delivery to the observer.
    fn deliver(&mut self, watcher: &Watcher, events: &[QueuedEvent], counted: usize) -> Bytes {
        let (frame, sent) = self.serialize_frame(events);
        self.store.report_delivery(watcher, &events[..sent]);
        self.store.activity().done(counted);
        if sent < events.len() {
            self.end_with_reason(WatchEnd::Failed);
        }
        frame
    }

    /// Sends the events in `converting` after their conversion. A conversion error ends the watch.
    fn poll_converted(&mut self, watcher: &Arc<Watcher>, cx: &mut Context<'_>) -> Poll<Bytes> {
        let Some(converting) = &mut self.converting else {
            return Poll::Ready(Bytes::new());
        };
        let (outcome, events, counted) = ready!(converting.poll(cx));
        self.converting = None;
        Poll::Ready(match outcome {
            Ok(()) => self.deliver(watcher, &events, counted),
            Err(failure) => {
                self.store.activity().done(counted);
                self.end_with_reason(WatchEnd::Failed);
                encode_event("ERROR", &failure.to_value(), self.form.accept)
            }
        })
    }

    fn poll_timers(&mut self, watcher: &Arc<Watcher>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.deadline.as_mut().poll(cx).is_ready() {
            return Poll::Ready(self.end_with_reason(WatchEnd::Timeout));
        }
        if !self.bookmarks {
            return Poll::Pending;
        }
        loop {
            ready!(self.bookmark.as_mut().poll(cx));
            let next = next_bookmark(self.deadline.deadline());
            self.bookmark.as_mut().reset(next);
            if let Some(revision) = self.store.bookmark_revision(watcher) {
                return Poll::Ready(Some(self.bookmark(revision, false)));
            }
        }
    }

    /// Serializes watch events into one frame, and returns their number. If an event cannot be rendered, the frame ends with an
    /// ERROR event.
    fn serialize_frame(&mut self, events: &[QueuedEvent]) -> (Bytes, usize) {
        let mut pieces = Vec::with_capacity(events.len());
        for event in events {
            match self.serialize_event(event) {
                Ok(piece) => pieces.push(piece),
                Err(failure) => {
                    let sent = pieces.len();
                    pieces.push(error_event(&failure, self.form.accept));
                    return (concat(pieces), sent);
                }
            }
        }
        (concat(pieces), events.len())
    }

    /// Serializes one watch event; watches with the same response form share the bytes.
    fn serialize_event(&mut self, event: &QueuedEvent) -> Result<Bytes, Status> {
        let (kind, form) = (&self.kind, &self.form);
        let first = std::mem::replace(&mut self.first, false);
        let render = || {
            let object = to_requested_version(kind, event.object.clone());
            let body = match form.accept {
                Accept::Table(version) => {
                    json_bytes(&table::one_row_table(kind, &object, form, version, first))
                }
                _ => object_body(kind, &object, form)?,
            };
            let mut out = BytesMut::with_capacity(body.len() + 40);
            put_event(&mut out, form.accept, event.change.as_str(), &body);
            Ok(out.freeze())
        };
        match &event.frames {
            // Only the first table of a stream includes the column definitions.
            Some(frames) if !(first && matches!(form.accept, Accept::Table(_))) => {
                let form = FrameForm {
                    kind: kind.clone(),
                    change: event.change,
                    form: form.id(),
                };
                frames.get(form, render)
            }
            _ => render(),
        }
    }

    /// A BOOKMARK event. Its object has only a type, a resourceVersion and, at the end of the initial events, an annotation.
    fn bookmark(&self, revision: u64, marks_end: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if marks_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = match self.form.accept {
            Accept::Table(version) => json!({
                "kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": {"resourceVersion": revision.to_string()},
                "columnDefinitions": null,
                "rows": [{"cells": self.kind.columns().row(&self.kind.zero_value(), Timestamp::now()), "object": {
                    "kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
                }}],
            }),
            Accept::Metadata(version) | Accept::ProtobufMetadata(version) => json!({
                "kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
            }),
            _ => {
                let mut object = self.kind.zero_value();
                object["kind"] = self.kind.kind.into();
                object["apiVersion"] = self.kind.api_version().into();
                if let (Some(own), Some(metadata)) =
                    (object["metadata"].as_object_mut(), metadata.as_object())
                {
                    for (name, value) in metadata {
                        merge_members(own.entry(name).or_insert(Value::Null), value);
                    }
                }
                object
            }
        };
        encode_event("BOOKMARK", &object, self.form.accept)
    }

    /// The ERROR event of a watch that could not start.
    fn take_start_error(&mut self) -> Option<Bytes> {
        let Source::Failed(id, client, status) = std::mem::replace(&mut self.source, Source::Ended) else {
            return None;
        };
        self.store.watch_failed(&client, id, &self.kind);
        Some(error_event(&status, self.form.accept))
    }

    fn end_with_reason(&mut self, why: WatchEnd) -> Option<Bytes> {
        if let Source::Open(watcher) = std::mem::replace(&mut self.source, Source::Ended) {
            self.store.close_watch(&watcher, why);
        }
        None
    }
}

impl Drop for WatchBody {
    fn drop(&mut self) {
        if let Some(converting) = self.converting.take() {
            self.store.activity().done(converting.counted);
        }
        self.end_with_reason(WatchEnd::Client);
    }
}

/// Merges the members of `over` into `under` if both are objects; otherwise replaces `under` by `over`.
fn merge_members(under: &mut Value, over: &Value) {
    match (under.as_object_mut(), over.as_object()) {
        (Some(members), Some(more)) => members.extend(more.clone()),
        _ => *under = over.clone(),
    }
}

/// Concatenates byte buffers. A single buffer is returned without copying.
fn concat(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() == 1 {
        return pieces.pop().unwrap_or_default();
    }
    let mut out = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| out.put_slice(piece));
    out.freeze()
}

/// Serializes a watch event that is not shared with other watches.
fn encode_event(event: &str, object: &Value, accept: Accept) -> Bytes {
    let mut out = BytesMut::new();
    put_event(&mut out, accept, event, &document_body(object, accept));
    out.freeze()
}

fn error_event(failure: &Status, accept: Accept) -> Bytes {
    if accept.is_protobuf() {
        return encode_event("ERROR", &failure.to_value(), accept);
    }
    let mut out = BytesMut::new();
    put_event(&mut out, accept, "ERROR", &status_body(failure, false));
    out.freeze()
}

fn put_event(out: &mut BytesMut, accept: Accept, event: &str, object: &[u8]) {
    if accept.is_protobuf() {
        watch_frame(out, event, object);
    } else {
        put_json_line(out, event, object);
    }
}

fn put_json_line(out: &mut BytesMut, event: &str, object: &[u8]) {
    out.put_slice(b"{\"type\":\"");
    out.put_slice(event.as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object.trim_ascii_end());
    out.put_slice(b"}\n");
}
