//! Rules as text: one key says what happens to the calls. Does not know which rules make sense for which calls.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Effect, Rule, Segment, code_from_name, code_name};

/// Longest delay that a text may ask for: one hour.
const DELAY_MAX: Duration = Duration::from_secs(3600);

/// A rule that is read from, and written as, a [`RuleText`].
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "RuleText", into = "RuleText")]
pub struct RuleSpec(pub Rule);

/// What a text says about a rule: which calls, and exactly one of `code`, `delay`, `hang`, `cut`, `available`, `volume` and `ready`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleText {
    /// The call, such as `GetCapacity`.
    pub method: String,
    /// Only calls for that segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Segment>,
    /// Only calls with these parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Leave the first matching calls alone.
    #[serde(default)]
    pub skip: u32,
    /// Apply to so many calls; left out: to all from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Fail with that gRPC code, such as `UNAVAILABLE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// With `code`: the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Answer so much later, such as `50ms`, `2s` or `1m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// Do not answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hang: bool,
    /// Cut the connection `before` the call is carried out, or `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutText>,
    /// Answer GetCapacity with that available_capacity, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<i64>,
    /// With `available`: maximum_volume_size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<i64>,
    /// With `available`: minimum_volume_size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    /// Tell that of the volume which CreateVolume made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeLie>,
    /// Answer that to Probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}

/// When a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutText {
    /// Nothing was done.
    Before,
    /// Everything was done, and the answer is lost.
    After,
}

/// What is reported of a volume instead of the truth; what is left out is reported truly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeLie {
    /// `capacity_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// `accessible_topology`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Vec<Segment>>,
}

impl TryFrom<RuleText> for RuleSpec {
    type Error = String;

    fn try_from(text: RuleText) -> Result<RuleSpec, String> {
        let effect = effect(&text)?;
        Ok(RuleSpec(Rule {
            method: text.method.parse().map_err(|error| format!("{error}"))?,
            segment: text.segment,
            parameters: text.parameters,
            skip: text.skip,
            times: text.times,
            effect,
        }))
    }
}

fn effect(text: &RuleText) -> Result<Effect, String> {
    let belongs = [
        ("message", text.message.is_some(), "code", text.code.is_some()),
        (
            "maximum",
            text.maximum.is_some(),
            "available",
            text.available.is_some(),
        ),
        (
            "minimum",
            text.minimum.is_some(),
            "available",
            text.available.is_some(),
        ),
    ];
    if let Some((key, _, to, _)) = belongs
        .into_iter()
        .find(|(_, is_there, _, has_home)| *is_there && !has_home)
    {
        return Err(format!("`{key}` belongs to `{to}`; add that, or leave it out"));
    }
    let candidates = [
        text.code
            .as_deref()
            .map(|name| code(name, text.message.as_deref())),
        text.delay
            .as_deref()
            .map(|text| duration(text).map(Effect::Delay)),
        text.hang.then_some(Ok(Effect::Hang)),
        text.cut.map(|cut| match cut {
            CutText::Before => Ok(Effect::Disconnect),
            CutText::After => Ok(Effect::LoseAnswer),
        }),
        text.available.map(|available| {
            Ok(Effect::Capacity {
                available,
                maximum: text.maximum,
                minimum: text.minimum,
            })
        }),
        text.volume
            .clone()
            .map(|VolumeLie { bytes, topology }| Ok(Effect::Volume { bytes, topology })),
        text.ready.map(|ready| Ok(Effect::Ready(ready))),
    ];
    let mut given = candidates.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(effect), None) => effect,
        _ => Err(
            "a rule has exactly one of `code`, `delay`, `hang`, `cut`, `available`, `volume`, `ready`"
                .to_owned(),
        ),
    }
}

fn code(name: &str, message: Option<&str>) -> Result<Effect, String> {
    let code = code_from_name(name).ok_or_else(|| {
        format!("{name:?} is no gRPC code; write one as CSI does, such as RESOURCE_EXHAUSTED")
    })?;
    Ok(Effect::Code(code, message.unwrap_or("scripted").to_owned()))
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        _ => None,
    };
    milliseconds
        .zip(number.parse::<u64>().ok())
        .and_then(|(unit, number)| number.checked_mul(unit))
        .map(Duration::from_millis)
        .filter(|time| *time <= DELAY_MAX)
        .ok_or_else(|| format!("{text:?} is no delay up to an hour; write such as 50ms, 2s or 1m"))
}

impl From<RuleSpec> for RuleText {
    fn from(RuleSpec(rule): RuleSpec) -> RuleText {
        let text = RuleText {
            method: rule.method.to_string(),
            segment: rule.segment,
            parameters: rule.parameters,
            skip: rule.skip,
            times: rule.times,
            ..RuleText::default()
        };
        match rule.effect {
            Effect::Code(code, message) => RuleText {
                code: Some(code_name(code).to_owned()),
                message: Some(message),
                ..text
            },
            Effect::Delay(time) => RuleText {
                delay: Some(format!("{}ms", time.as_millis())),
                ..text
            },
            Effect::Hang => RuleText { hang: true, ..text },
            Effect::Disconnect => RuleText {
                cut: Some(CutText::Before),
                ..text
            },
            Effect::LoseAnswer => RuleText {
                cut: Some(CutText::After),
                ..text
            },
            Effect::Capacity {
                available,
                maximum,
                minimum,
            } => RuleText {
                available: Some(available),
                maximum,
                minimum,
                ..text
            },
            Effect::Volume { bytes, topology } => RuleText {
                volume: Some(VolumeLie { bytes, topology }),
                ..text
            },
            Effect::Ready(ready) => RuleText {
                ready: Some(ready),
                ..text
            },
        }
    }
}
