//! Duplicate objects: a publisher creates an object for a class and segment for which it created one within the same refresh.
//!
//! Whether two workers of a program race is random, so it must not decide cases about other behaviour: duplicates are a finding, and no
//! expectation counts them. They do count if a race is no explanation: after a later refresh or a restart, or if a fault hid the
//! publisher's objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_types::capacity_api::RESOURCE;

use crate::journal::{Change, CommitFact, Fact, ProcessEvent, What};
use crate::scenario::Role;

/// Objects that the publishers of a case have created.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    refresh_us: u64,
    /// Groups by client, class and segment.
    made: BTreeMap<Made, Group>,
    /// The group of an object by its uid, as tens of thousands of objects may be deleted.
    places: BTreeMap<String, Made>,
    /// Revisions of writes that no expectation counts; their watch events do not count either.
    revisions: BTreeSet<u64>,
    /// Clients that were hit by a fault.
    faulty: BTreeSet<Arc<str>>,
}

type Made = (Arc<str>, String);

/// The objects of one client for one class and segment.
#[derive(Debug, Default)]
struct Group {
    /// Uids of existing objects.
    live: Vec<String>,
    /// Journal time until which another object counts as a duplicate. A duplicate does not extend it: endless creation is no race.
    until_us: u64,
    /// Whether one of them was a duplicate.
    is_double: bool,
}

/// A write that no expectation counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surplus {
    /// Creation of a duplicate.
    Made,
    /// Deletion of one of several duplicates.
    Deleted,
    /// Watch event of such a write.
    Delivered,
}

impl Duplicates {
    /// Processes a fact. Returns whether it is a write that no expectation counts.
    pub(super) fn apply(&mut self, fact: &Fact) -> Option<Surplus> {
        match &fact.what {
            What::Begin(begin) => self.refresh_us = begin.refresh_us,
            What::Lag(lag) => self.delay(lag.late_us),
            What::Fault(fault) => self.faulty.extend(fault.client.clone()),
            What::Process(process) if matches!(process.event, ProcessEvent::Started) => {
                self.made.retain(|(client, _), _| *client != process.client);
            }
            What::Commit(commit) if *commit.resource == *RESOURCE => {
                let surplus = self.commit(commit, fact.at_us)?;
                self.revisions.insert(commit.revision);
                return Some(surplus);
            }
            What::Delivery(delivery) if self.revisions.contains(&delivery.revision) => {
                return Some(Surplus::Delivered);
            }
            _ => {}
        }
        None
    }

    fn commit(&mut self, commit: &CommitFact, at_us: u64) -> Option<Surplus> {
        let uid = commit.object["metadata"]["uid"].as_str().unwrap_or_default();
        match commit.change {
            Change::Added => self.add(commit, uid, at_us),
            Change::Deleted => self.delete(commit, uid),
            Change::Modified => {
                self.take_over(commit, uid);
                None
            }
        }
    }

    /// An object that another client modified may no longer belong to the publisher, which may then create a new one.
    fn take_over(&mut self, commit: &CommitFact, uid: &str) {
        if Role::of_client(&commit.client) != Some(Role::Publisher)
            && let Some(group) = self.places.remove(uid).and_then(|of| self.made.get_mut(&of))
        {
            group.live.retain(|live| live != uid);
        }
    }

    /// Harness lag delays racing workers as well.
    fn delay(&mut self, late_us: u64) {
        self.made.values_mut().for_each(|group| group.until_us += late_us);
    }

    fn add(&mut self, commit: &CommitFact, uid: &str, at_us: u64) -> Option<Surplus> {
        if Role::of_client(&commit.client) != Some(Role::Publisher) || self.faulty.contains(&commit.client) {
            return None;
        }
        let key = key(commit);
        self.places.insert(uid.to_owned(), key.clone());
        let group = self.made.entry(key).or_default();
        group.is_double = !group.live.is_empty() && at_us <= group.until_us;
        group.live.push(uid.to_owned());
        if !group.is_double {
            group.until_us = at_us + self.refresh_us;
        }
        group.is_double.then_some(Surplus::Made)
    }

    fn delete(&mut self, commit: &CommitFact, uid: &str) -> Option<Surplus> {
        let group = self.made.get_mut(&self.places.remove(uid)?)?;
        // None: created before a restart, which removed the group.
        let at = group.live.iter().position(|live| live == uid)?;
        group.live.remove(at);
        let is_surplus =
            group.is_double && !group.live.is_empty() && Role::of_client(&commit.client).is_some();
        is_surplus.then_some(Surplus::Deleted)
    }
}

fn key(commit: &CommitFact) -> Made {
    let object = &commit.object;
    let row = format!("{} {}", object["storageClassName"], object["nodeTopology"]);
    (commit.client.clone(), row)
}
