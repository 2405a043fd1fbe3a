//! Failures of the API server, from the case's words to rules that the server takes.

use fake_apiserver::{Chance, Effect, Match, Rule, Verb};

use fake_csi::CutText;

use super::duration;
use crate::scenario::{FaultSpec, LagSpec, Role, StaleSpec};

/// Reads the failure that a case describes.
pub(super) fn rule(spec: &FaultSpec) -> Result<Rule, String> {
    let rule = Rule {
        on: on(spec)?,
        skip: spec.skip,
        times: spec.times,
        chance: spec.chance.map(|chance| Chance {
            probability: chance.probability,
            seed: chance.seed,
        }),
        effect: effect(spec)?,
    };
    match (rule.is_legal(), spec.illegal) {
        (false, false) => Err("no real API server does this; say `illegal: true` if it is meant".to_owned()),
        (true, true) => Err("a real API server may do this; remove `illegal`".to_owned()),
        _ => Ok(rule),
    }
}

fn on(spec: &FaultSpec) -> Result<Match, String> {
    let wrong = || {
        let verbs = Verb::ALL.map(Verb::as_str).join(", ");
        format!(
            "`{}` is not `<verb> <resource>` with verbs of {verbs}, joined by `|`, or `*`",
            spec.api
        )
    };
    let (verbs, resource) = spec.api.split_once(' ').ok_or_else(wrong)?;
    let known = |word: &str| Verb::ALL.into_iter().find(|known| known.as_str() == word);
    let verbs = match verbs {
        "*" => Vec::new(),
        words => words
            .split('|')
            .map(|word| known(word).ok_or_else(wrong))
            .collect::<Result<_, _>>()?,
    };
    Ok(Match {
        client: spec.by.map(clients),
        verbs,
        resource: Some(resource.to_owned()).filter(|resource| resource != "*"),
        name: spec.name.clone(),
    })
}

/// The client names of a role: publishers of nodes are called `publisher@n1`.
fn clients(role: Role) -> String {
    format!("{}*", role.as_str())
}

fn effect(spec: &FaultSpec) -> Result<Effect, String> {
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
        spec.lag.as_ref().map(lag),
        spec.compact.then_some(Ok(Effect::Compact { revision: None })),
        spec.stale.map(|stale| {
            Ok(Effect::Stale {
                revision: None,
                consistent: matches!(stale, StaleSpec::Always),
            })
        }),
    ];
    if spec.retry_after.is_some() && spec.status.is_none() {
        return Err("`retryAfter` belongs to `status`; remove it".to_owned());
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

fn lag(spec: &LagSpec) -> Result<Effect, String> {
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
