//! Failures on demand, carried out before the real server: the rules of the cases, and what they do to requests and watches.
//!
//! The rules and what they match are those of the in-memory server; what only a server itself can do (answer with an old state) is
//! not done here, and cases that want it are skipped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::{
    Asked, Effect, Fate, Match, ResourcePath, Rule, RuleError, RuleId, Rules, Verb, WatchFate,
};
use harness::fact_sink::FactSink;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// The failures of one case.
pub(crate) struct Faults {
    sink: FactSink,
    state: Mutex<State>,
    /// Counts whatever watches may wait for.
    moved: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    rules: Rules,
    /// What is taken to be forgotten of the history, by what it is about.
    forgotten: Vec<(Match, BTreeMap<String, u64>)>,
    watches: BTreeMap<u64, Open>,
    last: u64,
}

/// An open watch.
struct Open {
    client: Arc<str>,
    path: ResourcePath,
    /// By the rules that hold it: until when.
    held: BTreeMap<RuleId, Option<Instant>>,
    /// Events that it still delivers.
    left: Option<u32>,
}

/// An open watch as its carrier sees it; dropping it closes it.
pub(crate) struct Watched {
    faults: Arc<Faults>,
    number: u64,
}

impl Faults {
    pub(crate) fn new(sink: FactSink) -> Self {
        Faults {
            sink,
            state: Mutex::default(),
            moved: watch::Sender::new(0),
        }
    }

    /// Installs a rule. `newest`: the newest revisions by resource, for rules about the history.
    pub(crate) fn install(&self, rule: Rule, newest: BTreeMap<String, u64>) -> Result<RuleId, RuleError> {
        let mut state = self.state.lock();
        let (effect, on) = (rule.effect.clone(), rule.on.clone());
        let id = state.rules.install(rule)?;
        match effect {
            Effect::Compact { .. } => {
                if let Some(fault) = state.rules.acted(id) {
                    self.sink.fault(fault);
                }
                state.forgotten.push((on, newest));
            }
            Effect::EndWatch { .. } | Effect::HoldWatch { .. } => self.meet_open(&mut state, id),
            _ => {}
        }
        drop(state);
        self.move_on();
        Ok(id)
    }

    fn meet_open(&self, state: &mut State, id: RuleId) {
        let State { rules, watches, .. } = state;
        for open in watches.values_mut() {
            let asked = open.asked();
            let Some((fate, fault)) = rules.meet_open(id, &asked) else {
                continue;
            };
            self.sink.fault(fault);
            open.suffer(&fate);
        }
    }

    /// Removes a rule and lets go of what it held.
    pub(crate) fn remove(&self, id: RuleId) {
        let mut state = self.state.lock();
        state.rules.remove(id);
        for open in state.watches.values_mut() {
            open.held.remove(&id);
        }
        drop(state);
        self.move_on();
    }

    /// The fate of a request, which is reported.
    pub(crate) fn meet(
        &self,
        client: &Arc<str>,
        verb: Verb,
        resource: Option<&ResourcePath>,
        revision: &str,
    ) -> Fate {
        let asked = Asked {
            client,
            verb,
            resource,
            revision,
        };
        let (fate, applied) = self.state.lock().rules.meet(&asked);
        applied.into_iter().for_each(|fault| self.sink.fault(fault));
        fate
    }

    /// Whether the history from that revision on is taken to be forgotten.
    pub(crate) fn has_forgotten(&self, path: &ResourcePath, revision: &str) -> bool {
        let Some(from) = revision.parse::<u64>().ok().filter(|from| *from > 0) else {
            return false;
        };
        let state = self.state.lock();
        state.forgotten.iter().any(|(on, newest)| {
            on.matches_path(Some(path)) && newest.get(&path.resource).is_some_and(|newest| from < *newest)
        })
    }

    /// A watch begins.
    pub(crate) fn begin_watch(self: &Arc<Self>, client: &Arc<str>, path: &ResourcePath) -> Watched {
        let mut state = self.state.lock();
        let mut open = Open {
            client: client.clone(),
            path: path.clone(),
            held: BTreeMap::new(),
            left: None,
        };
        let (fates, applied) = state.rules.meet_watch(&open.asked());
        applied.into_iter().for_each(|fault| self.sink.fault(fault));
        fates.iter().for_each(|fate| open.suffer(fate));
        state.last += 1;
        let number = state.last;
        state.watches.insert(number, open);
        Watched {
            faults: self.clone(),
            number,
        }
    }

    fn move_on(&self) {
        self.moved.send_modify(|count| *count += 1);
    }
}

impl Open {
    fn asked(&self) -> Asked<'_> {
        Asked {
            client: &self.client,
            verb: Verb::Watch,
            resource: Some(&self.path),
            revision: "",
        }
    }

    fn suffer(&mut self, fate: &WatchFate) {
        match fate {
            WatchFate::EndAfter(events) => self.left = Some(*events),
            WatchFate::Hold(rule, time) => {
                let until = time.map(|time| Instant::now() + time);
                self.held.insert(*rule, until);
            }
        }
    }

    /// How long it is held; none: it is not.
    fn wait(&mut self) -> Option<Duration> {
        let now = Instant::now();
        self.held.retain(|_, until| until.is_none_or(|until| until > now));
        const LONG: Duration = Duration::from_secs(3600);
        let left = |until: &Option<Instant>| until.map_or(LONG, |until| until - now);
        self.held.values().map(left).max()
    }
}

impl Watched {
    /// Whether it still goes on.
    fn goes_on(&self) -> bool {
        let state = self.faults.state.lock();
        let open = state.watches.get(&self.number);
        open.is_some_and(|open| open.left != Some(0))
    }

    /// Resolves when it has to end.
    pub(crate) async fn ended(&self) {
        let mut moved = self.faults.moved.subscribe();
        while self.goes_on() {
            // The sender lives in self, so the wait can't fail.
            let _ = moved.changed().await;
        }
    }

    /// Resolves when nothing holds it.
    pub(crate) async fn free(&self) {
        let mut moved = self.faults.moved.subscribe();
        loop {
            moved.mark_unchanged();
            let wait = self
                .faults
                .state
                .lock()
                .watches
                .get_mut(&self.number)
                .and_then(Open::wait);
            let Some(wait) = wait else { return };
            // Whichever comes first: the end of the hold, or of its rule.
            let _ = tokio::time::timeout(wait, moved.changed()).await;
        }
    }

    /// An event was delivered.
    pub(crate) fn delivered(&self) {
        let mut state = self.faults.state.lock();
        if let Some(Open { left: Some(left), .. }) = state.watches.get_mut(&self.number) {
            *left = left.saturating_sub(1);
        }
        drop(state);
        self.faults.move_on();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.faults.state.lock().watches.remove(&self.number);
    }
}
