//! Handles one request: forwards it with the server's names, converts the response, and records it.
//!
//! Does not know sockets. Watches start here and continue in `stream`.

use std::sync::Arc;

use fake_apiserver::{Blow, ResourcePath, Verb};
use hyper::header::{ACCEPT, RETRY_AFTER};
use hyper::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use crate::case::Case;
use crate::kinds::{followed, is_question};
use crate::message::{ClientRequest, Reply, Wanted, Whole, only_error, passed_on};
use crate::note::{Noted, note};
use crate::outcome::{announce, settle};
use crate::outgoing::request;
use crate::stream;

/// Answers a request. A write is completed even if the client disconnects, because its result must be recorded.
pub(crate) async fn answer(case: &Arc<Case>, incoming: ClientRequest) -> Reply {
    let resource = ResourcePath::of_request(incoming.method.as_str(), &incoming.path, &incoming.query);
    let Some((verb, path)) = resource else {
        return aside(case, incoming).await;
    };
    let mut loses_answer = false;
    if !incoming.is_ours {
        let version = incoming.parameter("resourceVersion");
        let fate = case.faults.meet(&incoming.client, verb, Some(&path), &version);
        if !fate.delay.is_zero() {
            tokio::time::sleep(fate.delay).await;
        }
        match fate.blow {
            Some(Blow::Refuse(status)) if verb == Verb::Watch && status.code == 410 => {
                note(
                    case,
                    &incoming.client,
                    verb,
                    &path,
                    Noted::of(200, None, &Value::Null),
                );
                return Reply::Events(only_error(&status.to_value()));
            }
            Some(Blow::Refuse(status)) => {
                let mut whole = Whole::json(status.code, &status.to_value());
                let wait = status
                    .details
                    .as_ref()
                    .map_or(0, |details| details.retry_after_seconds);
                if wait > 0 {
                    whole.headers.insert(RETRY_AFTER, wait.into());
                }
                note(
                    case,
                    &incoming.client,
                    verb,
                    &path,
                    Noted::injected(status.code, status.message),
                );
                return Reply::Whole(whole);
            }
            Some(Blow::Disconnect) => return Reply::Cut,
            Some(Blow::LoseAnswer) => loses_answer = true,
            // Unsupported by a proxy: cases with stale reads are skipped.
            Some(Blow::Stale(_)) | None => {}
        }
    }
    let wanted = Wanted { incoming, verb, path };
    if verb == Verb::Watch {
        return stream::begin(case, wanted).await;
    }
    let busy = case.busy();
    let work = tokio::spawn({
        let case = case.clone();
        async move {
            let whole = exchange(&case, wanted).await;
            drop(busy);
            whole
        }
    });
    match work.await {
        Ok(_) if loses_answer => Reply::Cut,
        Ok(whole) => Reply::Whole(whole),
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

/// Handles non-resource paths (version, health, discovery, OpenAPI); forwards them unchanged.
async fn aside(case: &Arc<Case>, incoming: ClientRequest) -> Reply {
    let segments: Vec<&str> = incoming
        .path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let is_open = matches!(
        segments.as_slice(),
        [] | ["version" | "healthz" | "livez" | "readyz" | "openapi", ..]
            | ["api" | "apis"]
            | ["api", _]
            | ["apis", _]
            | ["apis", _, _]
    );
    let fate = match incoming.is_ours {
        true => Default::default(),
        false => case.faults.meet(&incoming.client, Verb::Get, None, ""),
    };
    if !fate.delay.is_zero() {
        tokio::time::sleep(fate.delay).await;
    }
    let whole = match fate.blow {
        Some(Blow::Disconnect | Blow::LoseAnswer) => return Reply::Cut,
        Some(Blow::Refuse(status)) => Whole::json(status.code, &status.to_value()),
        _ if !is_open || incoming.method != Method::GET => Whole::failure(
            404,
            "NotFound",
            &format!(
                "the server could not find the requested resource: {} {}; the harness passes on only kinds that it follows",
                incoming.method, incoming.path
            ),
        ),
        _ => {
            let _busy = case.busy();
            let uri = match incoming.query.as_str() {
                "" => incoming.path.clone(),
                query => format!("{}?{query}", incoming.path),
            };
            let request = Request::get(uri)
                .header(ACCEPT, incoming.header(&ACCEPT))
                .body(Body::empty());
            match request {
                Ok(request) => match case.upstream.whole(request).await {
                    Ok(answer) => passed_on(answer),
                    Err(lost) => return lost_reply(&lost.0),
                },
                Err(error) => Whole::failure(400, "BadRequest", &error.to_string()),
            }
        }
    };
    let path = ResourcePath {
        group: String::new(),
        version: String::new(),
        resource: String::new(),
        subresource: None,
        namespace: None,
        name: None,
    };
    note(
        case,
        &incoming.client,
        Verb::Get,
        &path,
        Noted::of(whole.code, refusal_of(&whole), &Value::Null),
    );
    Reply::Whole(whole)
}

/// The server did not respond: cuts the connection, as the server would.
fn lost_reply(why: &str) -> Reply {
    tracing::warn!(why, "the API server did not answer");
    Reply::Cut
}

/// Handles a resource request other than a watch.
async fn exchange(case: &Arc<Case>, wanted: Wanted) -> Whole {
    let Wanted { incoming, verb, path } = &wanted;
    let whole = match refusal(case, &wanted) {
        Some(refused) => refused,
        None => match request(case, &wanted) {
            Ok(request) => {
                let open = (!is_reading(*verb)).then(|| announce(case, &wanted));
                match case.upstream.whole(request).await {
                    Ok(answer) => settle(case, &wanted, answer, open).await,
                    Err(lost) => Whole::failure(
                        503,
                        "ServiceUnavailable",
                        &format!("the API server did not answer: {}", lost.0),
                    ),
                }
            }
            Err(refused) => *refused,
        },
    };
    let (value, message) = (whole.value(), refusal_of(&whole));
    note(
        case,
        &incoming.client,
        *verb,
        path,
        Noted::of(whole.code, message, &value),
    );
    whole
}

/// Message of an error response.
fn refusal_of(whole: &Whole) -> Option<String> {
    (whole.code >= 400).then(|| whole.value()["message"].as_str().unwrap_or_default().to_owned())
}

/// Rejects requests that the harness does not forward.
fn refusal(case: &Case, wanted: &Wanted) -> Option<Whole> {
    let (resource, verb) = (wanted.path.resource.as_str(), wanted.verb);
    if is_reading(verb) || is_question(resource) {
        return None;
    }
    if case.is_over() {
        return Some(Whole::failure(503, "ServiceUnavailable", "the case is over"));
    }
    if followed(resource).is_none() {
        let text =
            format!("{resource} can't be written through the harness, which would not know how to clean up");
        return Some(Whole::failure(403, "Forbidden", &text));
    }
    None
}

fn is_reading(verb: Verb) -> bool {
    matches!(verb, Verb::Get | Verb::List | Verb::Watch)
}
