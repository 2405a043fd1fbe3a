//! Scripted deviations: which calls they take, how often, and what happens instead. Does not know how calls are answered otherwise.

use std::{collections::BTreeMap, time::Duration};

use tonic::Code;

use crate::{Segment, contains, event::Event, method::Method};

/// Takes some calls away from the ordinary answer.
///
/// Rules are tried in the order in which they were scripted; the first one that takes a call decides it. A [`Effect::Delay`] only adds
/// waiting time, so rules after it still get their turn. A call that an earlier rule took does not count for the later ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The call that the rule is about.
    pub method: Method,
    /// Only calls whose segment has all these pairs; `None` takes all, also those without a segment. The segment of a call is that of
    /// [`Event::segment`].
    pub segment: Option<Segment>,
    /// Only calls that carry all these parameters; empty takes all.
    pub parameters: BTreeMap<String, String>,
    /// So many matching calls are left alone first.
    pub skip: u32,
    /// The rule is spent after so many calls; `None` never.
    pub times: Option<u32>,
    /// What happens to the calls taken.
    pub effect: Effect,
}

/// What happens to a call that a [`Rule`] takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The call fails with this code and message, and changes nothing.
    Code(Code, String),
    /// The call is answered that much later.
    Delay(Duration),
    /// The call is never answered; it ends when the caller gives up or the endpoint stops.
    Hang,
    /// `GetCapacity` answers these numbers of bytes, whatever the pools hold. They may be nonsense, such as negative ones.
    Capacity {
        /// `available_capacity`.
        available: i64,
        /// `maximum_volume_size`, if the driver tells one.
        maximum: Option<i64>,
        /// `minimum_volume_size`, if the driver tells one.
        minimum: Option<i64>,
    },
}

/// The rules with their counters.
#[derive(Debug, Default)]
pub(crate) struct Script {
    rules: Vec<Rule>,
}

/// What the script decided about one call.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Decision {
    /// Wait so long first.
    pub(crate) delay: Duration,
    /// Then do this; `None` answers as usual. Never a delay.
    pub(crate) effect: Option<Effect>,
}

impl Script {
    pub(crate) fn push(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// Decides about a call, and counts it.
    pub(crate) fn decide(&mut self, call: &Event) -> Decision {
        let mut decision = Decision::default();
        for rule in self.rules.iter_mut().filter(|rule| rule.matches(call)) {
            match rule.take() {
                Some(Effect::Delay(time)) => decision.delay = decision.delay.saturating_add(*time),
                Some(effect) => {
                    decision.effect = Some(effect.clone());
                    break;
                }
                None => {}
            }
        }
        self.rules.retain(|rule| rule.times != Some(0));
        decision
    }
}

impl Rule {
    fn matches(&self, call: &Event) -> bool {
        let segment_matches = match (&self.segment, &call.segment) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wanted), Some(asked)) => contains(asked, wanted),
        };
        self.method == call.method && segment_matches && contains(&call.parameters, &self.parameters)
    }

    /// Counts a matching call; the effect if the rule takes it.
    fn take(&mut self) -> Option<&Effect> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        if let Some(times) = &mut self.times {
            *times = times.checked_sub(1)?;
        }
        Some(&self.effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut call = Event::new(Method::GetCapacity, None);
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
        script.push(rule(Effect::Hang, 2, Some(1)));
        assert_eq!(effects(&mut script, 4), [None, None, Some(Effect::Hang), None]);
    }

    #[test]
    fn the_first_rule_wins_and_hides_the_call_from_the_next() {
        let second = Effect::Code(Code::Aborted, "second".to_owned());
        let mut script = Script::default();
        script.push(rule(Effect::Hang, 0, Some(1)));
        script.push(rule(second.clone(), 1, Some(1)));
        assert_eq!(
            effects(&mut script, 4),
            [Some(Effect::Hang), None, Some(second), None]
        );
    }

    #[test]
    fn delays_add_up_and_leave_the_answer_to_others() {
        let mut script = Script::default();
        script.push(rule(Effect::Delay(Duration::from_secs(1)), 0, None));
        script.push(rule(Effect::Delay(Duration::from_secs(2)), 0, Some(1)));
        script.push(rule(Effect::Hang, 0, None));
        let first = script.decide(&ask(None));
        assert_eq!(
            first,
            Decision {
                delay: Duration::from_secs(3),
                effect: Some(Effect::Hang)
            }
        );
        assert_eq!(script.decide(&ask(None)).delay, Duration::from_secs(1));
    }

    #[test]
    fn segment_and_parameters_narrow_a_rule() {
        let mut narrow = rule(Effect::Hang, 0, None);
        narrow.segment = Some([("zone".to_owned(), "a".to_owned())].into());
        let mut script = Script::default();
        script.push(narrow.clone());
        assert_eq!(
            script.decide(&ask(Some("a"))).effect,
            Some(Effect::Hang),
            "the finer segment contains the pair"
        );
        assert_eq!(script.decide(&ask(Some("b"))).effect, None);
        assert_eq!(script.decide(&ask(None)).effect, None);

        narrow.parameters = [("kind".to_owned(), "fast".to_owned())].into();
        let mut script = Script::default();
        script.push(narrow);
        let mut call = ask(Some("a"));
        assert_eq!(script.decide(&call).effect, None);
        call.parameters = [("kind", "fast"), ("size", "big")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        assert_eq!(script.decide(&call).effect, Some(Effect::Hang));
    }
}
