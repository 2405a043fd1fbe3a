//! Owns the driver's fault rules with their counters: which calls they match, and how often. Does not know what happens to a call.

use std::{fmt, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    event::Event,
    rule::{Effect, RULES_MAX, Rule, ScriptError},
};

/// Id of a fault rule, unique for the lifetime of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u64);

/// A fault rule and its counters.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleState {
    /// Id of the rule.
    pub id: RuleId,
    /// The rule as added.
    pub rule: Rule,
    /// Number of matching calls, including skipped ones.
    pub matched: u64,
    /// Number of calls to which the rule was applied.
    pub taken: u64,
}

/// The fault rules with their counters.
#[derive(Debug, Default)]
pub(crate) struct Script {
    rules: Vec<Scripted>,
    given: u64,
}

#[derive(Debug)]
struct Scripted {
    state: RuleState,
    /// Cancelled when the rule is removed: calls that hang because of it continue.
    removed: CancellationToken,
}

/// Outcome of the fault rules for one call.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// Delay before anything else.
    pub(crate) delay: Duration,
    /// Effect after the delay, never another delay; `None` responds normally.
    pub(crate) effect: Option<Effect>,
    /// Cancelled when the rule of the effect is removed.
    pub(crate) removed: CancellationToken,
}

impl Script {
    /// Appends a rule, if its effect applies to its method.
    pub(crate) fn push(&mut self, rule: Rule) -> Result<RuleId, ScriptError> {
        rule.check()?;
        if self.rules.len() >= RULES_MAX {
            self.rules.retain(|scripted| !scripted.is_spent());
        }
        if self.rules.len() >= RULES_MAX {
            return Err(ScriptError::TooMany);
        }
        self.given += 1;
        let id = RuleId(self.given);
        let state = RuleState {
            id,
            rule,
            matched: 0,
            taken: 0,
        };
        self.rules.push(Scripted {
            state,
            removed: CancellationToken::new(),
        });
        Ok(id)
    }

    /// Removes a rule; returns whether it existed.
    pub(crate) fn remove(&mut self, id: RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|scripted| scripted.state.id != id);
        self.rules.len() < before
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &RuleState> {
        self.rules.iter().map(|scripted| &scripted.state)
    }

    /// Matches a call against the rules, and counts it.
    pub(crate) fn decide(&mut self, call: &Event) -> Decision {
        let mut decision = Decision::default();
        for scripted in &mut self.rules {
            if !scripted.state.rule.matches(call) || !scripted.takes() {
                continue;
            }
            match &scripted.state.rule.effect {
                Effect::Delay(time) => decision.delay = decision.delay.saturating_add(*time),
                effect => {
                    decision.effect = Some(effect.clone());
                    decision.removed = scripted.removed.clone();
                    break;
                }
            }
        }
        decision
    }
}

impl Scripted {
    fn is_spent(&self) -> bool {
        let RuleState { rule, taken, .. } = &self.state;
        rule.times.is_some_and(|times| *taken >= u64::from(times))
    }

    /// Counts a matching call; returns whether the rule applies to it.
    fn takes(&mut self) -> bool {
        let is_spent = self.is_spent();
        let state = &mut self.state;
        state.matched += 1;
        let takes = !is_spent && state.matched > u64::from(state.rule.skip);
        state.taken += u64::from(takes);
        takes
    }
}

impl Drop for Scripted {
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

    fn ask(zone: Option<&str>) -> Event {
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

    fn effects(script: &mut Script, calls: usize) -> Vec<Option<Effect>> {
        (0..calls).map(|_| script.decide(&ask(None)).effect).collect()
    }

    #[test]
    fn rule_skips_calls_then_applies_then_is_exhausted() {
        let mut script = Script::default();
        script.push(rule(Effect::Hang, 2, Some(1))).unwrap();
        assert_eq!(effects(&mut script, 4), [None, None, Some(Effect::Hang), None]);
    }

    #[test]
    fn first_matching_rule_decides_and_later_rules_do_not_count_the_call() {
        let second = Effect::Code(Code::Aborted, "second".to_owned());
        let mut script = Script::default();
        script.push(rule(Effect::Hang, 0, Some(1))).unwrap();
        script.push(rule(second.clone(), 1, Some(1))).unwrap();
        assert_eq!(
            effects(&mut script, 4),
            [Some(Effect::Hang), None, Some(second), None]
        );
    }

    #[test]
    fn delays_add_up_and_later_rules_still_decide() {
        let mut script = Script::default();
        script
            .push(rule(Effect::Delay(Duration::from_secs(1)), 0, None))
            .unwrap();
        script
            .push(rule(Effect::Delay(Duration::from_secs(2)), 0, Some(1)))
            .unwrap();
        script.push(rule(Effect::Hang, 0, None)).unwrap();
        let first = script.decide(&ask(None));
        assert_eq!(
            (first.delay, first.effect),
            (Duration::from_secs(3), Some(Effect::Hang))
        );
        assert_eq!(script.decide(&ask(None)).delay, Duration::from_secs(1));
    }

    #[test]
    fn rule_matches_by_segment_and_parameters() {
        let mut narrow = rule(Effect::Hang, 0, None);
        narrow.segment = Some([("zone".to_owned(), "a".to_owned())].into());
        let mut script = Script::default();
        script.push(narrow.clone()).unwrap();
        assert_eq!(
            script.decide(&ask(Some("a"))).effect,
            Some(Effect::Hang),
            "the finer segment contains the pair"
        );
        assert_eq!(script.decide(&ask(Some("b"))).effect, None);
        assert_eq!(script.decide(&ask(None)).effect, None);

        narrow.parameters = [("kind".to_owned(), "fast".to_owned())].into();
        let mut script = Script::default();
        script.push(narrow).unwrap();
        let mut call = ask(Some("a"));
        assert_eq!(script.decide(&call).effect, None);
        call.parameters = [("kind", "fast"), ("size", "big")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        assert_eq!(script.decide(&call).effect, Some(Effect::Hang));
    }

    #[test]
    fn exhausted_rules_are_dropped_for_new_ones_and_active_rules_are_not() {
        let mut script = Script::default();
        for _ in 0..RULES_MAX {
            script.push(rule(Effect::Hang, 0, Some(1))).unwrap();
        }
        assert_eq!(
            script.push(rule(Effect::Hang, 0, None)),
            Err(ScriptError::TooMany)
        );
        script.decide(&ask(None));
        assert!(script.push(rule(Effect::Hang, 0, None)).is_ok());
    }

    #[test]
    fn rule_reports_its_counters_and_is_removed_by_id() {
        let mut script = Script::default();
        let id = script.push(rule(Effect::Hang, 1, Some(1))).unwrap();
        effects(&mut script, 3);
        let counts: Vec<_> = script
            .states()
            .map(|state| (state.id, state.matched, state.taken))
            .collect();
        assert_eq!(counts, [(id, 3, 1)]);
        assert!(script.remove(id) && !script.remove(id));
    }
}
