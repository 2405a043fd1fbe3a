//! The watches that feed the scheduler, as one stream of parsed news.
//!
//! Parsing happens here, outside any lock. What news means for objects already known is the cache's business.

use std::fmt::Debug;

use futures::stream::{BoxStream, SelectAll, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::news::{News, Update, read, waits};
use super::served;
use crate::objects::Object;

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
    let events = watcher(api, config).backoff(waits());
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
