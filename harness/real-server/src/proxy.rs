//! Handles one client request: forwards it with the server's names, converts the response, and records request and response.
//!
//! Does not know sockets. Watches start here and continue in `stream`.

use std::sync::Arc;

use fake_apiserver::{FaultAction, ResourcePath, Verb};
use hyper::header::{ACCEPT, RETRY_AFTER};
use hyper::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use crate::case::Case;
use crate::kinds::{is_review, watched_kind};
use crate::message::{ClientRequest, FullResponse, Reply, ResourceRequest, error_events, to_full_response};
use crate::outcome::{announce, process_response};
use crate::outgoing::server_request;
use crate::request_fact::{RecordedResponse, record_request};
use crate::stream;

/// Handles a client request. A write is completed even if the client disconnects, because its result must be recorded.
pub(crate) async fn handle(case: &Arc<Case>, incoming: ClientRequest) -> Reply {
    let resource = ResourcePath::of_request(incoming.method.as_str(), &incoming.path, &incoming.query);
    let Some((verb, path)) = resource else {
        return handle_non_resource(case, incoming).await;
    };
    let mut loses_response = false;
    if !incoming.is_internal {
        let version = incoming.parameter("resourceVersion");
        let fate = case.faults.apply(&incoming.client, verb, Some(&path), &version);
        if !fate.delay.is_zero() {
            tokio::time::sleep(fate.delay).await;
        }
        match fate.action {
            Some(FaultAction::Refuse(status)) if verb == Verb::Watch && status.code == 410 => {
                record_request(
                    case,
                    &incoming.client,
                    verb,
                    &path,
                    RecordedResponse::of(200, None, &Value::Null),
                );
                return Reply::Events(error_events(&status.to_value()));
            }
            Some(FaultAction::Refuse(status)) => {
                let mut response = FullResponse::json(status.code, &status.to_value());
                let wait = status
                    .details
                    .as_ref()
                    .map_or(0, |details| details.retry_after_seconds);
                if wait > 0 {
                    response.headers.insert(RETRY_AFTER, wait.into());
                }
                record_request(
                    case,
                    &incoming.client,
                    verb,
                    &path,
                    RecordedResponse::injected(status.code, status.message),
                );
                return Reply::Full(response);
            }
            Some(FaultAction::Disconnect) => return Reply::Cut,
            Some(FaultAction::LoseAnswer) => loses_response = true,
            // A proxy cannot return stale data, so cases with stale reads are skipped.
            Some(FaultAction::Stale(_)) | None => {}
        }
    }
    let resource_request = ResourceRequest { incoming, verb, path };
    if verb == Verb::Watch {
        return stream::begin_watch(case, resource_request).await;
    }
    let guard = case.begin_request();
    let work = tokio::spawn({
        let case = case.clone();
        async move {
            let response = handle_resource(&case, resource_request).await;
            drop(guard);
            response
        }
    });
    match work.await {
        Ok(_) if loses_response => Reply::Cut,
        Ok(response) => Reply::Full(response),
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

/// Handles non-resource paths (version, health, discovery, OpenAPI), which are forwarded unchanged.
async fn handle_non_resource(case: &Arc<Case>, incoming: ClientRequest) -> Reply {
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
    let fate = match incoming.is_internal {
        true => Default::default(),
        false => case.faults.apply(&incoming.client, Verb::Get, None, ""),
    };
    if !fate.delay.is_zero() {
        tokio::time::sleep(fate.delay).await;
    }
    let response = match fate.action {
        Some(FaultAction::Disconnect | FaultAction::LoseAnswer) => return Reply::Cut,
        Some(FaultAction::Refuse(status)) => FullResponse::json(status.code, &status.to_value()),
        _ if !is_open || incoming.method != Method::GET => FullResponse::failure(
            404,
            "NotFound",
            &format!(
                "the server could not find the requested resource: {} {}; the harness forwards only requests for resources that it watches",
                incoming.method, incoming.path
            ),
        ),
        _ => {
            let _guard = case.begin_request();
            let uri = match incoming.query.as_str() {
                "" => incoming.path.clone(),
                query => format!("{}?{query}", incoming.path),
            };
            let request = Request::get(uri)
                .header(ACCEPT, incoming.header(&ACCEPT))
                .body(Body::empty());
            match request {
                Ok(request) => match case.upstream.request(request).await {
                    Ok(answer) => to_full_response(answer),
                    Err(error) => return cut_reply(&error.0),
                },
                Err(error) => FullResponse::failure(400, "BadRequest", &error.to_string()),
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
    record_request(
        case,
        &incoming.client,
        Verb::Get,
        &path,
        RecordedResponse::of(response.code, error_message(&response), &Value::Null),
    );
    Reply::Full(response)
}

/// The reply to a client if the server did not respond: closes the client's connection, as the server would.
fn cut_reply(why: &str) -> Reply {
    tracing::warn!(why, "the API server did not respond");
    Reply::Cut
}

/// Handles a request for a resource, except watches.
async fn handle_resource(case: &Arc<Case>, resource_request: ResourceRequest) -> FullResponse {
    let ResourceRequest { incoming, verb, path } = &resource_request;
    let response = match rejection(case, &resource_request) {
        Some(refused) => refused,
        None => match server_request(case, &resource_request) {
            Ok(request) => {
                let open = (!is_reading(*verb)).then(|| announce(case, &resource_request));
                match case.upstream.request(request).await {
                    Ok(answer) => process_response(case, &resource_request, answer, open).await,
                    Err(error) => FullResponse::failure(
                        503,
                        "ServiceUnavailable",
                        &format!("the API server did not respond: {}", error.0),
                    ),
                }
            }
            Err(refused) => *refused,
        },
    };
    let (value, message) = (response.body_json(), error_message(&response));
    record_request(
        case,
        &incoming.client,
        *verb,
        path,
        RecordedResponse::of(response.code, message, &value),
    );
    response
}

/// The message in an error response, for the journal.
fn error_message(response: &FullResponse) -> Option<String> {
    (response.code >= 400).then(|| {
        response.body_json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    })
}

fn rejection(case: &Case, resource_request: &ResourceRequest) -> Option<FullResponse> {
    let (resource, verb) = (resource_request.path.resource.as_str(), resource_request.verb);
    if is_reading(verb) || is_review(resource) {
        return None;
    }
    if case.has_ended() {
        return Some(FullResponse::failure(
            503,
            "ServiceUnavailable",
            "the case has ended",
        ));
    }
    if watched_kind(resource).is_none() {
        let text = format!(
            "the harness rejects writes of {resource}, because it could not delete these objects after the run"
        );
        return Some(FullResponse::failure(403, "Forbidden", &text));
    }
    None
}

fn is_reading(verb: Verb) -> bool {
    matches!(verb, Verb::Get | Verb::List | Verb::Watch)
}
