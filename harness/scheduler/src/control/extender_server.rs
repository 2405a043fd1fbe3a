//! Serves the extender protocol (`/filter` and `/prioritize` over HTTP) to kube-scheduler of any release.
//!
//! Checks only volumes: the calling scheduler runs all other filters and binds the PVCs. Objects come from the same watches as in the
//! scheduling loop. Requests contain Node objects, or only node names if `nodeCacheCapable` is set. KEP-1472 suggests extenders for
//! decisions that differ from upstream.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use k8s_openapi::api::core::v1::{Node as ApiNode, Pod as ApiPod};
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tracing::debug;

use super::cache::Cache;
use super::run::Error;
use super::watch;
use crate::assessment::claim_error;
use crate::claims::{self, PodClaims};
use crate::filter::{self, ConflictReason, VolumePlan};
use crate::listen;
use crate::objects::{Node, Object, ObjectKey, Pod};
use crate::options::Options;
use crate::rules::Rules;
use crate::score;

/// Maximum size of a request: sufficient for a request that contains every node object.
const BODY_MAX: usize = 128 << 20;
/// Timeout for receiving a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// A plugin's score (at most 100) is divided by this number to get a score of an extender (at most 10).
const SCORE_STEP: i64 = 10;

/// Serves the connections of a listener until `shutdown` completes. Fails if the options are invalid.
pub async fn serve_extender(
    options: Options,
    client: Client,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let extender = Arc::new(Extender {
        rules: options.rules()?,
        cache: Mutex::new(Cache::new(&options.scheduler_name)),
    });
    let shared = Arc::clone(&extender);
    let respond = move |request| {
        let extender = Arc::clone(&shared);
        async move { extender.respond(request).await }
    };
    let updating = watch::watch_all(&client).for_each(|update| {
        drop(extender.cache.lock().apply(update));
        std::future::ready(())
    });
    tokio::select! {
        () = shutdown => {}
        ((), ()) = futures::future::join(updating, listen::serve_connections(capacity_client::connections(listener), respond)) => {}
    }
    Ok(())
}

struct Extender {
    rules: Rules,
    cache: Mutex<Cache>,
}

struct ExtenderArgs {
    pod: Pod,
    nodes: RequestedNodes,
}

/// The nodes of a request, as Node objects or as names. The response contains nodes in the form of the request.
enum RequestedNodes {
    /// Node objects, which the response contains unchanged.
    Objects(Vec<(Arc<Node>, Value)>),
    Names(Vec<String>),
}

impl Extender {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/healthz") => {
                let ready = self.cache.lock().is_complete();
                let code = if ready {
                    StatusCode::OK
                } else {
                    StatusCode::SERVICE_UNAVAILABLE
                };
                response(
                    code,
                    &json!(if ready {
                        "ok"
                    } else {
                        "the caches are not synced yet"
                    }),
                )
            }
            (&Method::POST, "/filter" | "/prioritize") => match read_extender_args(request).await {
                Ok(args) if path == "/filter" => response(StatusCode::OK, &self.filter(args)),
                Ok(args) => self.prioritize(&args),
                Err(error) => response(StatusCode::BAD_REQUEST, &json!(error)),
            },
            _ => response(
                StatusCode::NOT_FOUND,
                &json!("unknown path: use POST /filter or POST /prioritize"),
            ),
        }
    }

    /// The response to `/filter` (`ExtenderFilterResult`). `Error` is set only for temporary reasons: the caches are not synced, or an
    /// object cannot be parsed.
    fn filter(&self, args: ExtenderArgs) -> Value {
        let results = match self.check_nodes(&args) {
            Ok(results) => results,
            Err(error) => return json!({"Error": error}),
        };
        let fits = |name: &str| results.get(name).is_some_and(Result::is_ok);
        let failed: BTreeMap<&str, String> = results
            .iter()
            .filter_map(|(name, result)| Some((name.as_str(), result.as_ref().err()?.clone())))
            .collect();
        let (requested, rejected) = (results.len(), failed.len());
        debug!(pod = %args.pod.key, requested, rejected, "filtered");
        let mut result = json!({"FailedNodes": {}, "FailedAndUnresolvableNodes": failed, "Error": ""});
        match args.nodes {
            RequestedNodes::Objects(nodes) => {
                let left = nodes.into_iter().filter(|(node, _)| fits(node.name()));
                let items: Vec<_> = left.map(|(_, source)| source).collect();
                result["Nodes"] = json!({"metadata": {}, "items": items});
            }
            RequestedNodes::Names(names) => {
                result["NodeNames"] = names.into_iter().filter(|name| fits(name)).collect();
            }
        }
        result
    }

    /// The response to `/prioritize` (`HostPriorityList`), with scores of 0 to 10.
    fn prioritize(&self, args: &ExtenderArgs) -> Response<Full<Bytes>> {
        let results = match self.check_nodes(args) {
            Ok(results) => results,
            Err(error) => return response(StatusCode::SERVICE_UNAVAILABLE, &json!(error)),
        };
        debug!(pod = %args.pod.key, requested = results.len(), "prioritized");
        let scores = results.into_iter().map(|(name, result)| {
            let score = result.map_or(0, |plan| score::score(&self.rules, &plan));
            json!({"Host": name, "Score": (score + SCORE_STEP / 2) / SCORE_STEP})
        });
        response(StatusCode::OK, &scores.collect())
    }

    /// Filters the nodes of the request. Returns for each node its volume plan or the rejection reason.
    fn check_nodes(
        &self,
        args: &ExtenderArgs,
    ) -> Result<BTreeMap<String, Result<VolumePlan, String>>, String> {
        let cache = self.cache.lock();
        if !cache.is_complete() {
            return Err("the caches are not synced yet, retry later".to_owned());
        }
        let snapshot = &cache.snapshot;
        let claims = claims::classify(snapshot, &self.rules, &args.pod);
        if let Some(error) = claims.as_ref().ok().and_then(claim_error) {
            return Err(error.to_string());
        }
        let check_node = |node: &Node| match &claims {
            Ok(claims) => self.check_volumes(&cache, claims, node),
            Err(reason) => Err(reason.to_string()),
        };
        Ok(match &args.nodes {
            RequestedNodes::Objects(nodes) => nodes
                .iter()
                .map(|(node, _)| (node.name().to_owned(), check_node(node)))
                .collect(),
            RequestedNodes::Names(names) => names
                .iter()
                .map(|name| {
                    let node = snapshot.nodes.stored(&ObjectKey::cluster(name));
                    let unknown = || Err(format!("node {name:?} is not known"));
                    (name.clone(), node.map_or_else(unknown, |node| check_node(node)))
                })
                .collect(),
        })
    }

    fn check_volumes(&self, cache: &Cache, claims: &PodClaims, node: &Node) -> Result<VolumePlan, String> {
        filter::check_node(&cache.snapshot, &self.rules, claims, node).map_err(|reasons| {
            let reasons: Vec<_> = reasons.iter().map(ConflictReason::reason).collect();
            reasons.join(", ")
        })
    }
}

async fn read_extender_args(request: Request<Incoming>) -> Result<ExtenderArgs, String> {
    let body = Limited::new(request.into_body(), BODY_MAX).collect();
    let body = timeout(REQUEST_TIMEOUT, body)
        .await
        .map_err(|_| "the request body was not received in time".to_owned())?
        .map_err(|error| format!("the request body cannot be read: {error}"))?;
    let mut source: Value = serde_json::from_slice(&body.to_bytes())
        .map_err(|error| format!("the request body is not valid JSON: {error}"))?;
    // The case of these field names differs between releases; Go accepts any case.
    let mut field = |name: &str| {
        let fields = source.as_object_mut()?;
        let found = fields
            .iter_mut()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))?;
        Some(found.1.take()).filter(|value| !value.is_null())
    };
    let pod = field("pod").ok_or("the request contains no pod")?;
    let pod: ApiPod =
        serde_json::from_value(pod).map_err(|error| format!("the pod cannot be read: {error}"))?;
    let pod = Pod::read(&pod).map_err(|error| error.to_string())?;
    let nodes = match (field("nodenames"), field("nodes")) {
        (Some(names), _) => RequestedNodes::Names(
            serde_json::from_value(names)
                .map_err(|error| format!("the node names cannot be read: {error}"))?,
        ),
        (None, Some(mut nodes)) => RequestedNodes::Objects(read_nodes(nodes["items"].take())?),
        (None, None) => RequestedNodes::Names(Vec::new()),
    };
    Ok(ExtenderArgs { pod, nodes })
}

fn read_nodes(items: Value) -> Result<Vec<(Arc<Node>, Value)>, String> {
    let Value::Array(items) = items else {
        return Ok(Vec::new());
    };
    let read = |source: Value| {
        let node: ApiNode = serde_json::from_value(source.clone())
            .map_err(|error| format!("a node cannot be read: {error}"))?;
        let node = Node::read(&node).map_err(|error| error.to_string())?;
        Ok((Arc::new(node), source))
    };
    items.into_iter().map(read).collect()
}

fn response(code: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body.to_string()));
    *response.status_mut() = code;
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    response
}
