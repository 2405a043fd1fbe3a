//! The rules of a driver with their counters: which calls they take, and how often. Does not know what happens to a call.

use std::{fmt, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    event::Event,
    rule::{Effect, RULES_MAX, Rule, ScriptError},
};

/// Names a rule for as long as the driver lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u64);

/// A rule and what it has met so far.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleState {
    /// Its name.
    pub id: RuleId,
    /// What was scripted.
    pub rule: Rule,
    /// How many calls matched, the skipped ones included.
    pub matched: u64,
    /// How many calls it took.
    pub taken: u64,
}

/// The rules with their counters.
#[derive(Debug, Default)]
pub(crate) struct Script {
    rules: Vec<Scripted>,
    given: u64,
}

#[derive(Debug)]
struct Scripted {
    state: RuleState,
    /// Cancelled when the rule is taken away: calls that hang because of it go on.
    removed: CancellationToken,
}

/// What the script decided about one call.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// Wait so long first.
    pub(crate) delay: Duration,
    /// Then do this; `None` answers as usual. Never a delay.
    pub(crate) effect: Option<Effect>,
    /// Cancelled when the rule of the effect is taken away.
    pub(crate) removed: CancellationToken,
}

impl Script {
    /// Adds a rule after the others, if its effect can happen to its method.
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

    /// Takes a rule away; whether it was there.
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

    /// Decides about a call, and counts it.
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

    /// Counts a matching call; whether the rule takes it.
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
    fn skips_then_takes_then_is_spent() {
        let mut script = Script::default();
        script.push(rule(Effect::Hang, 2, Some(1))).unwrap();
        assert_eq!(effects(&mut script, 4), [None, None, Some(Effect::Hang), None]);
    }

    #[test]
    fn the_first_rule_wins_and_hides_the_call_from_the_next() {
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
    fn delays_add_up_and_leave_the_answer_to_others() {
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
    fn segment_and_parameters_narrow_a_rule() {
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
    fn spent_rules_make_room_for_new_ones_and_standing_rules_do_not() {
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
    fn a_rule_tells_what_it_met_and_goes_away_by_its_id() {
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
