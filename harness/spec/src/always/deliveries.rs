//! What publishers are sent: their own objects, and no others.

use super::monitor::Monitor;
use crate::rules;
use crate::violation::{Subject, Violation};
use crate::world::{Instance, NamespacedName};

impl Monitor {
    pub(super) fn delivered(&self, instance: &Instance, key: &NamespacedName) -> Option<Violation> {
        let publisher = self.world.publishers.get(instance)?;
        // No selector tells owners apart, and none is known for a label that was not seen yet.
        if publisher.by_owner || publisher.managed_by(instance).is_none() {
            return None;
        }
        let mut ever = self
            .lately
            .object(key)
            .chain(self.world.objects.get(key))
            .peekable();
        let is_known = ever.peek().is_some();
        // What was its own once leaves with an event.
        let is_strange = is_known && !ever.any(|object| publisher.owns(instance, key, object));
        is_strange.then(|| Violation {
            rule: rules::UNFILTERED,
            subject: Subject::Object(key.clone()),
            detail: format!("it is sent to {instance:?}, and is none of its own"),
        })
    }
}
