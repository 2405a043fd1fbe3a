//! Duplicate objects: a publisher creates an object for a class and segment for which it already created one within the same poll interval.
//!
//! Whether two workers of a program race is random, so it must not decide cases about other behaviour: duplicates are a finding, and
//! expectations ignore them. Expectations do count further objects that no race explains: created after a later poll or a restart, or while
//! a fault hid the publisher's objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_types::capacity_api::RESOURCE;

use crate::journal::{Change, CommitFact, Fact, Observation, ProcessEvent};
use crate::scenario::Role;

/// The CSIStorageCapacity objects that the publishers of a case have created.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    refresh_us: u64,
    /// CSIStorageCapacity objects by client, class and segment.
    groups: BTreeMap<GroupKey, Group>,
    /// Key of the group to which an object belongs, by the object's UID. This index avoids a search when tens of thousands of objects are
    /// deleted.
    key_of_uid: BTreeMap<String, GroupKey>,
    /// Revisions of writes that expectations ignore. Expectations ignore watch events of these revisions too.
    revisions: BTreeSet<u64>,
    clients_with_faults: BTreeSet<Arc<str>>,
}

type GroupKey = (Arc<str>, String);

/// The objects that one client has created for one class and segment.
#[derive(Debug, Default)]
struct Group {
    /// UIDs of the existing CSIStorageCapacity objects.
    live: Vec<String>,
    /// Journal time until which a further object counts as a duplicate. A duplicate does not extend this time, because endless creation is
    /// no race.
    until_us: u64,
    has_duplicate: bool,
}

/// A write of a duplicate CSIStorageCapacity object, which expectations ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UncountedWrite {
    /// A duplicate of a CSIStorageCapacity object was created.
    Created,
    /// One of several duplicates was deleted.
    Deleted,
    /// A watch event of an ignored write was delivered.
    Delivered,
}

impl Duplicates {
    /// Processes a fact. Returns None unless expectations ignore the fact.
    pub(super) fn apply(&mut self, fact: &Fact) -> Option<UncountedWrite> {
        match &fact.what {
            Observation::Begin(begin) => self.refresh_us = begin.refresh_us,
            Observation::Lag(lag) => self.extend_for_lag(lag.late_us),
            Observation::Fault(fault) => self.clients_with_faults.extend(fault.client.clone()),
            Observation::Process(process) if matches!(process.event, ProcessEvent::Started) => {
                self.groups.retain(|(client, _), _| *client != process.client);
            }
            Observation::Commit(commit) if *commit.resource == *RESOURCE => {
                let uncounted = self.commit(commit, fact.at_us)?;
                self.revisions.insert(commit.revision);
                return Some(uncounted);
            }
            Observation::Delivery(delivery) if self.revisions.contains(&delivery.revision) => {
                return Some(UncountedWrite::Delivered);
            }
            _ => {}
        }
        None
    }

    fn commit(&mut self, commit: &CommitFact, at_us: u64) -> Option<UncountedWrite> {
        let uid = commit.object["metadata"]["uid"].as_str().unwrap_or_default();
        match commit.change {
            Change::Added => self.add(commit, uid, at_us),
            Change::Deleted => self.delete(commit, uid),
            Change::Modified => {
                self.remove_taken_over_object(commit, uid);
                None
            }
        }
    }

    /// Removes an object from the publisher's group because another client has modified the object, which may no longer belong to the
    /// publisher. The publisher may then create a new object.
    fn remove_taken_over_object(&mut self, commit: &CommitFact, uid: &str) {
        if Role::of_client(&commit.client) != Some(Role::Publisher)
            && let Some(group) = self
                .key_of_uid
                .remove(uid)
                .and_then(|of| self.groups.get_mut(&of))
        {
            group.live.retain(|live| live != uid);
        }
    }

    /// Extends the time for duplicates by the harness lag, because racing workers are delayed as well.
    fn extend_for_lag(&mut self, late_us: u64) {
        self.groups
            .values_mut()
            .for_each(|group| group.until_us += late_us);
    }

    fn add(&mut self, commit: &CommitFact, uid: &str, at_us: u64) -> Option<UncountedWrite> {
        if Role::of_client(&commit.client) != Some(Role::Publisher)
            || self.clients_with_faults.contains(&commit.client)
        {
            return None;
        }
        let key = key(commit);
        self.key_of_uid.insert(uid.to_owned(), key.clone());
        let group = self.groups.entry(key).or_default();
        group.has_duplicate = !group.live.is_empty() && at_us <= group.until_us;
        group.live.push(uid.to_owned());
        if !group.has_duplicate {
            group.until_us = at_us + self.refresh_us;
        }
        group.has_duplicate.then_some(UncountedWrite::Created)
    }

    fn delete(&mut self, commit: &CommitFact, uid: &str) -> Option<UncountedWrite> {
        let group = self.groups.get_mut(&self.key_of_uid.remove(uid)?)?;
        // `None` if the object was created before a restart of the client, which removed the group.
        let at = group.live.iter().position(|live| live == uid)?;
        group.live.remove(at);
        let is_uncounted =
            group.has_duplicate && !group.live.is_empty() && Role::of_client(&commit.client).is_some();
        is_uncounted.then_some(UncountedWrite::Deleted)
    }
}

fn key(commit: &CommitFact) -> GroupKey {
    let object = &commit.object;
    let class_and_segment = format!("{} {}", object["storageClassName"], object["nodeTopology"]);
    (commit.client.clone(), class_and_segment)
}
