//! Watch events: parsed objects, and the start and end of lists. Also the backoff of failed watches.

use std::sync::Arc;
use std::time::Duration;

use backon::ExponentialBuilder;
use kube::Resource;
use kube::runtime::watcher::{Event, ExponentialBackoff};
use tracing::warn;

use crate::objects::{
    Capacity, Claim, Class, CsiNode, Driver, Namespace, Node, Object, ObjectKey, Pod, Volume,
    VolumeAttachment,
};

#[derive(Debug)]
pub(super) enum WatchEvent<T> {
    ListBegins,
    /// An object of the list in progress.
    Listed(Arc<T>),
    /// The list is complete: objects that it does not contain were deleted.
    ListEnds,
    /// An object was added or modified.
    Changed(Arc<T>),
    Deleted(ObjectKey),
    /// An object exists but cannot be parsed: its key and the error.
    Unreadable(ObjectKey, String),
}

/// An event of one of the scheduler's watches.
#[derive(Debug)]
pub(super) enum Update {
    Pod(WatchEvent<Pod>),
    Node(WatchEvent<Node>),
    Claim(WatchEvent<Claim>),
    Volume(WatchEvent<Volume>),
    Class(WatchEvent<Class>),
    Driver(WatchEvent<Driver>),
    Capacity(WatchEvent<Capacity>),
    CsiNode(WatchEvent<CsiNode>),
    Attachment(WatchEvent<VolumeAttachment>),
    Namespace(WatchEvent<Namespace>),
}

pub(super) fn parse_event<T>(event: Event<T::Api>) -> WatchEvent<T>
where
    T: Object,
{
    match event {
        Event::Init => WatchEvent::ListBegins,
        Event::InitDone => WatchEvent::ListEnds,
        Event::InitApply(source) => read_object(&source, WatchEvent::Listed),
        Event::Apply(source) => read_object(&source, WatchEvent::Changed),
        Event::Delete(source) => WatchEvent::Deleted(ObjectKey::of(source.meta())),
    }
}

fn read_object<T: Object>(source: &T::Api, wrap: fn(Arc<T>) -> WatchEvent<T>) -> WatchEvent<T> {
    match T::read(source) {
        Ok(object) => wrap(Arc::new(object)),
        Err(error) => {
            warn!(%error, "the object cannot be read");
            WatchEvent::Unreadable(ObjectKey::of(source.meta()), error.to_string())
        }
    }
}

/// Delays before a failed watch is restarted.
pub(super) const WATCH_PACE: capacity_client::ExponentialBackoff = capacity_client::ExponentialBackoff {
    start: Duration::from_millis(50),
    max: Duration::from_secs(5),
};

/// The backoff of a watch, which is reset after a success.
pub(super) fn watch_backoff() -> ExponentialBackoff {
    let doubling = ExponentialBuilder::default().with_factor(2.0).without_max_times();
    doubling
        .with_min_delay(WATCH_PACE.start)
        .with_max_delay(WATCH_PACE.max)
        .into()
}
