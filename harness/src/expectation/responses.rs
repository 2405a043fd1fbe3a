//! The `responses` expectation: fields of driver responses to calls that the harness made. Does not know the driver or the meaning of a
//! field.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::capacity_api::RESOURCE;
use capacity_types::quantity::format_bytes;
use serde::Deserialize;
use serde_json::Value;

use super::chain::{Chain, Window};
use super::kind::{Expectation, Names};
use super::rows::{DiffRow, RowState, Subject, is_managed, row_key, values_of};
use crate::cluster_state::ClusterState;
use crate::journal::AnswerFact;
use crate::plan::Case;
use crate::scenario::{AnswerSpec, Comparison, Expression, PUBLISHED, Relation, Relations};

/// Expected fields of driver responses, by the response's name.
#[derive(Debug, Clone, Deserialize)]
pub struct Responses(pub BTreeMap<String, AnswerSpec>);

impl PartialEq for Responses {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Responses {
    pub(super) const EXAMPLE: &str = "responses: {NAME: {available: \">= 0\"}}";
    pub(super) const HOLDS: &str = "the driver's response to an earlier `callDriver` has these field values; a plain value such as `512Gi` must be equal. Sizes \
        of two responses that differ by at most 1Mi are equal, as other programs may write to a filesystem";
}

/// Names of all responses that the expected fields refer to: the responses themselves and those they are compared with.
pub(crate) fn names_of(answers: &BTreeMap<String, AnswerSpec>) -> BTreeSet<&str> {
    let relations = answers.values().flat_map(BTreeMap::values).flat_map(|it| &it.any);
    let compared = relations.filter_map(|relation| match relation {
        Relation::Compared(_, expression) => Some(expression),
        _ => None,
    });
    let named = compared.flat_map(Expression::answers);
    named.chain(answers.keys().map(String::as_str)).collect()
}

impl Expectation for Responses {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        names_of(&self.0)
            .into_iter()
            .try_for_each(|name| names.answer(name))
    }

    fn is_negative(&self, _: bool) -> bool {
        false
    }

    fn rows(&self, case: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let of_answer = |(name, figures): (&String, &AnswerSpec)| {
            let rows = figures
                .iter()
                .map(|(figure, relations)| row(case, cluster, (name, figure), relations));
            rows.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_answer).collect()
    }

    /// A response never changes once received; published capacity objects (`PUBLISHED`) do.
    fn is_decided_by_actions(&self) -> bool {
        !names_of(&self.0).contains(PUBLISHED)
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        let Subject::Answer { answer: name, figure } = &row.subject else {
            return Chain::default();
        };
        let mut chain = Chain::default();
        let Some((seq, answer)) = window.cluster.answer(name) else {
            chain.missing(format!("the driver is called as {name}"), "never");
            return chain;
        };
        let text = format!("the driver answered {} as {name}", answer.call);
        chain.link(text, window.fact(*seq), "never");
        let message = answer.message.as_deref().map(|text| format!(": {text}"));
        let note = format!("it is {}{}", row.got, message.unwrap_or_default());
        chain.missing(format!("{name}.{figure} is {}", row.want), note);
        chain
    }
}

fn row(case: &Case, cluster: &ClusterState, (name, figure): (&str, &str), wanted: &Relations) -> DiffRow {
    let answer = cluster.answer(name).map(|(_, answer)| answer);
    let got = answer.and_then(|answer| figure_of(answer, figure));
    let text = |other: &str, figure: &str| {
        let (_, answer) = cluster.answer(other)?;
        Some(figure_of(answer, figure)?.as_str()?.to_owned())
    };
    let lookup = |other: &str, figure: &str| match (other, answer) {
        (PUBLISHED, Some(answer)) => published(case, cluster, answer, figure),
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

/// A field of a driver response, or its status code for the name `code`.
fn figure_of(answer: &AnswerFact, name: &str) -> Option<Value> {
    match name {
        "code" => Some(answer.code.clone().into()),
        _ => answer.values.get(name).cloned(),
    }
}

/// `capacity` or `maximumVolumeSize` in bytes of the published object for the class and segment of a GetCapacity call.
fn published(case: &Case, cluster: &ClusterState, answer: &AnswerFact, figure: &str) -> Option<i128> {
    let key = (answer.class.clone()?, answer.segment.clone()?);
    let (_, object) = cluster
        .objects(RESOURCE)
        .find(|(_, object)| is_managed(case, cluster, object) && row_key(case, object) == key)?;
    let values = values_of(object);
    match figure {
        "capacity" => values.capacity,
        "maximum" => values.maximum,
        _ => None,
    }
}

/// Whether a string equals the string field that the relation refers to. None if the relation does not compare strings.
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

/// Formats a relation, with the value of its expression or the string (such as a volume id) of the field that it refers to.
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
        let relation = Relation::try_from(relation.to_owned()).expect("valid relation");
        let text =
            |answer: &str, figure: &str| ((answer, figure) == ("made", "id")).then(|| "volume-1".to_owned());
        let lookup = |answer: &str, figure: &str| ((answer, figure) == ("made", "bytes")).then_some(1 << 30);
        format(&relation, text, &lookup)
    }

    #[test]
    fn a_reference_is_formatted_with_the_string_or_size_of_its_field() {
        assert_eq!(formatted("= made.id"), "= made.id, volume-1");
        assert_eq!(formatted("= made.bytes"), "= made.bytes, 1Gi");
        assert_eq!(
            formatted("= other.id"),
            "= other.id, and response other has no field id"
        );
    }
}
