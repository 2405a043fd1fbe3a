//! Objects that a publisher makes twice at once: for a class and a segment that it has made an object for a moment ago.
//!
//! Whether two workers of a program meet is luck, so it must not decide about a case that asks for something else: such writes are a
//! finding, and no expectation counts them. It stays with the expectations where the program had no such luck to blame: where it makes
//! an object again in a later refresh or after a restart, and where a fault kept its own objects from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_types::capacity_api::RESOURCE;

use crate::journal::{Change, CommitFact, Fact, ProcessEvent, What};
use crate::scenario::Role;

/// What the publishers of a case have made so far.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    refresh_us: u64,
    /// By client, class and segment.
    made: BTreeMap<Made, Group>,
    /// The group of an object by its uid: there may be fifty thousand objects to delete.
    places: BTreeMap<String, Made>,
    /// The revisions of the writes that no expectation counts: nor does it count their watch events.
    revisions: BTreeSet<u64>,
    /// Clients that met a fault.
    faulty: BTreeSet<Arc<str>>,
}

type Made = (Arc<str>, String);

/// The objects of one client for one class and segment.
#[derive(Debug, Default)]
struct Group {
    /// Their uids.
    live: Vec<String>,
    /// Until when another one counts as made at once with the first. The others begin no time of their own: where a publisher goes on
    /// and on, no chance is to blame.
    until_us: u64,
    /// One of them was made twice at once.
    is_double: bool,
}

/// A write that no expectation counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surplus {
    /// An object is made that was made a moment ago.
    Made,
    /// One of two such objects is deleted.
    Deleted,
    /// A watch event of such a write.
    Delivered,
}

impl Duplicates {
    /// Takes one fact in; tells whether it is a write beside the point.
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

    /// What somebody else changes may not be the publisher's any more, who is right to make it again.
    fn take_over(&mut self, commit: &CommitFact, uid: &str) {
        if Role::of_client(&commit.client) != Some(Role::Publisher)
            && let Some(group) = self.places.remove(uid).and_then(|of| self.made.get_mut(&of))
        {
            group.live.retain(|live| live != uid);
        }
    }

    /// On a busy host two workers of a program are further apart.
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
        // None: it was made before a restart, and that group is gone.
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
