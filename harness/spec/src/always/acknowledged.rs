//! Objects that publishers know to have created, because the API server told them so.

use std::sync::Arc;

use crate::world::{Instance, NamespacedName};

/// What was created since a program began, and by which program.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    /// Written, and not answered yet.
    written: Vec<(Instance, NamespacedName)>,
    /// Answered, by client.
    pub(super) told: Vec<(Arc<str>, NamespacedName)>,
    /// Whether an answer may have been lost since everything was last quiet.
    is_doubtful: bool,
}

impl Acknowledged {
    /// A program begins to run, and knows nothing.
    pub(super) fn began(&mut self, client: &Arc<str>) {
        self.told.retain(|(by, _)| by != client);
        self.written.clear();
    }

    pub(super) fn disturbed(&mut self) {
        *self = Acknowledged {
            is_doubtful: true,
            ..Acknowledged::default()
        };
    }

    pub(super) fn settle(&mut self) {
        self.is_doubtful = false;
        self.written.clear();
    }

    /// A publisher has created an object.
    pub(super) fn wrote(&mut self, by: &Instance, key: &NamespacedName) {
        if !self.is_doubtful {
            self.written.push((by.clone(), key.clone()));
        }
    }

    /// The oldest object that was created and not answered.
    pub(super) fn answered(&mut self, by: &Instance) -> Option<NamespacedName> {
        let at = self.written.iter().position(|(of, _)| of == by)?;
        Some(self.written.remove(at).1)
    }
}
