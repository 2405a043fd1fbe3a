//! The scheduler extenders of a case: HTTP services that kube-scheduler calls. The journal records every call.
//!
//! Knows the protocol (`k8s.io/kube-scheduler/extender/v1`). `reserving` knows reservations at the driver, `capacity` knows
//! CSIStorageCapacity objects.

mod capacity;
mod reserving;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use capacity_spec::world::NamespacedName;
use capacity_types::Segment;
use fake_csi::FakeDriver;
use futures::FutureExt;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};

use super::api::Client;
use super::object_ref::object_ref;
use crate::journal::{ExtenderFact, Journal, Observation};
use crate::listening::HttpListener;
use crate::network::Network;
use crate::plan::{Plan, WORKLOADS};
use crate::scenario::ExtenderSpec;
use crate::segment::Segments;
use capacity::CapacityFilter;
use reserving::{DeviceReserver, Reservation};

pub(super) const CLIENT: &str = "extender";

pub(crate) const PANICKED: &str = "the extender panicked while handling this request";

/// Maximum size of a request in bytes. A filter request may contain all Node objects of a case.
const BODY_MAX: usize = 16 << 20;

/// The running scheduler extenders of a case. Dropping the value stops the extenders.
pub(super) struct Extenders {
    settings: Vec<Value>,
    /// HTTP listeners of the extenders, which close on drop.
    _listening: Vec<HttpListener>,
}

impl Extenders {
    pub(super) async fn start(
        plan: &Plan,
        journal: &Journal,
        client: &Client,
        driver: &FakeDriver,
        network: &Network,
    ) -> std::io::Result<Self> {
        let (mut configurations, mut servers) = (Vec::new(), Vec::new());
        for spec in &plan.extenders {
            let extender = Arc::new(Extender {
                spec: spec.clone(),
                journal: journal.clone(),
                client: client.clone(),
                segments: plan.segments.clone(),
                by_capacity: spec.by_capacity.then(CapacityFilter::default),
                reserving: spec
                    .reserves
                    .then(|| DeviceReserver::new(driver.clone(), client.clone(), &plan.driver.name)),
            });
            let serve = move |request| {
                let extender = Arc::clone(&extender);
                async move { Ok::<_, Infallible>(extender.respond(request).await.map(BodyExt::boxed_unsync)) }
            };
            let listening = HttpListener::open(network, false, serve).await?;
            configurations.push(settings(spec, &listening.url()));
            servers.push(listening);
        }
        Ok(Extenders {
            settings: configurations,
            _listening: servers,
        })
    }

    /// The value of `KubeSchedulerConfiguration.extenders` as JSON; `None` if there are no extenders.
    pub(super) fn settings(&self) -> Option<String> {
        (!self.settings.is_empty()).then(|| Value::from(self.settings.clone()).to_string())
    }
}

fn settings(spec: &ExtenderSpec, url: &str) -> Value {
    let mut settings = json!({
        "urlPrefix": url, "filterVerb": "filter", "weight": spec.weight, "nodeCacheCapable": spec.by_name,
        "ignorable": spec.ignorable, "httpTimeout": "5s",
    });
    if !spec.prefers.is_empty() {
        settings["prioritizeVerb"] = "prioritize".into();
    }
    if spec.binds {
        settings["bindVerb"] = "bind".into();
    }
    if let Some(name) = &spec.resource {
        settings["managedResources"] = json!([{"name": name, "ignoredByScheduler": true}]);
    }
    settings
}

struct Extender {
    spec: ExtenderSpec,
    journal: Journal,
    client: Client,
    segments: Segments,
    by_capacity: Option<CapacityFilter>,
    reserving: Option<DeviceReserver>,
}

/// Result of a filter request: the feasible nodes, and the reason for each infeasible node.
#[derive(Default)]
struct FilterOutcome {
    feasible: Vec<String>,
    failed: BTreeMap<String, String>,
}

impl FilterOutcome {
    /// Marks all feasible nodes except `nodes` as infeasible, with this reason.
    fn retain_nodes(&mut self, nodes: &BTreeSet<String>, reason: &str) {
        let (feasible, others) = std::mem::take(&mut self.feasible)
            .into_iter()
            .partition(|node| nodes.contains(node));
        self.feasible = feasible;
        self.failed
            .extend(others.into_iter().map(|node: String| (node, reason.to_owned())));
    }
}

impl Extender {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let verb = request.uri().path().trim_start_matches('/').to_owned();
        let body = Limited::new(request.into_body(), BODY_MAX).collect().await;
        let args: Value = body
            .ok()
            .and_then(|body| serde_json::from_slice(&body.to_bytes()).ok())
            .unwrap_or_default();
        let mut fact = ExtenderFact {
            extender: self.spec.name.clone(),
            verb,
            pod: pod_name(&args),
            nodes: nodes(&args),
            feasible: Vec::new(),
            error: None,
        };
        let (code, body) = if self.spec.fails {
            fact.error = Some("status 500".to_owned());
            (StatusCode::INTERNAL_SERVER_ERROR, Value::Null)
        } else {
            let result = AssertUnwindSafe(self.execute_verb(&args, &mut fact))
                .catch_unwind()
                .await;
            match result {
                Ok(body) => (StatusCode::OK, body),
                Err(_) => {
                    fact.error = Some(PANICKED.to_owned());
                    (StatusCode::INTERNAL_SERVER_ERROR, Value::Null)
                }
            }
        };
        self.journal.append(Observation::Extender(fact));
        let mut response = Response::new(Full::from(body.to_string()));
        *response.status_mut() = code;
        response
    }

    async fn execute_verb(&self, args: &Value, fact: &mut ExtenderFact) -> Value {
        match fact.verb.as_str() {
            "filter" => match self.filter(args, &fact.nodes).await {
                Ok(filtered) => {
                    fact.feasible.clone_from(&filtered.feasible);
                    self.filter_result(args, &filtered)
                }
                Err(error) => {
                    fact.error = Some(error.clone());
                    json!({"Error": error})
                }
            },
            "prioritize" => {
                let score =
                    |node: &String| json!({"Host": node, "Score": self.spec.prefers.get(node).unwrap_or(&0)});
                fact.nodes.iter().map(score).collect()
            }
            "bind" => {
                let bound = self.bind(args).await;
                fact.error = bound.err();
                json!({"Error": fact.error.clone().unwrap_or_default()})
            }
            other => {
                let error = format!("unknown verb {other:?}; this extender has filter, prioritize and bind");
                fact.error = Some(error.clone());
                json!({"Error": error})
            }
        }
    }

    async fn filter(&self, args: &Value, nodes: &[String]) -> Result<FilterOutcome, String> {
        let mut filtered = FilterOutcome::default();
        for node in nodes {
            match self.spec.refuses.get(node) {
                Some(reason) => drop(filtered.failed.insert(node.clone(), reason.clone())),
                None => filtered.feasible.push(node.clone()),
            }
        }
        if let Some(by_capacity) = &self.by_capacity {
            let pod = NamespacedName::new(WORKLOADS, pod_name(args));
            filtered.retain_nodes(&by_capacity.nodes(&self.journal, &pod), capacity::REASON);
        }
        let Some(reserving) = &self.reserving else {
            return Ok(filtered);
        };
        let mut segments = BTreeMap::new();
        for node in &filtered.feasible {
            if let Some(segment) = self.segment_of(node).await {
                segments.insert(node.clone(), segment);
            }
        }
        match reserving.reserve(&pod_of_args(args), &segments).await? {
            Reservation::NotNeeded => {}
            Reservation::Held(nodes) => {
                filtered.retain_nodes(&nodes, "node(s) had no disk that could be reserved");
            }
        }
        Ok(filtered)
    }

    async fn segment_of(&self, node: &str) -> Option<Segment> {
        let found = self.client.get(&object_ref("nodes", None, node)).await.ok()?;
        let labels = serde_json::from_value(found["metadata"]["labels"].clone()).ok()?;
        self.segments.segment_of_node(&labels)
    }

    /// The ExtenderFilterResult, with the names of the feasible nodes, or with complete Node objects if the request contains them.
    fn filter_result(&self, args: &Value, filtered: &FilterOutcome) -> Value {
        let mut result =
            json!({"FailedNodes": filtered.failed, "FailedAndUnresolvableNodes": {}, "Error": ""});
        if self.spec.by_name {
            result["NodeNames"] = filtered.feasible.clone().into();
            return result;
        }
        let is_feasible = |node: &&Value| {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            filtered.feasible.iter().any(|node| node == name)
        };
        let items: Vec<_> = node_items(args).filter(is_feasible).cloned().collect();
        result["Nodes"] = json!({"metadata": {}, "items": items});
        result
    }

    /// Creates the Binding of the pod, in place of the scheduler.
    async fn bind(&self, args: &Value) -> Result<(), String> {
        let text = |name: &str| field_of(args, name).as_str().unwrap_or_default().to_owned();
        let (name, namespace) = (text("PodName"), text("PodNamespace"));
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": text("PodUID")},
            "target": {"apiVersion": "v1", "kind": "Node", "name": text("Node")},
        });
        let pod = object_ref("pods", Some(&namespace), &name);
        let bound = self.client.create_subresource(&pod, "binding", binding).await;
        bound.map_err(|status| status.to_string())
    }
}

fn pod_of_args(args: &Value) -> Value {
    field_of(args, "Pod").clone()
}

/// Name of the pod in the request. A bind request contains only the pod's name, other requests the whole pod.
fn pod_name(args: &Value) -> String {
    let of_pod = &field_of(args, "Pod")["metadata"]["name"];
    let name = of_pod.as_str().or_else(|| field_of(args, "PodName").as_str());
    name.unwrap_or_default().to_owned()
}

fn node_items(args: &Value) -> impl Iterator<Item = &Value> {
    field_of(args, "Nodes")["items"].as_array().into_iter().flatten()
}

/// Names of the nodes in the request: from `nodeNames`, from `nodes` (complete objects), or from `node` (bind request).
fn nodes(args: &Value) -> Vec<String> {
    let by_name = field_of(args, "NodeNames").as_array().into_iter().flatten();
    let complete = node_items(args).map(|node| &node["metadata"]["name"]);
    let bound = std::iter::once(field_of(args, "Node"));
    by_name
        .chain(complete)
        .chain(bound)
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// Reads a field of the request, ignoring case: the spelling of field names differs between releases.
fn field_of<'q>(args: &'q Value, name: &str) -> &'q Value {
    let fields = args.as_object().into_iter().flatten();
    let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
    found.next().map_or(&Value::Null, |(_, value)| value)
}
