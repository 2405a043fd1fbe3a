//! What the driver answered, against what must hold between its figures. Knows no driver, and no figure but by its name.

use std::collections::BTreeMap;

use capacity_types::quantity::format_bytes;
use serde_json::Value;

use super::rows::{DiffRow, Offer, RowState, Subject, is_managed, row_key};
use crate::cluster_state::ClusterState;
use crate::journal::AnswerFact;
use crate::plan::{PUBLISHED, Plan};
use crate::scenario::{AnswerSpec, Comparison, Expression, Relation, Relations};

/// A row for each figure.
pub(super) fn rows(
    plan: &Plan,
    cluster: &ClusterState,
    wanted: &BTreeMap<String, AnswerSpec>,
) -> Vec<DiffRow> {
    let of_answer = |(name, figures): (&String, &AnswerSpec)| {
        let rows = figures
            .iter()
            .map(|(figure, relations)| row(plan, cluster, (name, figure), relations));
        rows.collect::<Vec<_>>()
    };
    wanted.iter().flat_map(of_answer).collect()
}

fn row(plan: &Plan, cluster: &ClusterState, (name, figure): (&str, &str), wanted: &Relations) -> DiffRow {
    let answer = cluster.answer(name).map(|(_, answer)| answer);
    let got = answer.and_then(|answer| figure_of(answer, figure));
    let text = |other: &str, figure: &str| {
        let (_, answer) = cluster.answer(other)?;
        Some(figure_of(answer, figure)?.as_str()?.to_owned())
    };
    let lookup = |other: &str, figure: &str| match (other, answer) {
        (PUBLISHED, Some(answer)) => published(plan, cluster, answer, figure),
        _ => {
            let (_, answer) = cluster.answer(other)?;
            figure_of(answer, figure)?.as_i64().map(i128::from)
        }
    };
    let holds = answer.is_some()
        && wanted
            .any
            .iter()
            .any(|it| match same_text(it, got.as_ref(), text) {
                Some(same) => same,
                None => it.holds(got.as_ref(), &lookup),
            });
    let state = match (holds, answer) {
        (true, _) => RowState::Same,
        (false, Some(_)) => RowState::Differs,
        (false, None) => RowState::Missing,
    };
    let want: Vec<String> = wanted.any.iter().map(|it| format(it, text, &lookup)).collect();
    DiffRow {
        state,
        subject: Subject::Answer {
            answer: name.to_owned(),
            figure: figure.to_owned(),
        },
        want: want.join(" or "),
        got: match (got, answer) {
            (Some(value), _) => format_value(&value),
            (None, Some(answer)) if answer.code != "OK" => format!("- ({})", answer.code),
            (None, _) => "-".to_owned(),
        },
    }
}

/// A figure of an answer; its code is one as well.
fn figure_of(answer: &AnswerFact, name: &str) -> Option<Value> {
    match name {
        "code" => Some(answer.code.clone().into()),
        _ => answer.told.get(name).cloned(),
    }
}

/// What the object for the class and segment of an answer says, in bytes.
fn published(plan: &Plan, cluster: &ClusterState, answer: &AnswerFact, figure: &str) -> Option<i128> {
    let key = (answer.class.clone()?, answer.segment.clone()?);
    let (_, object) = cluster
        .objects("csistoragecapacities")
        .find(|(_, object)| is_managed(plan, cluster, object) && row_key(plan, object) == key)?;
    let offer = Offer::of(object);
    match figure {
        "capacity" => offer.capacity,
        "maximum" => offer.maximum,
        _ => None,
    }
}

/// Whether a text is the one of another answer; none: this is not about texts.
fn same_text(
    relation: &Relation,
    got: Option<&Value>,
    text: impl Fn(&str, &str) -> Option<String>,
) -> Option<bool> {
    let Relation::Compared(Comparison::Equal, right) = relation else {
        return None;
    };
    let got = got?.as_str()?;
    let (answer, figure) = right.figure()?;
    Some(text(answer, figure).as_deref() == Some(got))
}

/// A relation, with the value of its sum where that is not plain, or with the text that it refers to, such as a volume id.
fn format(
    relation: &Relation,
    text: impl Fn(&str, &str) -> Option<String>,
    lookup: &impl Fn(&str, &str) -> Option<i128>,
) -> String {
    if let Relation::Compared(Comparison::Equal, right) = relation
        && let Some((answer, figure)) = right.figure()
        && let Some(text) = text(answer, figure)
    {
        return format!("{relation}, {text}");
    }
    let sum = |right: &Expression| {
        let has_names = right.answers().next().is_some();
        has_names.then(|| right.value(lookup))
    };
    match relation {
        Relation::Compared(_, right) => match sum(right) {
            Some(Ok(value)) => format!("{relation}, {}", format_bytes(value)),
            Some(Err(why)) => format!("{relation}, and {why}"),
            None => relation.to_string(),
        },
        _ => relation.to_string(),
    }
}

fn format_value(value: &Value) -> String {
    match (value.as_i64(), value.as_str()) {
        (Some(number), _) => format_bytes(number.into()),
        (None, Some(text)) => text.to_owned(),
        (None, None) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(relation: &str) -> String {
        let relation = Relation::try_from(relation.to_owned()).expect("it is a relation");
        let text =
            |answer: &str, figure: &str| ((answer, figure) == ("made", "id")).then(|| "volume-1".to_owned());
        let lookup = |answer: &str, figure: &str| ((answer, figure) == ("made", "bytes")).then_some(1 << 30);
        format(&relation, text, &lookup)
    }

    #[test]
    fn a_reference_is_shown_with_the_text_or_the_size_that_it_refers_to() {
        assert_eq!(formatted("= made.id"), "= made.id, volume-1");
        assert_eq!(formatted("= made.bytes"), "= made.bytes, 1Gi");
        assert_eq!(formatted("= other.id"), "= other.id, and there is no other.id");
    }
}
