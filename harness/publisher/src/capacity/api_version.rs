//! CSIStorageCapacity in whichever version the server has: `v1` from 1.24 on, `v1beta1` and `v1alpha1` before, and none where the
//! feature is off. All versions have the same fields, so the rest of the publisher uses `v1` alone. Publishes nothing.

use std::{sync::Arc, time::Duration};

use capacity_types::capacity_api::{GROUP, KIND, RESOURCE, VERSIONS, api_version, is_served};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use k8s_openapi::{api::storage::v1::CSIStorageCapacity, apimachinery::pkg::apis::meta::v1::APIResourceList};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, PostParams},
    core::{ApiResource, Status},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use crate::{Options, queue::Pace, rate_limiter::RateLimiter, status::is_type_missing, watch::Retry};

/// How long a server that dropped `maximumVolumeSize` is not sent it again: it may be upgraded meanwhile.
const DROPPED_FOR: Duration = Duration::from_secs(600);

/// The objects of one namespace.
pub(crate) struct Capacities {
    client: Client,
    namespace: String,
    limiter: RateLimiter,
    /// The version found last; none: not looked for yet, or gone.
    version: Mutex<Option<&'static str>>,
    /// When the server last dropped `maximumVolumeSize`, as it does before 1.21.
    maximum_dropped: Mutex<Option<Instant>>,
}

/// Access in the version that is served.
enum Access {
    V1(Api<CSIStorageCapacity>),
    Before(Api<DynamicObject>, &'static str),
}

impl Capacities {
    pub(crate) fn new(client: Client, namespace: &str, options: &Options) -> Capacities {
        let limiter = RateLimiter::new(options.kube_api_capacity_qps, options.kube_api_capacity_burst);
        Capacities {
            client,
            namespace: namespace.to_owned(),
            limiter,
            version: Mutex::default(),
            maximum_dropped: Mutex::default(),
        }
    }

    /// Whether `maximumVolumeSize` that is written is also kept, as far as is known.
    pub(crate) fn keeps_maximum(&self) -> bool {
        let dropped = *self.maximum_dropped.lock();
        dropped.is_none_or(|at| at.elapsed() > DROPPED_FOR)
    }

    pub(crate) async fn create(&self, object: &CSIStorageCapacity) -> kube::Result<CSIStorageCapacity> {
        let parameters = PostParams::default();
        let created = match self.access().await? {
            Access::V1(api) => api.create(&parameters, object).await,
            Access::Before(api, version) => {
                let created = api.create(&parameters, &converted(object, version)?).await;
                created.and_then(|created| as_v1(&created))
            }
        };
        self.noted(created)
            .inspect(|created| self.note_maximum(object, created))
    }

    pub(crate) async fn replace(&self, object: &CSIStorageCapacity) -> kube::Result<CSIStorageCapacity> {
        let (name, parameters) = (object.name_any(), PostParams::default());
        let written = match self.access().await? {
            Access::V1(api) => api.replace(&name, &parameters, object).await,
            Access::Before(api, version) => {
                let written = api
                    .replace(&name, &parameters, &converted(object, version)?)
                    .await;
                written.and_then(|written| as_v1(&written))
            }
        };
        self.noted(written)
            .inspect(|written| self.note_maximum(object, written))
    }

    pub(crate) async fn get(&self, name: &str) -> kube::Result<CSIStorageCapacity> {
        let found = match self.access().await? {
            Access::V1(api) => api.get(name).await,
            Access::Before(api, _) => api.get(name).await.and_then(|found| as_v1(&found)),
        };
        self.noted(found)
    }

    /// All objects that are selected, in any version.
    pub(crate) async fn list(&self, parameters: &ListParams) -> kube::Result<Vec<CSIStorageCapacity>> {
        let found = match self.access().await? {
            Access::V1(api) => api.list(parameters).await.map(|found| found.items),
            Access::Before(api, _) => {
                let found = api.list(parameters).await;
                found.and_then(|found| found.items.iter().map(as_v1).collect())
            }
        };
        self.noted(found)
    }

    pub(crate) async fn delete(&self, name: &str, parameters: &DeleteParams) -> kube::Result<()> {
        let deleted = match self.access().await? {
            Access::V1(api) => api.delete(name, parameters).await.map(drop),
            Access::Before(api, _) => api.delete(name, parameters).await.map(drop),
        };
        self.noted(deleted)
    }

    /// Follows the objects without end. Where the type goes away, it is looked for again, with growing waits.
    pub(crate) fn events(
        self: Arc<Self>,
        config: watcher::Config,
        pace: Pace,
    ) -> impl Stream<Item = watcher::Result<Event<CSIStorageCapacity>>> {
        let following = Following {
            capacities: self,
            config,
            retry: Retry::new(pace),
            events: None,
        };
        stream::unfold(following, |mut following| async {
            Some((following.next().await, following))
        })
    }

    /// Waits for the rate limit, and finds the version to use.
    async fn access(&self) -> kube::Result<Access> {
        self.limiter.acquire().await;
        let version = self.version().await?;
        Ok(if version == "v1" {
            Access::V1(Api::namespaced(self.client.clone(), &self.namespace))
        } else {
            Access::Before(self.dynamic(version), version)
        })
    }

    async fn version(&self) -> kube::Result<&'static str> {
        let known = *self.version.lock();
        match known {
            Some(version) => Ok(version),
            None => self.discover().await,
        }
    }

    fn dynamic(&self, version: &str) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: GROUP.to_owned(),
            version: version.to_owned(),
            api_version: api_version(version),
            kind: KIND.to_owned(),
            plural: RESOURCE.to_owned(),
        };
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// A field that was sent and did not come back is not kept: writing it again and again would not help.
    fn note_maximum(&self, sent: &CSIStorageCapacity, written: &CSIStorageCapacity) {
        if sent.maximum_volume_size.is_some() {
            let dropped = written.maximum_volume_size.is_none();
            *self.maximum_dropped.lock() = dropped.then(Instant::now);
        }
    }

    async fn discover(&self) -> kube::Result<&'static str> {
        for version in VERSIONS {
            let found = self.client.list_api_group_resources(&api_version(version)).await;
            match found {
                Ok(list) if lists_capacities(&list) => {
                    *self.version.lock() = Some(version);
                    *self.maximum_dropped.lock() = None;
                    tracing::info!(version, "the server has CSIStorageCapacity");
                    return Ok(version);
                }
                Ok(_) => {}
                Err(error) if is_type_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let text = "the server has no CSIStorageCapacity; turn the feature on, or stop publishing";
        Err(kube::Error::Api(
            Status::failure(text, "NotFound").with_code(404).boxed(),
        ))
    }

    /// Remembers when the version turns out to be gone.
    fn noted<T>(&self, answer: kube::Result<T>) -> kube::Result<T> {
        if answer.as_ref().is_err_and(is_type_missing) {
            *self.version.lock() = None;
        }
        answer
    }
}

type Events = BoxStream<'static, watcher::Result<Event<CSIStorageCapacity>>>;

/// A watch that outlives its version.
struct Following {
    capacities: Arc<Capacities>,
    config: watcher::Config,
    retry: Retry,
    /// The watch of the present version.
    events: Option<Events>,
}

impl Following {
    async fn next(&mut self) -> watcher::Result<Event<CSIStorageCapacity>> {
        loop {
            let Some(events) = &mut self.events else {
                self.start().await?;
                continue;
            };
            match events.next().await {
                Some(Ok(event)) => {
                    if matches!(event, Event::Init) {
                        // The server may be another one now.
                        *self.capacities.maximum_dropped.lock() = None;
                    }
                    self.retry.succeeded();
                    return Ok(event);
                }
                Some(Err(error)) => {
                    if is_lost(&error) {
                        *self.capacities.version.lock() = None;
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
        self.retry.failed();
        let found = self.capacities.version().await;
        let version = found.map_err(watcher::Error::InitialListFailed)?;
        let (config, retry) = (self.config.clone(), self.retry.afresh());
        self.events = Some(if version == "v1" {
            let api = Api::namespaced(self.capacities.client.clone(), &self.capacities.namespace);
            watcher(api, config).backoff(retry).boxed()
        } else {
            let events = watcher(self.capacities.dynamic(version), config).backoff(retry);
            events.filter_map(async |event| typed(event)).boxed()
        });
        Ok(())
    }
}

fn lists_capacities(list: &APIResourceList) -> bool {
    is_served(list.resources.iter().map(|resource| resource.name.as_str()))
}

/// Whether a watch cannot go on because its version is gone.
fn is_lost(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => is_type_missing(error),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => false,
    }
}

/// The same event of the same objects as `v1` has them; none if they cannot be read as `v1`.
fn typed(event: watcher::Result<Event<DynamicObject>>) -> Option<watcher::Result<Event<CSIStorageCapacity>>> {
    let read = |object: DynamicObject| match as_v1(&object) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(name = object.name_any(), %error, "an object cannot be read and is ignored");
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

fn as_v1(object: &DynamicObject) -> kube::Result<CSIStorageCapacity> {
    converted(object, "v1")
}

/// The same fields under another version.
fn converted<T: DeserializeOwned>(object: &impl Serialize, version: &str) -> kube::Result<T> {
    let mut value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    value["apiVersion"] = api_version(version).into();
    value["kind"] = KIND.into();
    serde_json::from_value(value).map_err(kube::Error::SerdeError)
}
