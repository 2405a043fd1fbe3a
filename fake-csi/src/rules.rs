//! Owns the driver's fault rules and their counters: which calls each rule matches, and how often.

use std::{fmt, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    event::Event,
    rule::{Effect, RULES_MAX, Rule, RuleError},
};

/// Id of a fault rule, unique while the driver exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "control", derive(serde::Serialize))]
pub struct RuleId(pub u64);

/// A fault rule and its counters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "control", derive(serde::Serialize))]
pub struct RuleState {
    /// Id of the rule.
    pub id: RuleId,
    /// Number of calls that matched the rule, including skipped calls.
    pub matched: u64,
    /// Number of calls to which the rule was applied.
    #[cfg_attr(feature = "control", serde(rename = "taken"))]
    pub applied: u64,
    /// The fault rule as it was added.
    #[cfg_attr(feature = "control", serde(flatten))]
    pub rule: Rule,
}

/// The driver's fault rules with their counters.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<InstalledRule>,
    last_id: u64,
}

#[derive(Debug)]
struct InstalledRule {
    state: RuleState,
    /// Cancelled when the rule is removed, so that calls that hang because of this rule continue.
    removed: CancellationToken,
}

/// What the fault rules decided for one call.
#[derive(Debug, Default)]
pub(crate) struct CallDecision {
    /// Delay before the effect takes place or the normal response is returned.
    pub(crate) delay: Duration,
    /// Effect after the delay, never [`Effect::Delay`]; `None`: the call gets the normal response.
    pub(crate) effect: Option<Effect>,
    /// Cancelled when the fault rule that has the effect is removed.
    pub(crate) removed: CancellationToken,
}

impl Rules {
    /// Appends a fault rule. Fails if its effect does not apply to its CSI method.
    pub(crate) fn push(&mut self, rule: Rule) -> Result<RuleId, RuleError> {
        rule.check()?;
        if self.rules.len() >= RULES_MAX {
            self.rules.retain(|installed| !installed.is_exhausted());
        }
        if self.rules.len() >= RULES_MAX {
            return Err(RuleError::TooMany);
        }
        self.last_id += 1;
        let id = RuleId(self.last_id);
        let state = RuleState {
            id,
            matched: 0,
            applied: 0,
            rule,
        };
        self.rules.push(InstalledRule {
            state,
            removed: CancellationToken::new(),
        });
        Ok(id)
    }

    /// Removes a fault rule; returns whether it existed.
    pub(crate) fn remove(&mut self, id: RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|installed| installed.state.id != id);
        self.rules.len() < before
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &RuleState> {
        self.rules.iter().map(|installed| &installed.state)
    }

    /// Matches a CSI call against the fault rules, and updates the counters of the rules.
    pub(crate) fn decide(&mut self, call: &Event) -> CallDecision {
        let mut decision = CallDecision::default();
        for installed in &mut self.rules {
            if !installed.state.rule.matches(call) || !installed.count_call() {
                continue;
            }
            match &installed.state.rule.effect {
                Effect::Delay(time) => decision.delay = decision.delay.saturating_add(*time),
                effect => {
                    decision.effect = Some(effect.clone());
                    decision.removed = installed.removed.clone();
                    break;
                }
            }
        }
        decision
    }
}

impl InstalledRule {
    fn is_exhausted(&self) -> bool {
        let RuleState { rule, applied, .. } = &self.state;
        rule.times.is_some_and(|times| *applied >= u64::from(times))
    }

    /// Counts a call that matches the rule. Returns whether the rule applies to the call, considering `skip` and `times`.
    fn count_call(&mut self) -> bool {
        let is_exhausted = self.is_exhausted();
        let state = &mut self.state;
        state.matched += 1;
        let applies = !is_exhausted && state.matched > u64::from(state.rule.skip);
        state.applied += u64::from(applies);
        applies
    }
}

impl Drop for InstalledRule {
    fn drop(&mut self) {
        self.removed.cancel();
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tonic::Code;

    use super::*;
    use crate::Method;

    fn rule(effect: Effect, skip: u32, times: Option<u32>) -> Rule {
        Rule {
            method: Method::GetCapacity,
            segment: None,
            parameters: BTreeMap::new(),
            skip,
            times,
            effect,
        }
    }

    fn get_capacity(zone: Option<&str>) -> Event {
        let mut call = Event::new(Method::GetCapacity, None, crate::Peer::default());
        call.segment = zone.map(|zone| {
            [
                ("zone".to_owned(), zone.to_owned()),
                ("rack".to_owned(), "1".to_owned()),
            ]
            .into()
        });
        call
    }

    fn effects(rules: &mut Rules, calls: usize) -> Vec<Option<Effect>> {
        (0..calls)
            .map(|_| rules.decide(&get_capacity(None)).effect)
            .collect()
    }

    #[test]
    fn rule_skips_calls_then_applies_then_is_exhausted() {
        let mut rules = Rules::default();
        rules.push(rule(Effect::Hang, 2, Some(1))).unwrap();
        assert_eq!(effects(&mut rules, 4), [None, None, Some(Effect::Hang), None]);
    }

    #[test]
    fn first_matching_rule_decides_and_later_rules_do_not_count_the_call() {
        let second = Effect::Code(Code::Aborted, "second".to_owned());
        let mut rules = Rules::default();
        rules.push(rule(Effect::Hang, 0, Some(1))).unwrap();
        rules.push(rule(second.clone(), 1, Some(1))).unwrap();
        assert_eq!(
            effects(&mut rules, 4),
            [Some(Effect::Hang), None, Some(second), None]
        );
    }

    #[test]
    fn delays_add_up_and_later_rules_still_decide() {
        let mut rules = Rules::default();
        rules
            .push(rule(Effect::Delay(Duration::from_secs(1)), 0, None))
            .unwrap();
        rules
            .push(rule(Effect::Delay(Duration::from_secs(2)), 0, Some(1)))
            .unwrap();
        rules.push(rule(Effect::Hang, 0, None)).unwrap();
        let first = rules.decide(&get_capacity(None));
        assert_eq!(
            (first.delay, first.effect),
            (Duration::from_secs(3), Some(Effect::Hang))
        );
        assert_eq!(rules.decide(&get_capacity(None)).delay, Duration::from_secs(1));
    }

    #[test]
    fn rule_matches_by_segment_and_parameters() {
        let mut narrow = rule(Effect::Hang, 0, None);
        narrow.segment = Some([("zone".to_owned(), "a".to_owned())].into());
        let mut rules = Rules::default();
        rules.push(narrow.clone()).unwrap();
        assert_eq!(
            rules.decide(&get_capacity(Some("a"))).effect,
            Some(Effect::Hang),
            "the finer segment contains the pair"
        );
        assert_eq!(rules.decide(&get_capacity(Some("b"))).effect, None);
        assert_eq!(rules.decide(&get_capacity(None)).effect, None);

        narrow.parameters = [("kind".to_owned(), "fast".to_owned())].into();
        let mut rules = Rules::default();
        rules.push(narrow).unwrap();
        let mut call = get_capacity(Some("a"));
        assert_eq!(rules.decide(&call).effect, None);
        call.parameters = [("kind", "fast"), ("size", "big")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        assert_eq!(rules.decide(&call).effect, Some(Effect::Hang));
    }

    #[test]
    fn exhausted_rules_are_dropped_for_new_ones_and_active_rules_are_not() {
        let mut rules = Rules::default();
        for _ in 0..RULES_MAX {
            rules.push(rule(Effect::Hang, 0, Some(1))).unwrap();
        }
        assert_eq!(rules.push(rule(Effect::Hang, 0, None)), Err(RuleError::TooMany));
        rules.decide(&get_capacity(None));
        assert!(rules.push(rule(Effect::Hang, 0, None)).is_ok());
    }

    #[test]
    fn rule_reports_its_counters_and_is_removed_by_id() {
        let mut rules = Rules::default();
        let id = rules.push(rule(Effect::Hang, 1, Some(1))).unwrap();
        effects(&mut rules, 3);
        let counts: Vec<_> = rules
            .states()
            .map(|state| (state.id, state.matched, state.applied))
            .collect();
        assert_eq!(counts, [(id, 3, 1)]);
        assert!(rules.remove(id) && !rules.remove(id));
    }
}
