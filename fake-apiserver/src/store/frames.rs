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
    /// The serialized event, shared by all watches that were open when the object changed. `None` for initial events and for events from
    /// the log.
    pub(crate) frames: Option<Arc<Frames>>,
}

/// The version, event type and encoding in which a watch sends a change. Compared for every sent event, so its fields must be cheap to
/// compare.
#[derive(Clone, PartialEq)]
pub(crate) struct FrameForm {
    /// The resource and version of the request.
    pub(crate) kind: Kind,
    /// The event type. For one change, a watch with a selector can send another type than a watch of all objects.
    pub(crate) change: Change,
    /// Id of the response format and encoding: equal ids mean equal bytes.
    pub(crate) form: u8,
}

/// One change, serialized in each version, event type and encoding that a watch has sent.
#[derive(Default)]
pub(crate) struct Frames(Mutex<Vec<(FrameForm, Bytes)>>);

impl Frames {
    /// Returns the change serialized as `form` requires. Calls `render` unless an earlier call with this `form` succeeded.
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
