//! One watch: its selection, the events not yet sent, and their order.
//!
//! Owns the bounded queue between writers and one reader. Writers never block: a watch whose queue is full is closed.
//! Does not know HTTP; the reader serializes batches and waits with a waker.

use super::frames::{Frames, QueuedEvent};
use super::history::{Log, Transition, namespace_and_name};
use super::selection::Selection;
use crate::fault_injection::RuleId;
use crate::kinds::Kind;
use crate::object::{Objects, key_prefix, range_from};
use crate::observe::{Change, Event, WatchEnd};
use crate::store::activity::{Activity, ActivityGuard};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::task::{Context, Waker};
use tokio::time::Instant;

/// Maximum size of the queue of a watch, in bytes of objects.
const QUEUE_BYTES_MAX: usize = 128 << 20;
/// Size, in bytes of objects, after which a batch ends. It is small because, while a client does not read, one batch per watch stays in
/// memory beside the queue.
const BATCH_BYTES: usize = 64 * 1024;

/// Where the events of a watch start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Start with the current objects as ADDED events, followed by changes.
    State,
    /// Start with the changes after this revision.
    After(u64),
    /// Start with the next change.
    Now,
}

pub(crate) struct Watcher {
    pub(crate) id: u64,
    pub(crate) client: Arc<str>,
    pub(crate) kind: Kind,
    pub(super) selection: Selection,
    /// Changes up to and including this revision are not enqueued, because the initial events contain them.
    pub(super) after: u64,
    /// Maximum number of events in the queue.
    pub(super) limit: usize,
    pub(super) inbox: Mutex<Inbox>,
}

/// Events of a watch that its connection has not accepted yet.
pub(super) struct Inbox {
    head: InitialEvents,
    queue: VecDeque<QueuedEvent>,
    queue_bytes: usize,
    waker: Option<Waker>,
    closed: Option<WatchEnd>,
    /// Makes the server count as busy until the initial events are sent.
    starting: Option<ActivityGuard>,
    /// Set while a fault rule pauses delivery. Paused events do not count as unfinished work: the server can be idle.
    held: Option<WatchHold>,
    /// Number of events to deliver before a fault rule ends the watch; `None` if no rule ends it.
    left: Option<usize>,
}

/// A fault rule that pauses the delivery of a watch.
#[derive(Clone, Copy)]
struct WatchHold {
    rule: RuleId,
    until: Option<Instant>,
}

/// The initial events of a watch, which are sent before the queued changes.
pub(super) enum InitialEvents {
    State {
        objects: Objects,
        last: Option<Arc<str>>,
    },
    Backlog {
        log: Log,
        last: u64,
    },
    /// All initial objects are sent; the bookmark that marks their end is not sent yet.
    Complete,
    Done,
}

/// What `take_batch` returns: events, or the reason why there are none.
pub(crate) enum Batch {
    /// Events in order. After sending them, the reader reports their delivery and subtracts `counted` from `Activity`.
    Events {
        events: Vec<QueuedEvent>,
        /// How many of `events` count as unfinished work.
        counted: usize,
    },
    /// All initial objects are sent, at this revision. Returned once by a watch that starts with the current state.
    Complete(u64),
    /// No event can be sent now. The waker of the reader is stored.
    Pending,
    /// A fault rule pauses delivery until this time. The waker of the reader is stored.
    Held(Instant),
    Closed(WatchEnd),
}

impl Watcher {
    /// Enqueues a change if the watch selects it, and returns the waker of the reader. The caller wakes the reader after it has released
    /// the store lock, because waking takes longer than enqueueing.
    pub(super) fn enqueue_change(
        &self,
        transition: &Transition<'_>,
        frames: &Arc<Frames>,
        activity: &Activity,
    ) -> Option<Waker> {
        if transition.logged.revision <= self.after {
            return None;
        }
        let event = self.selection.event_for(transition, Some(frames))?;
        let mut inbox = self.inbox.lock();
        if inbox.closed.is_some() {
            return None;
        }
        if inbox.queue.len() >= self.limit || inbox.queue_bytes >= QUEUE_BYTES_MAX {
            activity.done(inbox.discard());
            inbox.closed = Some(WatchEnd::Slow);
        } else {
            activity.add(usize::from(inbox.held.is_none()));
            inbox.push(event);
        }
        inbox.waker.take()
    }

    /// Ends the watch after the delivery of `events` more events.
    pub(super) fn end_after(&self, events: usize, activity: &Activity) {
        self.inbox.lock().left = Some(events);
        if events == 0 {
            self.end(WatchEnd::FaultInjected, activity);
        }
    }

    /// Ends the watch and drops its unsent events.
    pub(super) fn end(&self, why: WatchEnd, activity: &Activity) {
        let mut inbox = self.inbox.lock();
        if inbox.closed.is_none() {
            activity.done(inbox.discard());
            inbox.closed = Some(why);
            inbox.wake();
        }
    }

    /// Pauses delivery until `resume_delivery` is called for the fault rule `rule`, or until the time `until`.
    pub(super) fn pause_delivery(&self, rule: RuleId, until: Option<Instant>, activity: &Activity) {
        let mut inbox = self.inbox.lock();
        if inbox.held.is_none() {
            activity.done(inbox.queue.len());
            inbox.starting = None;
        }
        inbox.held = Some(WatchHold { rule, until });
        inbox.wake();
    }

    /// Resumes delivery if the fault rule `rule` paused delivery.
    pub(super) fn resume_delivery(&self, rule: RuleId, activity: &Activity) {
        let mut inbox = self.inbox.lock();
        if inbox.held.is_some_and(|held| held.rule == rule) {
            inbox.resume_delivery(activity);
        }
    }

    /// Takes the next events, at most `most`; if there are none, stores the waker of the reader.
    pub(crate) fn take_batch(&self, most: usize, activity: &Activity, cx: &Context<'_>) -> Batch {
        let mut inbox = self.inbox.lock();
        if let Some(why) = inbox.closed {
            return Batch::Closed(why);
        }
        if let Some(held) = inbox.held {
            if held.until.is_none_or(|until| until > Instant::now()) {
                inbox.waker = Some(cx.waker().clone());
                return held.until.map_or(Batch::Pending, Batch::Held);
            }
            inbox.resume_delivery(activity);
        }
        let most = inbox.left.map_or(most, |left| most.min(left));
        if most == 0 {
            activity.done(inbox.discard());
            inbox.closed = Some(WatchEnd::FaultInjected);
            return Batch::Closed(WatchEnd::FaultInjected);
        }
        let batch = match inbox.take_initial_events(&self.selection, self.after, most) {
            Some(batch) => batch,
            None if inbox.queue.is_empty() => {
                inbox.waker = Some(cx.waker().clone());
                return Batch::Pending;
            }
            None => inbox.take_queue(most),
        };
        if let (Batch::Events { events, .. }, Some(left)) = (&batch, &mut inbox.left) {
            *left = left.saturating_sub(events.len());
        }
        batch
    }

    /// Whether all events are sent and no fault rule pauses delivery.
    pub(super) fn is_drained(&self) -> bool {
        let inbox = self.inbox.lock();
        inbox.queue.is_empty() && matches!(inbox.head, InitialEvents::Done) && inbox.held.is_none()
    }

    /// Marks the watch as closed and returns the reason. If it was closed already, the first reason is returned.
    pub(super) fn close(&self, why: WatchEnd) -> WatchEnd {
        let mut inbox = self.inbox.lock();
        inbox.head = InitialEvents::Done;
        inbox.starting = None;
        *inbox.closed.get_or_insert(why)
    }

    /// Empties the queue of a closed watch and returns the number of dropped events that counted as unfinished work.
    pub(super) fn discard(&self) -> usize {
        self.inbox.lock().discard()
    }

    pub(super) fn delivery_event(&self, event: &QueuedEvent) -> Event {
        let (namespace, name) = event.object.read_value(namespace_and_name);
        Event::Delivery {
            client: self.client.clone(),
            watch: self.id,
            change: event.change,
            group: self.kind.group,
            resource: self.kind.plural,
            namespace,
            name,
            revision: event.object.revision,
        }
    }
}

impl Inbox {
    pub(super) fn new(head: InitialEvents, starting: ActivityGuard) -> Self {
        let starting = Some(starting).filter(|_| !matches!(head, InitialEvents::Done));
        Self {
            head,
            queue: VecDeque::new(),
            queue_bytes: 0,
            waker: None,
            closed: None,
            starting,
            held: None,
            left: None,
        }
    }

    fn push(&mut self, event: QueuedEvent) {
        self.queue_bytes += event.object.bytes().len();
        self.queue.push_back(event);
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn resume_delivery(&mut self, activity: &Activity) {
        self.held = None;
        activity.add(self.queue.len());
        if !matches!(self.head, InitialEvents::Done) {
            self.starting = Some(activity.begin());
        }
        self.wake();
    }

    /// Drops the queued and the initial events, because the stream of a closed watch exists as long as its client does not read. Returns the
    /// number of dropped events that counted as unfinished work.
    fn discard(&mut self) -> usize {
        self.advance_initial_events(InitialEvents::Done);
        self.queue_bytes = 0;
        let discarded = std::mem::take(&mut self.queue).len();
        if self.held.is_some() { 0 } else { discarded }
    }

    fn take_queue(&mut self, most: usize) -> Batch {
        let mut events = Vec::new();
        let mut bytes = 0;
        while events.len() < most && bytes < BATCH_BYTES {
            let Some(event) = self.queue.pop_front() else {
                break;
            };
            bytes += event.object.bytes().len();
            events.push(event);
        }
        self.queue_bytes -= bytes;
        Batch::Events {
            counted: events.len(),
            events,
        }
    }

    /// The next batch of initial events; `None` once all are sent. A batch ends after `most` examined objects, however few of them match,
    /// because writers wait for the lock of the inbox.
    fn take_initial_events(&mut self, selection: &Selection, now: u64, most: usize) -> Option<Batch> {
        let (mut events, mut bytes) = (Vec::new(), 0);
        let next = match &mut self.head {
            InitialEvents::Done => return None,
            InitialEvents::Complete => {
                self.advance_initial_events(InitialEvents::Done);
                return Some(Batch::Complete(now));
            }
            InitialEvents::State { objects, last } => {
                let namespace = selection.namespace.as_deref();
                let first = || Bound::Included(key_prefix(namespace).into());
                let start = last.clone().map_or_else(first, Bound::Excluded);
                let mut rest = range_from(objects, namespace, start);
                for (key, object) in rest.by_ref().take(most) {
                    *last = Some(key.clone());
                    if selection.matches(key, object) {
                        events.push(QueuedEvent {
                            change: Change::Added,
                            object: object.clone(),
                            frames: None,
                        });
                        bytes += object.bytes().len();
                    }
                    if bytes >= BATCH_BYTES {
                        break;
                    }
                }
                rest.next().is_none().then_some(InitialEvents::Complete)
            }
            InitialEvents::Backlog { log, last } => {
                let mut rest = log.range(*last + 1..);
                for (revision, logged) in rest.by_ref().take(most) {
                    *last = *revision;
                    let transition = logged.transition();
                    if selection.key_matches(&logged.key) {
                        events.extend(selection.event_for(&transition, None));
                        bytes += transition.object.bytes().len();
                    }
                    if bytes >= BATCH_BYTES {
                        break;
                    }
                }
                rest.next().is_none().then_some(InitialEvents::Done)
            }
        };
        if let Some(next) = next {
            self.advance_initial_events(next);
        }
        Some(Batch::Events { events, counted: 0 })
    }

    fn advance_initial_events(&mut self, next: InitialEvents) {
        if matches!(next, InitialEvents::Done) {
            self.starting = None;
        }
        self.head = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;
    use serde_json::json;

    fn event(bytes: usize) -> QueuedEvent {
        QueuedEvent {
            change: Change::Added,
            object: Object::new(
                json!({"kind": "K", "apiVersion": "v1", "data": "x".repeat(bytes)}),
                1,
            ),
            frames: None,
        }
    }

    #[test]
    fn a_batch_ends_after_the_object_that_reaches_the_byte_limit() {
        let mut inbox = Inbox::new(InitialEvents::Done, Activity::default().begin());
        for bytes in [10, BATCH_BYTES, 10, 10] {
            inbox.push(event(bytes));
        }
        let mut taken = || match inbox.take_queue(64) {
            Batch::Events { events, .. } => (events.len(), inbox.queue_bytes),
            _ => (0, 0),
        };
        assert_eq!(taken().0, 2);
        assert_eq!(taken(), (2, 0));
    }
}
