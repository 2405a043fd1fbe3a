//! The watch of CSIStorageCapacity in the version that the server serves: `v1` since 1.24, before `v1beta1` and `v1alpha1`, none if the
//! feature gate is disabled. All versions have the same fields.
//!
//! If the server does not serve the type, scheduling starts without capacity objects. If it no longer serves the type, the cached objects
//! are retained, since disabling the API does not delete objects (KEP-1472, enablement and rollback).

use std::collections::VecDeque;

use capacity_types::capacity_api::{GROUP, KIND, RESOURCE, VERSIONS, api_version, is_served};
use futures::stream::{self, BoxStream, StreamExt};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, TypeMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, ExponentialBackoff};
use tracing::{info, warn};

use super::watch_event::{Update, WatchEvent, parse_event, watch_backoff};
use crate::objects::{Capacity, ObjectKey};
use crate::status::is_type_missing;

/// Watches the capacity objects. The stream does not end.
pub(super) fn watch_capacities(client: &Client) -> BoxStream<'static, Update> {
    let watch = CapacityWatch {
        client: client.clone(),
        events: None,
        backoff: watch_backoff(),
        failed: false,
        listed: false,
        pending: VecDeque::new(),
    };
    let updates = stream::unfold(watch, |mut watch| async { Some((watch.next().await, watch)) });
    updates.boxed()
}

/// A watch that continues with another API version if the server no longer serves the current version.
struct CapacityWatch {
    client: Client,
    /// Events of the watch. `None` while no watch is running.
    events: Option<BoxStream<'static, watcher::Result<Event<DynamicObject>>>>,
    backoff: ExponentialBackoff,
    /// Whether no event has arrived since the watch was last started; the next start is then delayed.
    failed: bool,
    /// Whether a complete list, which may be empty, was delivered.
    listed: bool,
    pending: VecDeque<Update>,
}

impl CapacityWatch {
    async fn next(&mut self) -> Update {
        loop {
            if let Some(update) = self.pending.pop_front() {
                return update;
            }
            let Some(events) = &mut self.events else {
                self.start().await;
                continue;
            };
            match events.next().await {
                Some(Ok(event)) => {
                    self.backoff = watch_backoff();
                    self.failed = false;
                    self.listed |= matches!(event, Event::InitDone);
                    self.pending.push_back(Update::Capacity(parse_as_v1(event)));
                }
                Some(Err(error)) => {
                    warn!(kind = KIND, %error, "watch failed, trying again");
                    if is_version_missing(&error) {
                        self.events = None;
                    }
                }
                None => self.events = None,
            }
        }
    }

    async fn start(&mut self) {
        if self.failed
            && let Some(wait) = self.backoff.next()
        {
            tokio::time::sleep(wait).await;
        }
        self.failed = true;
        match discover(&self.client).await {
            Ok(Some(version)) => {
                info!(version, "the server serves CSIStorageCapacity");
                let api = Api::all_with(self.client.clone(), &resource(version));
                let events = watcher::watcher(api, watcher::Config::default()).backoff(watch_backoff());
                self.events = Some(events.boxed());
            }
            Ok(None) if !self.listed => {
                self.listed = true;
                let empty_list: [WatchEvent<Capacity>; 2] = [WatchEvent::ListBegins, WatchEvent::ListEnds];
                self.pending.extend(empty_list.map(Update::Capacity));
            }
            Ok(None) => {}
            Err(error) => warn!(kind = KIND, %error, "cannot discover the served versions, trying again"),
        }
    }
}

/// The version to watch. `None` if the server does not serve the type.
async fn discover(client: &Client) -> kube::Result<Option<&'static str>> {
    for version in VERSIONS {
        match client.list_api_group_resources(&api_version(version)).await {
            Ok(list) if lists_capacities(&list) => {
                return Ok(Some(version));
            }
            Ok(_) => {}
            Err(error) if is_type_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn resource(version: &str) -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: version.to_owned(),
        api_version: api_version(version),
        kind: KIND.to_owned(),
        plural: RESOURCE.to_owned(),
    }
}

fn lists_capacities(list: &APIResourceList) -> bool {
    is_served(list.resources.iter().map(|resource| resource.name.as_str()))
}

/// Whether a watch failed because its version is no longer served.
fn is_version_missing(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => is_type_missing(error),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => false,
    }
}

/// Converts a watch event to v1. An object that cannot be parsed as v1 still exists, so it is delivered as unreadable.
fn parse_as_v1(event: Event<DynamicObject>) -> WatchEvent<Capacity> {
    let as_v1 = |mut object: DynamicObject, wrap: fn(CSIStorageCapacity) -> Event<CSIStorageCapacity>| {
        let key = ObjectKey::of(&object.metadata);
        object.types = Some(TypeMeta {
            api_version: api_version("v1"),
            kind: KIND.to_owned(),
        });
        match object.try_parse() {
            Ok(object) => parse_event(wrap(object)),
            Err(error) => {
                warn!(object = %key, %error, "the object cannot be read");
                WatchEvent::Unreadable(key, error.to_string())
            }
        }
    };
    match event {
        Event::Init => WatchEvent::ListBegins,
        Event::InitDone => WatchEvent::ListEnds,
        Event::InitApply(object) => as_v1(object, Event::InitApply),
        Event::Apply(object) => as_v1(object, Event::Apply),
        Event::Delete(object) => WatchEvent::Deleted(ObjectKey::of(&object.metadata)),
    }
}
