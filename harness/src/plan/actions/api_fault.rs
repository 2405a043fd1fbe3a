//! The `fault` and `removeFault` actions: parses API server faults of a case into fault rules. A fault that no real API server shows must
//! be marked `illegal`.

use fake_apiserver::{Chance, Effect, Match, Rule, Verb};
use fake_csi::CutText;
use serde::{Deserialize, Serialize};

use super::Resolved;
use super::driver_fault::format_affected;
use crate::plan::Action;
use crate::plan::scope::Scope;
use crate::scenario::{Role, duration};

/// A fault of the API server. Requests of the harness and its controllers are never affected.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultSpec {
    /// Id of the fault, for `removeFault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Requests to match as `<verb> <resource>`, such as `update|patch pods`; `*` stands for any verb or any resource.
    pub api: String,
    /// Role whose requests match. Unset: requests of every program under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Role>,
    /// metadata.name of the object in matching requests. Create requests have no name, so they never match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of matching requests that pass before the first one is affected.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip: u32,
    /// Number of matching requests to affect. Unset: all until `removeFault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Affects each matching request with a probability, as in `{probability: 0.5, seed: 1}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<ChanceSpec>,
    /// HTTP status code with which the server responds instead of processing the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// With `status`: value of the Retry-After header in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// Delay before the server processes the request, such as `50ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// When to cut the connection: `before` the server processes the request, or `after` that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutText>,
    /// Ends watches: open watches immediately, and new ones after this number of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_after: Option<u32>,
    /// Delays watch events until `removeFault` (`true`), or by a duration such as `200ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<LagSpec>,
    /// Compacts the event history: a watch from an earlier revision gets status 410 (Gone).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compact: bool,
    /// Get and list requests return the state at the time of the injection: `allowed`, requests with resourceVersion 0; `always`, all
    /// requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<StaleSpec>,
    /// With another effect, such as `cut`: also kills the client when it sends a matching request, so that it does nothing further.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kill: bool,
    /// Must be `true` for a fault that no real API server shows, such as `stale: always`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub illegal: bool,
}

/// Affects each matching request with a probability. The seed makes the random choice reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChanceSpec {
    /// Probability that a matching request is affected, from 0 to 1.
    pub probability: f64,
    /// Seed of the random number generator.
    pub seed: u64,
}

/// How long a fault delays watch events.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum LagSpec {
    /// `true`: watch events are delayed until `removeFault`.
    Open(bool),
    /// Each watch event is delayed by this duration.
    For(String),
}

/// Which get and list requests return stale data.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleSpec {
    /// Requests with resourceVersion 0, which allow stale data.
    Allowed,
    /// All requests, even those that require the newest state.
    Always,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

pub(super) fn resolve(scope: &mut Scope<'_>, spec: &FaultSpec) -> Resolved {
    let rule = parse_rule(spec)?;
    let number = scope.faults.len() + 1;
    let id = spec.id.clone().unwrap_or_else(|| format!("fault {number}"));
    if !scope.faults.insert(id.clone()) {
        return Err(format!("an earlier fault has the id `{id}`; choose another `id`"));
    }
    let kills = spec.kill;
    let kill_note = if kills {
        ", and whoever meets it is killed"
    } else {
        ""
    };
    let target = [
        spec.name.as_ref().map(|name| format!(" {name}")),
        spec.by.map(|role| format!(" by the {}", role.as_str())),
    ];
    let target: String = target.into_iter().flatten().collect();
    let affected = format_affected(spec.skip, spec.times);
    let chance = spec
        .chance
        .map(|chance| format!(", with probability {}", chance.probability));
    let chance = chance.unwrap_or_default();
    let note = format!(
        "fault: {}{target}: {}{affected}{chance}{kill_note}",
        spec.api, rule.effect
    );
    Ok(vec![(Action::Fault { id, rule, kills }, note)])
}

pub(super) fn resolve_end(scope: &mut Scope<'_>, id: &str) -> Resolved {
    if !scope.faults.contains(id) {
        return Err(format!(
            "no earlier `fault` has the id `{id}`; use the `id` of an earlier fault"
        ));
    }
    Ok(vec![(
        Action::RemoveFault(id.to_owned()),
        format!("fault {id} is over"),
    )])
}

fn parse_rule(spec: &FaultSpec) -> Result<Rule, String> {
    let rule = Rule {
        on: request_match(spec)?,
        skip: spec.skip,
        times: spec.times,
        chance: spec.chance.map(|chance| Chance {
            probability: chance.probability,
            seed: chance.seed,
        }),
        effect: parse_effect(spec)?,
    };
    match (rule.is_legal(), spec.illegal) {
        (false, false) => Err(
            "no real API server behaves as this fault does; write `illegal: true` if the fault is intended"
                .to_owned(),
        ),
        (true, true) => Err("a real API server may behave as this fault does; remove `illegal`".to_owned()),
        _ => Ok(rule),
    }
}

fn request_match(spec: &FaultSpec) -> Result<Match, String> {
    let error = || {
        let verbs = Verb::ALL.map(Verb::as_str).join(", ");
        format!(
            "`{}` is not `<verb> <resource>` with verbs of {verbs}, joined by `|`, or `*`",
            spec.api
        )
    };
    let (verbs, resource) = spec.api.split_once(' ').ok_or_else(error)?;
    let known = |word: &str| Verb::ALL.into_iter().find(|known| known.as_str() == word);
    let verbs = match verbs {
        "*" => Vec::new(),
        words => words
            .split('|')
            .map(|word| known(word).ok_or_else(error))
            .collect::<Result<_, _>>()?,
    };
    Ok(Match {
        client: spec.by.map(client_pattern),
        verbs,
        resource: Some(resource.to_owned()).filter(|resource| resource != "*"),
        name: spec.name.clone(),
    })
}

/// Pattern that matches the client names of a role, such as `publisher@n1` for the publisher on node n1.
fn client_pattern(role: Role) -> String {
    format!("{}*", role.as_str())
}

fn parse_effect(spec: &FaultSpec) -> Result<Effect, String> {
    let candidates = [
        spec.status.map(|code| {
            Ok(Effect::Status {
                code,
                retry_after_seconds: spec.retry_after.unwrap_or(0),
            })
        }),
        spec.delay
            .as_ref()
            .map(|text| milliseconds(text).map(|milliseconds| Effect::Delay { milliseconds })),
        spec.cut.map(|cut| {
            Ok(match cut {
                CutText::Before => Effect::Disconnect,
                CutText::After => Effect::LoseAnswer,
            })
        }),
        spec.end_after
            .map(|after_events| Ok(Effect::EndWatch { after_events })),
        spec.lag.as_ref().map(parse_lag),
        spec.compact.then_some(Ok(Effect::Compact { revision: None })),
        spec.stale.map(|stale| {
            Ok(Effect::Stale {
                revision: None,
                consistent: matches!(stale, StaleSpec::Always),
            })
        }),
    ];
    if spec.retry_after.is_some() && spec.status.is_none() {
        return Err("`retryAfter` is allowed only with `status`; remove it".to_owned());
    }
    let mut given = candidates.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(effect), None) => effect,
        _ => Err(
            "a fault has exactly one of `status`, `delay`, `cut`, `endAfter`, `lag`, `compact`, `stale`"
                .to_owned(),
        ),
    }
}

fn parse_lag(spec: &LagSpec) -> Result<Effect, String> {
    let milliseconds = match spec {
        LagSpec::Open(true) => None,
        LagSpec::Open(false) => return Err("`lag: false` does nothing; remove it".to_owned()),
        LagSpec::For(text) => Some(milliseconds(text)?),
    };
    Ok(Effect::HoldWatch { milliseconds })
}

fn milliseconds(text: &str) -> Result<u64, String> {
    let time = duration(text)?;
    Ok(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
