//! Fault injection in the state: rules are installed, applied and removed under the lock that orders all else, so that
//! a rule, the watches that it holds and the writes that they miss have one order.
//!
//! Does not match rules to requests, and does not access connections.

use super::{Snapshot, State, Store, Watcher};
use crate::kinds::Kind;
use crate::observe::Event;
use crate::perturb::{
    AppliedFault, Asked, Effect, Fate, Match, Perturbation, Rule, RuleError, RuleId, WatchFate,
};
use crate::request::{ResourcePath, Verb};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

impl Store {
    /// Installs a rule. Its effects on open watches and on the log are complete on return.
    pub(crate) fn perturb(&self, mut rule: Rule) -> Result<RuleId, RuleError> {
        let mut state = self.state.lock();
        let now = state.revision;
        if let Effect::Stale { revision, .. } | Effect::Compact { revision } = &mut rule.effect {
            *revision = Some(revision.unwrap_or(now).min(now));
        }
        let (effect, on) = (rule.effect.clone(), rule.on.clone());
        let id = state.perturbations.install(rule)?;
        self.perturbed.store(true, Ordering::Release);
        match effect {
            Effect::Compact { revision } => self.compact(&mut state, id, &on, revision.unwrap_or(now)),
            Effect::EndWatch { .. } | Effect::HoldWatch { .. } => self.perturb_open(&mut state, id),
            _ => {}
        }
        Ok(id)
    }

    /// Removes a rule and releases the watches that it holds. Returns whether it existed.
    pub(crate) fn unperturb(&self, id: RuleId) -> bool {
        let mut state = self.state.lock();
        let removed = state.perturbations.remove(id);
        self.perturbed
            .store(!state.perturbations.is_empty(), Ordering::Release);
        for watcher in state.shelves.iter().flat_map(|shelf| shelf.watchers.all()) {
            watcher.release(id, &self.activity);
        }
        removed
    }

    pub(crate) fn perturbations(&self) -> Vec<Perturbation> {
        self.state.lock().perturbations.list()
    }

    /// Evaluates the rules for a request and reports the injected fault.
    pub(crate) fn meet(
        &self,
        client: &Arc<str>,
        verb: Verb,
        resource: Option<&ResourcePath>,
        revision: &str,
    ) -> Fate {
        // Without rules, requests do not take the lock.
        if !self.perturbed.load(Ordering::Acquire) {
            return Fate::default();
        }
        let asked = Asked {
            client,
            verb,
            resource,
            revision,
        };
        let mut state = self.state.lock();
        let (fate, applied) = state.perturbations.meet(&asked);
        applied.into_iter().for_each(|fault| self.report(fault));
        fate
    }

    /// Applies the rules to a new watch.
    pub(super) fn perturb_new(&self, state: &mut State, watcher: &Watcher) {
        if state.perturbations.is_empty() {
            return;
        }
        let path = watcher.path();
        let asked = watcher.asked(&path);
        let (fates, applied) = state.perturbations.meet_watch(&asked);
        for fate in fates {
            self.suffer(watcher, &fate);
        }
        applied.into_iter().for_each(|fault| self.report(fault));
    }

    fn perturb_open(&self, state: &mut State, id: RuleId) {
        let watchers: Vec<Arc<Watcher>> = state
            .shelves
            .iter()
            .flat_map(|shelf| shelf.watchers.all())
            .cloned()
            .collect();
        for watcher in watchers {
            let path = watcher.path();
            let asked = watcher.asked(&path);
            if let Some((fate, applied)) = state.perturbations.meet_open(id, &asked) {
                self.suffer(&watcher, &fate);
                self.report(applied);
            }
        }
    }

    fn suffer(&self, watcher: &Watcher, fate: &WatchFate) {
        match fate {
            WatchFate::EndAfter(events) => {
                watcher.end_after(usize::try_from(*events).unwrap_or(usize::MAX), &self.activity);
            }
            WatchFate::Hold(rule, time) => {
                let until = time.map(|time| Instant::now() + time);
                watcher.hold(*rule, until, &self.activity);
            }
        }
    }

    fn compact(&self, state: &mut State, id: RuleId, on: &Match, revision: u64) {
        let api = self.api();
        for kind in api.catalogue.kinds().filter(|kind| kind.is_stored()) {
            if on.matches_path(Some(&whole(kind))) {
                state.history.compact(kind.shelf(), revision);
            }
        }
        if let Some(applied) = state.perturbations.acted(id) {
            self.report(applied);
        }
    }

    fn report(&self, fault: AppliedFault) {
        if let Some(observer) = &self.observer {
            observer.observe(Event::Fault(fault));
        }
    }
}

impl Watcher {
    fn path(&self) -> ResourcePath {
        ResourcePath {
            namespace: self.selection.namespace.clone(),
            name: self.selection.name.clone(),
            ..whole(&self.kind)
        }
    }

    fn asked<'a>(&'a self, path: &'a ResourcePath) -> Asked<'a> {
        Asked {
            client: &self.client,
            verb: Verb::Watch,
            resource: Some(path),
            revision: "",
        }
    }
}

impl super::Txn<'_> {
    /// The resource at an earlier revision, or in its current state if the log does not reach back that far.
    pub(crate) fn snapshot_as_of(&self, kind: &Kind, revision: Option<u64>) -> Snapshot {
        let stale = revision.and_then(|revision| self.snapshot_at(kind, revision).ok());
        stale.unwrap_or_else(|| self.snapshot(kind))
    }
}

/// The path of all objects of a kind.
fn whole(kind: &Kind) -> ResourcePath {
    ResourcePath {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        resource: kind.plural.to_owned(),
        subresource: None,
        namespace: None,
        name: None,
    }
}
