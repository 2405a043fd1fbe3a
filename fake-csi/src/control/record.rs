//! Stores the most recent CSI calls as JSON-serializable text.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use serde::Serialize;

use crate::{Answer, Event, Observer, Segment};

/// Maximum number of stored calls; the oldest call is dropped for a new one.
const CALLS_MAX: usize = 10_000;

/// Observer that stores the last 10 000 calls of a driver.
#[derive(Debug, Default)]
pub struct CallRecord(Mutex<StoredCalls>);

#[derive(Debug, Default)]
struct StoredCalls {
    calls: VecDeque<Arc<CallText>>,
    next: u64,
}

/// A CSI call, serialized for the HTTP control.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallText {
    /// Sequence number of the call, from 0.
    number: u64,
    /// Time of the response, in milliseconds since the Unix epoch.
    ended_unix_ms: u64,
    elapsed_us: u64,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    connection: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<Segment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requisite: Vec<Segment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    preferred: Vec<Segment>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    mutable_parameters: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    volume_capabilities: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    required_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_path: Option<String>,
    /// The gRPC code of the response, such as `OK`.
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    lost: bool,
}

/// A page of stored calls, as the HTTP control returns it.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    calls: Vec<Arc<CallText>>,
    /// Sequence number of the next call, with which the client can request the next page.
    next: u64,
}

impl CallRecord {
    /// All stored calls whose sequence number is at least `number`.
    pub(super) fn since(&self, number: u64) -> Page {
        let stored = self.0.lock();
        let calls = stored
            .calls
            .iter()
            .filter(|call| call.number >= number)
            .cloned()
            .collect();
        Page {
            calls,
            next: stored.next,
        }
    }
}

impl Observer for CallRecord {
    fn observe(&self, event: Event) {
        let mut stored = self.0.lock();
        let call = call_text(stored.next, event);
        stored.next += 1;
        if stored.calls.len() >= CALLS_MAX {
            stored.calls.pop_front();
        }
        stored.calls.push_back(Arc::new(call));
    }
}

fn call_text(number: u64, event: Event) -> CallText {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (code, message, answer) = match event.outcome {
        Ok(answer) => ("OK", None, Some(answer).filter(|answer| *answer != Answer::Done)),
        Err(failure) => (failure.code, Some(failure.message), None),
    };
    CallText {
        number,
        ended_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        elapsed_us: u64::try_from(event.elapsed.as_micros()).unwrap_or(u64::MAX),
        method: event.method.as_str(),
        node: event.node,
        connection: event.peer.connection,
        pid: event.peer.pid,
        segment: event.segment,
        requisite: event.requisite,
        preferred: event.preferred,
        parameters: event.parameters,
        secrets: event.secrets,
        mutable_parameters: event.mutable_parameters,
        source: event.source,
        volume_capabilities: event.capabilities.len(),
        required_bytes: event.required_bytes,
        limit_bytes: event.limit_bytes,
        volume_name: event.volume_name,
        volume_id: event.volume_id,
        target_path: event.target_path,
        code,
        message,
        answer,
        lost: event.lost,
    }
}
