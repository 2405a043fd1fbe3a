//! Faults that the proxy before the real API server injects: the fault rules of a case, and their effects on requests and watches.
//!
//! Fault rules match requests as in the in-memory server. Stale reads, which only a server can inject, are unsupported; cases with them are
//! skipped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::{
    Effect, Match, RequestAttributes, RequestEffect, ResourcePath, Rule, RuleError, RuleId, Rules, Verb,
    WatchEffect,
};
use harness::fact_sink::FactSink;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// The fault rules of one case, and the open watches that they affect.
pub(crate) struct Faults {
    sink: FactSink,
    state: Mutex<State>,
    /// Wakes watches that wait for a change of `state`.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    rules: Rules,
    /// Simulated compactions: the requests that each affects, and the newest revision of each resource at the time of the injection.
    compactions: Vec<(Match, BTreeMap<String, u64>)>,
    watches: BTreeMap<u64, OpenWatch>,
    last_number: u64,
}

/// State of an open watch that fault rules can change.
struct OpenWatch {
    client: Arc<str>,
    path: ResourcePath,
    /// Fault rules that hold back events of this watch, each with the end time; `None`: until the rule is removed.
    held: BTreeMap<RuleId, Option<Instant>>,
    /// Number of events to deliver before the watch is closed; `None`: no limit.
    remaining: Option<u32>,
}

/// A handle to an open watch for the task that forwards its events. Dropping the handle unregisters the watch.
pub(crate) struct WatchGuard {
    faults: Arc<Faults>,
    number: u64,
}

impl Faults {
    pub(crate) fn new(sink: FactSink) -> Self {
        Faults {
            sink,
            state: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// Installs a fault rule. `newest`: the newest revision of each resource, for rules that simulate compaction.
    pub(crate) fn install(&self, rule: Rule, newest: BTreeMap<String, u64>) -> Result<RuleId, RuleError> {
        let mut state = self.state.lock();
        let (effect, on) = (rule.effect.clone(), rule.on.clone());
        let id = state.rules.install(rule)?;
        match effect {
            Effect::Compact { .. } => {
                if let Some(fault) = state.rules.record_application(id) {
                    self.sink.fault(fault);
                }
                state.compactions.push((on, newest));
            }
            Effect::EndWatch { .. } | Effect::HoldWatch { .. } => self.apply_to_open(&mut state, id),
            _ => {}
        }
        drop(state);
        self.notify();
        Ok(id)
    }

    fn apply_to_open(&self, state: &mut State, id: RuleId) {
        let State { rules, watches, .. } = state;
        for open in watches.values_mut() {
            let request = open.as_request();
            let Some((effect, fault)) = rules.evaluate_open_watch(id, &request) else {
                continue;
            };
            self.sink.fault(fault);
            open.apply(&effect);
        }
    }

    /// Removes a fault rule, and releases the watches whose events it held back.
    pub(crate) fn remove(&self, id: RuleId) {
        let mut state = self.state.lock();
        state.rules.remove(id);
        for open in state.watches.values_mut() {
            open.held.remove(&id);
        }
        drop(state);
        self.notify();
    }

    /// Returns the effect of the fault rules on a request, and records each applied rule as a fact.
    pub(crate) fn apply(
        &self,
        client: &Arc<str>,
        verb: Verb,
        resource: Option<&ResourcePath>,
        revision: &str,
    ) -> RequestEffect {
        let request = RequestAttributes {
            client,
            verb,
            resource,
            revision,
        };
        let (effect, applied) = self.state.lock().rules.evaluate(&request);
        applied.into_iter().for_each(|fault| self.sink.fault(fault));
        effect
    }

    /// Whether a simulated compaction makes this revision too old for the request.
    pub(crate) fn is_compacted(&self, path: &ResourcePath, revision: &str) -> bool {
        let Some(from) = revision.parse::<u64>().ok().filter(|from| *from > 0) else {
            return false;
        };
        let state = self.state.lock();
        state.compactions.iter().any(|(on, newest)| {
            on.matches_path(Some(path)) && newest.get(&path.resource).is_some_and(|newest| from < *newest)
        })
    }

    /// Registers a watch that starts now, and applies the fault rules to it.
    pub(crate) fn begin_watch(self: &Arc<Self>, client: &Arc<str>, path: &ResourcePath) -> WatchGuard {
        let mut state = self.state.lock();
        let mut open = OpenWatch {
            client: client.clone(),
            path: path.clone(),
            held: BTreeMap::new(),
            remaining: None,
        };
        let (effects, applied) = state.rules.evaluate_watch(&open.as_request());
        applied.into_iter().for_each(|fault| self.sink.fault(fault));
        effects.iter().for_each(|effect| open.apply(effect));
        state.last_number += 1;
        let number = state.last_number;
        state.watches.insert(number, open);
        WatchGuard {
            faults: self.clone(),
            number,
        }
    }

    fn notify(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl OpenWatch {
    fn as_request(&self) -> RequestAttributes<'_> {
        RequestAttributes {
            client: &self.client,
            verb: Verb::Watch,
            resource: Some(&self.path),
            revision: "",
        }
    }

    fn apply(&mut self, effect: &WatchEffect) {
        match effect {
            WatchEffect::EndAfter(events) => self.remaining = Some(*events),
            WatchEffect::Hold(rule, time) => {
                let until = time.map(|time| Instant::now() + time);
                self.held.insert(*rule, until);
            }
        }
    }

    /// How long fault rules still hold back events of the watch; `None` if no rule does.
    fn remaining_hold(&mut self) -> Option<Duration> {
        let now = Instant::now();
        self.held.retain(|_, until| until.is_none_or(|until| until > now));
        const LONG: Duration = Duration::from_secs(3600);
        let remaining = |until: &Option<Instant>| until.map_or(LONG, |until| until - now);
        self.held.values().map(remaining).max()
    }
}

impl WatchGuard {
    /// Whether the watch stays open: it is registered, and no fault rule limits it to the events that it has delivered.
    fn may_continue(&self) -> bool {
        let state = self.faults.state.lock();
        let open = state.watches.get(&self.number);
        open.is_some_and(|open| open.remaining != Some(0))
    }

    /// Resolves when a fault rule requires that the watch is closed.
    pub(crate) async fn wait_until_closed(&self) {
        let mut changed = self.faults.changed.subscribe();
        while self.may_continue() {
            // `self` owns the sender, so the wait cannot fail.
            let _ = changed.changed().await;
        }
    }

    /// Resolves when no rule holds back events of the watch.
    pub(crate) async fn wait_until_released(&self) {
        let mut changed = self.faults.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let wait = self
                .faults
                .state
                .lock()
                .watches
                .get_mut(&self.number)
                .and_then(OpenWatch::remaining_hold);
            let Some(wait) = wait else { return };
            // Waits until the hold ends or a fault rule changes.
            let _ = tokio::time::timeout(wait, changed.changed()).await;
        }
    }

    pub(crate) fn count_delivered_event(&self) {
        let mut state = self.faults.state.lock();
        if let Some(OpenWatch {
            remaining: Some(remaining),
            ..
        }) = state.watches.get_mut(&self.number)
        {
            *remaining = remaining.saturating_sub(1);
        }
        drop(state);
        self.faults.notify();
    }
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.faults.state.lock().watches.remove(&self.number);
    }
}
