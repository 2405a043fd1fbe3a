//! Serialized form of cost factors.

use serde::{Deserialize, Serialize};

use crate::CostFactor;

/// Cost factor: raw bytes per volume byte (`factor`) for classes with the parameter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Text")]
pub struct CostSpec(#[serde(serialize_with = "write")] pub CostFactor);

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Text {
    parameter: String,
    value: String,
    factor: Factor,
}

/// The number of a cost factor: `2`, or `3/2` if it is not an integer.
#[derive(Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "a positive whole number such as 2, or a ratio such as 3/2"
)]
enum Factor {
    Whole(u64),
    Ratio(String),
}

impl TryFrom<Text> for CostSpec {
    type Error = String;

    fn try_from(text: Text) -> Result<CostSpec, String> {
        let (numerator, denominator) = match &text.factor {
            Factor::Whole(whole) => Some((*whole, 1)),
            Factor::Ratio(ratio) => ratio
                .split_once('/')
                .and_then(|(over, under)| Some((over.trim().parse().ok()?, under.trim().parse().ok()?))),
        }
        .filter(|(over, under)| *over > 0 && *under > 0)
        .ok_or("a factor is a positive whole number such as 2, or a ratio of two such as 3/2")?;
        Ok(CostSpec(CostFactor {
            parameter: text.parameter,
            value: text.value,
            numerator,
            denominator,
        }))
    }
}

fn write<S: serde::Serializer>(cost: &CostFactor, serializer: S) -> Result<S::Ok, S::Error> {
    let text = Text {
        parameter: cost.parameter.clone(),
        value: cost.value.clone(),
        factor: Factor::Ratio(format!("{}/{}", cost.numerator, cost.denominator)),
    };
    text.serialize(serializer)
}
