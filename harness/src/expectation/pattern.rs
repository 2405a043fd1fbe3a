//! Kinds of facts that expectations name: which keys there are, whether a fact is of the kind, and the kind in words.

use std::collections::BTreeMap;

use capacity_types::quantity::format_bytes;
use serde::Deserialize;
use serde_json::Value;

use super::chain::Window;
use super::difference::first_difference;
use crate::client_name::HARNESS;
use crate::fact_display::format_map;
use crate::journal::{CallFact, ExtenderFact, Fact, What};
use crate::plan::Case;
use crate::scenario::{Role, Size};

/// A kind of fact: a write to the API, any request, or a CSI call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pattern {
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
    pub after: Option<Box<Pattern>>,
}

impl Pattern {
    /// Whether the keys fit each other, and what they name can be.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.after.is_some() {
            return Err("`after` belongs to `never`; remove it here".to_owned());
        }
        match (&self.write, &self.delivery, &self.request, &self.extender) {
            (Some(text), ..) | (_, Some(text), ..) => check_verb_and_resource(text, COMMITTED)?,
            (_, _, Some(text), _) => {
                check_verb_and_resource(text, VERBS)?;
                self.code.as_deref().map_or(Ok(()), check_status)?;
            }
            (.., Some(verb)) => check_extender(verb, self.code.as_deref())?,
            _ => {}
        }
        Ok(())
    }

    /// The key that says which kind of fact it is.
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
                Err(format!("a fact is exactly one of {one_of}"))
            }
        }
    }

    /// The plural name of the resource that it is about, without a subresource, or `*`.
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

    /// Whether it matters to it which requests there are.
    pub(crate) fn depends_on_requests(&self) -> bool {
        self.request.is_some() || self.fault.is_some() || self.log.is_some()
    }

    /// Whether the fact is of that kind.
    pub(crate) fn matches(&self, case: &Case, fact: &Fact) -> bool {
        match &fact.what {
            What::Commit(commit) => self.write.as_ref().is_some_and(|text| {
                let (verb, resource) = verb_and_resource(text);
                is_meant(verb, commit.change.verb())
                    && *commit.resource == *resource
                    && first_difference(resource, &self.having, &commit.object).is_none()
                    && self.is_named(Some(&commit.name))
                    && self.is_by(&commit.client)
            }),
            What::Request(request) => self.request.as_ref().is_some_and(|text| {
                let (verb, resource) = verb_and_resource(text);
                is_meant(verb, request.verb.as_str())
                    && (self.version.is_none() || request.version == self.version)
                    && self
                        .code
                        .as_ref()
                        .is_none_or(|code| code.parse() == Ok(request.code))
                    && is_meant(resource, &request.resource)
                    && self.is_named(request.name.as_deref())
                    && self.is_by(&request.client)
            }),
            What::Fault(fault) => self.fault.as_ref().is_some_and(|text| {
                let client = fault.client.as_deref();
                fault.to_string().contains(text.as_str()) && client.is_none_or(|client| self.is_by(client))
            }),
            What::Log(log) => {
                let text = self.log.as_ref();
                text.is_some_and(|text| log.line.contains(text.as_str())) && self.is_by(&log.client)
            }
            What::Delivery(delivery) => self.delivery.as_ref().is_some_and(|text| {
                let (verb, resource) = verb_and_resource(text);
                is_meant(verb, delivery.change.verb())
                    && *delivery.resource == *resource
                    && self.is_named(Some(&delivery.name))
                    && self.is_by(&delivery.client)
            }),
            What::Call(call) => self.call.as_ref().is_some_and(|method| {
                // Only a publisher calls the driver; an unset role needs no check.
                self.may_be_by(Role::Publisher, case)
                    && self
                        .node
                        .as_ref()
                        .is_none_or(|node| call.node.as_ref() == Some(node))
                    && is_meant(method, call.method.as_str())
                    && self.is_wanted(call)
                    && self.is_named(call.volume.as_deref())
            }),
            What::Extender(call) => self.extender.as_ref().is_some_and(|verb| {
                // Only a scheduler calls an extender; an unset role needs no check.
                self.may_be_by(Role::Scheduler, case) && self.is_called(verb, call)
            }),
            _ => false,
        }
    }

    /// Whether the role is the one that is named, if one is, and runs.
    fn may_be_by(&self, role: Role, case: &Case) -> bool {
        self.by.is_none_or(|by| by == role && case.roles.contains(&role))
    }

    fn is_called(&self, verb: &str, call: &ExtenderFact) -> bool {
        call.verb == verb
            && self
                .code
                .as_ref()
                .is_none_or(|code| (code == "OK") == call.error.is_none())
            && self.is_named(Some(&call.pod))
            && self.node.as_ref().is_none_or(|node| call.nodes.contains(node))
    }

    fn is_wanted(&self, call: &CallFact) -> bool {
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

    fn is_by(&self, client: &str) -> bool {
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

    /// The last fact of the step that is of the kind but for its answer, or for what a call carries.
    pub(super) fn instead(&self, window: &Window<'_>) -> String {
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
        let found = window.step().filter(|fact| any.matches(window.case, fact)).last();
        found.map_or_else(String::new, |fact| {
            format!("; instead: {}", crate::fact_display::format(fact))
        })
    }

    /// The pattern in words.
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
                Some("OK") => " answered well",
                Some(_) => " answered with an error",
            };
            format!("question to an extender to {verb}{answer}")
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

/// Whether a word is one of those that are named, joined by `|`; `*` names every word.
fn is_meant(named: &str, word: &str) -> bool {
    named == "*" || named.split('|').any(|named| named == word)
}

const COMMITTED: &[&str] = &["create", "update", "delete"];

/// Verbs of requests, as RBAC names them, with `*` for any.
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

/// Both parts of `<verb> <resource>`.
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
            "`{verb}` is nothing that an extender is asked; choose one of {}",
            VERBS.join(", ")
        ));
    }
    match code {
        None | Some("OK" | "ERROR") => Ok(()),
        Some(other) => Err(format!(
            "`{other}` is no answer of an extender; write `OK` or `ERROR`"
        )),
    }
}
