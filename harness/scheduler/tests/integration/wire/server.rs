//! A minimal in-memory Kubernetes API for the scheduling loop: list, watch, create, merge patch, binding, and discovery of one type.
//!
//! Validates nothing except resource versions. The suites test the loop with the fake API server; this server has no sockets, so that tests
//! can use virtual time.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Method, Request, Response, StatusCode};
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

type Body = UnsyncBoxBody<Bytes, Infallible>;
/// Resource, namespace and name of a stored object.
type Key = (String, String, String);

/// A handle to the server; clones refer to the same server.
#[derive(Clone)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    version: watch::Sender<u64>,
}

/// A fault that the server injects when it delivers the next event of a watch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchFault {
    /// The watch ends without an error.
    Cut,
    /// The watch fails with 410 (Expired).
    Expire,
    /// The event is delivered twice.
    Repeat,
    Delay(Duration),
}

#[derive(Default)]
struct State {
    faults: Vec<(String, WatchFault)>,
    objects: BTreeMap<Key, Value>,
    /// Every change: its resource and watch event. The resource version of a change is its index plus one.
    log: Vec<(String, Value)>,
    requests: Vec<String>,
    failures: Vec<(String, u16)>,
    races: Vec<(String, Key, Value)>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::default(),
            version: watch::Sender::new(0),
        }
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.respond_to(request).await) }
        });
        Client::new(service, "default")
    }

    /// Creates or replaces an object as another client.
    pub(crate) fn put(&self, resource: &str, object: Value) {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        self.store((resource.to_owned(), text("namespace"), text("name")), object);
    }

    /// Applies a merge patch to an object as another client.
    pub(crate) fn patch_as_other_client(&self, resource: &str, namespace: &str, name: &str, patch: &Value) {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        let mut object = self.state.lock().objects[&key].clone();
        merge(&mut object, patch);
        self.store(key, object);
    }

    /// Deletes an object as another client.
    pub(crate) fn delete(&self, resource: &str, namespace: &str, name: &str) {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        let mut state = self.state.lock();
        let mut object = state.objects.remove(&key).unwrap();
        let version = state.log.len() as u64 + 1;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        state
            .log
            .push((resource.to_owned(), json!({"type": "DELETED", "object": object})));
        drop(state);
        self.version.send_replace(version);
    }

    /// Makes the next request whose `METHOD PATH` starts with `request` fail with this status code.
    pub(crate) fn fail_next(&self, request: &str, code: u16) {
        self.state.lock().failures.push((request.to_owned(), code));
    }

    /// Changes an object, as another client, right before the next request whose `METHOD PATH` starts with `request`.
    pub(crate) fn change_before_request(
        &self,
        request: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        patch: Value,
    ) {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        self.state.lock().races.push((request.to_owned(), key, patch));
    }

    /// Injects a fault when the next watch event of a resource is delivered.
    pub(crate) fn inject(&self, resource: &str, fault: WatchFault) {
        self.state.lock().faults.push((resource.to_owned(), fault));
    }

    /// Number of requests so far for which `METHOD PATH` starts with `request`.
    pub(crate) fn count(&self, request: &str) -> usize {
        let state = self.state.lock();
        state
            .requests
            .iter()
            .filter(|found| found.starts_with(request))
            .count()
    }

    pub(crate) fn objects_of(&self, resource: &str) -> Vec<Value> {
        let state = self.state.lock();
        let found = state.objects.iter().filter(|((kind, ..), _)| kind == resource);
        found.map(|(_, object)| object.clone()).collect()
    }

    /// Waits until an object of the resource satisfies the condition. The timeout is in virtual time.
    pub(crate) async fn wait_until(
        &self,
        what: &str,
        resource: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut versions = self.version.subscribe();
        let found = async {
            loop {
                versions.borrow_and_update();
                if let Some(object) = self.objects_of(resource).into_iter().find(&condition) {
                    return object;
                }
                versions.changed().await.unwrap();
            }
        };
        let limit = Duration::from_secs(24 * 3600);
        match tokio::time::timeout(limit, found).await {
            Ok(object) => object,
            Err(_) => panic!(
                "{what} is missing after one day of virtual time; {resource}: {:#?}",
                self.objects_of(resource)
            ),
        }
    }

    fn store(&self, key: Key, mut object: Value) -> Value {
        let mut state = self.state.lock();
        let version = state.log.len() as u64 + 1;
        let (resource, _, name) = &key;
        let metadata = &mut object["metadata"];
        metadata["resourceVersion"] = json!(version.to_string());
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("uid-of-{name}"));
        }
        let kind = if state.objects.contains_key(&key) {
            "MODIFIED"
        } else {
            "ADDED"
        };
        state
            .log
            .push((resource.clone(), json!({"type": kind, "object": object})));
        state.objects.insert(key, object.clone());
        drop(state);
        self.version.send_replace(version);
        object
    }

    async fn respond_to(&self, request: Request<kube::client::Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let line = format!("{} {}", head.method, head.uri.path());
        self.run_race(&line);
        if let Some(code) = self.record_request(&line) {
            return status(code, "refused by the test");
        }
        let query = head.uri.query().unwrap_or_default();
        let route = Route::parse(head.uri.path());
        let sent = || serde_json::from_slice::<Value>(&body).unwrap();
        match head.method {
            Method::GET if route.resource.is_empty() => discovery(head.uri.path()),
            Method::GET if query.contains("watch=true") => self.watch(&route.resource, query),
            Method::GET => self.list(&route.resource),
            Method::POST if route.subresource == "binding" => {
                self.bind(&route, &json!({"spec": {"nodeName": sent()["target"]["name"]}}))
            }
            Method::POST => {
                let mut key = route.key();
                let object = sent();
                key.2 = object["metadata"]["name"].as_str().unwrap().to_owned();
                respond(StatusCode::CREATED, &self.store(key, object))
            }
            Method::PATCH => self.patch(&route, &sent()),
            Method::DELETE => {
                self.delete(&route.resource, &route.namespace, &route.name);
                respond(StatusCode::OK, &json!({"kind": "Status", "status": "Success"}))
            }
            method => panic!("unexpected {method} {}", head.uri),
        }
    }

    fn record_request(&self, line: &str) -> Option<u16> {
        let mut state = self.state.lock();
        state.requests.push(line.to_owned());
        let position = state
            .failures
            .iter()
            .position(|(start, _)| line.starts_with(start))?;
        Some(state.failures.remove(position).1)
    }

    fn run_race(&self, line: &str) {
        let mut state = self.state.lock();
        let Some(position) = state.races.iter().position(|(start, ..)| line.starts_with(start)) else {
            return;
        };
        let (_, (resource, namespace, name), patch) = state.races.remove(position);
        drop(state);
        self.patch_as_other_client(&resource, &namespace, &name, &patch);
    }

    fn list(&self, resource: &str) -> Response<Body> {
        let version = self.version.borrow().to_string();
        respond(
            StatusCode::OK,
            &json!({"metadata": {"resourceVersion": version}, "items": self.objects_of(resource)}),
        )
    }

    fn watch(&self, resource: &str, query: &str) -> Response<Body> {
        let from = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("resourceVersion="))
            .unwrap();
        let start = (
            self.clone(),
            self.version.subscribe(),
            resource.to_owned(),
            from.parse::<usize>().unwrap(),
        );
        let frames = futures::stream::unfold(start, async |(server, mut versions, resource, seen)| {
            loop {
                versions.borrow_and_update();
                let next = server.next_event(&resource, seen);
                if let Some((position, event)) = next {
                    let (text, position) = match server.next_fault(&resource) {
                        Some(WatchFault::Cut) => return None,
                        Some(WatchFault::Expire) => (format!("{}\n", expired()), seen),
                        Some(WatchFault::Repeat) => (format!("{event}\n{event}\n"), position),
                        Some(WatchFault::Delay(time)) => {
                            tokio::time::sleep(time).await;
                            (format!("{event}\n"), position)
                        }
                        None => (format!("{event}\n"), position),
                    };
                    let frame = Frame::data(Bytes::from(text));
                    return Some((Ok::<_, Infallible>(frame), (server, versions, resource, position)));
                }
                versions.changed().await.ok()?;
            }
        });
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn next_fault(&self, resource: &str) -> Option<WatchFault> {
        let mut state = self.state.lock();
        let position = state.faults.iter().position(|(of, _)| of == resource)?;
        Some(state.faults.remove(position).1)
    }

    fn next_event(&self, resource: &str, seen: usize) -> Option<(usize, Value)> {
        let state = self.state.lock();
        let mut log = state.log.iter().enumerate().skip(seen);
        let found = log.find(|(_, (changed, _))| changed == resource)?;
        Some((found.0 + 1, found.1.1.clone()))
    }

    fn bind(&self, route: &Route, patch: &Value) -> Response<Body> {
        self.patch(route, patch);
        respond(
            StatusCode::CREATED,
            &json!({"kind": "Status", "status": "Success"}),
        )
    }

    fn patch(&self, route: &Route, patch: &Value) -> Response<Body> {
        let key = route.key();
        let Some(mut object) = self.state.lock().objects.get(&key).cloned() else {
            return status(404, &format!("{} \"{}\" not found", route.resource, route.name));
        };
        let expected = &patch["metadata"]["resourceVersion"];
        if !expected.is_null() && *expected != object["metadata"]["resourceVersion"] {
            return status(409, "the object has been modified");
        }
        merge(&mut object, patch);
        respond(StatusCode::OK, &self.store(key, object))
    }
}

/// The parsed method and path of a request.
#[derive(Default)]
struct Route {
    resource: String,
    namespace: String,
    name: String,
    subresource: String,
}

impl Route {
    fn parse(path: &str) -> Self {
        let mut parts = path.split('/').skip(1);
        let prefix = if parts.next() == Some("apis") { 2 } else { 1 };
        let mut parts = parts.skip(prefix).map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let mut route = Self {
            resource: next(),
            ..Self::default()
        };
        let first = next();
        let of_namespace = next();
        match route.resource == "namespaces" && !of_namespace.is_empty() {
            true => {
                route.namespace = first;
                route.resource = of_namespace;
                route.name = next();
            }
            false => {
                route.name = first;
                route.subresource = of_namespace;
                return route;
            }
        }
        route.subresource = next();
        route
    }

    fn key(&self) -> Key {
        (self.resource.clone(), self.namespace.clone(), self.name.clone())
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

fn expired() -> Value {
    let status = json!({"kind": "Status", "status": "Failure", "message": "too old", "reason": "Expired", "code": 410});
    json!({"type": "ERROR", "object": status})
}

/// The discovery document of the only type for which the loop uses discovery.
fn discovery(path: &str) -> Response<Body> {
    let group_version = path.trim_start_matches("/apis/");
    let capacities = json!({
        "name": "csistoragecapacities", "singularName": "csistoragecapacity", "namespaced": true,
        "kind": "CSIStorageCapacity", "verbs": ["list", "watch"],
    });
    respond(
        StatusCode::OK,
        &json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": [capacities]}),
    )
}

fn status(code: u16, message: &str) -> Response<Body> {
    let reason = if code == 409 { "Conflict" } else { "Other" };
    let body =
        json!({"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code});
    respond(StatusCode::from_u16(code).unwrap(), &body)
}

fn respond(code: StatusCode, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}
