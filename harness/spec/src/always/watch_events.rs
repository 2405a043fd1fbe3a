//! Watch events to publishers: only for their own objects.

use super::monitor::Monitor;
use crate::rules;
use crate::violation::{Subject, Violation};
use crate::world::{Instance, NamespacedName};

impl Monitor {
    pub(super) fn object_delivered(&self, instance: &Instance, key: &NamespacedName) -> Option<Violation> {
        let publisher = self.world.publishers.get(instance)?;
        // Selectors cannot distinguish owners, and an unknown label cannot be checked.
        if publisher.identifies_by_owner || publisher.managed_by(instance).is_none() {
            return None;
        }
        // An object that once matched is reported when it stops matching, however late.
        let former = self.former_labels.of(key);
        let is_unexpected =
            !former.is_empty() && !former.iter().any(|object| publisher.owns(instance, key, object));
        is_unexpected.then(|| Violation {
            rule: rules::WATCH_WITHOUT_SELECTOR,
            subject: Subject::Object(key.clone()),
            detail: format!(
                "the watch of {instance} delivered the object, although it belongs to another publisher"
            ),
        })
    }
}
