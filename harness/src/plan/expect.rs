//! Expectations with every name resolved.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::Bound;
use super::group_resource::GroupResource;
use super::pattern::{OfDriver, Pattern, pattern};
use crate::exposition::Series;
use crate::scenario::{
    Amounts, AnswerSpec, ClaimState, CountSpec, ExpectSpec, ObjectSpec, PatternSpec, PlaceSpec, Role,
    RowSpec, Short, Speaker,
};
use crate::segment::Segments;

/// One expectation.
#[derive(Debug, Clone, PartialEq)]
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

impl Expect {
    /// Whether it says of anything that it does not happen, or happens no more. Silence counts for it only once the systems have seen
    /// what the step has changed.
    pub fn is_negative(&self) -> bool {
        if self.always {
            // An explicit hold says how long "always" is; the step may be one that must not last.
            return self.hold.is_none();
        }
        match &self.predicate {
            Predicate::Placement(pods) => pods.values().any(|place| *place == Place::Refused),
            Predicate::Claims(claims) => claims.values().any(|state| *state != ClaimState::Bound),
            // A figure may change with the next refresh; where the publisher makes some, they are held for one anyway.
            Predicate::Capacities(_) => self.hold.is_none(),
            // How many there are at the most, and what each of them says.
            Predicate::Objects(list) => list.iter().any(|objects| objects.count.is_some()),
            // A pod is refused before it is placed.
            Predicate::Refusal(_) | Predicate::Never { .. } | Predicate::Specification => true,
            Predicate::Count(count) => count.max.is_some(),
            Predicate::Metrics(list) => list.iter().any(|metric| !metric.want.only_grow()),
            Predicate::Answers(_) | Predicate::Served(_) | Predicate::Ends(_) | Predicate::Order(_) => false,
        }
    }
}

/// What must be so.
#[derive(Debug, Clone, PartialEq)]
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
    /// Figures that the driver answered, by the name of the answer.
    Answers(BTreeMap<String, AnswerSpec>),
    /// The versions in which the API server serves resources, the preferred one first.
    Served(BTreeMap<GroupResource, Vec<String>>),
    /// What metrics say.
    Metrics(Vec<Metric>),
    /// Words with which a role ends by itself in the step.
    Ends(BTreeMap<Role, String>),
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
    /// All that the specification demands of objects and pods, once everything is quiet.
    Specification,
}

impl Predicate {
    /// The kinds of facts that it speaks of.
    pub(crate) fn patterns(&self) -> Vec<&Pattern> {
        match self {
            Predicate::Never { of, after } => after.iter().map(|after| &**after).chain([of]).collect(),
            Predicate::Count(count) => vec![&count.of],
            Predicate::Order(list) => list.iter().collect(),
            _ => Vec::new(),
        }
    }
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

impl Place {
    /// Whether a pod that is on that node is where it must be.
    pub fn allows(&self, node: &str) -> bool {
        match self {
            Place::On(nodes) => nodes.iter().any(|wanted| wanted == node),
            Place::Anywhere => true,
            Place::Refused => false,
        }
    }
}

/// Objects that must, or must not, be there.
#[derive(Debug, Clone, PartialEq)]
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

/// What a sum of series must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Whose metrics.
    pub of: Speaker,
    /// The series that are added up: all that have this name and at least these labels.
    pub series: Series,
    /// What the sum must be.
    pub want: Amounts,
}

/// How often a fact must be seen.
#[derive(Debug, Clone, PartialEq)]
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

const DEFAULT_WITHIN: Bound = Bound::Refreshes(5);

/// So long a program may keep the objects of a driver that is not registered any more, and may come back.
const GRACE: Bound = Bound::Time(Duration::from_secs(10));

/// Resolves one expectation. Errors are texts; the caller knows the place.
pub(super) fn expect(
    spec: &ExpectSpec,
    line: u64,
    driver: OfDriver<'_>,
    polls: bool,
) -> Result<Expect, String> {
    let predicate = predicate(spec, driver)?;
    if spec.why.trim().is_empty() {
        return Err("`why` is empty; say why it must be so, for whoever reads the failure".to_owned());
    }
    let is_state = !matches!(
        predicate,
        Predicate::Never { .. }
            | Predicate::Count(_)
            | Predicate::Order(_)
            | Predicate::Served(_)
            | Predicate::Metrics(_)
            | Predicate::Ends(_)
    );
    if spec.always && !is_state {
        return Err(
            "`always` belongs to a state (capacities, placement, claims, objects); remove it".to_owned(),
        );
    }
    let hold = match &spec.stays {
        Some(bound) => Some(*bound),
        None if polls && matches!(predicate, Predicate::Capacities(_)) => Some(Bound::Refreshes(1)),
        None => None,
    };
    let within = spec.within.unwrap_or(DEFAULT_WITHIN);
    Ok(Expect {
        predicate,
        within,
        hold,
        always: spec.always,
        why: spec.why.clone(),
        line,
    })
}

/// What the specification demands of a step that begins at this line. `grace`: whether programs may wait for a driver to come back.
pub(super) fn specification(line: u64, grace: bool) -> Expect {
    Expect {
        predicate: Predicate::Specification,
        within: if grace { GRACE } else { DEFAULT_WITHIN },
        hold: None,
        always: false,
        why: "the specification demands it".to_owned(),
        line,
    }
}

fn predicate(spec: &ExpectSpec, driver: OfDriver<'_>) -> Result<Predicate, String> {
    let candidates = [
        spec.capacities
            .as_ref()
            .map(|rows| capacities(rows, driver.segments)),
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
        spec.served.as_ref().map(served),
        spec.metrics.as_ref().map(metrics),
        spec.ends.clone().map(|roles| Ok(Predicate::Ends(roles))),
        spec.never.as_ref().map(|of| never(of, driver)),
        spec.count.as_ref().map(|of| count(of, driver)),
        spec.order.as_ref().map(|list| {
            Ok(Predicate::Order(
                list.iter()
                    .map(|of| pattern(of, driver))
                    .collect::<Result<_, _>>()?,
            ))
        }),
    ];
    let mut given = candidates.into_iter().flatten();
    let one_of = "capacities, placement, claims, objects, refusal, answers, served, metrics, ends, never, count, order";
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
            let segment = segments.format(&segments.parse(segment)?);
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

fn served(spec: &BTreeMap<String, Vec<String>>) -> Result<Predicate, String> {
    let mut wanted = BTreeMap::new();
    for (text, versions) in spec {
        wanted.insert(text.parse()?, versions.clone());
    }
    if wanted.is_empty() {
        return Err("`served` names no resource, so it could not fail; name one".to_owned());
    }
    Ok(Predicate::Served(wanted))
}

fn metrics(spec: &BTreeMap<Speaker, BTreeMap<String, Short<Amounts>>>) -> Result<Predicate, String> {
    let mut list = Vec::new();
    for (of, by_series) in spec {
        for (text, want) in by_series {
            list.push(Metric {
                of: *of,
                series: Series::try_from(text.clone())?,
                want: want.0.clone(),
            });
        }
    }
    if list.is_empty() {
        return Err("`metrics` names no series, so it could not fail; name one".to_owned());
    }
    Ok(Predicate::Metrics(list))
}

fn never(spec: &PatternSpec, driver: OfDriver<'_>) -> Result<Predicate, String> {
    let after = spec
        .after
        .as_deref()
        .map(|after| pattern(after, driver))
        .transpose()?;
    let of = PatternSpec {
        after: None,
        ..spec.clone()
    };
    Ok(Predicate::Never {
        of: pattern(&of, driver)?,
        after: after.map(Box::new),
    })
}

fn count(spec: &CountSpec, driver: OfDriver<'_>) -> Result<Predicate, String> {
    if spec.min == 0 && spec.max.is_none() {
        return Err("`count` needs `min` or `max`; without them it can't fail".to_owned());
    }
    if let Some(max) = spec.max.filter(|max| *max < spec.min) {
        let min = spec.min;
        return Err(format!(
            "`min` {min} is above `max` {max}, so it could not hold; swap or correct them"
        ));
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
        of: pattern(&spec.of, driver)?,
        min: spec.min,
        max: spec.max,
        per_refresh: spec.per_refresh.unwrap_or_default(),
    }))
}
