//! Conversations: requests that are sent in order, with the recorded responses of kube-apiserver.
//!
//! A step is a line `METHOD /path` with options. In a step, `${id}` is unique to the run, `${ns}` is the namespace that was created for the
//! run, and `${word}` is a value that an earlier step saved.

use super::normal::{normalize, normalize_text};
use super::server::Server;
use http_body_util::BodyExt;
use hyper::{Request, Response};
use kube::client::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A YAML file of request conversations, with the recorded responses of kube-apiserver.
pub(crate) struct File {
    pub(crate) area: String,
    pub(crate) conversations: Vec<Conversation>,
    answers: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conversation {
    pub(crate) name: String,
    steps: Vec<Step>,
    /// The recorded responses of kube-apiserver, one per step.
    #[serde(skip)]
    answers: Vec<TestResponse>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    send: String,
    /// The content type of the request body: a patch type, `yaml`, or a media type.
    #[serde(rename = "as")]
    style: Option<String>,
    accept: Option<String>,
    agent: Option<String>,
    /// Impersonated user; `None` for the user of the kubeconfig.
    as_user: Option<String>,
    /// Node name in the extra attributes of the impersonated user, as service account tokens of pods contain it.
    on_node: Option<String>,
    /// Repeat the request until its response has this status code.
    until: Option<u16>,
    /// The request body, sent as JSON; alternatively, `text` is sent verbatim.
    body: Option<Value>,
    text: Option<String>,
    /// Variables for later steps, each with the path of its value in the response, such as `metadata.uid`.
    #[serde(default)]
    save: BTreeMap<String, String>,
    /// Number of events to read from a watch.
    watch: Option<usize>,
    /// Paths in the response that vary between runs; `*` matches every member or item.
    #[serde(default)]
    ignore: Vec<String>,
    /// Why the fake server's response differs from kube-apiserver's. Must be removed when both responses are equal.
    simplified: Option<String>,
}

/// A response in which values that vary between runs are replaced or removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct TestResponse {
    status: u16,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    headers: BTreeMap<String, String>,
    body: Value,
}

/// The response headers that are compared.
const HEADERS: [&str; 3] = ["content-type", "retry-after", "warning"];
/// After this time without data, a response counts as ended.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn read_all(folder: &Path) -> Vec<File> {
    let entries = fs::read_dir(folder).expect("the contract folder exists");
    let paths = entries.map(|entry| entry.expect("the contract folder is readable").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    paths.sort();
    paths.iter().map(|path| File::read(path)).collect()
}

impl File {
    fn read(path: &Path) -> Self {
        let content = fs::read_to_string(path).expect("conversations are UTF-8");
        let mut conversations: Vec<Conversation> = serde_saphyr::from_str_with_options(&content, options())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let answers = path.with_extension("answers.json");
        let content = fs::read_to_string(&answers).unwrap_or_else(|_| "{}".to_owned());
        let mut known: BTreeMap<String, Vec<TestResponse>> =
            serde_json::from_str(&content).unwrap_or_else(|error| panic!("{}: {error}", answers.display()));
        for conversation in &mut conversations {
            conversation.answers = known.remove(&conversation.name).unwrap_or_default();
        }
        let area = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .expect("file names are UTF-8")
            .to_owned();
        Self {
            area,
            conversations,
            answers,
        }
    }

    /// Writes the recorded responses, one per line.
    pub(crate) fn write_answers(&self) {
        let conversations = self.conversations.iter().map(|each| {
            let answers: Vec<String> = each.answers.iter().map(json_text).collect();
            format!("{}: [\n{}\n]", json_text(&each.name), answers.join(",\n"))
        });
        let conversations: Vec<String> = conversations.collect();
        let content = format!("{{\n{}\n}}\n", conversations.join(",\n"));
        fs::write(&self.answers, content).expect("the file of responses is writable");
    }
}

fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("responses serialize")
}

impl Conversation {
    /// Sends the requests of the file; returns the differences from the recorded responses.
    pub(crate) async fn compare_with_recorded(&self, server: &Server) -> Vec<String> {
        if self.answers.len() != self.steps.len() {
            return vec!["no recorded responses; record them with CONTRACT_RECORD=1".to_owned()];
        }
        let got = self.send_steps(server).await;
        let mut differences = Vec::new();
        for (number, ((step, got), want)) in self.steps.iter().zip(got).zip(&self.answers).enumerate() {
            let label = format!("step {number}: {}", step.send);
            match (&step.simplified, got == *want) {
                (None, false) => differences.push(difference(label, want, &got)),
                (Some(_), true) => {
                    differences.push(format!("{label}: the responses are equal; remove `simplified`"));
                }
                _ => {}
            }
        }
        differences
    }

    pub(crate) async fn record(&mut self, server: &Server) {
        self.answers = self.send_steps(server).await;
    }

    async fn send_steps(&self, server: &Server) -> Vec<TestResponse> {
        let mut words = BTreeMap::from([
            ("id".to_owned(), server.id.clone()),
            ("ns".to_owned(), server.id.clone()),
        ]);
        server.create_namespace().await;
        let mut answers = Vec::new();
        for step in &self.steps {
            answers.push(step.send_step(server, &mut words).await);
        }
        answers
    }
}

impl Step {
    async fn send_step(&self, server: &Server, words: &mut BTreeMap<String, String>) -> TestResponse {
        let line = fill(&self.send, words);
        let (method, path) = line.split_once(' ').expect("a step has a method and a path");
        let mut response = server.send(self.request(method, path, words)).await;
        while self.until.is_some_and(|status| response.status() != status) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            response = server.send(self.request(method, path, words)).await;
        }
        let status = response.status().as_u16();
        let headers = HEADERS.into_iter().filter_map(|name| {
            let values = response
                .headers()
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok());
            let mut values: Vec<String> = values.map(|value| normalize_text(value, &server.id)).collect();
            // The order of warnings depends on the order of fields in the body, so warnings are sorted.
            values.sort();
            (!values.is_empty()).then(|| (name.to_owned(), values.join(" | ")))
        });
        let headers: BTreeMap<String, String> = headers.collect();
        let body = match self.watch {
            Some(count) if status == 200 => events(response, count).await,
            _ => read_body(response).await,
        };
        let body = parse_yaml_body(body, &headers);
        if let Some(name) = body["metadata"]["name"]
            .as_str()
            .filter(|_| method == "POST" && status == 201)
        {
            let collection = path.split('?').next().unwrap_or_default();
            server.record_created(format!("{collection}/{name}"));
        }
        for (word, at) in &self.save {
            let found = at
                .split('.')
                .fold(&body, |value, part| match part.parse::<usize>() {
                    Ok(index) => &value[index],
                    Err(_) => &value[part],
                });
            let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            words.insert(word.clone(), found);
        }
        let mut body = normalize(body, &server.id);
        self.ignore
            .iter()
            .for_each(|path| remove_at_path(&mut body, path));
        TestResponse {
            status,
            headers,
            body,
        }
    }

    fn request(&self, method: &str, path: &str, words: &BTreeMap<String, String>) -> Request<Body> {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("accept", self.accept.as_deref().unwrap_or("application/json"));
        request = request.header("user-agent", self.agent.as_deref().unwrap_or("contract/1"));
        if let Some(user) = &self.as_user {
            request = request.header("impersonate-user", user);
        }
        if let Some(node) = &self.on_node {
            request = request.header("impersonate-extra-authentication.kubernetes.io%2fnode-name", node);
        }
        let body = match (&self.body, &self.text) {
            (Some(body), _) => Some(body.to_string()),
            (None, content) => content.clone(),
        };
        if body.is_some() {
            request = request.header("content-type", self.media_type());
        }
        let body = fill(&body.unwrap_or_default(), words);
        request
            .body(Body::from(body.into_bytes()))
            .expect("the step is a valid request")
    }

    fn media_type(&self) -> &str {
        match self.style.as_deref() {
            None => "application/json",
            Some("json patch") => "application/json-patch+json",
            Some("merge patch") => "application/merge-patch+json",
            Some("strategic patch") => "application/strategic-merge-patch+json",
            Some("apply") => "application/apply-patch+yaml",
            Some("yaml") => "application/yaml",
            Some(other) => other,
        }
    }
}

/// Parser options for YAML 1.2, in which unquoted `y` and `n` are strings and not booleans.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! { strict_booleans: true }
}

/// Replaces each `${word}` in `content` by the value of that variable.
fn fill(content: &str, words: &BTreeMap<String, String>) -> String {
    words.iter().fold(content.to_owned(), |content, (word, value)| {
        content.replace(&format!("${{{word}}}"), value)
    })
}

/// Reads the response body. If the body does not end in time, as with an unexpected watch, returns the bytes received so far.
async fn read_body(response: Response<Body>) -> Value {
    let (mut body, mut bytes) = (response.into_body(), Vec::new());
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(READ_TIMEOUT, body.frame()).await {
        bytes.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into())
}

/// Parses a response body that is YAML, because the formatting of YAML may differ between servers.
fn parse_yaml_body(body: Value, headers: &BTreeMap<String, String>) -> Value {
    let is_yaml = headers
        .get("content-type")
        .is_some_and(|media| media == "application/yaml");
    match body {
        Value::String(text) if is_yaml => serde_saphyr::from_str(&text).expect("the response is YAML"),
        other => other,
    }
}

/// The first `count` events of a watch; fewer if the watch sends no more events in time.
async fn events(response: Response<Body>, count: usize) -> Value {
    let mut body = response.into_body();
    let (mut bytes, mut events) = (Vec::new(), Vec::new());
    while events.len() < count {
        let Ok(Some(Ok(frame))) = tokio::time::timeout(READ_TIMEOUT, body.frame()).await else {
            break;
        };
        bytes.extend_from_slice(&frame.into_data().unwrap_or_default());
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = bytes.drain(..=end).collect();
            events.push(serde_json::from_slice(&line).expect("every line of a watch is JSON"));
        }
    }
    // A frame may contain more watch events than requested.
    events.truncate(count);
    Value::Array(events)
}

/// Removes the value at a `/`-separated path of a response.
fn remove_at_path(value: &mut Value, path: &str) {
    let (head, rest) = path
        .split_once('/')
        .map_or((path, None), |(head, rest)| (head, Some(rest)));
    match (value, rest) {
        (Value::Object(members), Some(rest)) => {
            let head = head.replace("~1", "/");
            let chosen = members
                .iter_mut()
                .filter(|(name, _)| head == "*" || **name == head);
            chosen.for_each(|(_, member)| remove_at_path(member, rest));
        }
        (Value::Object(members), None) => {
            let head = head.replace("~1", "/");
            members.retain(|name, _| head != "*" && *name != head);
        }
        (Value::Array(items), None) => {
            let chosen = items.iter_mut().enumerate();
            // Items of lists are set to null instead of removed, so that the indexes of later items do not change.
            chosen
                .filter(|(at, _)| head == "*" || at.to_string() == head)
                .for_each(|(_, item)| *item = Value::Null);
        }
        (Value::Array(items), Some(rest)) => {
            let chosen = items
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| head == "*" || at.to_string() == head);
            chosen.for_each(|(_, item)| remove_at_path(item, rest));
        }
        _ => {}
    }
}

fn difference(label: String, want: &TestResponse, got: &TestResponse) -> String {
    let (want, got) = (leaves(want), leaves(got));
    let mut lines = vec![label];
    for (path, value) in &want {
        if got.get(path) != Some(value) {
            lines.push(format!("  - {path}: {value}"));
        }
    }
    for (path, value) in &got {
        if want.get(path) != Some(value) {
            lines.push(format!("  + {path}: {value}"));
        }
    }
    lines.join("\n")
}

fn leaves(answer: &TestResponse) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let value = serde_json::to_value(answer).expect("responses serialize");
    collect(&value, String::new(), &mut out);
    out
}

fn collect(value: &Value, path: String, out: &mut BTreeMap<String, String>) {
    let nothing = Map::new();
    let members = value.as_object().unwrap_or(&nothing);
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if members.is_empty() && items.is_empty() {
        out.insert(path, value.to_string());
        return;
    }
    members
        .iter()
        .for_each(|(name, member)| collect(member, format!("{path}.{name}"), out));
    items
        .iter()
        .enumerate()
        .for_each(|(at, item)| collect(item, format!("{path}[{at}]"), out));
}
