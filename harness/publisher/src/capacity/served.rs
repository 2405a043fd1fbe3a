//! CSIStorageCapacity in whichever version the server has: `v1` from 1.24 on, `v1beta1` and `v1alpha1` before, and none where the
//! feature is off. All versions have the same fields, so everybody else deals with `v1` alone. Publishes nothing.

use std::sync::Arc;

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, PostParams},
    core::{ApiResource, Status},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

use crate::{queue::Pace, status::is_type_missing, watch::Retry};

const GROUP: &str = "storage.k8s.io";
const KIND: &str = "CSIStorageCapacity";
const PLURAL: &str = "csistoragecapacities";
/// The version that is used where there is a choice comes first.
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// The objects of one namespace.
pub(crate) struct Capacities {
    client: Client,
    namespace: String,
    /// The version found last; none: not looked for yet, or gone.
    version: Mutex<Option<&'static str>>,
}

impl Capacities {
    pub(crate) fn new(client: Client, namespace: &str) -> Capacities {
        Capacities {
            client,
            namespace: namespace.to_owned(),
            version: Mutex::default(),
        }
    }

    pub(crate) async fn create(&self, object: &CSIStorageCapacity) -> kube::Result<CSIStorageCapacity> {
        let (api, version) = self.api().await?;
        let created = api
            .create(&PostParams::default(), &in_version(object, version)?)
            .await;
        self.noted(created).and_then(|created| as_v1(&created))
    }

    pub(crate) async fn replace(&self, object: &CSIStorageCapacity) -> kube::Result<CSIStorageCapacity> {
        let (api, version) = self.api().await?;
        let sent = in_version(object, version)?;
        let written = api
            .replace(&object.name_any(), &PostParams::default(), &sent)
            .await;
        self.noted(written).and_then(|written| as_v1(&written))
    }

    pub(crate) async fn get(&self, name: &str) -> kube::Result<CSIStorageCapacity> {
        let (api, _) = self.api().await?;
        self.noted(api.get(name).await).and_then(|found| as_v1(&found))
    }

    pub(crate) async fn delete(&self, name: &str, parameters: &DeleteParams) -> kube::Result<()> {
        let (api, _) = self.api().await?;
        self.noted(api.delete(name, parameters).await).map(drop)
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

    async fn api(&self) -> kube::Result<(Api<DynamicObject>, &'static str)> {
        let known = *self.version.lock();
        let version = match known {
            Some(version) => version,
            None => self.discover().await?,
        };
        let resource = ApiResource {
            group: GROUP.to_owned(),
            version: version.to_owned(),
            api_version: format!("{GROUP}/{version}"),
            kind: KIND.to_owned(),
            plural: PLURAL.to_owned(),
        };
        let api = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        Ok((api, version))
    }

    async fn discover(&self) -> kube::Result<&'static str> {
        for version in VERSIONS {
            let found = self
                .client
                .list_api_group_resources(&format!("{GROUP}/{version}"))
                .await;
            match found {
                Ok(list) if list.resources.iter().any(|resource| resource.name == PLURAL) => {
                    *self.version.lock() = Some(version);
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

type Events = BoxStream<'static, watcher::Result<Event<DynamicObject>>>;

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
                    self.retry.succeeded();
                    if let Some(event) = typed(event) {
                        return Ok(event);
                    }
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
        let (api, _) = self
            .capacities
            .api()
            .await
            .map_err(watcher::Error::InitialListFailed)?;
        let events = watcher(api, self.config.clone()).backoff(self.retry.afresh());
        self.events = Some(events.boxed());
        Ok(())
    }
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

fn typed(event: Event<DynamicObject>) -> Option<Event<CSIStorageCapacity>> {
    let read = |object: DynamicObject| match as_v1(&object) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(name = object.name_any(), %error, "an object cannot be read and is passed over");
            None
        }
    };
    Some(match event {
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
        Event::InitApply(object) => Event::InitApply(read(object)?),
        Event::Apply(object) => Event::Apply(read(object)?),
        Event::Delete(object) => Event::Delete(read(object)?),
    })
}

fn in_version(object: &CSIStorageCapacity, version: &str) -> kube::Result<DynamicObject> {
    converted(object, version)
}

fn as_v1(object: &DynamicObject) -> kube::Result<CSIStorageCapacity> {
    converted(object, "v1")
}

/// The same fields under another version.
fn converted<T: DeserializeOwned>(object: &impl Serialize, version: &str) -> kube::Result<T> {
    let mut value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    value["apiVersion"] = format!("{GROUP}/{version}").into();
    value["kind"] = KIND.into();
    serde_json::from_value(value).map_err(kube::Error::SerdeError)
}
