//! The watches that feed the scheduler, as one stream of parsed news.
//!
//! Parsing happens here, outside any lock. What news means for objects already known is the cache's business.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, SelectAll, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::served;
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

/// Pods that ended cannot be scheduled any more and are many.
const NOT_TERMINATED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Starts all watches. The stream does not end: a watch that fails is started again.
pub(super) fn all(client: &Client) -> SelectAll<BoxStream<'static, Update>> {
    let everything = watcher::Config::default;
    futures::stream::select_all([
        follow(
            everywhere(client),
            everything().fields(NOT_TERMINATED),
            Update::Pod,
        ),
        follow(Api::all(client.clone()), everything(), Update::Node),
        follow(everywhere(client), everything(), Update::Claim),
        follow(Api::all(client.clone()), everything(), Update::Volume),
        follow(Api::all(client.clone()), everything(), Update::Class),
        follow(Api::all(client.clone()), everything(), Update::Driver),
        follow(Api::all(client.clone()), everything(), Update::CsiNode),
        served::capacities(client),
    ])
}

/// Like `Api::all`, but only for namespaced kinds, so that the intention shows.
fn everywhere<K>(client: &Client) -> Api<K>
where
    K: k8s_openapi::Resource<Scope = NamespaceResourceScope> + Resource<DynamicType = ()>,
{
    Api::all(client.clone())
}

fn follow<T>(
    api: Api<T::Api>,
    config: watcher::Config,
    wrap: fn(News<T>) -> Update,
) -> BoxStream<'static, Update>
where
    T: Object,
    T::Api: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let events = watcher::watcher(api, config).backoff(Retry::default());
    let news = events.filter_map(move |event| {
        let news = match event {
            Ok(event) => Some(wrap(read(event))),
            Err(error) => {
                let kind = T::Api::kind(&());
                warn!(%kind, %error, "watch failed, trying again");
                None
            }
        };
        std::future::ready(news)
    });
    news.boxed()
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

/// The waiting time before a failed watch is started again: doubles up to a bound, and starts over after a success.
#[derive(Debug)]
pub(super) struct Retry {
    next: Duration,
}

impl Retry {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(5);
}

impl Default for Retry {
    fn default() -> Self {
        Self { next: Self::FIRST }
    }
}

impl Iterator for Retry {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = self.next;
        self.next = (now * 2).min(Self::LONGEST);
        Some(now)
    }
}

impl Backoff for Retry {
    fn reset(&mut self) {
        *self = Self::default();
    }
}
