//! Presents violations of the specification like failed expectations, with rows of expected and actual values and a causal chain.

use capacity_spec::{Violation, violation};
use capacity_types::capacity_api::RESOURCE;
use fake_csi::Method;

use crate::expectation::{
    Capacities, Chain, DiffRow, Expectation, ObservationState, Placement, RowState, Subject, Window,
    all_rows_match, row_key,
};
use crate::oracle::RequiredState;
use crate::plan::Case;

/// The rows of the equivalent explicit expectations, a row for each violation that these rows do not show, and the causal chain.
pub(super) fn rows_and_chain(
    window: &Window<'_>,
    demands: RequiredState,
    violations: &[Violation],
    seq: u64,
) -> (Vec<DiffRow>, Chain) {
    let capacities = demands.capacities.map(Capacities);
    let capacities = capacities.as_ref().map(|kind| kind as &dyn Expectation);
    let placement = Placement(demands.placement);
    let (mut shown, mut chain) = (Vec::new(), Chain::default());
    for kind in capacities.into_iter().chain([&placement as &dyn Expectation]) {
        let rows = kind.rows(window.case, window.cluster);
        if chain.links.is_empty() && !all_rows_match(&rows) {
            chain = kind.failure_chain(window, &rows, &ObservationState::default(), seq);
        }
        shown.extend(rows);
    }
    // Explicit expectations have no row for some violations, such as a wrong owner reference.
    for violation in violations {
        let row_subject = subject(window, violation);
        let is_row_of = |it: &DiffRow| Some(&it.subject) == row_subject.as_ref();
        if !shown.iter().any(|it| is_row_of(it) && it.state != RowState::Same) {
            shown.push(row(window.case, violation));
        }
    }
    if let (true, Some(violation)) = (chain.links.is_empty(), violations.first()) {
        chain = window.violation_chain(violation.rule.sentence, seq);
    }
    (shown, chain)
}

/// The object or value in the row for a violation. None if the object no longer exists.
fn subject(window: &Window<'_>, violation: &Violation) -> Option<Subject> {
    let violation::Subject::Object(key) = &violation.subject else {
        return Some(row(window.case, violation).subject);
    };
    let object = window.cluster.object(RESOURCE, Some(&key.namespace), &key.name)?;
    let (class, segment) = row_key(window.case, object);
    Some(Subject::Capacity { class, segment })
}

/// A violation as a row: the expected value is the sentence of the rule, the actual value is the state in the cluster.
pub(super) fn row(case: &Case, violation: &Violation) -> DiffRow {
    let subject = match &violation.subject {
        violation::Subject::ClassAndSegment { class, segment, .. } => Subject::Capacity {
            class: class.clone(),
            segment: case.segments.format(segment),
        },
        violation::Subject::Object(key) => Subject::Object {
            resource: RESOURCE.to_owned(),
            name: key.name.clone(),
        },
        violation::Subject::Pod(key) => Subject::Pod(key.name.clone()),
        violation::Subject::Claim(key) => Subject::Claim(key.name.clone()),
        violation::Subject::Volume(name) => Subject::ResponseField {
            response: Method::CreateVolume.as_str().to_owned(),
            field: name.clone(),
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
        violation::Subject::Call { segment, .. } => Subject::ResponseField {
            response: Method::GetCapacity.as_str().to_owned(),
            field: case.segments.format(segment),
        },
    };
    DiffRow {
        state: RowState::Differs,
        subject,
        want: violation.rule.sentence.to_owned(),
        got: violation.detail.clone(),
    }
}

/// Formats violations in one line: the first violation, and the number of further violations.
pub(super) fn format_violations(violations: &[Violation]) -> String {
    match violations {
        [] => String::new(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
    }
}
