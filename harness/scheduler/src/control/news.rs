//! What the watches tell: parsed objects, and lists that begin and end. Also how long a watch waits that has failed.

use std::sync::Arc;
use std::time::Duration;

use backon::ExponentialBuilder;
use kube::Resource;
use kube::runtime::watcher::{Event, ExponentialBackoff};
use tracing::warn;

use crate::objects::{Capacity, Claim, Class, CsiNode, Driver, Node, Object, ObjectKey, Pod, Volume};

/// What one watch tells.
#[derive(Debug)]
pub(super) enum News<T> {
    /// A complete list follows.
    ListBegins,
    /// An object of that list.
    Listed(Arc<T>),
    /// The list is complete: whatever it did not name is gone.
    ListEnds,
    /// An object was added or changed.
    Changed(Arc<T>),
    /// An object was deleted.
    Gone(ObjectKey),
    /// An object exists and cannot be read, for this reason.
    Unreadable(ObjectKey, String),
}

/// News of one of the watches.
#[derive(Debug)]
pub(super) enum Update {
    Pod(News<Pod>),
    Node(News<Node>),
    Claim(News<Claim>),
    Volume(News<Volume>),
    Class(News<Class>),
    Driver(News<Driver>),
    Capacity(News<Capacity>),
    CsiNode(News<CsiNode>),
}

pub(super) fn read<T>(event: Event<T::Api>) -> News<T>
where
    T: Object,
{
    match event {
        Event::Init => News::ListBegins,
        Event::InitDone => News::ListEnds,
        Event::InitApply(source) => read_object(&source, News::Listed),
        Event::Apply(source) => read_object(&source, News::Changed),
        Event::Delete(source) => News::Gone(ObjectKey::of(source.meta())),
    }
}

fn read_object<T: Object>(source: &T::Api, wrap: fn(Arc<T>) -> News<T>) -> News<T> {
    match T::read(source) {
        Ok(object) => wrap(Arc::new(object)),
        Err(error) => {
            warn!(%error, "the object cannot be read");
            News::Unreadable(ObjectKey::of(source.meta()), error.to_string())
        }
    }
}

/// The waits before a failed watch is started again: they double up to a bound, and start over after a success.
pub(super) fn waits() -> ExponentialBackoff {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(5);
    let doubling = ExponentialBuilder::default().with_factor(2.0).without_max_times();
    doubling.with_min_delay(FIRST).with_max_delay(LONGEST).into()
}
