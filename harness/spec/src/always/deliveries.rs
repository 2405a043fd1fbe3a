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
        // What was its own once leaves with an event, however late that comes.
        let ever = self.former.of(key);
        let is_strange = !ever.is_empty() && !ever.iter().any(|object| publisher.owns(instance, key, object));
        is_strange.then(|| Violation {
            rule: rules::UNFILTERED,
            subject: Subject::Object(key.clone()),
            detail: format!("it is sent to {instance:?}, and is none of its own"),
        })
    }
}
