//! Fault injection in the store: rules are installed, applied and removed under the store lock, so that rules, watches and writes have one
//! order.
//!
//! Does not match rules to requests, and does not access connections.

use super::{Snapshot, State, Store, Watcher};
use crate::fault_injection::{
    AppliedFault, Effect, InstalledRule, Match, RequestAttributes, RequestEffect, Rule, RuleError, RuleId,
    WatchEffect,
};
use crate::kinds::Kind;
use crate::observe::Event;
use crate::request::{ResourcePath, Verb};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

impl Store {
    /// Installs a fault rule. On return, its effects on open watches and on the log are complete.
    pub(crate) fn add_fault_rule(&self, mut rule: Rule) -> Result<RuleId, RuleError> {
        let mut state = self.state.lock();
        let now = state.revision;
        if let Effect::Stale { revision, .. } | Effect::Compact { revision } = &mut rule.effect {
            *revision = Some(revision.unwrap_or(now).min(now));
        }
        let (effect, on) = (rule.effect.clone(), rule.on.clone());
        let id = state.fault_rules.install(rule)?;
        self.has_fault_rules.store(true, Ordering::Release);
        match effect {
            Effect::Compact { revision } => self.compact(&mut state, id, &on, revision.unwrap_or(now)),
            Effect::EndWatch { .. } | Effect::HoldWatch { .. } => {
                self.apply_rule_to_open_watches(&mut state, id);
            }
            _ => {}
        }
        Ok(id)
    }

    /// Removes a fault rule and resumes the watches that the rule held. Returns whether the rule existed.
    pub(crate) fn remove_fault_rule(&self, id: RuleId) -> bool {
        let mut state = self.state.lock();
        let removed = state.fault_rules.remove(id);
        self.has_fault_rules
            .store(!state.fault_rules.is_empty(), Ordering::Release);
        for watcher in state.tables.iter().flat_map(|table| table.watchers.all()) {
            watcher.resume_delivery(id, &self.activity);
        }
        removed
    }

    pub(crate) fn fault_rules(&self) -> Vec<InstalledRule> {
        self.state.lock().fault_rules.list()
    }

    /// Evaluates the fault rules for a request and reports injected faults to the observer.
    pub(crate) fn evaluate_faults(
        &self,
        client: &Arc<str>,
        verb: Verb,
        resource: Option<&ResourcePath>,
        revision: &str,
    ) -> RequestEffect {
        // Fast path: without fault rules, a request does not take the lock.
        if !self.has_fault_rules.load(Ordering::Acquire) {
            return RequestEffect::default();
        }
        let request_attributes = RequestAttributes {
            client,
            verb,
            resource,
            revision,
        };
        let mut state = self.state.lock();
        let (effect, applied) = state.fault_rules.evaluate(&request_attributes);
        applied.into_iter().for_each(|fault| self.report_fault(fault));
        effect
    }

    pub(super) fn apply_faults_to_new_watch(&self, state: &mut State, watcher: &Watcher) {
        if state.fault_rules.is_empty() {
            return;
        }
        let path = watcher.path();
        let request_attributes = watcher.request_attributes(&path);
        let (effects, applied) = state.fault_rules.evaluate_watch(&request_attributes);
        for effect in effects {
            self.apply_effect(watcher, &effect);
        }
        applied.into_iter().for_each(|fault| self.report_fault(fault));
    }

    fn apply_rule_to_open_watches(&self, state: &mut State, id: RuleId) {
        let watchers: Vec<Arc<Watcher>> = state
            .tables
            .iter()
            .flat_map(|table| table.watchers.all())
            .cloned()
            .collect();
        for watcher in watchers {
            let path = watcher.path();
            let request_attributes = watcher.request_attributes(&path);
            if let Some((effect, applied)) = state.fault_rules.evaluate_open_watch(id, &request_attributes) {
                self.apply_effect(&watcher, &effect);
                self.report_fault(applied);
            }
        }
    }

    fn apply_effect(&self, watcher: &Watcher, effect: &WatchEffect) {
        match effect {
            WatchEffect::EndAfter(events) => {
                watcher.end_after(usize::try_from(*events).unwrap_or(usize::MAX), &self.activity);
            }
            WatchEffect::Hold(rule, time) => {
                let until = time.map(|time| Instant::now() + time);
                watcher.pause_delivery(*rule, until, &self.activity);
            }
        }
    }

    fn compact(&self, state: &mut State, id: RuleId, on: &Match, revision: u64) {
        let api = self.api();
        for kind in api.catalogue.kinds().filter(|kind| kind.is_storage_version()) {
            if on.matches_path(Some(&collection_path(kind))) {
                state.history.compact(kind.table_index(), revision);
            }
        }
        if let Some(applied) = state.fault_rules.record_application(id) {
            self.report_fault(applied);
        }
    }

    fn report_fault(&self, fault: AppliedFault) {
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
            ..collection_path(&self.kind)
        }
    }

    fn request_attributes<'a>(&'a self, path: &'a ResourcePath) -> RequestAttributes<'a> {
        RequestAttributes {
            client: &self.client,
            verb: Verb::Watch,
            resource: Some(path),
            revision: "",
        }
    }
}

impl super::Txn<'_> {
    /// The objects of a resource at `revision`, or the current objects if it is `None` or the log does not reach back to it.
    pub(crate) fn snapshot_as_of(&self, kind: &Kind, revision: Option<u64>) -> Snapshot {
        let stale = revision.and_then(|revision| self.snapshot_at(kind, revision).ok());
        stale.unwrap_or_else(|| self.snapshot(kind))
    }
}

/// The request path of all objects of a kind, in all namespaces.
fn collection_path(kind: &Kind) -> ResourcePath {
    ResourcePath {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        resource: kind.plural.to_owned(),
        subresource: None,
        namespace: None,
        name: None,
    }
}
