//! Perturbations: failures of the server on demand, decided by a table of rules.
//!
//! Owns matching and counting. The table is part of the store's state, so that rules, watches and writes are ordered by
//! one lock. Does not refuse, delay or cut anything itself: it decides the fate of a request, and others carry it out.

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

/// Rules that may be installed at a time.
const RULES_MAX: usize = 1024;

/// An installed rule and what it did so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Perturbation {
    /// Its id, for removal.
    pub id: RuleId,
    /// The rule, with the revision that it was resolved to.
    pub rule: Rule,
    /// Whether a real API server may do the same ([`Rule::is_legal`]).
    pub legal: bool,
    /// How many requests and watches matched.
    pub matched: u64,
    /// To how many of them it was applied.
    pub applied: u64,
}

/// The rules of a server. A server of its own makes use of them by itself; what stands before another server carries out what the
/// table says.
#[derive(Default)]
pub struct Rules {
    entries: Vec<Installed>,
    last: u64,
}

struct Installed {
    id: RuleId,
    rule: Rule,
    matched: u64,
    applied: u64,
    rng: Option<StdRng>,
}

/// A request as rules see it.
pub struct Asked<'a> {
    /// Name of the client.
    pub client: &'a str,
    /// The verb of the request.
    pub verb: Verb,
    /// The resource; none for paths that are no resource.
    pub resource: Option<&'a ResourcePath>,
    /// The `resourceVersion` parameter of a read.
    pub revision: &'a str,
}

/// What becomes of a request.
#[derive(Default)]
pub struct Fate {
    /// It waits so long first.
    pub delay: Duration,
    /// What happens to it instead of what it requests.
    pub blow: Option<Blow>,
}

/// What happens to a request instead of what it requests.
pub enum Blow {
    /// It is answered so.
    Refuse(Status),
    /// The connection is cut before it is looked at.
    Disconnect,
    /// It is carried out, and the connection is cut instead of an answer.
    LoseAnswer,
    /// It reads the state at a revision.
    Stale(u64),
}

/// What becomes of a watch.
pub enum WatchFate {
    /// It ends after so many events.
    EndAfter(u32),
    /// It delivers nothing until that rule is removed, or for so long.
    Hold(RuleId, Option<Duration>),
}

impl Rules {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Installs a rule.
    ///
    /// Fails when it makes no sense, or when too many are installed.
    pub fn install(&mut self, rule: Rule) -> Result<RuleId, RuleError> {
        rule.check()?;
        if self.entries.len() >= RULES_MAX {
            return Err(RuleError::TooMany(RULES_MAX));
        }
        self.last += 1;
        let id = RuleId(self.last);
        self.entries.push(Installed {
            id,
            rng: rule.chance.map(|chance| StdRng::seed_from_u64(chance.seed)),
            rule,
            matched: 0,
            applied: 0,
        });
        Ok(id)
    }

    /// Removes a rule; whether there was one.
    pub fn remove(&mut self, id: RuleId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.id != id);
        self.entries.len() < before
    }

    pub(crate) fn list(&self) -> Vec<Perturbation> {
        let listed = |entry: &Installed| Perturbation {
            id: entry.id,
            rule: entry.rule.clone(),
            legal: entry.rule.is_legal(),
            matched: entry.matched,
            applied: entry.applied,
        };
        self.entries.iter().map(listed).collect()
    }

    /// The fate of a request. Rules count in the order in which they were installed: delays add up, and the first other
    /// effect ends the search.
    pub fn meet(&mut self, asked: &Asked<'_>) -> (Fate, Vec<AppliedFault>) {
        let (mut fate, mut applied) = (Fate::default(), Vec::new());
        for entry in &mut self.entries {
            if !concerns(&entry.rule.effect, asked) {
                continue;
            }
            let Some(fault) = entry.apply(asked) else {
                continue;
            };
            applied.push(fault);
            match blow(&entry.rule.effect, asked) {
                None => fate.delay += delay(&entry.rule.effect),
                blow => {
                    fate.blow = blow;
                    break;
                }
            }
        }
        (fate, applied)
    }

    /// What becomes of a watch that begins.
    pub fn meet_watch(&mut self, asked: &Asked<'_>) -> (Vec<WatchFate>, Vec<AppliedFault>) {
        let met = self
            .entries
            .iter_mut()
            .filter_map(|entry| entry.meet_watch(asked));
        met.unzip()
    }

    /// What a rule that was just installed does to a watch that is open.
    pub fn meet_open(&mut self, id: RuleId, asked: &Asked<'_>) -> Option<(WatchFate, AppliedFault)> {
        let entry = self.entries.iter_mut().find(|entry| entry.id == id)?;
        let (fate, applied) = entry.meet_watch(asked)?;
        let fate = match fate {
            WatchFate::EndAfter(_) => WatchFate::EndAfter(0),
            hold @ WatchFate::Hold(..) => hold,
        };
        Some((fate, applied))
    }

    /// Counts the only application of a rule that acts when it is installed.
    pub fn acted(&mut self, id: RuleId) -> Option<AppliedFault> {
        let entry = self.entries.iter_mut().find(|entry| entry.id == id)?;
        entry.matched += 1;
        Some(entry.applied(None))
    }
}

impl Installed {
    fn meet_watch(&mut self, asked: &Asked<'_>) -> Option<(WatchFate, AppliedFault)> {
        let fate = match self.rule.effect {
            Effect::EndWatch { after_events } => WatchFate::EndAfter(after_events),
            Effect::HoldWatch { milliseconds } => {
                WatchFate::Hold(self.id, milliseconds.map(Duration::from_millis))
            }
            _ => return None,
        };
        Some((fate, self.apply(asked)?))
    }

    /// Counts a match and whether the rule applies to it.
    fn apply(&mut self, asked: &Asked<'_>) -> Option<AppliedFault> {
        let Rule { on, skip, times, .. } = &self.rule;
        if !on.matches(asked) || times.is_some_and(|times| self.applied >= u64::from(times)) {
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
        Some(self.applied(Some(asked)))
    }

    /// Counts an application to a request; none: to the server itself.
    fn applied(&mut self, asked: Option<&Asked<'_>>) -> AppliedFault {
        self.applied += 1;
        let path = asked.and_then(|asked| asked.resource);
        let resource = match asked {
            Some(_) => path.map(ResourcePath::combined),
            None => self.rule.on.resource.clone(),
        };
        AppliedFault {
            rule: self.id,
            client: asked.map(|asked| asked.client.into()),
            effect: self.rule.effect.clone(),
            verb: asked.map(|asked| asked.verb),
            resource,
            name: path.and_then(|path| path.name.clone()),
            legal: self.rule.is_legal(),
        }
    }
}

impl Match {
    fn matches(&self, asked: &Asked<'_>) -> bool {
        let client = self
            .client
            .as_deref()
            .is_none_or(|wanted| match wanted.strip_suffix('*') {
                Some(start) => asked.client.starts_with(start),
                None => asked.client == wanted,
            });
        let verb = self.verbs.is_empty() || self.verbs.contains(&asked.verb);
        client && verb && self.matches_path(asked.resource)
    }

    /// Whether a path matches, whatever the client and verb.
    pub fn matches_path(&self, path: Option<&ResourcePath>) -> bool {
        let resource = self
            .resource
            .as_deref()
            .is_none_or(|wanted| path.is_some_and(|path| is_resource(wanted, path)));
        let name = path.and_then(|path| path.name.as_ref());
        resource && self.name.as_ref().is_none_or(|wanted| name == Some(wanted))
    }
}

/// Whether a path is of the resource, or of the subresource, that a rule names.
fn is_resource(wanted: &str, path: &ResourcePath) -> bool {
    let (resource, subresource) = match wanted.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource)),
        None => (wanted, None),
    };
    let is_it = path.resource == resource && path.subresource.as_deref() == subresource;
    is_it || (path.is_bindings() && path.acted_on() == wanted)
}

/// Whether an effect is about such requests at all.
fn concerns(effect: &Effect, asked: &Asked<'_>) -> bool {
    match effect {
        Effect::Status { .. } | Effect::Delay { .. } | Effect::Disconnect | Effect::LoseAnswer => true,
        Effect::Stale { consistent, .. } => {
            let reads = matches!(asked.verb, Verb::Get | Verb::List) && asked.resource.is_some();
            reads && (asked.revision == "0" || (*consistent && asked.revision.is_empty()))
        }
        Effect::EndWatch { .. } | Effect::HoldWatch { .. } | Effect::Compact { .. } => false,
    }
}

/// What happens to a request instead of what it requests, if anything.
fn blow(effect: &Effect, asked: &Asked<'_>) -> Option<Blow> {
    match *effect {
        Effect::Status {
            code,
            retry_after_seconds,
        } => Some(Blow::Refuse(refusal(code, retry_after_seconds, asked.resource))),
        Effect::Disconnect => Some(Blow::Disconnect),
        Effect::LoseAnswer => Some(Blow::LoseAnswer),
        Effect::Stale { revision, .. } => Some(Blow::Stale(revision.unwrap_or_default())),
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

    fn create<'a>(client: &'a str, path: &'a ResourcePath) -> Asked<'a> {
        Asked {
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
    fn a_rule_leaves_some_alone_applies_to_some_and_is_spent() {
        let mut table = Rules::default();
        let rule = Rule {
            skip: 1,
            times: Some(2),
            ..Rule::new(Match::default(), unavailable())
        };
        table.install(rule).unwrap();
        let pods = path("pods");
        let refused: Vec<bool> = (0..5)
            .map(|_| table.meet(&create("c", &pods)).0.blow.is_some())
            .collect();
        assert_eq!(refused, [false, true, true, false, false]);
        assert_eq!(table.list()[0].applied, 2);
    }

    #[test]
    fn chance_repeats_with_its_seed() {
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
                .map(|_| table.meet(&create("c", &pods)).0.blow.is_some())
                .collect::<Vec<bool>>()
        };
        assert_eq!(outcomes(7), outcomes(7));
        assert_ne!(outcomes(7), outcomes(8));
        assert!(outcomes(7).contains(&true) && outcomes(7).contains(&false));
    }

    #[test]
    fn clients_and_resources_are_matched_whole_or_by_their_beginning() {
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
    fn legality_follows_from_the_rule() {
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
    fn rules_survive_their_text() {
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
