//! The `responses` expectation: fields of the driver's responses to calls that the case makes. Does not know the driver or the meaning of a
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
use crate::journal::HarnessCallFact;
use crate::plan::Case;
use crate::scenario::{Comparison, Expression, PUBLISHED, Relation, Relations, ResponseSpec};

/// Expected fields of driver responses, by the name that the case has given the response.
#[derive(Debug, Clone, Deserialize)]
pub struct Responses(pub BTreeMap<String, ResponseSpec>);

impl PartialEq for Responses {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Responses {
    pub(super) const EXAMPLE: &str = "responses: {NAME: {available: \">= 0\"}}";
    pub(super) const HOLDS: &str = "the driver's response to an earlier `callDriver` has these fields: a value such as `512Gi`, `absent`, a comparison \
        such as `\"= before.available - made.bytes\"`, or a list of alternatives. Each response has `code`; GetCapacity has `available`, \
        `maximum`, `minimum`, and `room` (the maximum, or else the capacity); CreateVolume has `bytes` and `id`. Sizes of two responses that \
        differ by at most 1Mi are equal, as other programs may write to a filesystem";
}

/// Names of the responses that an expectation checks, and of the responses to which its relations refer.
pub(crate) fn response_names(responses: &BTreeMap<String, ResponseSpec>) -> BTreeSet<&str> {
    let relations = responses
        .values()
        .flat_map(BTreeMap::values)
        .flat_map(|it| &it.any);
    let compared = relations.filter_map(|relation| match relation {
        Relation::Compared(_, expression) => Some(expression),
        _ => None,
    });
    let named = compared.flat_map(Expression::responses);
    named.chain(responses.keys().map(String::as_str)).collect()
}

impl Expectation for Responses {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        response_names(&self.0)
            .into_iter()
            .try_for_each(|name| names.check_response(name))
    }

    fn is_negative(&self, _: bool) -> bool {
        false
    }

    fn rows(&self, case: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let of_response = |(name, fields): (&String, &ResponseSpec)| {
            let rows = fields
                .iter()
                .map(|(field, relations)| row(case, cluster, (name, field), relations));
            rows.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_response).collect()
    }

    /// True unless a response is compared with the `PUBLISHED` CSIStorageCapacity object: received responses never change after the
    /// actions, but the object may.
    fn is_decided_by_actions(&self) -> bool {
        !response_names(&self.0).contains(PUBLISHED)
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        let Subject::ResponseField {
            response: name,
            field,
        } = &row.subject
        else {
            return Chain::default();
        };
        let mut chain = Chain::default();
        let Some((seq, response)) = window.cluster.response_of_call(name) else {
            chain.add_missing_link(format!("the driver is called for response {name}"), "never");
            return chain;
        };
        let text = format!("the driver answered {} for response {name}", response.call);
        chain.add_link(text, window.fact(*seq), "never");
        let message = response.message.as_deref().map(|text| format!(": {text}"));
        let note = format!("it is {}{}", row.got, message.unwrap_or_default());
        chain.add_missing_link(format!("{name}.{field} is {}", row.want), note);
        chain
    }
}

fn row(case: &Case, cluster: &ClusterState, (name, field): (&str, &str), wanted: &Relations) -> DiffRow {
    let response = cluster.response_of_call(name).map(|(_, response)| response);
    let got = response.and_then(|response| response_field(response, field));
    let text = |other: &str, field: &str| {
        let (_, response) = cluster.response_of_call(other)?;
        Some(response_field(response, field)?.as_str()?.to_owned())
    };
    let lookup = |other: &str, field: &str| match (other, response) {
        (PUBLISHED, Some(response)) => published_bytes(case, cluster, response, field),
        _ => {
            let (_, response) = cluster.response_of_call(other)?;
            response_field(response, field)?.as_i64().map(i128::from)
        }
    };
    let holds = response.is_some()
        && wanted
            .any
            .iter()
            .any(|it| match equals_text(it, got.as_ref(), text) {
                Some(same) => same,
                None => it.holds(got.as_ref(), &lookup),
            });
    let state = match (holds, response) {
        (true, _) => RowState::Same,
        (false, Some(_)) => RowState::Differs,
        (false, None) => RowState::Missing,
    };
    let want: Vec<String> = wanted
        .any
        .iter()
        .map(|it| format_relation(it, text, &lookup))
        .collect();
    DiffRow {
        state,
        subject: Subject::ResponseField {
            response: name.to_owned(),
            field: field.to_owned(),
        },
        want: want.join(" or "),
        got: match (got, response) {
            (Some(value), _) => format_value(&value),
            (None, Some(response)) if response.code != "OK" => format!("- ({})", response.code),
            (None, _) => "-".to_owned(),
        },
    }
}

/// A field of a driver response; for the name `code`, the status code.
fn response_field(response: &HarnessCallFact, name: &str) -> Option<Value> {
    match name {
        "code" => Some(response.code.clone().into()),
        _ => response.values.get(name).cloned(),
    }
}

/// `capacity` or `maximumVolumeSize`, in bytes, of the CSIStorageCapacity object for the class and segment of a GetCapacity call.
fn published_bytes(
    case: &Case,
    cluster: &ClusterState,
    response: &HarnessCallFact,
    field: &str,
) -> Option<i128> {
    let key = (response.class.clone()?, response.segment.clone()?);
    let (_, object) = cluster
        .objects(RESOURCE)
        .find(|(_, object)| is_managed(case, cluster, object) && row_key(case, object) == key)?;
    let values = values_of(object);
    match field {
        "capacity" => values.capacity,
        "maximum" => values.maximum,
        _ => None,
    }
}

/// Whether the string in a field equals the string in another response, as in `id: = first.id`. None if the relation compares no strings.
fn equals_text(
    relation: &Relation,
    got: Option<&Value>,
    text: impl Fn(&str, &str) -> Option<String>,
) -> Option<bool> {
    let Relation::Compared(Comparison::Equal, right) = relation else {
        return None;
    };
    let got = got?.as_str()?;
    let (response, field) = right.field()?;
    Some(text(response, field).as_deref() == Some(got))
}

/// Formats an expected relation such as `= first.id`, followed by the number or string with which the response field is compared.
fn format_relation(
    relation: &Relation,
    text: impl Fn(&str, &str) -> Option<String>,
    lookup: &impl Fn(&str, &str) -> Option<i128>,
) -> String {
    if let Relation::Compared(Comparison::Equal, right) = relation
        && let Some((response, field)) = right.field()
        && let Some(text) = text(response, field)
    {
        return format!("{relation}, {text}");
    }
    let sum = |right: &Expression| {
        let has_names = right.responses().next().is_some();
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
        let text = |response: &str, field: &str| {
            ((response, field) == ("made", "id")).then(|| "volume-1".to_owned())
        };
        let lookup =
            |response: &str, field: &str| ((response, field) == ("made", "bytes")).then_some(1 << 30);
        format_relation(&relation, text, &lookup)
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
