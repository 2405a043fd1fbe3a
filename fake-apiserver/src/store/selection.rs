//! Which objects a list or watch selects.

use super::frames::{Frames, QueuedEvent};
use super::history::Transition;
use crate::kinds::Kind;
use crate::machinery::selector::{FieldSelector, LabelSelector};
use crate::object::{Object, Objects, split_key};
use crate::observe::Change;
use std::sync::Arc;

/// Namespace, name and selectors of a list or watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) namespace: Option<String>,
    /// A single object name, from the deprecated `watch/…/NAME` paths.
    pub(crate) name: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    pub(crate) fn matches(&self, key: &str, object: &Object) -> bool {
        self.key_matches(key) && self.selectors_match(object)
    }

    /// Whether a key is in the selected namespace and has the selected name.
    pub(super) fn key_matches(&self, key: &str) -> bool {
        // Fast path for long lists without namespace and name.
        if self.namespace.is_none() && self.name.is_none() {
            return true;
        }
        let (namespace, name) = split_key(key);
        let is = |own: &Option<String>, it: &str| own.as_ref().is_none_or(|own| own == it);
        is(&self.namespace, namespace) && is(&self.name, name)
    }

    fn selectors_match(&self, object: &Object) -> bool {
        let (labels, fields) = (&self.labels, &self.fields);
        let all = labels.is_empty() && fields.is_empty();
        all || object.read_value(|value| labels.matches(value) && fields.matches(value))
    }

    /// The only namespace whose objects can match. `None` if objects of several namespaces can match.
    pub(super) fn single_namespace(&self) -> Option<&str> {
        let own = self.namespace.as_deref();
        own.or_else(|| self.fields.required_value("/metadata/namespace"))
    }

    /// The only name that matching objects can have. `None` if objects with several names can match.
    pub(super) fn single_name(&self) -> Option<&str> {
        let own = self.name.as_deref();
        own.or_else(|| self.fields.required_value("/metadata/name"))
    }

    /// A subset of `objects` that contains all matching objects: if the selection names one object, at most this object.
    pub(crate) fn narrow(&self, kind: &Kind, objects: Objects) -> Objects {
        let (namespace, name) = (self.single_namespace(), self.single_name());
        match name {
            Some(name) if namespace.is_some() || !kind.namespaced => {
                let found = objects.get_key_value(kind.key(namespace, name).as_str());
                found.map_or_else(Objects::new, |(key, object)| {
                    Objects::unit(key.clone(), object.clone())
                })
            }
            _ => objects,
        }
    }

    /// The watch event that a watch with this selection sends for a change. `None` if the watch sends no event.
    pub(super) fn event_for(
        &self,
        transition: &Transition<'_>,
        frames: Option<&Arc<Frames>>,
    ) -> Option<QueuedEvent> {
        let Transition { logged, object, old } = transition;
        let before = old.as_ref().is_some_and(|old| self.selectors_match(old));
        let after = logged.change != Change::Deleted && self.selectors_match(object);
        let (change, object) = match (before, after) {
            (false, true) => (Change::Added, object.clone()),
            (true, true) => (Change::Modified, object.clone()),
            (true, false) if logged.change == Change::Deleted => (Change::Deleted, object.clone()),
            (true, false) => (Change::Deleted, logged.object_leaving_selector()),
            (false, false) => return None,
        };
        Some(QueuedEvent {
            change,
            object,
            frames: frames.cloned(),
        })
    }
}
