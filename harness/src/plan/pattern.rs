//! Kinds of facts that expectations name, with every name resolved.

use std::collections::BTreeMap;

use serde_json::Value;

use super::vocabulary;
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
        /// As RBAC names it, or `*` for any.
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
    let given = (
        &spec.write,
        &spec.request,
        &spec.call,
        &spec.fault,
        &spec.delivery,
        &spec.extender,
        &spec.log,
    );
    let kind = match given {
        (Some(text), None, None, None, None, None, None) => {
            let (verb, resource) = verb_and_resource(text, &["create", "update", "delete"])?;
            PatternKind::Write(verb, resource)
        }
        (None, Some(text), None, None, None, None, None) => {
            let (verb, resource) = verb_and_resource(text, VERBS)?;
            let code = spec.code.as_ref().map(|code| status(code)).transpose()?;
            PatternKind::Request {
                verb,
                resource,
                code,
                version: spec.version.clone(),
            }
        }
        (None, None, Some(method), None, None, None, None) => {
            PatternKind::Call(Box::new(call(spec, method, driver)?))
        }
        (None, None, None, Some(text), None, None, None) => PatternKind::Fault(text.clone()),
        (None, None, None, None, Some(text), None, None) => {
            let (verb, resource) = verb_and_resource(text, &["create", "update", "delete"])?;
            PatternKind::Delivery(verb, resource)
        }
        (None, None, None, None, None, Some(verb), None) => extender(verb, spec.code.as_deref())?,
        (None, None, None, None, None, None, Some(text)) => PatternKind::Log(text.clone()),
        _ => {
            let one_of = "`write`, `request`, `call`, `fault`, `delivery`, `extender`, `log`";
            return Err(format!("a fact is exactly one of {one_of}"));
        }
    };
    if !spec.having.is_null() && !matches!(kind, PatternKind::Write(..)) {
        return Err("`having` belongs to `write`; remove it here".to_owned());
    }
    Ok(Pattern {
        kind,
        having: spec.having.clone(),
        name: spec.name.clone(),
        node: spec.node.clone(),
        by: spec.by,
        harness: spec.harness,
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
        Some((verb, resource)) if verbs.contains(&verb) && !resource.is_empty() => {
            Ok((verb.to_owned(), resource.to_owned()))
        }
        _ => Err(format!(
            "`{text}` is not `<verb> <resource>` with a verb of {}",
            verbs.join(", ")
        )),
    }
}
