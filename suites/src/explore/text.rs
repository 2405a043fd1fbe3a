//! Writes the case file of a generated history.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use capacity_types::flow::{format_flow, scalar};
use serde_json::{Value, json};

use super::history::{History, Step};

/// YAML keys of `cluster` in output order. All other keys follow.
const CLUSTER: [&str; 15] = [
    "release",
    "gates",
    "roles",
    "mode",
    "publisher",
    "scheduler",
    "extenders",
    "metrics",
    "driver",
    "nodes",
    "classes",
    "missingClasses",
    "backend",
    "capacityObjects",
    "volumes",
];

/// Rules of the specification, by id, that a generated case does not check.
pub type ExcusedRules = BTreeSet<&'static str>;

pub(super) struct CaseHeader<'t> {
    pub(super) id: &'t str,
    pub(super) title: &'t str,
    pub(super) requirements: &'t [&'static str],
    pub(super) excused: &'t ExcusedRules,
    /// Comment lines before the case, without `#`.
    pub(super) comment: &'t [String],
}

pub(super) enum Expectations {
    /// The specification as a whole must hold.
    Specification,
    /// Explicit expectations, each with the reason for it.
    Explicit(Vec<Value>),
}

/// The case file of a history. `expected` returns the expectations for the step with this index.
pub(super) fn render_case(
    head: &CaseHeader<'_>,
    history: &History,
    mut expected: impl FnMut(usize, &Step<'_>) -> Expectations,
) -> String {
    let mut out = String::new();
    for line in head.comment {
        let _ = writeln!(out, "# {line}");
    }
    let _ = writeln!(out, "id: {}\ntitle: {}", scalar(head.id), scalar(head.title));
    if !head.requirements.is_empty() {
        let _ = writeln!(out, "requirements: {}", format_flow(&json!(head.requirements)));
    }
    if !head.excused.is_empty() {
        let _ = writeln!(out, "excusedRules: {}", format_flow(&json!(head.excused)));
    }
    out.push_str("cluster:\n");
    cluster(&mut out, history);
    out.push_str("steps:\n");
    for (index, step) in history.steps().enumerate() {
        let _ = writeln!(out, "  - id: step-{}", index + 1);
        if !step.events.is_empty() {
            out.push_str("    do:\n");
        }
        for event in step.events {
            let _ = writeln!(out, "      - {}", format_flow(&event.action()));
        }
        match expected(index, &step) {
            Expectations::Specification => out.push_str("    expect: specification\n"),
            Expectations::Explicit(list) => {
                out.push_str("    expect:\n");
                list.iter()
                    .for_each(|expectation| render_expectation(&mut out, expectation));
            }
        }
    }
    out
}

fn render_expectation(out: &mut String, expectation: &Value) {
    let rank = |key: &str| match key {
        "why" => 2,
        "within" | "stays" | "always" => 1,
        _ => 0,
    };
    let mut fields: Vec<_> = expectation.as_object().into_iter().flatten().collect();
    // Order of the fields: the expectation, its time limit, its reason.
    fields.sort_by_key(|(key, _)| rank(key));
    let mut sign = '-';
    for (key, value) in fields {
        let _ = writeln!(out, "      {sign} {key}: {}", format_flow(value));
        sign = ' ';
    }
}

fn cluster(out: &mut String, history: &History) {
    let mut parts = json!(history.cluster);
    let missing = history.missing_classes();
    if !missing.is_empty() {
        parts["missingClasses"] = json!(missing);
    }
    let mut fields: Vec<_> = parts.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(key, _)| {
        CLUSTER
            .iter()
            .position(|known| known == key)
            .unwrap_or(CLUSTER.len())
    });
    for (key, value) in fields {
        match value {
            Value::Array(items) if items.iter().all(Value::is_object) => {
                let _ = writeln!(out, "  {key}:");
                for item in items {
                    let _ = writeln!(out, "    - {}", format_flow(item));
                }
            }
            value => {
                let _ = writeln!(out, "  {key}: {}", format_flow(value));
            }
        }
    }
}
