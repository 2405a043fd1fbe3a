//! Serialized form of fault rules in files, the HTTP control and cases: one key selects the effect.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Effect, Rule};
use crate::{
    Segment,
    method::{code_from_name, code_name},
};

const DELAY_MAX: Duration = Duration::from_secs(3600);

/// A fault rule in JSON and YAML: which CSI calls it matches, and exactly one of `code`, `delay`, `hang`, `cut`, `available`, `volume` and
/// `ready`. `S` is the type of a segment, `B` that of a number of bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    bound(deserialize = "S: Deserialize<'de>, B: Deserialize<'de>")
)]
pub struct RuleText<S = Segment, B = i64> {
    /// Id of the rule, for `removeDriverFault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The CSI method, such as `GetCapacity`.
    pub method: String,
    /// Only calls for this topology segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<S>,
    /// Only calls with the parameters of this StorageClass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Only calls with these parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Number of matching calls to ignore first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip: u32,
    /// Number of calls to which the rule is applied. Unset: all until `removeDriverFault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Fail with this gRPC code, such as `UNAVAILABLE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// With `code`: the error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Delay the response by this time, such as `50ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// Never respond.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hang: bool,
    /// Cut the connection `before` the call is executed, or `after`, so that the response is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutText>,
    /// Return this available_capacity from GetCapacity; it may be negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<B>,
    /// With `available`: maximum_volume_size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<B>,
    /// With `available`: minimum_volume_size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<B>,
    /// Return these values from CreateVolume instead of the real ones, as in `{bytes: 1Gi, topology: [n2]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeOverride<S, B>>,
    /// Return this `ready` value from Probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}

/// When to cut the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutText {
    /// Before the call is executed.
    Before,
    /// After the call is executed, so that the response is lost.
    After,
}

/// Wrong values about a created volume; for an unset field, CreateVolume returns the real value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    bound(deserialize = "S: Deserialize<'de>, B: Deserialize<'de>")
)]
pub struct VolumeOverride<S = Segment, B = i64> {
    /// `capacity_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<B>,
    /// `accessible_topology`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Vec<S>>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl<S, B> RuleText<S, B> {
    /// Converts the text to a [`Rule`]. `segment` and `bytes` convert a segment and a size.
    ///
    /// Fails if a conversion fails, or if the text does not have exactly one effect.
    pub fn resolve(
        self,
        segment: impl Fn(S) -> Result<Segment, String>,
        bytes: impl Fn(B) -> Result<i64, String>,
    ) -> Result<Rule, String> {
        if self.class.is_some() {
            return Err("`class` is only supported in cases; use `parameters` here".to_owned());
        }
        let dependent = [
            ("message", self.message.is_some(), "code", self.code.is_some()),
            (
                "maximum",
                self.maximum.is_some(),
                "available",
                self.available.is_some(),
            ),
            (
                "minimum",
                self.minimum.is_some(),
                "available",
                self.available.is_some(),
            ),
        ];
        if let Some((key, _, to, _)) = dependent
            .into_iter()
            .find(|(_, is_set, _, has_parent)| *is_set && !has_parent)
        {
            return Err(format!("`{key}` requires `{to}`; add it, or remove `{key}`"));
        }
        let bytes = |size: Option<B>| size.map(&bytes).transpose();
        let effects = [
            self.code.map(|name| code(&name, self.message)).transpose()?,
            self.delay
                .map(|text| parse_delay(&text).map(Effect::Delay))
                .transpose()?,
            self.hang.then_some(Effect::Hang),
            self.cut.map(|cut| match cut {
                CutText::Before => Effect::Disconnect,
                CutText::After => Effect::LoseAnswer,
            }),
            match bytes(self.available)? {
                None => None,
                Some(available) => Some(Effect::Capacity {
                    available,
                    maximum: bytes(self.maximum)?,
                    minimum: bytes(self.minimum)?,
                }),
            },
            match self.volume {
                None => None,
                Some(volume) => Some(Effect::Volume {
                    bytes: bytes(volume.bytes)?,
                    topology: match volume.topology {
                        None => None,
                        Some(segments) => Some(segments.into_iter().map(&segment).collect::<Result<_, _>>()?),
                    },
                }),
            },
            self.ready.map(Effect::Ready),
        ];
        let mut effects = effects.into_iter().flatten();
        let (Some(effect), None) = (effects.next(), effects.next()) else {
            return Err(
                "a fault rule has exactly one of `code`, `delay`, `hang`, `cut`, `available`, `volume`, `ready`"
                    .to_owned(),
            );
        };
        Ok(Rule {
            method: self.method.parse().map_err(|error| format!("{error}"))?,
            segment: self.segment.map(&segment).transpose()?,
            parameters: self.parameters,
            skip: self.skip,
            times: self.times,
            effect,
        })
    }
}

impl TryFrom<RuleText> for Rule {
    type Error = String;

    fn try_from(text: RuleText) -> Result<Rule, String> {
        if text.id.is_some() {
            return Err("the driver assigns the id of a rule; remove `id`".to_owned());
        }
        text.resolve(Ok, Ok)
    }
}

fn code(name: &str, message: Option<String>) -> Result<Effect, String> {
    let code = code_from_name(name).ok_or_else(|| {
        format!("{name:?} is an unknown gRPC code; write it as in the CSI specification, for example RESOURCE_EXHAUSTED")
    })?;
    Ok(Effect::Code(
        code,
        message.unwrap_or_else(|| "scripted".to_owned()),
    ))
}

fn parse_delay(text: &str) -> Result<Duration, String> {
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
        .ok_or_else(|| {
            format!("{text:?} is an invalid delay; write at most one hour, for example 50ms, 2s or 1m")
        })
}

impl From<Rule> for RuleText {
    fn from(rule: Rule) -> RuleText {
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
                volume: Some(VolumeOverride { bytes, topology }),
                ..text
            },
            Effect::Ready(ready) => RuleText {
                ready: Some(ready),
                ..text
            },
        }
    }
}
