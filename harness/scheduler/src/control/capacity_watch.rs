//! The watch of CSIStorageCapacity in the version that the server serves: `v1` since 1.24, before `v1beta1` and `v1alpha1`, none if the
//! feature gate is disabled. All versions have the same fields.
//!
//! If the server does not serve the type, scheduling starts without capacity objects. If it no longer serves the type, the cached objects
//! are retained, since disabling the API does not delete objects (KEP-1472, enablement and rollback).

use std::collections::VecDeque;

use capacity_client::{is_watched_type_missing, served_version};
use capacity_types::capacity_api::{GROUP, KIND, RESOURCE, VERSIONS, api_version};
use futures::stream::{self, BoxStream, StreamExt};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, ExponentialBackoff};
use tracing::{info, warn};

use super::watch_event::{Update, WatchEvent, parse_event, watch_backoff};
use crate::objects::{Capacity, ObjectKey};

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
    /// Whether a complete list, which may be empty, was delivered since the start.
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
                    if is_watched_type_missing(&error) {
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
        match served_version(&self.client, GROUP, &VERSIONS, RESOURCE).await {
            Ok(Some(version)) => {
                info!(version, "the server serves CSIStorageCapacity");
                let kind = GroupVersionKind::gvk(GROUP, version, KIND);
                let resource = ApiResource::from_gvk_with_plural(&kind, RESOURCE);
                let api = Api::all_with(self.client.clone(), &resource);
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
