//! Field managers (`metadata.managedFields`) and server-side apply.
//!
//! An update makes its manager the owner of the changed fields. An apply makes its manager the owner of all applied fields. Without
//! `force`, an apply must not change fields of other managers. Fields that are no longer applied are removed if no other manager owns them.
//! Implements the algorithm of structured-merge-diff.
//!
//! The managedFields of an object are JSON text, because text is compact and most writes only compare it. The text is in
//! `metadata.managedFields` before a write, and in the serialized object after it. Does not know requests or storage.

mod check;
mod compare;
mod entries;
mod fields_v1;
mod last_applied;
mod merge;
mod overlay;
mod set;
mod type_structure;

pub use overlay::overlay;

use crate::kinds::{Kind, Part, Paths, Subresource};
use crate::machinery::error_list::Cause;
use crate::machinery::status::{Details, Status};
use crate::machinery::{json, metadata};
use crate::object::Object;
use compare::{compare, fields};
use entries::{Entries, Id, ManagerOperation};
use serde_json::Value;
use set::Set;
use type_structure::TypeStructure;

/// Maximum length of a manager's name in bytes.
pub(crate) const NAME_MAX: usize = 128;

/// The manager that owns all fields of an object without managedFields when the first apply changes it.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// The manager of requests without `fieldManager` and User-Agent.
const UNKNOWN: &str = "unknown";

/// Fields of `metadata` that no manager can own.
const UNOWNED: [&str; 8] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// The field manager of a write, with the data for its managedFields entry.
#[derive(Clone, Copy)]
pub(crate) struct FieldManager<'a> {
    /// The kind in the version of the request.
    pub(crate) kind: &'a Kind,
    pub(crate) manager: &'a str,
    /// The main path or subresource of the request; the `subresource` of the managedFields entry.
    pub(crate) part: Part,
}

impl FieldManager<'_> {
    /// Records the manager as owner of the fields that a create, update or patch changed. `old` is the previous object.
    ///
    /// Valid managedFields in the submitted object replace the previous ones.
    pub(crate) fn track(self, now: &str, old: Option<&Object>, new: &mut Value) {
        let submitted = metadata::take(new, "managedFields");
        let before = old.map(Object::managed_fields).unwrap_or_default();
        let text = match &submitted {
            Some(submitted) if self.part == Part::Main => self.submitted_or_previous(submitted, before),
            _ => before.to_owned(),
        };
        let entries = Entries::read(self.kind, &text).unwrap_or_else(|| Entries::none(self.kind));
        if entries.is_empty() && old.is_some() {
            // Before the first apply, an object without managedFields gets no entries.
            return set_managed_fields(new, String::new());
        }
        let nothing = self.kind.validated_version().zero_value();
        let old = old.map_or(&nothing, |old| old.value());
        let written = self.entries_after_update(now, entries, old, new, self.manager);
        set_managed_fields(new, written);
    }

    /// The managedFields that the client submitted, as text, if they are valid; otherwise the previous ones.
    fn submitted_or_previous(self, submitted: &Value, before: &str) -> String {
        if is_reset(submitted) {
            return String::new();
        }
        let text = submitted.to_string();
        let sensible = Entries::read(self.kind, &text).is_some_and(|entries| !entries.is_empty());
        if sensible { text } else { before.to_owned() }
    }

    /// The managedFields after an update, as text: the manager owns the changed fields.
    fn entries_after_update<'e>(
        self,
        now: &'e str,
        mut entries: Entries<'e>,
        old: &'e Value,
        new: &'e Value,
        manager: &'e str,
    ) -> String {
        let validated = self.kind.validated_version();
        let mut changes = compare(TypeStructure::of_kind(&validated), old, new);
        self.remove_reset_fields(&mut changes.added);
        self.remove_reset_fields(&mut changes.modified);
        self.remove_reset_fields(&mut changes.removed);
        let mut set = changes.added.union(changes.modified);
        entries.release(None, &set, &changes.removed);
        remove_unowned_fields(&mut set);
        let api_version = self.kind.api_version();
        let id = self.id(manager, ManagerOperation::Update, &api_version);
        let mut entries: Entries<'_> = entries;
        entries.add(id, set, now);
        entries.merge_oldest_updates();
        entries.write()
    }

    /// Applies a configuration, which contains apiVersion and kind, to an object, or creates an object from it.
    ///
    /// Returns the object in the stored version, not decoded yet, and its managedFields as text.
    pub(crate) fn apply(
        self,
        now: &str,
        live: Option<&Object>,
        applied: &Value,
        force: bool,
    ) -> Result<(Value, String), Status> {
        let document = self.validated_configuration(applied)?;
        let nothing = self.kind.validated_version().zero_value();
        let live_value = live.map_or(&nothing, |live| live.value());
        let first;
        let mut before = live.map(Object::managed_fields).unwrap_or_default();
        if before.is_empty() && live.is_some() {
            let none = Entries::none(self.kind);
            first = self.entries_after_update(now, none, &nothing, live_value, BEFORE_FIRST_APPLY);
            before = &first;
        }
        let (object, mut written) = self.merge(now, live_value, before, &document, force)?;
        let mut object = object.unwrap_or_else(|| live_value.clone());
        if self.manager == last_applied::KUBECTL {
            last_applied::refresh(&mut object, applied);
        }
        let validated = self.kind.validated_version();
        object["apiVersion"] = validated.api_version().into();
        object["kind"] = validated.kind.into();
        written.shrink_to_fit();
        Ok((object, written))
    }

    /// Merges a configuration into an object, or returns a conflict with other managers. Returns no object if the object does not change.
    fn merge(
        self,
        now: &str,
        live: &Value,
        before: &str,
        document: &Value,
        force: bool,
    ) -> Result<(Option<Value>, String), Status> {
        let api_version = self.kind.api_version();
        let id = self.id(self.manager, ManagerOperation::Apply, &api_version);
        let validated = self.kind.validated_version();
        let structure = TypeStructure::of_kind(&validated);
        let mut entries = Entries::read(self.kind, before).unwrap_or_else(|| Entries::none(self.kind));
        let mut set = fields(structure, document);
        self.remove_reset_fields(&mut set);
        let last = entries.replace(id.clone(), set);
        let mut object = live.clone();
        merge::merge(structure, &mut object, document);
        if !last.is_empty() {
            object = merge::prune(structure, &object, &last, &entries.all_fields());
        }
        let mut changes = compare(structure, live, &object);
        self.remove_reset_fields(&mut changes.added);
        self.remove_reset_fields(&mut changes.modified);
        self.remove_reset_fields(&mut changes.removed);
        let changed = changes.added.union(changes.modified);
        if !force {
            self.check_conflicts(live, entries.owned_by_others(&id, &changed))?;
        }
        entries.release(Some(&id), &changed, &changes.removed);
        entries.edit(&id, remove_unowned_fields);
        let differs = object != *live;
        if differs {
            entries.touch(&id, now);
        }
        let written = entries.write();
        Ok((differs.then_some(object), written))
    }

    /// Validates a configuration and converts it to the stored version.
    fn validated_configuration(self, applied: &Value) -> Result<Value, Status> {
        let text = |name: &str| applied[name].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        if !self.kind.has_version(version) || kind != self.kind.kind {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            return Err(Status::bad_request(format!(
                "invalid object type: {group}/{version}, Kind={kind}"
            )));
        }
        if applied["metadata"]["managedFields"].is_array() {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        let mut document = applied.clone();
        for name in ["apiVersion", "kind"] {
            json::assign(&mut document, name, Value::Null);
        }
        check::check(TypeStructure::of_kind(self.kind), &document).map_err(|why| {
            let subject = self.configuration_title(applied);
            Status::internal(format!("failed to create typed patch object ({subject}): {why}"))
        })?;
        Ok(self.kind.to_stored(document))
    }

    /// Identifies the configuration in error messages: `default/name; v1, Kind=Pod`.
    pub(crate) fn configuration_title(self, applied: &Value) -> String {
        let (namespace, name) = (
            metadata::text(applied, "namespace"),
            metadata::text(applied, "name"),
        );
        format!("{namespace}/{name}; {}", self.version_and_kind())
    }

    /// Version and kind as in error messages: `storage.k8s.io/v1, Kind=CSIDriver`, `/v1, Kind=Pod`.
    pub(crate) fn version_and_kind(self) -> String {
        let kind = &self.kind;
        format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind)
    }

    fn check_conflicts(self, live: &Value, conflicts: Vec<(String, Set<'_>)>) -> Result<(), Status> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let conflicts = if self.manager == last_applied::KUBECTL {
            last_applied::without_last_applied(self.kind, live, conflicts)
        } else {
            let paths = |(manager, set): (String, Set<'_>)| (manager, set.paths());
            conflicts.into_iter().map(paths).collect()
        };
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(conflict(&conflicts))
    }

    fn id<'e>(self, manager: &'e str, operation: ManagerOperation, api_version: &'e str) -> Id<'e> {
        Id {
            manager: if manager.is_empty() { UNKNOWN } else { manager }.into(),
            operation,
            api_version: api_version.into(),
            subresource: self.part.as_str().unwrap_or_default().into(),
        }
    }

    /// Removes the fields that a write to this resource or subresource cannot set (`GetResetFields` of the kind's strategy).
    fn remove_reset_fields(self, set: &mut Set<'_>) {
        for path in reset_fields(&self.kind.validated_version(), self.part) {
            set.drop_all(path);
        }
    }
}

fn reset_fields(kind: &Kind, part: Part) -> Paths {
    match part {
        _ if !kind.status => &[],
        Part::Status => kind.status_resets,
        Part::Main | Part::Sub(Subresource::Finalize) => kind.main_resets,
        Part::Sub(sub) => kind.hooks.part(sub).map_or(&[], |part| part.resets),
    }
}

fn remove_unowned_fields(set: &mut Set<'_>) {
    for name in UNOWNED {
        set.drop_member(&["metadata", name]);
    }
    for name in ["apiVersion", "kind", "metadata"] {
        set.drop_member(&[name]);
    }
}

/// Whether submitted managedFields request that managedFields be cleared: an empty list, or one empty entry.
fn is_reset(submitted: &Value) -> bool {
    match submitted.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.is_empty(),
        _ => false,
    }
}

pub(crate) fn set_managed_fields(value: &mut Value, written: String) {
    metadata::set(value, "managedFields", Some(written.into()));
}

/// Whether two managedFields texts differ only in times.
pub(crate) fn differ_only_in_times(kind: &Kind, one: &str, other: &str) -> bool {
    match (Entries::read(kind, one), Entries::read(kind, other)) {
        (Some(one), Some(other)) => one.equals_except_times(&other),
        _ => false,
    }
}

/// The 409 that lists the fields of other managers.
fn conflict(found: &[(String, Vec<String>)]) -> Status {
    let causes: Vec<Cause> = found
        .iter()
        .flat_map(|(manager, paths)| {
            paths.iter().map(move |path| Cause {
                reason: "FieldManagerConflict",
                message: format!("conflict with {manager}"),
                field: path.clone(),
            })
        })
        .collect();
    let message = match causes.as_slice() {
        [one] => format!("Apply failed with 1 conflict: {}: {}", one.message, one.field),
        many => {
            let parts: Vec<String> = found
                .iter()
                .map(|(manager, paths)| format!("conflicts with {manager}:\n- {}", paths.join("\n- ")))
                .collect();
            format!("Apply failed with {} conflicts: {}", many.len(), parts.join("\n"))
        }
    };
    Status {
        details: Some(Box::new(Details {
            causes,
            ..Details::default()
        })),
        ..Status::failure(409, "Conflict", message)
    }
}

#[cfg(test)]
mod tests;
