//! Events of a watch whose objects a webhook converts before they are sent. Does not know how they are sent.

use crate::consult::convert_objects;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::store::{Delivered, Store};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Events whose objects a webhook converts.
pub(super) struct Converting {
    events: Vec<Delivered>,
    /// What the activity of the server has counted them as.
    pub(super) counted: usize,
    work: Pin<Box<dyn Future<Output = Result<(), Status>> + Send>>,
}

impl Converting {
    /// Has the objects of events converted to the version of a resource.
    pub(super) fn new(store: &Arc<Store>, kind: &Kind, events: Vec<Delivered>, counted: usize) -> Self {
        let (store, kind) = (store.clone(), kind.clone());
        let objects: Vec<_> = events.iter().map(|event| event.object.clone()).collect();
        Self {
            events,
            counted,
            work: Box::pin(async move { convert_objects(&store, &kind, &objects).await }),
        }
    }

    /// Whether they are converted, with the events and what they were counted as.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(Result<(), Status>, Vec<Delivered>, usize)> {
        let outcome = ready!(self.work.as_mut().poll(cx));
        Poll::Ready((outcome, std::mem::take(&mut self.events), self.counted))
    }
}
