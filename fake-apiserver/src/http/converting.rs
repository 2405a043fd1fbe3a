//! Watch events whose objects a conversion webhook must convert before they are sent. Does not know how events are sent.

use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::store::{QueuedEvent, Store};
use crate::webhook::convert_objects;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

pub(super) struct ConvertingEvents {
    events: Vec<QueuedEvent>,
    /// How many of the waiting events the server's activity counter counts as undelivered.
    pub(super) counted: usize,
    work: Pin<Box<dyn Future<Output = Result<(), Status>> + Send>>,
}

impl ConvertingEvents {
    /// Starts the conversion of the objects in `events` to the version of `kind`.
    pub(super) fn new(store: &Arc<Store>, kind: &Kind, events: Vec<QueuedEvent>, counted: usize) -> Self {
        let (store, kind) = (store.clone(), kind.clone());
        let objects: Vec<_> = events.iter().map(|event| event.object.clone()).collect();
        Self {
            events,
            counted,
            work: Box::pin(async move { convert_objects(&store, &kind, &objects).await }),
        }
    }

    /// Polls the conversion. After its completion, returns the conversion result, the events and `counted`.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<(Result<(), Status>, Vec<QueuedEvent>, usize)> {
        let outcome = ready!(self.work.as_mut().poll(cx));
        Poll::Ready((outcome, std::mem::take(&mut self.events), self.counted))
    }
}
