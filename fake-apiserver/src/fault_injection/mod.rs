//! Fault injection: a table of rules that decides which requests and watches fail.
//!
//! Owns matching and counting. The table is part of the store's state, so rules, watches and writes are ordered by one lock. The table only
//! decides the effect of a fault; `http` and `store` carry it out: they refuse, delay or disconnect.

mod applied;
mod refusal;
mod rule;

pub use applied::AppliedFault;
pub use rule::{Chance, Effect, Match, Rule, RuleError, RuleId};

use crate::machinery::status::Status;
use crate::request::{ResourcePath, Verb};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use refusal::refusal;
use std::time::Duration;

const RULES_MAX: usize = 1024;

/// A fault rule in use, with its counters.
#[derive(Clone, Debug, PartialEq)]
pub struct InstalledRule {
    /// Id with which the rule can be removed.
    pub id: RuleId,
    /// The installed fault rule. If its effect has no revision, the revision at installation is filled in.
    pub rule: Rule,
    /// Whether a real API server may behave like the effect of the fault rule ([`Rule::is_legal`]).
    pub legal: bool,
    /// Number of requests and watches that the fault rule selected, including skipped ones, until `times` was reached.
    pub matched: u64,
    /// Number of selected requests and watches to which the fault rule was applied.
    pub applied: u64,
}

/// The fault rules of a server. This crate's server applies them itself; a proxy in front of another API server applies what this table
/// decides.
#[derive(Default)]
pub struct Rules {
    entries: Vec<RuleEntry>,
    last: u64,
}

struct RuleEntry {
    id: RuleId,
    rule: Rule,
    matched: u64,
    applied: u64,
    rng: Option<StdRng>,
}

/// The attributes of a request that fault rules match.
pub struct RequestAttributes<'a> {
    /// Client name, as in `ApiServer::add_client`.
    pub client: &'a str,
    /// Selects the rules for this verb or for all verbs.
    pub verb: Verb,
    /// The resource in the path; `None` for non-resource paths.
    pub resource: Option<&'a ResourcePath>,
    /// The `resourceVersion` parameter of a get or list.
    pub revision: &'a str,
}

/// What the fault rules together do to one request.
#[derive(Default)]
pub struct RequestEffect {
    /// Delay before the request is processed.
    pub delay: Duration,
    /// The fault that replaces normal processing, if any.
    pub action: Option<FaultAction>,
}

/// A fault that replaces normal processing of a request.
pub enum FaultAction {
    /// Respond with this error and do not process the request.
    Refuse(Status),
    /// Close the connection before the request is processed.
    Disconnect,
    /// Execute the request, and close the connection instead of responding.
    LoseAnswer,
    /// Process the request, but read the state at this revision.
    Stale(u64),
}

/// What a fault rule does to one watch.
pub enum WatchEffect {
    /// End the watch after this number of events.
    EndAfter(u32),
    /// Deliver no events until the fault rule is removed, or for this duration.
    Hold(RuleId, Option<Duration>),
}

impl Rules {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Installs a fault rule.
    ///
    /// Errors if the fault rule is invalid, or if too many rules are installed.
    pub fn install(&mut self, rule: Rule) -> Result<RuleId, RuleError> {
        rule.check()?;
        if self.entries.len() >= RULES_MAX {
            return Err(RuleError::TooMany(RULES_MAX));
        }
        self.last += 1;
        let id = RuleId(self.last);
        self.entries.push(RuleEntry {
            id,
            rng: rule.chance.map(|chance| StdRng::seed_from_u64(chance.seed)),
            rule,
            matched: 0,
            applied: 0,
        });
        Ok(id)
    }

    /// Removes a fault rule; returns whether a rule with this id existed.
    pub fn remove(&mut self, id: RuleId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.id != id);
        self.entries.len() < before
    }

    pub(crate) fn list(&self) -> Vec<InstalledRule> {
        let listed = |entry: &RuleEntry| InstalledRule {
            id: entry.id,
            rule: entry.rule.clone(),
            legal: entry.rule.is_legal(),
            matched: entry.matched,
            applied: entry.applied,
        };
        self.entries.iter().map(listed).collect()
    }

    /// Evaluates the rules for a request, in the order of their installation. Delays add up; the first fault other than a delay ends the
    /// evaluation.
    pub fn evaluate(&mut self, request: &RequestAttributes<'_>) -> (RequestEffect, Vec<AppliedFault>) {
        let (mut effect, mut applied) = (RequestEffect::default(), Vec::new());
        for entry in &mut self.entries {
            if !can_affect(&entry.rule.effect, request) {
                continue;
            }
            let Some(fault) = entry.apply(request) else {
                continue;
            };
            applied.push(fault);
            match action(&entry.rule.effect, request) {
                None => effect.delay += delay(&entry.rule.effect),
                action => {
                    effect.action = action;
                    break;
                }
            }
        }
        (effect, applied)
    }

    /// Evaluates the effects on watches (`EndWatch`, `HoldWatch`) when a watch starts.
    pub fn evaluate_watch(
        &mut self,
        request: &RequestAttributes<'_>,
    ) -> (Vec<WatchEffect>, Vec<AppliedFault>) {
        let affected = self
            .entries
            .iter_mut()
            .filter_map(|entry| entry.evaluate_watch(request));
        affected.unzip()
    }

    /// Evaluates a newly installed rule for a watch that is already open.
    pub fn evaluate_open_watch(
        &mut self,
        id: RuleId,
        request: &RequestAttributes<'_>,
    ) -> Option<(WatchEffect, AppliedFault)> {
        let entry = self.entries.iter_mut().find(|entry| entry.id == id)?;
        let (effect, applied) = entry.evaluate_watch(request)?;
        let effect = match effect {
            WatchEffect::EndAfter(_) => WatchEffect::EndAfter(0),
            hold @ WatchEffect::Hold(..) => hold,
        };
        Some((effect, applied))
    }

    /// Records that a fault rule was applied at installation, such as a history compaction.
    pub fn record_application(&mut self, id: RuleId) -> Option<AppliedFault> {
        let entry = self.entries.iter_mut().find(|entry| entry.id == id)?;
        entry.matched += 1;
        Some(entry.count_application(None))
    }
}

impl RuleEntry {
    fn evaluate_watch(&mut self, request: &RequestAttributes<'_>) -> Option<(WatchEffect, AppliedFault)> {
        let effect = match self.rule.effect {
            Effect::EndWatch { after_events } => WatchEffect::EndAfter(after_events),
            Effect::HoldWatch { milliseconds } => {
                WatchEffect::Hold(self.id, milliseconds.map(Duration::from_millis))
            }
            _ => return None,
        };
        Some((effect, self.apply(request)?))
    }

    /// Counts a matching request; returns the fault if the rule applies to the request.
    fn apply(&mut self, request: &RequestAttributes<'_>) -> Option<AppliedFault> {
        let Rule { on, skip, times, .. } = &self.rule;
        if !on.matches(request) || times.is_some_and(|times| self.applied >= u64::from(times)) {
            return None;
        }
        self.matched += 1;
        if self.matched <= u64::from(*skip) {
            return None;
        }
        if let (Some(chance), Some(rng)) = (self.rule.chance, &mut self.rng)
            && !rng.random_bool(chance.probability)
        {
            return None;
        }
        Some(self.count_application(Some(request)))
    }

    /// Counts one application of the fault rule; returns the fault. `request` is `None` if the rule was applied to the event history.
    fn count_application(&mut self, request: Option<&RequestAttributes<'_>>) -> AppliedFault {
        self.applied += 1;
        let path = request.and_then(|request| request.resource);
        let resource = match request {
            Some(_) => path.map(ResourcePath::combined),
            None => self.rule.on.resource.clone(),
        };
        AppliedFault {
            rule: self.id,
            client: request.map(|request| request.client.into()),
            effect: self.rule.effect.clone(),
            verb: request.map(|request| request.verb),
            resource,
            name: path.and_then(|path| path.name.clone()),
            legal: self.rule.is_legal(),
        }
    }
}

impl Match {
    fn matches(&self, request: &RequestAttributes<'_>) -> bool {
        let client = self
            .client
            .as_deref()
            .is_none_or(|wanted| match wanted.strip_suffix('*') {
                Some(start) => request.client.starts_with(start),
                None => request.client == wanted,
            });
        let verb = self.verbs.is_empty() || self.verbs.contains(&request.verb);
        client && verb && self.matches_path(request.resource)
    }

    /// Whether the resource and object name of a request match the selector, regardless of client and verb.
    pub fn matches_path(&self, path: Option<&ResourcePath>) -> bool {
        let resource = self
            .resource
            .as_deref()
            .is_none_or(|wanted| path.is_some_and(|path| is_resource(wanted, path)));
        let name = path.and_then(|path| path.name.as_ref());
        resource && self.name.as_ref().is_none_or(|wanted| name == Some(wanted))
    }
}

/// Whether a request path has the resource and subresource that a rule selects.
fn is_resource(wanted: &str, path: &ResourcePath) -> bool {
    let (resource, subresource) = match wanted.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource)),
        None => (wanted, None),
    };
    let is_it = path.resource == resource && path.subresource.as_deref() == subresource;
    is_it || (path.is_bindings() && path.affected_resource() == wanted)
}

/// Whether the effect can apply to the request: `Stale` applies to reads only, the effects on watches and event history to no request.
fn can_affect(effect: &Effect, request: &RequestAttributes<'_>) -> bool {
    match effect {
        Effect::Status { .. } | Effect::Delay { .. } | Effect::Disconnect | Effect::LoseAnswer => true,
        Effect::Stale { consistent, .. } => {
            let reads = matches!(request.verb, Verb::Get | Verb::List) && request.resource.is_some();
            reads && (request.revision == "0" || (*consistent && request.revision.is_empty()))
        }
        Effect::EndWatch { .. } | Effect::HoldWatch { .. } | Effect::Compact { .. } => false,
    }
}

/// The fault that replaces normal processing of the request; `None` for delays and for effects on watches or history.
fn action(effect: &Effect, request: &RequestAttributes<'_>) -> Option<FaultAction> {
    match *effect {
        Effect::Status {
            code,
            retry_after_seconds,
        } => Some(FaultAction::Refuse(refusal(
            code,
            retry_after_seconds,
            request.resource,
        ))),
        Effect::Disconnect => Some(FaultAction::Disconnect),
        Effect::LoseAnswer => Some(FaultAction::LoseAnswer),
        Effect::Stale { revision, .. } => Some(FaultAction::Stale(revision.unwrap_or_default())),
        _ => None,
    }
}

fn delay(effect: &Effect) -> Duration {
    match effect {
        Effect::Delay { milliseconds } => Duration::from_millis(*milliseconds),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create<'a>(client: &'a str, path: &'a ResourcePath) -> RequestAttributes<'a> {
        RequestAttributes {
            client,
            verb: Verb::Create,
            resource: Some(path),
            revision: "",
        }
    }

    fn path(resource: &str) -> ResourcePath {
        ResourcePath {
            group: String::new(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            subresource: None,
            namespace: None,
            name: None,
        }
    }

    fn unavailable() -> Effect {
        Effect::Status {
            code: 503,
            retry_after_seconds: 0,
        }
    }

    #[test]
    fn skip_and_times_limit_the_matches_to_which_a_rule_applies() {
        let mut table = Rules::default();
        let rule = Rule {
            skip: 1,
            times: Some(2),
            ..Rule::new(Match::default(), unavailable())
        };
        table.install(rule).unwrap();
        let pods = path("pods");
        let refused: Vec<bool> = (0..5)
            .map(|_| table.evaluate(&create("c", &pods)).0.action.is_some())
            .collect();
        assert_eq!(refused, [false, true, true, false, false]);
        assert_eq!(table.list()[0].applied, 2);
    }

    #[test]
    fn the_same_seed_gives_the_same_random_matches() {
        let outcomes = |seed| {
            let mut table = Rules::default();
            let rule = Rule {
                chance: Some(Chance {
                    probability: 0.5,
                    seed,
                }),
                ..Rule::new(Match::default(), unavailable())
            };
            table.install(rule).unwrap();
            let pods = path("pods");
            (0..64)
                .map(|_| table.evaluate(&create("c", &pods)).0.action.is_some())
                .collect::<Vec<bool>>()
        };
        assert_eq!(outcomes(7), outcomes(7));
        assert_ne!(outcomes(7), outcomes(8));
        assert!(outcomes(7).contains(&true) && outcomes(7).contains(&false));
    }

    #[test]
    fn clients_match_by_name_or_prefix_and_resources_by_exact_name() {
        let matches = |client: &str, resource: &str| {
            let on = Match {
                client: Some(client.to_owned()),
                resource: Some(resource.to_owned()),
                ..Match::default()
            };
            on.matches(&create("publisher@n1", &path("pods")))
        };
        assert!(matches("publisher*", "pods") && matches("publisher@n1", "pods"));
        assert!(!matches("publisher", "pods") && !matches("publisher*", "pods/binding"));
        let on = Match {
            resource: Some("pods/binding".to_owned()),
            ..Match::default()
        };
        assert!(on.matches(&create("scheduler", &path("bindings"))));
    }

    #[test]
    fn legality_depends_on_status_code_and_verbs() {
        let legal = |verbs: &[Verb], code| {
            let on = Match {
                verbs: verbs.to_vec(),
                ..Match::default()
            };
            let effect = Effect::Status {
                code,
                retry_after_seconds: 0,
            };
            Rule::new(on, effect).is_legal()
        };
        assert!(legal(&[], 503) && legal(&[Verb::Update], 409) && legal(&[Verb::Watch], 410));
        assert!(!legal(&[], 409) && !legal(&[Verb::Get], 409) && !legal(&[Verb::Create], 410));
        assert!(!legal(&[], 404) && !legal(&[], 418));
    }

    #[test]
    fn rules_round_trip_through_json_and_reject_unknown_keys() {
        let rule = Rule {
            chance: Some(Chance {
                probability: 0.25,
                seed: 3,
            }),
            ..Rule::new(
                Match::default(),
                Effect::HoldWatch {
                    milliseconds: Some(5),
                },
            )
        };
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
        assert!(serde_json::from_str::<Rule>(r#"{"effect": "disconnect", "tiems": 1}"#).is_err());
    }
}
