//! What one change looks like on the wire: rendered by the first watch that sends it, shared by all others.
//!
//! Lives as long as some watch has the change in its queue. Does not know how a form is rendered.

use crate::kinds::Kind;
use crate::object::Object;
use crate::observe::Change;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;

/// One event for the client.
#[derive(Clone)]
pub(crate) struct Delivered {
    pub(crate) change: Change,
    pub(crate) object: Arc<Object>,
    /// What the watches that were open when it happened share.
    pub(crate) frames: Option<Arc<Frames>>,
}

/// A form in which watches send events. It is compared for every event that a watch sends, so it is made of what is
/// compared at once.
#[derive(Clone, PartialEq)]
pub(crate) struct FrameForm {
    /// The resource that the object is read through.
    pub(crate) kind: Kind,
    /// What the event is called: watches of a selection see other events than watches of everything.
    pub(crate) change: Change,
    /// The media type and what it is narrowed to, by number.
    pub(crate) form: u8,
}

/// The forms of one change that were rendered so far.
#[derive(Default)]
pub(crate) struct Frames(Mutex<Vec<(FrameForm, Bytes)>>);

impl Frames {
    /// The change in a form; `render` is called only once for each form, and again where it fails.
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
