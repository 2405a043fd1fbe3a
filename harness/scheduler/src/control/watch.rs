//! The scheduler's watches, as one stream of parsed events.
//!
//! Parses outside any lock. Does not compare events with cached objects: the cache does.

use std::fmt::Debug;

use futures::stream::{BoxStream, SelectAll, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::api_version;
use super::watch_event::{Update, WatchEvent, read, waits};
use crate::objects::Object;

/// Excludes terminated pods: there may be many, and none of them is scheduled.
const NOT_TERMINATED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Starts all watches. The stream does not end: a failed watch is restarted.
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
        follow(Api::all(client.clone()), everything(), Update::Attachment),
        follow(Api::all(client.clone()), everything(), Update::Namespace),
        api_version::capacities(client),
    ])
}

/// Like `Api::all`, but limited to namespaced kinds, to make the intention explicit.
fn everywhere<K>(client: &Client) -> Api<K>
where
    K: k8s_openapi::Resource<Scope = NamespaceResourceScope> + Resource<DynamicType = ()>,
{
    Api::all(client.clone())
}

fn follow<T>(
    api: Api<T::Api>,
    config: watcher::Config,
    wrap: fn(WatchEvent<T>) -> Update,
) -> BoxStream<'static, Update>
where
    T: Object,
    T::Api: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let events = watcher(api, config).backoff(waits());
    let parsed = events.filter_map(move |event| {
        let parsed = match event {
            Ok(event) => Some(wrap(read(event))),
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
