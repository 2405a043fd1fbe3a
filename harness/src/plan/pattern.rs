//! Kinds of facts that expectations name, with every name resolved.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{pattern_keys, vocabulary};
use crate::scenario::{PatternSpec, Role, Size};
use crate::segment::Segments;

/// A kind of fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// What kind.
    pub kind: PatternKind,
    /// Only about the object of that name.
    pub name: Option<String>,
    /// Only writes of objects that contain this; null: of any.
    pub having: Value,
    /// Only the instance on that node.
    pub node: Option<String>,
    /// Only by that role; none: by any system under test.
    pub by: Option<Role>,
    /// By the harness instead of a system under test.
    pub harness: bool,
}

/// What kind of fact.
#[derive(Debug, Clone, PartialEq)]
pub enum PatternKind {
    /// A committed change: verb, resource.
    Write(String, String),
    /// An answered request.
    Request {
        /// As RBAC names them, joined by `|`, or `*` for any.
        verb: String,
        /// Plural resource name, or `*` for any.
        resource: String,
        /// Answered with that HTTP status only.
        code: Option<u16>,
        /// In that version only.
        version: Option<String>,
    },
    /// A fault that a request or watch met, by part of its text.
    Fault(String),
    /// A CSI call.
    Call(Box<CallPattern>),
    /// A watch event: verb, resource.
    Delivery(String, String),
    /// A line of a log, by part of its text.
    Log(String),
    /// A call of an extender.
    Extender {
        /// filter, prioritize or bind.
        verb: String,
        /// Only those that it answered well, or only those that it did not.
        ok: Option<bool>,
    },
}

impl PatternKind {
    /// The plural name of the resource that it is about, without a subresource, or `*`.
    pub(super) fn resource(&self) -> Option<&str> {
        match self {
            PatternKind::Write(_, resource)
            | PatternKind::Delivery(_, resource)
            | PatternKind::Request { resource, .. } => resource.split('/').next(),
            PatternKind::Extender { .. } => Some("pods"),
            PatternKind::Fault(_) | PatternKind::Call(_) | PatternKind::Log(_) => None,
        }
    }
}

/// A kind of CSI call. What is not set does not matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallPattern {
    /// Method name.
    pub method: String,
    /// For that segment.
    pub segment: Option<String>,
    /// Answered with that code.
    pub code: Option<String>,
    /// With exactly these parameters.
    pub parameters: Option<BTreeMap<String, String>>,
    /// With that required_bytes.
    pub required: Option<i128>,
    /// Answered with that minimum_volume_size.
    pub minimum: Option<i128>,
    /// With exactly these volume capabilities.
    pub capabilities: Option<Vec<String>>,
    /// With secrets of exactly these names.
    pub secrets: Option<Vec<String>>,
    /// With exactly these mutable parameters.
    pub mutable: Option<BTreeMap<String, String>>,
    /// Whether a copy is wanted.
    pub copy: Option<bool>,
    /// Where the volume was made.
    pub placed: Option<String>,
}

/// What texts of expectations stand for, with the driver of the run.
#[derive(Clone, Copy)]
pub(super) struct OfDriver<'a> {
    pub(super) segments: &'a Segments,
    /// What every class has besides its own parameters.
    pub(super) parameters: &'a BTreeMap<String, String>,
}

/// Resolves one kind of fact.
pub(super) fn pattern(spec: &PatternSpec, driver: OfDriver<'_>) -> Result<Pattern, String> {
    if spec.after.is_some() {
        return Err("`after` belongs to `never`; remove it here".to_owned());
    }
    let kinds = [
        ("write", &spec.write),
        ("request", &spec.request),
        ("call", &spec.call),
        ("fault", &spec.fault),
        ("delivery", &spec.delivery),
        ("extender", &spec.extender),
        ("log", &spec.log),
    ];
    let mut given = kinds
        .iter()
        .filter_map(|(name, text)| Some((*name, text.as_deref()?)));
    let (Some((name, text)), None) = (given.next(), given.next()) else {
        let one_of = kinds.map(|(name, _)| format!("`{name}`")).join(", ");
        return Err(format!("a fact is exactly one of {one_of}"));
    };
    let kind = kind(spec, name, text, driver)?;
    pattern_keys::check(spec, name)?;
    Ok(Pattern {
        kind,
        having: spec.having.clone(),
        name: spec.name.clone(),
        node: spec.node.clone(),
        by: spec.by,
        harness: spec.harness,
    })
}

/// What kind of fact it is, by the key that names it and what stands there.
fn kind(spec: &PatternSpec, name: &str, text: &str, driver: OfDriver<'_>) -> Result<PatternKind, String> {
    const COMMITTED: &[&str] = &["create", "update", "delete"];
    Ok(match name {
        "write" => {
            let (verb, resource) = verb_and_resource(text, COMMITTED)?;
            PatternKind::Write(verb, resource)
        }
        "request" => {
            let (verb, resource) = verb_and_resource(text, VERBS)?;
            let code = spec.code.as_ref().map(|code| status(code)).transpose()?;
            PatternKind::Request {
                verb,
                resource,
                code,
                version: spec.version.clone(),
            }
        }
        "delivery" => {
            let (verb, resource) = verb_and_resource(text, COMMITTED)?;
            PatternKind::Delivery(verb, resource)
        }
        "call" => PatternKind::Call(Box::new(call(spec, text, driver)?)),
        "extender" => extender(text, spec.code.as_deref())?,
        "fault" => PatternKind::Fault(text.to_owned()),
        _ => PatternKind::Log(text.to_owned()),
    })
}

fn extender(verb: &str, code: Option<&str>) -> Result<PatternKind, String> {
    const VERBS: [&str; 3] = ["filter", "prioritize", "bind"];
    if !VERBS.contains(&verb) {
        return Err(format!(
            "`{verb}` is nothing that an extender is asked; choose one of {}",
            VERBS.join(", ")
        ));
    }
    let ok = match code {
        None => None,
        Some("OK") => Some(true),
        Some("ERROR") => Some(false),
        Some(other) => {
            return Err(format!(
                "`{other}` is no answer of an extender; write `OK` or `ERROR`"
            ));
        }
    };
    let verb = verb.to_owned();
    Ok(PatternKind::Extender { verb, ok })
}

fn call(spec: &PatternSpec, method: &str, driver: OfDriver<'_>) -> Result<CallPattern, String> {
    if method != "*" {
        vocabulary::method(method)?;
    }
    spec.code.as_deref().map(vocabulary::code).transpose()?;
    let segment = |text: &Option<String>| {
        let text = text.as_deref();
        text.map(|text| driver.segments.parse(text).map(|it| driver.segments.format(&it)))
            .transpose()
    };
    let with_needed = |own: &BTreeMap<String, String>| {
        let needed = driver.parameters.clone().into_iter();
        own.clone().into_iter().chain(needed).collect()
    };
    Ok(CallPattern {
        method: method.to_owned(),
        segment: segment(&spec.segment)?,
        code: spec.code.clone(),
        parameters: spec.parameters.as_ref().map(with_needed),
        required: spec.required.as_ref().map(Size::bytes),
        minimum: spec.minimum.as_ref().map(Size::bytes),
        capabilities: spec.capabilities.clone(),
        secrets: spec.secrets.clone(),
        mutable: spec.mutable.clone(),
        copy: spec.copy,
        placed: segment(&spec.placed)?,
    })
}

fn status(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no HTTP status; write `\"404\"`"))
}

/// What a request is, with `*` for any.
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

fn verb_and_resource(text: &str, verbs: &[&str]) -> Result<(String, String), String> {
    match text.split_once(' ') {
        Some((verb, resource))
            if verb.split('|').all(|verb| verbs.contains(&verb)) && !resource.is_empty() =>
        {
            Ok((verb.to_owned(), resource.to_owned()))
        }
        _ => Err(format!(
            "`{text}` is not `<verb> <resource>` with verbs of {}, joined by `|`",
            verbs.join(", ")
        )),
    }
}
