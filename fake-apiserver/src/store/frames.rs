//! Serialized watch events: the first watch that sends a change serializes it, and all other watches share the result.
//!
//! The serialized form exists as long as a watch has the change in its queue. Does not know how events are serialized.

use crate::kinds::Kind;
use crate::object::Object;
use crate::observe::Change;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;

/// A watch event that a watcher passes to its connection.
#[derive(Clone)]
pub(crate) struct QueuedEvent {
    pub(crate) change: Change,
    pub(crate) object: Arc<Object>,
    /// The serialized forms, shared by all watches that were open when the object changed. `None` for initial events and for events from
    /// the log.
    pub(crate) frames: Option<Arc<Frames>>,
}

/// The version, event type and encoding in which a watch sends a change. Compared for every sent event, so its fields must be cheap to
/// compare.
#[derive(Clone, PartialEq)]
pub(crate) struct FrameForm {
    /// The resource and version of the request.
    pub(crate) kind: Kind,
    /// The type of the event. A watch with a selector can see another type for a change than a watch of all objects.
    pub(crate) change: Change,
    /// Id of the response form: equal ids mean equal bytes.
    pub(crate) form: u8,
}

/// The serialized forms of one change.
#[derive(Default)]
pub(crate) struct Frames(Mutex<Vec<(FrameForm, Bytes)>>);

impl Frames {
    /// The change, serialized in this form. Calls `render` unless an earlier call for the form succeeded.
    pub(crate) fn get<E>(
        &self,
        form: FrameForm,
        render: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let mut known = self.0.lock();
        if let Some((_, bytes)) = known.iter().find(|(other, _)| *other == form) {
            return Ok(bytes.clone());
        }
        let bytes = render()?;
        known.push((form, bytes.clone()));
        Ok(bytes)
    }
}
