//! Watches CSIStorageCapacity in the version that the server serves, also if this version changes. Writes nothing.

use std::sync::Arc;

use capacity_client::{ExponentialBackoff, is_watched_type_missing};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use kube::{
    ResourceExt,
    api::DynamicObject,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};

use super::api_version::{CapacityClient, as_v1};
use crate::watch::Retry;

impl CapacityClient {
    /// Watches CSIStorageCapacity objects. The stream does not end. If the server serves no version, discovery is retried with backoff.
    pub(crate) fn watch_objects(
        self: Arc<Self>,
        config: watcher::Config,
        backoff: ExponentialBackoff,
    ) -> impl Stream<Item = watcher::Result<Event<CSIStorageCapacity>>> {
        let object_watch = ObjectWatch {
            capacities: self,
            config,
            retry: Retry::new(backoff),
            events: None,
        };
        stream::unfold(object_watch, |mut object_watch| async {
            Some((object_watch.next().await, object_watch))
        })
    }
}

type Events = BoxStream<'static, watcher::Result<Event<CSIStorageCapacity>>>;

/// A watch that switches to another API version if the server no longer serves the current version.
struct ObjectWatch {
    capacities: Arc<CapacityClient>,
    config: watcher::Config,
    retry: Retry,
    /// Events of the watch in progress. `None` while no watch is running.
    events: Option<Events>,
}

impl ObjectWatch {
    async fn next(&mut self) -> watcher::Result<Event<CSIStorageCapacity>> {
        loop {
            let Some(events) = &mut self.events else {
                self.start().await?;
                continue;
            };
            match events.next().await {
                Some(Ok(event)) => {
                    self.retry.record_success();
                    return Ok(event);
                }
                Some(Err(error)) => {
                    if is_watched_type_missing(&error) {
                        self.capacities.mark_not_served();
                        self.events = None;
                    }
                    return Err(error);
                }
                None => self.events = None,
            }
        }
    }

    async fn start(&mut self) -> watcher::Result<()> {
        if let Some(wait) = self.retry.wait_after_failure() {
            tokio::time::sleep(wait).await;
        }
        self.retry.record_failure();
        let found = self.capacities.version().await;
        let version = found.map_err(watcher::Error::InitialListFailed)?;
        let (config, retry) = (self.config.clone(), self.retry.restarted());
        self.events = Some(if version == "v1" {
            watcher(self.capacities.v1_api(), config).backoff(retry).boxed()
        } else {
            let events = watcher(self.capacities.dynamic_api(version), config).backoff(retry);
            events.filter_map(async |event| parse_as_v1(event)).boxed()
        });
        Ok(())
    }
}

/// Converts a watch event to `v1`. `None` if the object cannot be parsed as `v1`.
fn parse_as_v1(
    event: watcher::Result<Event<DynamicObject>>,
) -> Option<watcher::Result<Event<CSIStorageCapacity>>> {
    let read = |object: DynamicObject| match as_v1(&object) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(name = object.name_any(), %error, "a CSIStorageCapacity cannot be parsed and is ignored");
            None
        }
    };
    Some(Ok(match event {
        Err(error) => return Some(Err(error)),
        Ok(Event::Init) => Event::Init,
        Ok(Event::InitDone) => Event::InitDone,
        Ok(Event::InitApply(object)) => Event::InitApply(read(object)?),
        Ok(Event::Apply(object)) => Event::Apply(read(object)?),
        Ok(Event::Delete(object)) => Event::Delete(read(object)?),
    }))
}
