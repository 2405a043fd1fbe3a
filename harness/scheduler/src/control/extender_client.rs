//! Client of the configured extenders, which filter nodes, score them and bind pods.
//!
//! Knows the protocol (`k8s.io/kube-scheduler/extender/v1`). Reads pod and nodes from the API server for each attempt, because the cache
//! contains only the fields that this scheduler uses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node as ApiNode, Pod as ApiPod};
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tracing::warn;

use crate::configuration::Extender;
use crate::cycle::{Assessment, Cause, Feasible, Rejected};
use crate::objects::Pod;
use crate::transport::{Http, Transport};

/// A score of an extender (at most 10) is multiplied by this factor to get a plugin's score (at most 100).
const SCORE_STEP: i64 = 10;

pub(super) struct Extenders {
    list: Vec<Extender>,
    transport: Arc<dyn Transport>,
    api: Client,
}

/// The pod and the nodes that one scheduling attempt sends to extenders.
struct RequestObjects {
    pod: Value,
    /// All nodes by name, if an extender needs node objects; otherwise empty.
    nodes: BTreeMap<String, Value>,
}

impl Extenders {
    pub(super) fn new(list: &[Extender], transport: Option<Arc<dyn Transport>>, api: Client) -> Self {
        Self {
            list: list.to_vec(),
            transport: transport.unwrap_or_else(|| Arc::new(Http::default())),
            api,
        }
    }

    /// Whether an extender filters or scores nodes for the pod.
    pub(super) fn apply_to(&self, pod: &Pod) -> bool {
        self.interested_extenders(pod)
            .any(|extender| extender.filter_verb.is_some() || extender.prioritize_verb.is_some())
    }

    /// Removes the nodes that extenders reject, and adds the extenders' scores. An error aborts the scheduling attempt.
    pub(super) async fn filter_and_score(
        &self,
        pod: &Pod,
        mut assessment: Assessment,
    ) -> Result<Assessment, String> {
        let objects = self.request_objects(pod).await?;
        for extender in self.interested_extenders(pod) {
            let Some(verb) = &extender.filter_verb else {
                continue;
            };
            if assessment.feasible.is_empty() {
                break;
            }
            let response = self.filter(extender, verb, &objects, names(&assessment)).await;
            match response {
                Ok(result) => result.apply(extender, &mut assessment),
                Err(error) if extender.ignorable => {
                    warn!(%error, pod = %pod.key, "failed extender ignored");
                }
                Err(error) => return Err(error),
            }
        }
        if assessment.feasible.len() > 1 {
            for extender in self.interested_extenders(pod) {
                self.prioritize(extender, &objects, &mut assessment.feasible)
                    .await;
            }
        }
        Ok(assessment)
    }

    /// Binds the pod through the extender with a bind verb. `None` if there is no such extender, so that the scheduler binds the pod.
    pub(super) async fn bind(&self, pod: &Pod, node: &str) -> Option<Result<(), String>> {
        let mut interested = self.interested_extenders(pod);
        let (extender, verb) = interested.find_map(|it| Some((it, it.bind_verb.as_ref()?)))?;
        let args = json!({
            "PodName": pod.key.name, "PodNamespace": pod.key.namespace, "PodUID": pod.uid, "Node": node,
        });
        let response = self.post(extender, verb, "bind", &args).await;
        Some(response.and_then(|response| response_error(&response).map_or(Ok(()), Err)))
    }

    fn interested_extenders<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = &'a Extender> {
        self.list.iter().filter(|extender| {
            extender.managed_resources.is_empty()
                || !extender.managed_resources.is_disjoint(&pod.extended_resources)
        })
    }

    async fn request_objects(&self, pod: &Pod) -> Result<RequestObjects, String> {
        let pods: Api<ApiPod> = Api::namespaced(self.api.clone(), &pod.key.namespace);
        let found = pods.get(&pod.key.name).await;
        let found = found.map_err(|error| format!("the pod cannot be read for the extenders: {error}"))?;
        if found.metadata.uid.as_deref() != Some(pod.uid.as_str()) {
            return Err(format!("pod \"{}\" was recreated meanwhile", pod.key));
        }
        let want_nodes = self
            .interested_extenders(pod)
            .any(|extender| !extender.node_cache_capable);
        let nodes: Api<ApiNode> = Api::all(self.api.clone());
        let nodes = match want_nodes {
            true => {
                nodes
                    .list(&ListParams::default())
                    .await
                    .map_err(|error| format!("the nodes cannot be read for the extenders: {error}"))?
                    .items
            }
            false => Vec::new(),
        };
        let by_name = nodes.into_iter().map(|node| {
            let name = node.metadata.name.clone().unwrap_or_default();
            (name, json!(node))
        });
        Ok(RequestObjects {
            pod: json!(found),
            nodes: by_name.collect(),
        })
    }

    async fn filter(
        &self,
        extender: &Extender,
        verb: &str,
        objects: &RequestObjects,
        names: Vec<String>,
    ) -> Result<FilterResult, String> {
        let args = objects.extender_args(extender, &names);
        let response = self.post(extender, verb, "filter", &args).await?;
        FilterResult::read(extender, &response, &names)
    }

    /// Adds the scores of an extender. As upstream, a failed call adds no scores, whether or not the extender is ignorable.
    async fn prioritize(&self, extender: &Extender, objects: &RequestObjects, feasible: &mut [Feasible]) {
        let Some(verb) = &extender.prioritize_verb else {
            return;
        };
        let names: Vec<String> = feasible.iter().map(|it| it.node.name().to_owned()).collect();
        let args = objects.extender_args(extender, &names);
        let response = match self.post(extender, verb, "prioritize", &args).await {
            Ok(response) => response,
            Err(error) => return warn!(%error, "the scoring call to an extender failed; no scores are added"),
        };
        let mut points: BTreeMap<String, i64> = BTreeMap::new();
        for score in response.as_array().into_iter().flatten() {
            if let (Some(host), Some(score)) = (
                field_ignoring_case(score, "Host").as_str(),
                field_ignoring_case(score, "Score").as_i64(),
            ) {
                let sum = points.entry(host.to_owned()).or_default();
                *sum = sum.saturating_add(score);
            }
        }
        for feasible in feasible {
            let points = points.get(feasible.node.name()).copied().unwrap_or_default();
            let added = points.saturating_mul(extender.weight).saturating_mul(SCORE_STEP);
            feasible.score = feasible.score.saturating_add(added);
        }
    }

    async fn post(
        &self,
        extender: &Extender,
        verb: &str,
        action: &str,
        args: &Value,
    ) -> Result<Value, String> {
        let url = format!("{}/{}", extender.url_prefix, verb.trim_start_matches('/'));
        let sent = self.transport.post(&url, args.to_string());
        let in_time = timeout(extender.timeout, sent).await;
        let response = in_time.unwrap_or_else(|_| Err(format!("Post \"{url}\": context deadline exceeded")));
        let (code, body) = response?;
        if code != 200 {
            return Err(format!("failed {action} with extender at URL {url}, code {code}"));
        }
        serde_json::from_slice(&body)
            .map_err(|error| format!("the response of {url} is not valid JSON: {error}"))
    }
}

/// The names of the feasible nodes.
fn names(assessment: &Assessment) -> Vec<String> {
    let feasible = assessment.feasible.iter().map(|it| it.node.name().to_owned());
    feasible.collect()
}

impl RequestObjects {
    fn extender_args(&self, extender: &Extender, names: &[String]) -> Value {
        if extender.node_cache_capable {
            return json!({"Pod": self.pod, "Nodes": null, "NodeNames": names});
        }
        let items: Vec<_> = names.iter().filter_map(|name| self.nodes.get(name)).collect();
        json!({"Pod": self.pod, "Nodes": {"metadata": {}, "items": items}, "NodeNames": null})
    }
}

/// A parsed `ExtenderFilterResult`.
struct FilterResult {
    passed: BTreeSet<String>,
    /// The reasons for rejected nodes, by node name.
    failed: BTreeMap<String, String>,
    /// The reasons for rejected nodes where preemption would not help, by node name.
    unresolvable: BTreeMap<String, String>,
}

impl FilterResult {
    fn read(extender: &Extender, response: &Value, sent: &[String]) -> Result<Self, String> {
        if let Some(error) = response_error(response) {
            return Err(error);
        }
        let names = match (
            field_ignoring_case(response, "NodeNames"),
            field_ignoring_case(response, "Nodes"),
        ) {
            (Value::Array(names), _) if extender.node_cache_capable => names,
            (_, nodes) => {
                let items = nodes["items"].as_array().into_iter().flatten();
                items.map(|node| node["metadata"]["name"].clone()).collect()
            }
        };
        let passed: BTreeSet<String> = names
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let sent: BTreeSet<&String> = sent.iter().collect();
        if let Some(unknown) = passed.iter().find(|name| !sent.contains(name)) {
            let url = &extender.url_prefix;
            return Err(format!(
                "extender \"{url}\" claims a filtered node \"{unknown}\" which is not found in the input node list"
            ));
        }
        let reasons = |name: &str| -> BTreeMap<String, String> {
            let reasons: Map<String, Value> = match field_ignoring_case(response, name) {
                Value::Object(reasons) => reasons,
                _ => Map::new(),
            };
            let text = |reason: Value| reason.as_str().unwrap_or_default().to_owned();
            reasons
                .into_iter()
                .map(|(node, reason)| (node, text(reason)))
                .collect()
        };
        Ok(Self {
            passed,
            failed: reasons("FailedNodes"),
            unresolvable: reasons("FailedAndUnresolvableNodes"),
        })
    }

    /// Moves the nodes that the extender rejected from `feasible` to `rejected` in the assessment.
    fn apply(mut self, extender: &Extender, assessment: &mut Assessment) {
        let feasible = std::mem::take(&mut assessment.feasible);
        for feasible in feasible {
            let name = feasible.node.name();
            if self.passed.contains(name) {
                assessment.feasible.push(feasible);
                continue;
            }
            let unresolvable = self.unresolvable.remove(name);
            let is_unresolvable = unresolvable.is_some();
            let reason = unresolvable
                .or_else(|| self.failed.remove(name))
                .unwrap_or_else(|| {
                    format!(
                        "node(s) were not returned by the extender {}",
                        extender.url_prefix
                    )
                });
            assessment.rejected.push(Rejected {
                node: feasible.node,
                cause: Cause::Extender {
                    reason,
                    is_unresolvable,
                },
            });
        }
    }
}

/// The field whose name equals `name` when case is ignored, as in Go: the spelling of field names differs between releases.
fn field_ignoring_case(object: &Value, name: &str) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
    found.next().map_or(Value::Null, |(_, value)| value.clone())
}

/// The error in an extender's response; `None` if the response contains no error.
fn response_error(response: &Value) -> Option<String> {
    let error = field_ignoring_case(response, "Error");
    error.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
