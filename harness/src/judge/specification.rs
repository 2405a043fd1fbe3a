//! How a broken rule of the specification is told: as a failure like others, with rows and the first missing link.

use capacity_spec::{Violation, violation};
use capacity_types::capacity_api::RESOURCE;
use fake_csi::Method;

use crate::expectation::{
    Capacities, Chain, DiffRow, Expectation, Placement, RowState, Seen, Subject, Window, holds, row_key,
};
use crate::oracle::Demands;
use crate::plan::Case;

/// What is demanded against what there is, as explicit expectations would show it, and what they would not; with the first missing link.
pub(super) fn shown(
    window: &Window<'_>,
    demands: Demands,
    violations: &[Violation],
    seq: u64,
) -> (Vec<DiffRow>, Chain) {
    let capacities = demands.capacities.map(Capacities);
    let capacities = capacities.as_ref().map(|kind| kind as &dyn Expectation);
    let placement = Placement(demands.placement);
    let (mut shown, mut chain) = (Vec::new(), Chain::default());
    for kind in capacities.into_iter().chain([&placement as &dyn Expectation]) {
        let rows = kind.rows(window.case, window.cluster);
        if chain.links.is_empty() && !holds(&rows) {
            chain = kind.failure_chain(window, &rows, &Seen::default(), seq);
        }
        shown.extend(rows);
    }
    // Whose an object is, say, is in no row.
    for violation in violations {
        let told = subject(window, violation);
        let is_it = |it: &DiffRow| Some(&it.subject) == told.as_ref();
        if !shown.iter().any(|it| is_it(it) && it.state != RowState::Same) {
            shown.push(row(window.case, violation));
        }
    }
    if let (true, Some(violation)) = (chain.links.is_empty(), violations.first()) {
        chain = window.offence_chain(violation.rule.sentence, seq);
    }
    (shown, chain)
}

/// The row of an explicit expectation in which a violation shows; none: there is none.
fn subject(window: &Window<'_>, violation: &Violation) -> Option<Subject> {
    let violation::Subject::Object(key) = &violation.subject else {
        return Some(row(window.case, violation).subject);
    };
    let object = window.cluster.object(RESOURCE, Some(&key.namespace), &key.name)?;
    let (class, segment) = row_key(window.case, object);
    Some(Subject::Capacity { class, segment })
}

/// What is wrong as a row: the rule against what is so.
pub(super) fn row(case: &Case, violation: &Violation) -> DiffRow {
    let subject = match &violation.subject {
        violation::Subject::Pair { class, segment, .. } => Subject::Capacity {
            class: class.clone(),
            segment: case.segments.format(segment),
        },
        violation::Subject::Object(key) => Subject::Object {
            resource: RESOURCE.to_owned(),
            name: key.name.clone(),
        },
        violation::Subject::Pod(key) => Subject::Pod(key.name.clone()),
        violation::Subject::Claim(key) => Subject::Claim(key.name.clone()),
        violation::Subject::Volume(name) => Subject::Answer {
            answer: Method::CreateVolume.as_str().to_owned(),
            figure: name.clone(),
        },
        violation::Subject::Program(client) => Subject::Object {
            resource: "metrics".to_owned(),
            name: client.clone(),
        },
        violation::Subject::Settings(program) => Subject::Object {
            resource: "settings".to_owned(),
            name: program.clone(),
        },
        violation::Subject::Request(resource) => Subject::Object {
            resource: resource.clone(),
            name: "*".to_owned(),
        },
        violation::Subject::Call { segment, .. } => Subject::Answer {
            answer: Method::GetCapacity.as_str().to_owned(),
            figure: case.segments.format(segment),
        },
    };
    DiffRow {
        state: RowState::Differs,
        subject,
        want: violation.rule.sentence.to_owned(),
        got: violation.detail.clone(),
    }
}

/// What is wrong in one line: the first thing, and how many more there are.
pub(super) fn line(violations: &[Violation]) -> String {
    match violations {
        [] => String::new(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
    }
}
