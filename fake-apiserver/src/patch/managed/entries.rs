//! The entries of `metadata.managedFields`: managers and their field sets.
//!
//! Owns their JSON form, order and number. Field sets use the names of the stored version; entries of other versions are converted when
//! they are read and written. Does not know schemas.

use super::fields_v1;
use super::set::Set;
use crate::kinds::{Catalogue, Kind};
use serde::Deserialize;
use std::borrow::Cow;

/// Maximum number of `Update` entries in managedFields. If there are more, the oldest entries are merged.
const UPDATERS_MAX: usize = 10;
/// The field manager of the entry into which old entries are merged.
const ANCIENT: &str = "ancient-changes";

/// The `operation` of a managedFields entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum ManagerOperation {
    Apply,
    Update,
}

/// The identity of a managedFields entry: manager, operation, API version and subresource.
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
    /// The time of the last change by the manager; empty if the manager applied fields without changing the object.
    time: Cow<'a, str>,
    set: Set<'a>,
}

/// The managedFields entries of an object, with parsed field sets.
pub(super) struct Entries<'a> {
    kind: Kind,
    list: Vec<ManagedFieldsEntry<'a>>,
}

/// A managedFields entry in its JSON form.
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
    /// The API version is not part of the identity of an `Apply` entry.
    fn eq(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == ManagerOperation::Apply || self.api_version == other.api_version)
    }
}

impl Id<'_> {
    /// The field manager as written in conflict messages.
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

    fn conflict_sort_key(&self) -> (&str, ManagerOperation, &str, &str) {
        (
            &self.manager,
            self.operation,
            &self.api_version,
            &self.subresource,
        )
    }
}

impl<'a> Entries<'a> {
    pub(super) fn none(kind: &Kind) -> Self {
        Self {
            kind: kind.in_storage_version(),
            list: Vec::new(),
        }
    }

    /// Parses the managedFields of an object. `None` if the text is invalid. An empty text is an empty list.
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
            // Drops managedFields entries whose API version is unknown.
            let Some(set) = entries.to_stored_names(&wire.api_version, wire.set) else {
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

    pub(super) fn all_fields(&self) -> Set<'a> {
        let sets = self.list.iter().map(|entry| entry.set.clone());
        sets.fold(Set::default(), Set::union)
    }

    /// The fields in `changed` that other managers own, by manager. The field names are those of the API version in the manager's entry.
    pub(super) fn owned_by_others(&self, id: &Id<'_>, changed: &Set<'_>) -> Vec<(String, Set<'a>)> {
        let mut others: Vec<&ManagedFieldsEntry<'a>> =
            self.list.iter().filter(|entry| entry.id != *id).collect();
        others.sort_by(|a, b| a.id.conflict_sort_key().cmp(&b.id.conflict_sort_key()));
        others
            .into_iter()
            .map(|entry| {
                let set = entry.set.intersection(changed);
                (
                    entry.id.display(),
                    self.to_version_names(&entry.id.api_version, set),
                )
            })
            .filter(|(_, set)| !set.is_empty())
            .collect()
    }

    /// Removes fields from the entries of all managers except `except`, because another manager changed or removed them.
    pub(super) fn release(&mut self, except: Option<&Id<'_>>, changed: &Set<'_>, removed: &Set<'_>) {
        for entry in &mut self.list {
            if except.is_none_or(|id| entry.id != *id) {
                let set = std::mem::take(&mut entry.set);
                entry.set = set.difference(changed).difference(removed);
            }
        }
        self.list.retain(|entry| !entry.set.is_empty());
    }

    /// Adds fields to the entry of a manager and sets its time.
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

    /// Replaces the field set of a manager and returns the old set.
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

    pub(super) fn edit(&mut self, id: &Id<'_>, edit: impl Fn(&mut Set<'a>)) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.id == *id) {
            edit(&mut entry.set);
        }
        self.list.retain(|entry| !entry.set.is_empty());
    }

    /// Sets the time of a manager's entry.
    pub(super) fn touch(&mut self, id: &Id<'_>, now: &'a str) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.id == *id) {
            entry.time = now.into();
        }
    }

    /// Merges the oldest `Update` entries beyond the maximum, separately for each API version.
    pub(super) fn merge_oldest_updates(&mut self) {
        let is_update = |entry: &ManagedFieldsEntry<'_>| entry.id.operation == ManagerOperation::Update;
        let mut count = self.list.iter().filter(|entry| is_update(entry)).count();
        if count <= UPDATERS_MAX {
            return;
        }
        let (mut updaters, appliers): (Vec<_>, Vec<_>) = self.list.drain(..).partition(is_update);
        updaters
            .sort_by(|a, b| (&a.time, a.id.conflict_sort_key()).cmp(&(&b.time, b.id.conflict_sort_key())));
        let mut retained: Vec<ManagedFieldsEntry<'a>> = Vec::new();
        for entry in updaters {
            let older = (retained.iter_mut()).find(|older| older.id.api_version == entry.id.api_version);
            match older.filter(|_| count > UPDATERS_MAX) {
                Some(bucket) => {
                    bucket.id.manager = ANCIENT.into();
                    bucket.id.subresource = "".into();
                    bucket.set = std::mem::take(&mut bucket.set).union(entry.set);
                    bucket.time = entry.time;
                    count -= 1;
                }
                None => retained.push(entry),
            }
        }
        self.list = appliers;
        self.list.extend(retained);
    }

    pub(super) fn equals_except_times(&self, other: &Self) -> bool {
        let same = |(a, b): (&ManagedFieldsEntry<'_>, &ManagedFieldsEntry<'_>)| {
            a.id == b.id && a.id.api_version == b.id.api_version && a.set == b.set
        };
        self.list.len() == other.list.len() && self.list.iter().zip(&other.list).all(same)
    }

    /// Serializes managedFields: `Apply` entries first, then `Update` entries, each sorted by time. Returns an empty text if there are no
    /// entries.
    pub(super) fn write(mut self) -> String {
        if self.list.is_empty() {
            return String::new();
        }
        self.list
            .sort_by(|a, b| a.serialization_sort_key().cmp(&b.serialization_sort_key()));
        let mut out = Vec::with_capacity(256);
        for entry in std::mem::take(&mut self.list) {
            out.push(if out.is_empty() { b'[' } else { b',' });
            let set = self.to_version_names(&entry.id.api_version, entry.set);
            write_entry(&entry.id, &entry.time, &set, &mut out);
        }
        out.push(b']');
        String::from_utf8(out).expect("JSON built from strings is UTF-8")
    }

    /// Converts a field set of an API version to the field names of the stored version. `None` if the version is unknown.
    fn to_stored_names(&self, api_version: &str, set: Set<'a>) -> Option<Set<'a>> {
        let kind = self.version(api_version)?;
        Some(match kind.view {
            Some(view) if !view.renamed.is_empty() => set.renamed(|name| {
                let found = view.renamed.iter().find(|(_, shown)| *shown == name);
                found.map(|(stored, _)| *stored)
            }),
            _ => set,
        })
    }

    fn to_version_names(&self, api_version: &str, set: Set<'a>) -> Set<'a> {
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
            Some(defined) => defined.has_api_version(api_version),
            None => self.kind.has_version(api_version),
        };
        if is_version {
            return Some(self.kind.clone());
        }
        let found = Catalogue::built_in().find_kind(api_version, self.kind.kind)?;
        (found.in_storage_version() == self.kind).then(|| found.clone())
    }
}

impl ManagedFieldsEntry<'_> {
    fn serialization_sort_key(&self) -> (ManagerOperation, &str, &str, &str, &str) {
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
