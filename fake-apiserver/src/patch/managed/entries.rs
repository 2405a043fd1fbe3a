//! The entries of `metadata.managedFields`: managers and what they own.
//!
//! Owns their JSON form, their order and their number. Sets are kept in the names of the stored kind; entries of
//! other versions are read and written in the names of theirs. Does not know what fields there are.

use super::fields_v1;
use super::set::Set;
use crate::kinds::{Catalogue, Kind};
use serde::Deserialize;
use std::borrow::Cow;

/// Managers of updates that an object remembers one by one.
const UPDATERS_MAX: usize = 10;
/// The manager that the oldest of them become.
const ANCIENT: &str = "ancient-changes";

/// How a manager came to own something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum ManagerOperation {
    Apply,
    Update,
}

/// What identifies an entry.
#[derive(Clone, Debug)]
pub(super) struct Id<'a> {
    pub(super) manager: Cow<'a, str>,
    pub(super) operation: ManagerOperation,
    pub(super) api_version: Cow<'a, str>,
    pub(super) subresource: Cow<'a, str>,
}

#[derive(Clone, Debug)]
struct ManagedFieldsEntry<'a> {
    id: Id<'a>,
    /// Empty where the manager has changed nothing.
    time: Cow<'a, str>,
    set: Set<'a>,
}

/// All entries of an object.
pub(super) struct Entries<'a> {
    kind: Kind,
    list: Vec<ManagedFieldsEntry<'a>>,
}

/// An entry as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    operation: ManagerOperation,
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fields_type: Cow<'a, str>,
    #[serde(borrow, default, rename = "fieldsV1", deserialize_with = "fields_v1::read")]
    set: Set<'a>,
    #[serde(borrow, default)]
    subresource: Cow<'a, str>,
}

impl PartialEq for Id<'_> {
    /// Whoever applies is the same manager in every version.
    fn eq(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == ManagerOperation::Apply || self.api_version == other.api_version)
    }
}

impl Id<'_> {
    /// The manager as conflicts name it.
    pub(super) fn display(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == ManagerOperation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }

    /// What the order of managers goes by in conflicts.
    fn rank(&self) -> (&str, ManagerOperation, &str, &str) {
        (
            &self.manager,
            self.operation,
            &self.api_version,
            &self.subresource,
        )
    }
}

impl<'a> Entries<'a> {
    /// Nobody owns anything.
    pub(super) fn none(kind: &Kind) -> Self {
        Self {
            kind: kind.stored(),
            list: Vec::new(),
        }
    }

    /// Reads the JSON of an object's entries; `None` where it is malformed. An empty text is no entries.
    pub(super) fn read(kind: &Kind, text: &'a str) -> Option<Self> {
        let mut entries = Self::none(kind);
        if text.is_empty() {
            return Some(entries);
        }
        let list: Vec<Wire<'a>> = serde_json::from_str(text).ok()?;
        for wire in list {
            if wire.api_version.is_empty() || wire.fields_type != "FieldsV1" {
                return None;
            }
            // Who managed a version that is no longer known manages nothing.
            let Some(set) = entries.stored(&wire.api_version, wire.set) else {
                continue;
            };
            let id = Id {
                manager: wire.manager,
                operation: wire.operation,
                api_version: wire.api_version,
                subresource: wire.subresource,
            };
            entries.list.retain(|entry| entry.id != id);
            entries.list.push(ManagedFieldsEntry {
                id,
                time: wire.time.unwrap_or_default(),
                set,
            });
        }
        Some(entries)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Everything that anybody owns.
    pub(super) fn all(&self) -> Set<'a> {
        let sets = self.list.iter().map(|entry| entry.set.clone());
        sets.fold(Set::default(), Set::union)
    }

    /// What others own of a set, in the order of their names; paths are those of their versions.
    pub(super) fn owned_by_others(&self, id: &Id<'_>, changed: &Set<'_>) -> Vec<(String, Set<'a>)> {
        let mut others: Vec<&ManagedFieldsEntry<'a>> =
            self.list.iter().filter(|entry| entry.id != *id).collect();
        others.sort_by(|a, b| a.id.rank().cmp(&b.id.rank()));
        others
            .into_iter()
            .map(|entry| {
                let set = entry.set.intersection(changed);
                (entry.id.display(), self.shown(&entry.id.api_version, set))
            })
            .filter(|(_, set)| !set.is_empty())
            .collect()
    }

    /// Takes from all managers but one what is changed or gone.
    pub(super) fn give_up(&mut self, except: Option<&Id<'_>>, changed: &Set<'_>, removed: &Set<'_>) {
        for entry in &mut self.list {
            if except.is_none_or(|id| entry.id != *id) {
                let set = std::mem::take(&mut entry.set);
                entry.set = set.difference(changed).difference(removed);
            }
        }
        self.list.retain(|entry| !entry.set.is_empty());
    }

    /// Adds to what a manager owns, at that time.
    pub(super) fn add(&mut self, id: Id<'a>, set: Set<'a>, now: &'a str) {
        if set.is_empty() {
            return;
        }
        let time = Cow::Borrowed(now);
        match self.list.iter_mut().find(|entry| entry.id == id) {
            Some(entry) => {
                entry.set = std::mem::take(&mut entry.set).union(set);
                entry.time = time;
            }
            None => self.list.push(ManagedFieldsEntry { id, time, set }),
        }
    }

    /// Sets what a manager owns and returns what it owned before.
    pub(super) fn replace(&mut self, id: Id<'a>, set: Set<'a>) -> Set<'a> {
        match self.list.iter_mut().find(|entry| entry.id == id) {
            Some(entry) => {
                entry.id.api_version = id.api_version;
                std::mem::replace(&mut entry.set, set)
            }
            None => {
                let time = Cow::Borrowed("");
                self.list.push(ManagedFieldsEntry { id, time, set });
                Set::default()
            }
        }
    }

    /// Edits what a manager owns.
    pub(super) fn edit(&mut self, id: &Id<'_>, edit: impl Fn(&mut Set<'a>)) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.id == *id) {
            edit(&mut entry.set);
        }
        self.list.retain(|entry| !entry.set.is_empty());
    }

    /// Sets the time of a manager.
    pub(super) fn touch(&mut self, id: &Id<'_>, now: &'a str) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.id == *id) {
            entry.time = now.into();
        }
    }

    /// Joins the oldest managers of updates where there are too many, those of each version by themselves.
    pub(super) fn cap(&mut self) {
        let is_update = |entry: &ManagedFieldsEntry<'_>| entry.id.operation == ManagerOperation::Update;
        let mut count = self.list.iter().filter(|entry| is_update(entry)).count();
        if count <= UPDATERS_MAX {
            return;
        }
        let (mut updaters, appliers): (Vec<_>, Vec<_>) = self.list.drain(..).partition(is_update);
        updaters.sort_by(|a, b| (&a.time, a.id.rank()).cmp(&(&b.time, b.id.rank())));
        let mut kept: Vec<ManagedFieldsEntry<'a>> = Vec::new();
        for entry in updaters {
            let older = (kept.iter_mut()).find(|older| older.id.api_version == entry.id.api_version);
            match older.filter(|_| count > UPDATERS_MAX) {
                Some(bucket) => {
                    bucket.id.manager = ANCIENT.into();
                    bucket.id.subresource = "".into();
                    bucket.set = std::mem::take(&mut bucket.set).union(entry.set);
                    bucket.time = entry.time;
                    count -= 1;
                }
                None => kept.push(entry),
            }
        }
        self.list = appliers;
        self.list.extend(kept);
    }

    /// Whether the entries are those of another text, but for the times.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        let same = |(a, b): (&ManagedFieldsEntry<'_>, &ManagedFieldsEntry<'_>)| {
            a.id == b.id && a.id.api_version == b.id.api_version && a.set == b.set
        };
        self.list.len() == other.list.len() && self.list.iter().zip(&other.list).all(same)
    }

    /// The JSON of the entries: appliers come first, then who wrote first. Empty where there are none.
    pub(super) fn write(mut self) -> String {
        if self.list.is_empty() {
            return String::new();
        }
        self.list.sort_by(|a, b| a.order().cmp(&b.order()));
        let mut out = Vec::with_capacity(256);
        for entry in std::mem::take(&mut self.list) {
            out.push(if out.is_empty() { b'[' } else { b',' });
            let set = self.shown(&entry.id.api_version, entry.set);
            write_entry(&entry.id, &entry.time, &set, &mut out);
        }
        out.push(b']');
        String::from_utf8(out).expect("it is put together from texts")
    }

    /// A set of some version in the names of the stored kind; `None` for versions that are not known.
    fn stored(&self, api_version: &str, set: Set<'a>) -> Option<Set<'a>> {
        let kind = self.version(api_version)?;
        Some(match kind.view {
            Some(view) if !view.renamed.is_empty() => set.renamed(|name| {
                let found = view.renamed.iter().find(|(_, shown)| *shown == name);
                found.map(|(stored, _)| *stored)
            }),
            _ => set,
        })
    }

    /// The other way round.
    fn shown(&self, api_version: &str, set: Set<'a>) -> Set<'a> {
        match self.version(api_version).and_then(|kind| kind.view) {
            Some(view) if !view.renamed.is_empty() => set.renamed(|name| {
                let found = view.renamed.iter().find(|(stored, _)| *stored == name);
                found.map(|(_, shown)| *shown)
            }),
            _ => set,
        }
    }

    fn version(&self, api_version: &str) -> Option<Kind> {
        let is_version = match self.kind.defined() {
            Some(defined) => defined.knows(api_version),
            None => self.kind.has_version(api_version),
        };
        if is_version {
            return Some(self.kind.clone());
        }
        let found = Catalogue::built_in().find_kind(api_version, self.kind.kind)?;
        (found.stored() == self.kind).then(|| found.clone())
    }
}

impl ManagedFieldsEntry<'_> {
    fn order(&self) -> (ManagerOperation, &str, &str, &str, &str) {
        let id = &self.id;
        (
            id.operation,
            &self.time,
            &id.manager,
            &id.api_version,
            &id.subresource,
        )
    }
}

fn write_entry(id: &Id<'_>, time: &str, set: &Set<'_>, out: &mut Vec<u8>) {
    let operation = match id.operation {
        ManagerOperation::Apply => "Apply",
        ManagerOperation::Update => "Update",
    };
    out.push(b'{');
    for (name, text) in [
        ("manager", &*id.manager),
        ("operation", operation),
        ("apiVersion", &id.api_version),
        ("time", time),
    ] {
        if !text.is_empty() {
            fields_v1::write_text(name, out);
            out.push(b':');
            fields_v1::write_text(text, out);
            out.push(b',');
        }
    }
    out.extend(br#""fieldsType":"FieldsV1","fieldsV1":"#);
    fields_v1::write(set, false, out);
    if !id.subresource.is_empty() {
        out.extend(br#","subresource":"#);
        fields_v1::write_text(&id.subresource, out);
    }
    out.push(b'}');
}
