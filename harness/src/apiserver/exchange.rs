//! One request: in the case's names to the server, and its answer back, with everything about it written down.
//!
//! Knows no sockets. Watches begin here and go on in `stream`.

use std::sync::Arc;

use bytes::Bytes;
use fake_apiserver::{Blow, ResourcePath, Verb, json_of_protobuf};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER, USER_AGENT, WARNING};
use hyper::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};

use super::case::Case;
use super::kinds::{followed, is_question};
use super::outcome::{announce, settle};
use super::stream::{self, Events};
use super::upstream::Answer;
use super::witness::revision;
use crate::journal::{RequestFact, What};
use crate::unserved;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";

/// A request of a client.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) client: Arc<str>,
    /// Whether the harness itself asks.
    pub(super) is_ours: bool,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Default for Asked {
    fn default() -> Self {
        Asked {
            client: "".into(),
            is_ours: false,
            method: Method::GET,
            path: String::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }
}

impl Asked {
    pub(super) fn header(&self, name: &HeaderName) -> &str {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }

    pub(super) fn parameter(&self, name: &str) -> String {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    }
}

/// What a client gets.
pub(super) enum Reply {
    /// A whole answer.
    Whole(Whole),
    /// A watch.
    Events(Events),
    /// Nothing: the connection is cut.
    Cut,
}

/// A whole answer.
pub(super) struct Whole {
    pub(super) code: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Whole {
    fn json(code: u16, body: &Value) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(JSON));
        Whole {
            code,
            headers,
            body: body.to_string().into(),
        }
    }

    /// A failure that the harness tells in the server's place.
    pub(super) fn failure(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code,
        });
        Whole::json(code, &status)
    }

    /// The parsed body.
    pub(super) fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request for a resource.
pub(super) struct Wanted {
    pub(super) asked: Asked,
    pub(super) verb: Verb,
    pub(super) path: ResourcePath,
}

/// Answers a request. One that writes is carried out to its end even if the client goes away: what it does must be known.
pub(super) async fn answer(case: &Arc<Case>, asked: Asked) -> Reply {
    let resource = ResourcePath::of_request(asked.method.as_str(), &asked.path, &asked.query);
    let Some((verb, path)) = resource else {
        return aside(case, asked).await;
    };
    let mut loses_answer = false;
    if !asked.is_ours {
        let version = asked.parameter("resourceVersion");
        let fate = case.faults.meet(&asked.client, verb, Some(&path), &version);
        if !fate.delay.is_zero() {
            tokio::time::sleep(fate.delay).await;
        }
        match fate.blow {
            Some(Blow::Refuse(status)) if verb == Verb::Watch && status.code == 410 => {
                note(case, &asked.client, verb, &path, 200, None, &Value::Null);
                return Reply::Events(stream::only_error(&status.to_value()));
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
                    &asked.client,
                    verb,
                    &path,
                    status.code,
                    Some(status.message),
                    &Value::Null,
                );
                return Reply::Whole(whole);
            }
            Some(Blow::Disconnect) => return Reply::Cut,
            Some(Blow::LoseAnswer) => loses_answer = true,
            // Cases that want an old state are skipped: no proxy has one.
            Some(Blow::Stale(_)) | None => {}
        }
    }
    let wanted = Wanted { asked, verb, path };
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

/// Paths that are no resource: versions, health, discovery and descriptions. They are the server's own, as they are.
async fn aside(case: &Arc<Case>, asked: Asked) -> Reply {
    let segments: Vec<&str> = asked
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
    let fate = match asked.is_ours {
        true => Default::default(),
        false => case.faults.meet(&asked.client, Verb::Get, None, ""),
    };
    if !fate.delay.is_zero() {
        tokio::time::sleep(fate.delay).await;
    }
    let whole = match fate.blow {
        Some(Blow::Disconnect | Blow::LoseAnswer) => return Reply::Cut,
        Some(Blow::Refuse(status)) => Whole::json(status.code, &status.to_value()),
        _ if !is_open || asked.method != Method::GET => Whole::failure(
            404,
            "NotFound",
            "the server could not find the requested resource: the harness passes on only kinds that it follows",
        ),
        _ => {
            let _busy = case.busy();
            let uri = match asked.query.as_str() {
                "" => asked.path.clone(),
                query => format!("{}?{query}", asked.path),
            };
            let request = Request::get(uri)
                .header(ACCEPT, asked.header(&ACCEPT))
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
        &asked.client,
        Verb::Get,
        &path,
        whole.code,
        None,
        &Value::Null,
    );
    Reply::Whole(whole)
}

/// The server has gone away: so does the proxy.
fn lost_reply(why: &str) -> Reply {
    tracing::warn!(why, "the API server did not answer");
    Reply::Cut
}

pub(super) fn passed_on(answer: Answer) -> Whole {
    let mut headers = HeaderMap::new();
    for name in [CONTENT_TYPE, RETRY_AFTER, WARNING] {
        for value in answer.head.headers.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    Whole {
        code: answer.code,
        headers,
        body: answer.body,
    }
}

/// Carries a request out.
async fn exchange(case: &Arc<Case>, wanted: Wanted) -> Whole {
    let Wanted { asked, verb, path } = &wanted;
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
    let value = whole.value();
    let message = (whole.code >= 400).then(|| value["message"].as_str().unwrap_or_default().to_owned());
    note(case, &asked.client, *verb, path, whole.code, message, &value);
    whole
}

/// What the harness does not pass on.
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

/// The request as the server gets it.
pub(super) fn request(case: &Case, wanted: &Wanted) -> Result<Request<Body>, Box<Whole>> {
    let Wanted { asked, verb, path } = wanted;
    let accepted = accepted(asked.header(&ACCEPT)).ok_or_else(|| {
        Whole::failure(
            406,
            "NotAcceptable",
            "the harness answers in JSON alone before a real API server",
        )
    })?;
    let mut uri = case.names.path(path);
    let query = case.names.query(*verb, path, &asked.query);
    if !query.is_empty() {
        uri = format!("{uri}?{query}");
    }
    let (media, body) = body(case, wanted)?;
    let mut request = Request::builder()
        .method(asked.method.clone())
        .uri(uri)
        .header(ACCEPT, accepted);
    if !media.is_empty() {
        request = request.header(CONTENT_TYPE, media);
    }
    // The server names field managers after it.
    if let Some(agent) = asked.headers.get(USER_AGENT) {
        request = request.header(USER_AGENT, agent);
    }
    request
        .body(Body::from(body))
        .map_err(|error| Box::new(Whole::failure(400, "BadRequest", &error.to_string())))
}

/// What is asked of the server in place of what the client accepts: JSON in the same forms. None: it accepts no JSON.
fn accepted(accept: &str) -> Option<String> {
    let clauses: Vec<String> = accept
        .split(',')
        .map(str::trim)
        .filter(|clause| {
            clause.starts_with(JSON) || clause.starts_with("*/*") || clause.starts_with("application/*")
        })
        .map(|clause| clause.replacen("*/*", JSON, 1).replacen("application/*", JSON, 1))
        .collect();
    match (accept.is_empty(), clauses.is_empty()) {
        (true, _) => Some(JSON.to_owned()),
        (false, true) => None,
        (false, false) => Some(clauses.join(", ")),
    }
}

/// The body as the server gets it, with its media type.
fn body(case: &Case, wanted: &Wanted) -> Result<(String, Vec<u8>), Box<Whole>> {
    let Wanted { asked, verb, path } = wanted;
    let removes = matches!(verb, Verb::Delete | Verb::DeleteCollection);
    if asked.body.is_empty() && !removes {
        return Ok((String::new(), Vec::new()));
    }
    let wrong = |why: String| Whole::failure(400, "BadRequest", &why);
    let media = asked.header(&CONTENT_TYPE).to_owned();
    let applies = media.contains("apply-patch");
    let mut value = match () {
        () if asked.body.is_empty() => json!({"apiVersion": "v1", "kind": "DeleteOptions"}),
        () if media.starts_with(PROTOBUF) => {
            json_of_protobuf(&asked.body).map_err(|status| Whole::json(status.code, &status.to_value()))?
        }
        () if media.contains("yaml") => serde_saphyr::from_slice(&asked.body)
            .map_err(|error| wrong(format!("the body is no YAML: {error}")))?,
        () => serde_json::from_slice(&asked.body)
            .map_err(|error| wrong(format!("the body is no JSON: {error}")))?,
    };
    if removes && path.resource == "pods" {
        // There is no kubelet to wait for.
        value["gracePeriodSeconds"] = 0.into();
    }
    case.names.send(*verb, path, applies, &mut value);
    let media = match media.as_str() {
        patch if *verb == Verb::Patch && !patch.is_empty() => media,
        _ => JSON.to_owned(),
    };
    Ok((media, value.to_string().into_bytes()))
}

/// Writes a request down.
pub(super) fn note(
    case: &Case,
    client: &Arc<str>,
    verb: Verb,
    path: &ResourcePath,
    code: u16,
    message: Option<String>,
    value: &Value,
) {
    let made = || value["metadata"]["name"].as_str().map(str::to_owned);
    let name = match (verb, &path.name) {
        (Verb::Create, None) if code < 300 => made(),
        (_, name) => name.clone(),
    };
    let revision = Some(revision(value)).filter(|revision| *revision > 0);
    case.witness.journal().append(What::Request(RequestFact {
        client: client.clone(),
        verb: verb.as_str().to_owned(),
        resource: path.combined(),
        version: Some(path.group_version()),
        namespace: path.namespace.clone(),
        name,
        code,
        message: unserved::named(path, code, message),
        revision,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_asked_for_in_the_same_forms() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(accepted("").as_deref(), Some(JSON));
        assert_eq!(
            accepted("application/vnd.kubernetes.protobuf, */*").as_deref(),
            Some(JSON)
        );
        assert_eq!(
            accepted(&format!("{table},application/json")),
            Some(format!("{table}, {JSON}"))
        );
        assert_eq!(accepted(PROTOBUF), None);
    }
}
