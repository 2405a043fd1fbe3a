//! The scheduler's watches, as one stream of parsed events.
//!
//! Objects are parsed before the cache is locked. The cache compares events with its stored objects.

use std::fmt::Debug;

use futures::stream::{BoxStream, SelectAll, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::capacity_watch;
use super::watch_event::{Update, WatchEvent, parse_event, watch_backoff};
use crate::objects::Object;

/// Field selector that excludes terminated pods, which need no scheduling.
const NOT_TERMINATED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Starts all watches. The stream does not end: a failed watch is restarted.
pub(super) fn watch_all(client: &Client) -> SelectAll<BoxStream<'static, Update>> {
    let default_config = watcher::Config::default;
    futures::stream::select_all([
        watch_resource(
            all_namespaces(client),
            default_config().fields(NOT_TERMINATED),
            Update::Pod,
        ),
        watch_resource(Api::all(client.clone()), default_config(), Update::Node),
        watch_resource(all_namespaces(client), default_config(), Update::Claim),
        watch_resource(Api::all(client.clone()), default_config(), Update::Volume),
        watch_resource(Api::all(client.clone()), default_config(), Update::Class),
        watch_resource(Api::all(client.clone()), default_config(), Update::Driver),
        watch_resource(Api::all(client.clone()), default_config(), Update::CsiNode),
        watch_resource(Api::all(client.clone()), default_config(), Update::Attachment),
        watch_resource(Api::all(client.clone()), default_config(), Update::Namespace),
        capacity_watch::watch_capacities(client),
    ])
}

/// Like `Api::all`, but compiles only for namespaced kinds.
fn all_namespaces<K>(client: &Client) -> Api<K>
where
    K: k8s_openapi::Resource<Scope = NamespaceResourceScope> + Resource<DynamicType = ()>,
{
    Api::all(client.clone())
}

fn watch_resource<T>(
    api: Api<T::Api>,
    config: watcher::Config,
    wrap: fn(WatchEvent<T>) -> Update,
) -> BoxStream<'static, Update>
where
    T: Object,
    T::Api: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let events = watcher(api, config).backoff(watch_backoff());
    let parsed = events.filter_map(move |event| {
        let parsed = match event {
            Ok(event) => Some(wrap(parse_event(event))),
            Err(error) => {
                let kind = T::Api::kind(&());
                warn!(%kind, %error, "watch failed, trying again");
                None
            }
        };
        std::future::ready(parsed)
    });
    parsed.boxed()
}
