//! Fact patterns of expectations: their keys, whether a fact matches, and their text form.

use std::collections::BTreeMap;

use capacity_types::quantity::format_bytes;
use serde::Deserialize;
use serde_json::Value;

use super::chain::Window;
use super::difference::first_difference;
use crate::client_name::HARNESS;
use crate::fact_display::format_map;
use crate::journal::{CallFact, ExtenderFact, Fact, Observation};
use crate::plan::Case;
use crate::scenario::{Role, Size};

/// A fact pattern, which matches a write to the API, any request, a watch event, a CSI or extender call, an injected fault or a log line.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pattern {
    /// A committed write as `<verb> <resource>` with the verbs `create`, `update` and `delete`, which `|` joins, such as
    /// `create|update csistoragecapacities`.
    pub write: Option<String>,
    /// A request as `<verb> <resource>`, whatever its response. Join verbs with `|`; `*` matches any verb or resource.
    pub request: Option<String>,
    /// A watch event received by a client, as `<create|update|delete> <resource>`.
    pub delivery: Option<String>,
    /// A CSI call: the method, or `*` for any method.
    pub call: Option<String>,
    /// An extender call: `filter`, `prioritize` or `bind`.
    pub extender: Option<String>,
    /// Part of the text of an injected fault, such as `status 503: create csistoragecapacities`.
    pub fault: Option<String>,
    /// Part of a log line. Programs log at their default verbosity.
    pub log: Option<String>,
    /// metadata.name of the object; for an extender call, of the pod; for a CSI call, the name of the volume.
    pub name: Option<String>,
    /// Writes only: fields that the written object must contain.
    #[serde(default)]
    pub having: Value,
    /// The role of the client. Unset: any program under test, but not the harness.
    pub by: Option<Role>,
    /// The node of the program instance; for an extender call, the node in the request.
    pub node: Option<String>,
    /// Calls only: the topology segment; for CreateVolume, the preferred one.
    pub segment: Option<String>,
    /// Calls, requests and extender calls only: the status code, such as `OK`, `"404"`, or `ERROR` of an extender.
    pub code: Option<String>,
    /// Requests and writes only: the client is the harness (an action of the step) instead of a program under test.
    #[serde(default)]
    pub harness: bool,
    /// Requests only: the API version, such as `storage.k8s.io/v1`.
    pub version: Option<String>,
    /// GetCapacity, CreateVolume and ValidateVolumeCapabilities only: exactly these volume capabilities, such as `mount
    /// SINGLE_NODE_WRITER`; `-` stands for an unset part.
    pub capabilities: Option<Vec<String>>,
    /// Calls only: exactly these parameters.
    pub parameters: Option<BTreeMap<String, String>>,
    /// CreateVolume and ControllerExpandVolume only: the value of required_bytes.
    pub required: Option<Size>,
    /// GetCapacity only: minimum_volume_size in the response.
    pub minimum: Option<Size>,
    /// Calls only: exactly these names of secrets. Secret values are never recorded.
    pub secrets: Option<Vec<String>>,
    /// CreateVolume and ControllerModifyVolume only: exactly these mutable_parameters.
    pub mutable: Option<BTreeMap<String, String>>,
    /// CreateVolume only: whether the request has a volume_content_source (a clone or a snapshot).
    pub copy: Option<bool>,
    /// CreateVolume and ControllerExpandVolume only: the segment of the volume, which may differ from the requested one.
    pub placed: Option<String>,
    /// `never` only: a pattern for the fact that starts the forbidden window. If it does not occur, the case fails for lack of evidence.
    pub after: Option<Box<Pattern>>,
}

impl Pattern {
    /// Checks that the YAML keys of the pattern can be combined and that their values can match a fact.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.after.is_some() {
            return Err("`after` is allowed only in `never`; remove it here".to_owned());
        }
        match (&self.write, &self.delivery, &self.request, &self.extender) {
            (Some(text), ..) | (_, Some(text), ..) => check_verb_and_resource(text, WRITE_VERBS)?,
            (_, _, Some(text), _) => {
                check_verb_and_resource(text, VERBS)?;
                self.code.as_deref().map_or(Ok(()), check_status)?;
            }
            (.., Some(verb)) => check_extender(verb, self.code.as_deref())?,
            _ => {}
        }
        Ok(())
    }

    /// The YAML key that selects the kind of fact, such as `write`.
    pub(super) fn kind(&self) -> Result<&'static str, String> {
        let kinds = [
            ("write", &self.write),
            ("request", &self.request),
            ("call", &self.call),
            ("fault", &self.fault),
            ("delivery", &self.delivery),
            ("extender", &self.extender),
            ("log", &self.log),
        ];
        let mut given = kinds.iter().filter(|(_, text)| text.is_some());
        match (given.next(), given.next()) {
            (Some((name, _)), None) => Ok(name),
            _ => {
                let one_of = kinds.map(|(name, _)| format!("`{name}`")).join(", ");
                Err(format!("a pattern has exactly one of the keys {one_of}"))
            }
        }
    }

    /// Plural name of the resource, without subresource, or `*`.
    pub(crate) fn resource(&self) -> Option<&str> {
        let of_request = [&self.write, &self.delivery, &self.request]
            .into_iter()
            .flatten()
            .next();
        match of_request {
            Some(text) => verb_and_resource(text).1.split('/').next(),
            None => self.extender.as_ref().map(|_| "pods"),
        }
    }

    /// Whether the pattern matches requests, injected faults or log lines.
    pub(crate) fn depends_on_requests(&self) -> bool {
        self.request.is_some() || self.fault.is_some() || self.log.is_some()
    }

    pub(crate) fn matches(&self, case: &Case, fact: &Fact) -> bool {
        match &fact.what {
            Observation::Commit(commit) => self.write.as_ref().is_some_and(|text| {
                let (verb, resource) = verb_and_resource(text);
                contains_word(verb, commit.change.verb())
                    && *commit.resource == *resource
                    && first_difference(resource, &self.having, &commit.object).is_none()
                    && self.is_named(Some(&commit.name))
                    && self.matches_client(&commit.client)
            }),
            Observation::Request(request) => self.request.as_ref().is_some_and(|text| {
                let (verb, resource) = verb_and_resource(text);
                contains_word(verb, request.verb.as_str())
                    && (self.version.is_none() || request.version == self.version)
                    && self
                        .code
                        .as_ref()
                        .is_none_or(|code| code.parse() == Ok(request.code))
                    && contains_word(resource, &request.resource)
                    && self.is_named(request.name.as_deref())
                    && self.matches_client(&request.client)
            }),
            Observation::Fault(fault) => self.fault.as_ref().is_some_and(|text| {
                let client = fault.client.as_deref();
                fault.to_string().contains(text.as_str())
                    && client.is_none_or(|client| self.matches_client(client))
            }),
            Observation::Log(log) => {
                let text = self.log.as_ref();
                text.is_some_and(|text| log.line.contains(text.as_str())) && self.matches_client(&log.client)
            }
            Observation::Delivery(delivery) => self.delivery.as_ref().is_some_and(|text| {
                let (verb, resource) = verb_and_resource(text);
                contains_word(verb, delivery.change.verb())
                    && *delivery.resource == *resource
                    && self.is_named(Some(&delivery.name))
                    && self.matches_client(&delivery.client)
            }),
            Observation::Call(call) => self.call.as_ref().is_some_and(|method| {
                // The journal does not contain the caller of a CSI call. In a case with a publisher, each call counts as the publisher's.
                self.may_be_by(Role::Publisher, case)
                    && self
                        .node
                        .as_ref()
                        .is_none_or(|node| call.node.as_ref() == Some(node))
                    && contains_word(method, call.method.as_str())
                    && self.matches_call(call)
                    && self.is_named(call.volume.as_deref())
            }),
            Observation::Extender(call) => self.extender.as_ref().is_some_and(|verb| {
                // Only a scheduler calls extenders.
                self.may_be_by(Role::Scheduler, case) && self.matches_extender_call(verb, call)
            }),
            _ => false,
        }
    }

    /// Whether `by` is unset, or names this role and the case runs the role.
    fn may_be_by(&self, role: Role, case: &Case) -> bool {
        self.by.is_none_or(|by| by == role && case.roles.contains(&role))
    }

    fn matches_extender_call(&self, verb: &str, call: &ExtenderFact) -> bool {
        call.verb == verb
            && self
                .code
                .as_ref()
                .is_none_or(|code| (code == "OK") == call.error.is_none())
            && self.is_named(Some(&call.pod))
            && self.node.as_ref().is_none_or(|node| call.nodes.contains(node))
    }

    fn matches_call(&self, call: &CallFact) -> bool {
        fn same<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        let same_bytes = |wanted: &Option<Size>, found: Option<i64>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| found.map(i128::from) == Some(wanted.bytes()))
        };
        let details = &call.details;
        self.segment
            .as_ref()
            .is_none_or(|wanted| call.segment.as_ref() == Some(wanted))
            && same(self.code.as_ref(), &call.code)
            && same(self.parameters.as_ref(), &call.parameters)
            && same_bytes(&self.required, call.required_bytes)
            && same_bytes(&self.minimum, details.minimum)
            && same(self.capabilities.as_ref(), &details.capabilities)
            && same(self.secrets.as_ref(), &details.secrets)
            && same(self.mutable.as_ref(), &details.mutable)
            && same(self.copy.as_ref(), &details.copy_of.is_some())
            && self.placed.as_ref().is_none_or(|wanted| {
                let placed = call.placed.as_ref();
                placed.is_some_and(|placed| placed.segment.as_ref() == Some(wanted))
            })
    }

    fn is_named(&self, name: Option<&str>) -> bool {
        self.name.as_deref().is_none_or(|wanted| name == Some(wanted))
    }

    fn matches_client(&self, client: &str) -> bool {
        if self.harness {
            return client == HARNESS;
        }
        let on_node = |node: &String| client.split_once('@').is_some_and(|(_, at)| at == node);
        if !self.node.as_ref().is_none_or(on_node) {
            return false;
        }
        match (self.by, Role::of_client(client)) {
            (Some(wanted), role) => role == Some(wanted),
            (None, role) => role.is_some(),
        }
    }

    /// Describes the last fact of the step that matches the pattern when its status code and most CSI fields are ignored.
    pub(super) fn nearest_fact(&self, window: &Window<'_>) -> String {
        let mut any = self.clone();
        any.code = None;
        if any.call.is_some() {
            any = Pattern {
                call: any.call,
                segment: any.segment,
                name: any.name,
                node: any.node,
                by: any.by,
                ..Pattern::default()
            };
        } else if any.request.is_none() {
            return String::new();
        }
        let is_near = |fact: &&Fact| any.matches(window.case, fact) && !self.matches(window.case, fact);
        let found = window.step().filter(is_near).last();
        found.map_or_else(String::new, |fact| {
            format!("; instead: {}", crate::fact_display::format_fact(fact))
        })
    }

    pub(super) fn format(&self) -> String {
        let of = |text: &String| {
            let (verb, resource) = verb_and_resource(text);
            (verb.to_owned(), resource.to_owned())
        };
        let mut text = if let Some((verb, resource)) = self.write.as_ref().map(of) {
            format!("{verb} of {resource}")
        } else if let Some((verb, resource)) = self.request.as_ref().map(of) {
            let version = self.version.as_ref();
            let version = version
                .map(|version| format!(" in {version}"))
                .unwrap_or_default();
            let code = self.code.as_ref().map(|code| format!(" answered {code}"));
            format!(
                "request to {verb} {resource}{version}{}",
                code.unwrap_or_default()
            )
        } else if let Some(text) = &self.fault {
            format!("fault “{text}”")
        } else if let Some((verb, resource)) = self.delivery.as_ref().map(of) {
            format!("delivery of {verb} {resource}")
        } else if let Some(text) = &self.log {
            format!("line “{text}” in a log")
        } else if let Some(verb) = &self.extender {
            let answer = match self.code.as_deref() {
                None => "",
                Some("OK") => " answered OK",
                Some(_) => " answered with an error",
            };
            format!("extender call {verb}{answer}")
        } else {
            self.format_call()
        };
        if let Some(name) = &self.name {
            text.push_str(&format!(" named {name}"));
        }
        if !self.having.is_null() {
            text.push_str(&format!(" with {}", self.having));
        }
        if let Some(node) = &self.node {
            text.push_str(&format!(" on {node}"));
        }
        if let Some(role) = self.by {
            text.push_str(&format!(" by the {}", role.as_str()));
        }
        text
    }

    fn format_call(&self) -> String {
        let parts = [
            self.call.clone(),
            self.segment.as_ref().map(|segment| format!(" at {segment}")),
            self.parameters
                .as_ref()
                .map(|it| format!(" with {}", format_map(it))),
            self.required
                .as_ref()
                .map(|size| format!(" for {}", format_bytes(size.bytes()))),
            self.capabilities
                .as_ref()
                .map(|list| format!(" with capabilities [{}]", list.join(", "))),
            self.secrets
                .as_ref()
                .map(|names| format!(" with secrets [{}]", names.join(", "))),
            self.mutable
                .as_ref()
                .map(|it| format!(" with mutable {}", format_map(it))),
            self.copy
                .map(|copy| if copy { " of a copy" } else { " of an empty volume" }.to_owned()),
            self.minimum
                .as_ref()
                .map(|size| format!(" with minimum {}", format_bytes(size.bytes()))),
            self.placed.as_ref().map(|segment| format!(" made in {segment}")),
            self.code.as_ref().map(|code| format!(" answered {code}")),
        ];
        parts.into_iter().flatten().collect()
    }
}

/// Whether a `|`-separated list of verbs, resources or methods contains the word; `*` contains every word.
fn contains_word(named: &str, word: &str) -> bool {
    named == "*" || named.split('|').any(|named| named == word)
}

const WRITE_VERBS: &[&str] = &["create", "update", "delete"];

/// Request verbs as in RBAC, with `*` for any.
const VERBS: &[&str] = &[
    "*",
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// Splits a pattern value `<verb> <resource>`, such as `create pods`.
fn verb_and_resource(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

fn check_verb_and_resource(text: &str, verbs: &[&str]) -> Result<(), String> {
    let (verb, resource) = verb_and_resource(text);
    match verb.split('|').all(|verb| verbs.contains(&verb)) && !resource.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "`{text}` is not `<verb> <resource>` with verbs of {}, joined by `|`",
            verbs.join(", ")
        )),
    }
}

fn check_status(text: &str) -> Result<(), String> {
    match text.parse::<u16>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("`{text}` is no HTTP status; write `\"404\"`")),
    }
}

fn check_extender(verb: &str, code: Option<&str>) -> Result<(), String> {
    const VERBS: [&str; 3] = ["filter", "prioritize", "bind"];
    if !VERBS.contains(&verb) {
        return Err(format!(
            "`{verb}` is no verb of an extender; choose one of {}",
            VERBS.join(", ")
        ));
    }
    match code {
        None | Some("OK" | "ERROR") => Ok(()),
        Some(other) => Err(format!(
            "`{other}` is no result of an extender call; write `OK` or `ERROR`"
        )),
    }
}
