//! What one change looks like on the wire: rendered by the first watch that sends it, shared by all others.
//!
//! Lives as long as some watch has the change in its queue. Does not know how a form is rendered.

use crate::observe::Change;
use bytes::Bytes;
use parking_lot::Mutex;

/// A form in which watches send events. All words come from tables, so that there are few of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameForm {
    /// The group and version that the object is read through.
    pub(crate) served: (&'static str, &'static str),
    /// What the event is called: watches of a selection see other events than watches of everything.
    pub(crate) change: Change,
    /// The media type and what it is narrowed to.
    pub(crate) form: [&'static str; 3],
}

/// The forms of one change that were rendered so far.
#[derive(Debug, Default)]
pub(crate) struct Frames(Mutex<Vec<(FrameForm, Bytes)>>);

impl Frames {
    /// The change in a form; `render` is asked only once for each form, and again where it fails.
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
