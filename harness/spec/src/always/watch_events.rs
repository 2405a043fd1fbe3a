//! Rules for watch events that publishers receive: only events for their own objects.

use super::monitor::Monitor;
use crate::rules;
use crate::violation::{Subject, Violation};
use crate::world::{Instance, NamespacedName};

impl Monitor {
    pub(super) fn object_delivered(&self, instance: &Instance, key: &NamespacedName) -> Option<Violation> {
        let publisher = self.world.publishers.get(instance)?;
        // A selector cannot select by owner, and an unknown managed-by label cannot be checked.
        if publisher.identifies_by_owner || publisher.managed_by(instance).is_none() {
            return None;
        }
        // When an object stops matching the selector of a watch, the watch gets an event, possibly much later. So former labels count as
        // well.
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
