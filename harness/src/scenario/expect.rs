//! The part of the case format that says what must be seen.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::from_text::parsed;
use super::{Amounts, AnswerSpec, Bound, FromShort, Role, Short, Size, Speaker};

/// One expectation: a predicate and how it is to hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectSpec {
    /// The publisher's objects, all of them: class → segment → row.
    pub capacities: Option<BTreeMap<String, BTreeMap<String, Short<RowSpec>>>>,
    /// Where pods are: node name, list of acceptable names, `any`, or `none`.
    pub placement: Option<BTreeMap<String, Short<PlaceSpec>>>,
    /// Claims: `bound`, `pending` or `absent`.
    pub claims: Option<BTreeMap<String, ClaimState>>,
    /// Parts that objects must have: all of `fields` must be found in the object.
    pub objects: Option<Vec<ObjectSpec>>,
    /// The text that the scheduler's refusal of a pod must contain.
    pub refusal: Option<BTreeMap<String, String>>,
    /// Answers of the driver, by the name of the call: what their figures must be.
    pub answers: Option<BTreeMap<String, AnswerSpec>>,
    /// What the API server must answer to a `discover` of the step: the versions by resource, the preferred one first; `[]`: none.
    pub served: Option<BTreeMap<String, Vec<String>>>,
    /// What the metrics of a role, or of the API server (`server`), must be: series → amount. They are read when everything is quiet.
    pub metrics: Option<BTreeMap<Speaker, BTreeMap<String, Short<Amounts>>>>,
    /// Roles that end by themselves in the step, as by refusing to start: words of their reason, or of what they say last.
    pub ends: Option<BTreeMap<Role, String>>,
    /// A fact that must not be seen.
    pub never: Option<PatternSpec>,
    /// A fact that must be seen so often.
    pub count: Option<CountSpec>,
    /// Facts that must be seen in that order.
    pub order: Option<Vec<PatternSpec>>,
    /// By when, such as `2 refreshes`, `3 rounds` or `10s`.
    #[serde(default, deserialize_with = "parsed")]
    pub within: Option<Bound>,
    /// How long it must stay true, such as `1 refresh`.
    #[serde(default, deserialize_with = "parsed")]
    pub stays: Option<Bound>,
    /// State predicates only: true at every moment of the step, not just in the end.
    #[serde(default)]
    pub always: bool,
    /// Why it must be so.
    pub why: String,
}

/// One row of published capacity.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowSpec {
    /// capacity; unset: the field is absent. `nothing` as the whole row: no object, or one that offers nothing.
    pub capacity: Option<Size>,
    /// maximumVolumeSize; unset: the field is absent.
    pub maximum: Option<Size>,
    /// Nothing is offered here: no object, capacity unset, or zero (KEP-1472, comment of the type).
    #[serde(skip)]
    pub nothing: bool,
}

impl FromShort for RowSpec {
    const EXPECTING: &'static str = "a size such as 100Gi, `nothing`, or a map with `capacity`, `maximum`";
    fn from_short(text: &str) -> Result<Self, String> {
        if text == "nothing" {
            return Ok(RowSpec {
                capacity: None,
                maximum: None,
                nothing: true,
            });
        }
        if text == "none" {
            return Err("`none` says where a pod is not; write `nothing` for no capacity".to_owned());
        }
        Ok(RowSpec {
            capacity: Some(Size::parse(text)?),
            maximum: None,
            nothing: false,
        })
    }
}

/// Where a pod must be.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlaceSpec {
    /// Any of these nodes; empty: the pod is refused and stays without a node.
    pub nodes: Vec<String>,
    /// Any node at all.
    #[serde(skip)]
    pub any: bool,
}

impl FromShort for PlaceSpec {
    const EXPECTING: &'static str = "a node name, a list of them, `any`, or `none`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(match text {
            "any" => PlaceSpec {
                nodes: Vec::new(),
                any: true,
            },
            "none" => PlaceSpec {
                nodes: Vec::new(),
                any: false,
            },
            node => PlaceSpec {
                nodes: vec![node.to_owned()],
                any: false,
            },
        })
    }

    fn from_list(list: Vec<String>) -> Result<Self, String> {
        Ok(PlaceSpec {
            nodes: list,
            any: false,
        })
    }
}

/// The state a claim must be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// status.phase is Bound.
    Bound,
    /// It exists and is not bound.
    Pending,
    /// It does not exist.
    Absent,
}

/// Objects that must, or must not, be there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectSpec {
    /// Plural resource name, such as `csistoragecapacities`.
    pub resource: String,
    /// metadata.name; unset: any.
    pub name: Option<String>,
    /// Only objects that contain this.
    #[serde(default)]
    pub having: Value,
    /// What each selected object must contain.
    #[serde(default)]
    pub fields: Value,
    /// How many objects must be selected; unset: at least one.
    pub count: Option<usize>,
}

/// A kind of fact: a write to the API, any request, or a CSI call.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatternSpec {
    /// `<create|update|delete> <resource>`, as committed by the API server.
    pub write: Option<String>,
    /// `<verb> <resource>`, as sent, whatever the answer; verbs are joined by `|`, and `*` stands for any verb, or any resource.
    pub request: Option<String>,
    /// `<create|update|delete> <resource>`, as a watch delivered it.
    pub delivery: Option<String>,
    /// A CSI method, or `*` for any.
    pub call: Option<String>,
    /// A call of an extender: `filter`, `prioritize` or `bind`.
    pub extender: Option<String>,
    /// Part of the text of a fault that a request met, such as `status 503: create csistoragecapacities`.
    pub fault: Option<String>,
    /// Part of a line that a system logs, at whatever level it does by itself.
    pub log: Option<String>,
    /// metadata.name of the object; of the pod, for an extender.
    pub name: Option<String>,
    /// Writes only: of objects that contain this.
    #[serde(default)]
    pub having: Value,
    /// Only by that role. Unset: by any system under test, not by the harness.
    pub by: Option<Role>,
    /// Only by, or to, the instance on that node; of an extender: only calls about that node.
    pub node: Option<String>,
    /// Calls only: for that segment; of CreateVolume, the one that is preferred.
    pub segment: Option<String>,
    /// Calls, requests and extenders only: answered with that code, such as `OK`, `"404"`, or an extender's `ERROR`.
    pub code: Option<String>,
    /// Requests and writes only: by the harness, in the actions of the step, instead of a system under test.
    #[serde(default)]
    pub harness: bool,
    /// Requests only: in that version, such as `storage.k8s.io/v1`.
    pub version: Option<String>,
    /// GetCapacity and CreateVolume only: with exactly these volume capabilities, such as `mount SINGLE_NODE_WRITER`; a dash stands for
    /// what one does not say.
    pub capabilities: Option<Vec<String>>,
    /// Calls only: with exactly these parameters.
    pub parameters: Option<BTreeMap<String, String>>,
    /// CreateVolume only: with that required_bytes.
    pub required: Option<Size>,
    /// GetCapacity only: answered with that minimum_volume_size.
    pub minimum: Option<Size>,
    /// Calls only: with secrets of exactly these names; their values are never kept.
    pub secrets: Option<Vec<String>>,
    /// CreateVolume only: with exactly these mutable_parameters.
    pub mutable: Option<BTreeMap<String, String>>,
    /// CreateVolume only: whether a copy of a volume is wanted.
    pub copy: Option<bool>,
    /// CreateVolume only: the volume was made in that segment, wherever it was asked for.
    pub placed: Option<String>,
    /// `never` only: the window starts with this fact. If it is not seen, the case fails for lack of evidence.
    pub after: Option<Box<PatternSpec>>,
}

/// How often a fact must be seen in the step.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CountSpec {
    /// The fact.
    pub of: PatternSpec,
    /// At least.
    #[serde(default)]
    pub min: u64,
    /// At most.
    pub max: Option<u64>,
    /// So many more for each refresh since the step began: a busy machine makes steps longer.
    pub per_refresh: Option<f64>,
}
