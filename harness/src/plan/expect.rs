//! Expectations with every name resolved.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Bound;
use super::bound;
use crate::scenario::{
    AnswerSpec, ClaimState, CountSpec, ExpectSpec, ObjectSpec, PatternSpec, PlaceSpec, Role, RowSpec, Short,
    Size,
};
use crate::segment::Segments;

/// One expectation.
#[derive(Debug, Clone)]
pub struct Expect {
    /// What must be so.
    pub predicate: Predicate,
    /// By when.
    pub within: Bound,
    /// How long it must stay so; none: until nothing is in flight any more.
    pub hold: Option<Bound>,
    /// State only: at every moment of the step.
    pub always: bool,
    /// Why it must be so.
    pub why: String,
    /// Line of the file.
    pub line: u64,
}

/// What must be so.
#[derive(Debug, Clone)]
pub enum Predicate {
    /// The publisher's objects, all of them.
    Capacities(Rows),
    /// Where pods are.
    Placement(BTreeMap<String, Place>),
    /// Claims and their state.
    Claims(BTreeMap<String, ClaimState>),
    /// Parts of objects.
    Objects(Vec<Objects>),
    /// Text of the scheduler's refusal, by pod.
    Refusal(BTreeMap<String, String>),
    /// Figures that the driver told, by the name of the answer.
    Answers(BTreeMap<String, AnswerSpec>),
    /// A fact that must not be seen, perhaps only after another.
    Never {
        /// The fact.
        of: Pattern,
        /// Where the window starts; none: with the step.
        after: Option<Box<Pattern>>,
    },
    /// A fact that must be seen so often in the step.
    Count(Count),
    /// Facts that must be seen in that order in the step.
    Order(Vec<Pattern>),
}

/// (class, segment) → row.
pub type Rows = BTreeMap<(String, String), Row>;

/// A row of published capacity, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// An object with exactly these values; none: the field is absent.
    Values {
        /// capacity.
        capacity: Option<i128>,
        /// maximumVolumeSize.
        maximum: Option<i128>,
    },
    /// No object, or one whose capacity is unset or zero: three ways to say the same.
    Nothing,
}

/// Where a pod must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On one of these nodes.
    On(Vec<String>),
    /// On some node.
    Anywhere,
    /// Refused by the scheduler, and on no node.
    Refused,
}

/// Objects that must, or must not, be there.
#[derive(Debug, Clone)]
pub struct Objects {
    /// Plural resource name.
    pub resource: String,
    /// metadata.name.
    pub name: Option<String>,
    /// Only objects that contain this.
    pub having: Value,
    /// What each of them must contain.
    pub fields: Value,
    /// How many there must be; none: at least one.
    pub count: Option<usize>,
}

/// How often a fact must be seen.
#[derive(Debug, Clone)]
pub struct Count {
    /// The fact.
    pub of: Pattern,
    /// At least.
    pub min: u64,
    /// At most.
    pub max: Option<u64>,
    /// So many more for each refresh since the step began.
    pub per_refresh: f64,
}

impl Count {
    /// How many there may be, so many refreshes after the step began.
    pub(crate) fn limit(&self, refreshes: f64) -> Option<u64> {
        // No step lasts so long that this is not exact.
        self.max.map(|max| max + (self.per_refresh * refreshes) as u64)
    }
}

/// A kind of fact.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// What kind.
    pub kind: PatternKind,
    /// Only about the object of that name.
    pub name: Option<String>,
    /// Only the instance on that node.
    pub node: Option<String>,
    /// Only by that role; none: by any system under test.
    pub by: Option<Role>,
    /// By the harness instead of a system under test.
    pub harness: bool,
}

/// What kind of fact.
#[derive(Debug, Clone)]
pub enum PatternKind {
    /// A committed change: verb, resource.
    Write(String, String),
    /// An answered request.
    Request {
        /// As RBAC spells it.
        verb: String,
        /// Plural resource name.
        resource: String,
        /// Answered with that HTTP status only.
        code: Option<u16>,
    },
    /// A fault that a request or watch met, by part of its text.
    Fault(String),
    /// A CSI call.
    Call(CallPattern),
    /// A watch event: verb, resource.
    Delivery(String, String),
    /// A question to an extender.
    Extender {
        /// filter, prioritize or bind.
        verb: String,
        /// Only those that it answered well, or only those that it did not.
        ok: Option<bool>,
    },
}

/// A kind of CSI call. What is not set does not matter.
#[derive(Debug, Clone, Default)]
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
    /// With secrets of exactly these names.
    pub secrets: Option<Vec<String>>,
    /// With exactly these mutable parameters.
    pub mutable: Option<BTreeMap<String, String>>,
    /// Whether a copy is wanted.
    pub copy: Option<bool>,
}

const DEFAULT_WITHIN: Bound = Bound::Refreshes(5);

/// Resolves one expectation. Errors are texts; the caller knows the place.
pub(super) fn expect(
    spec: &ExpectSpec,
    line: u64,
    segments: &Segments,
    polls: bool,
) -> Result<Expect, String> {
    let predicate = predicate(spec, segments)?;
    let is_state = !matches!(
        predicate,
        Predicate::Never { .. } | Predicate::Count(_) | Predicate::Order(_)
    );
    if spec.always && !is_state {
        return Err(
            "`always` belongs to a state (capacities, placement, claims, objects); remove it".to_owned(),
        );
    }
    let hold = match &spec.hold {
        Some(text) => Some(Bound::parse(text)?),
        None if polls && matches!(predicate, Predicate::Capacities(_)) => Some(Bound::Refreshes(1)),
        None => None,
    };
    let within = spec
        .within
        .as_deref()
        .map(Bound::parse)
        .transpose()?
        .unwrap_or(DEFAULT_WITHIN);
    Ok(Expect {
        predicate,
        within,
        hold,
        always: spec.always,
        why: spec.why.clone(),
        line,
    })
}

fn predicate(spec: &ExpectSpec, segments: &Segments) -> Result<Predicate, String> {
    let candidates = [
        spec.capacities.as_ref().map(|rows| capacities(rows, segments)),
        spec.placement
            .as_ref()
            .map(|pods| Ok(Predicate::Placement(places(pods)))),
        spec.claims.clone().map(|claims| Ok(Predicate::Claims(claims))),
        spec.objects
            .as_ref()
            .map(|list| Ok(Predicate::Objects(list.iter().map(objects).collect()))),
        spec.refusal.clone().map(|texts| Ok(Predicate::Refusal(texts))),
        spec.answers
            .clone()
            .map(|answers| Ok(Predicate::Answers(answers))),
        spec.never.as_ref().map(|of| never(of, segments)),
        spec.count.as_ref().map(|of| count(of, segments)),
        spec.order.as_ref().map(|list| {
            Ok(Predicate::Order(
                list.iter()
                    .map(|of| pattern(of, segments))
                    .collect::<Result<_, _>>()?,
            ))
        }),
    ];
    let mut given = candidates.into_iter().flatten();
    let one_of = "capacities, placement, claims, objects, refusal, answers, never, count, order";
    match (given.next(), given.next()) {
        (Some(only), None) => only,
        (None, _) => Err(format!("an expectation needs one of {one_of}")),
        (Some(_), Some(_)) => Err(format!("an expectation has exactly one of {one_of}; make it two")),
    }
}

fn capacities(
    spec: &BTreeMap<String, BTreeMap<String, Short<RowSpec>>>,
    segments: &Segments,
) -> Result<Predicate, String> {
    let mut rows = Rows::new();
    for (class, by_segment) in spec {
        for (segment, row) in by_segment {
            let segment = segments.spell(&segments.parse(segment)?);
            let values = Row::Values {
                capacity: row.capacity.as_ref().map(|size| size.bytes()),
                maximum: row.maximum.as_ref().map(|size| size.bytes()),
            };
            rows.insert(
                (class.clone(), segment),
                if row.nothing { Row::Nothing } else { values },
            );
        }
    }
    Ok(Predicate::Capacities(rows))
}

fn places(spec: &BTreeMap<String, Short<PlaceSpec>>) -> BTreeMap<String, Place> {
    let place = |spec: &PlaceSpec| match (spec.any, spec.nodes.is_empty()) {
        (true, _) => Place::Anywhere,
        (false, true) => Place::Refused,
        (false, false) => Place::On(spec.nodes.clone()),
    };
    spec.iter()
        .map(|(pod, spec)| (pod.clone(), place(spec)))
        .collect()
}

fn objects(spec: &ObjectSpec) -> Objects {
    Objects {
        resource: spec.resource.clone(),
        name: spec.name.clone(),
        having: spec.having.clone(),
        fields: spec.fields.clone(),
        count: spec.count,
    }
}

fn never(spec: &PatternSpec, segments: &Segments) -> Result<Predicate, String> {
    let after = spec
        .after
        .as_deref()
        .map(|after| pattern(after, segments))
        .transpose()?;
    let of = PatternSpec {
        after: None,
        ..spec.clone()
    };
    Ok(Predicate::Never {
        of: pattern(&of, segments)?,
        after: after.map(Box::new),
    })
}

fn count(spec: &CountSpec, segments: &Segments) -> Result<Predicate, String> {
    if spec.min == 0 && spec.max.is_none() {
        return Err("`count` needs `min` or `max`; without them it can't fail".to_owned());
    }
    if let Some(rate) = spec.per_refresh {
        if spec.max.is_none() {
            return Err("`perRefresh` adds to `max`; give that as well".to_owned());
        }
        if !(0.0..=1000.0).contains(&rate) {
            return Err(format!("`perRefresh` is a number from 0 to 1000, not {rate}"));
        }
    }
    Ok(Predicate::Count(Count {
        of: pattern(&spec.of, segments)?,
        min: spec.min,
        max: spec.max,
        per_refresh: spec.per_refresh.unwrap_or_default(),
    }))
}

fn pattern(spec: &PatternSpec, segments: &Segments) -> Result<Pattern, String> {
    if spec.after.is_some() {
        return Err("`after` belongs to `never`; remove it here".to_owned());
    }
    let segment = spec
        .segment
        .as_deref()
        .map(|text| segments.parse(text).map(|it| segments.spell(&it)))
        .transpose()?;
    let given = (
        &spec.write,
        &spec.request,
        &spec.call,
        &spec.fault,
        &spec.delivery,
        &spec.extender,
    );
    let kind = match given {
        (Some(text), None, None, None, None, None) => {
            let (verb, resource) = verb_and_resource(text, &["create", "update", "delete"])?;
            PatternKind::Write(verb, resource)
        }
        (None, Some(text), None, None, None, None) => {
            let (verb, resource) = verb_and_resource(text, VERBS)?;
            let code = spec.code.as_ref().map(|code| status(code)).transpose()?;
            PatternKind::Request { verb, resource, code }
        }
        (None, None, Some(method), None, None, None) => PatternKind::Call(call(spec, method, segment)),
        (None, None, None, Some(text), None, None) => PatternKind::Fault(text.clone()),
        (None, None, None, None, Some(text), None) => {
            let (verb, resource) = verb_and_resource(text, &["create", "update", "delete"])?;
            PatternKind::Delivery(verb, resource)
        }
        (None, None, None, None, None, Some(verb)) => extender(verb, spec.code.as_deref())?,
        _ => {
            let one_of = "`write`, `request`, `call`, `fault`, `delivery`, `extender`";
            return Err(format!("a fact is exactly one of {one_of}"));
        }
    };
    Ok(Pattern {
        kind,
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

fn call(spec: &PatternSpec, method: &str, segment: Option<String>) -> CallPattern {
    CallPattern {
        method: method.to_owned(),
        segment,
        code: spec.code.clone(),
        parameters: spec.parameters.clone(),
        required: spec.required.as_ref().map(Size::bytes),
        minimum: spec.minimum.as_ref().map(Size::bytes),
        secrets: spec.secrets.clone(),
        mutable: spec.mutable.clone(),
        copy: spec.copy,
    }
}

fn status(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no HTTP status; write `\"404\"`"))
}

const VERBS: &[&str] = &[
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

/// Reads a duration in a script.
pub(super) fn delay(text: &str) -> Result<std::time::Duration, String> {
    bound::duration(text)
}
