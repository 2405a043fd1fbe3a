//! Access to CSIStorageCapacity in the served version: `v1` since 1.24, before `v1beta1` and `v1alpha1`, none if the feature gate is
//! disabled. All versions have the same fields, so the rest of the publisher uses only `v1`. Does not decide what to publish.

use std::fmt::Debug;
use std::time::Duration;

use capacity_client::{is_type_missing, served_version};
use capacity_types::capacity_api::{GROUP, KIND, RESOURCE, VERSIONS, api_version};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind, Status},
};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{Dialect, Options, UpdateVerb, rate_limiter::RateLimiter};

/// The only version in 1.19 and 1.20, which lack `maximumVolumeSize`. Later releases also serve a newer version.
const ALPHA: &str = "v1alpha1";

/// Client for the CSIStorageCapacity objects of one namespace, in the served API version.
pub(crate) struct CapacityClient {
    client: Client,
    namespace: String,
    limiter: RateLimiter,
    /// The API version in use. `None`: not discovered yet, or no longer served.
    version: Mutex<Option<&'static str>>,
    /// The time of the last API discovery if the server drops `maximumVolumeSize`, as all servers before 1.21 do. `None` if the server
    /// stores the field.
    maximum_dropped: Mutex<Option<Instant>>,
    /// Minimum time between two API discoveries for a server that drops `maximumVolumeSize`.
    rediscovery_interval: Duration,
    dialect: Dialect,
}

/// The typed API for `v1`, or the dynamic API for an older version of CSIStorageCapacity.
enum Access {
    V1(Api<CSIStorageCapacity>),
    Older(Api<DynamicObject>, &'static str),
}

impl CapacityClient {
    pub(crate) fn new(client: Client, namespace: &str, options: &Options) -> CapacityClient {
        let limiter = RateLimiter::new(options.kube_api_capacity_qps, options.kube_api_capacity_burst);
        CapacityClient {
            client,
            namespace: namespace.to_owned(),
            limiter,
            version: Mutex::default(),
            maximum_dropped: Mutex::default(),
            rediscovery_interval: options.capacity_poll_interval,
            dialect: options.dialect,
        }
    }

    /// Whether the server is known to store `maximumVolumeSize`. If the server dropped the field before, API discovery is repeated at
    /// intervals: after an upgrade of the server the old API version still works, but a newer version with the field is served as well.
    pub(crate) async fn stores_maximum_volume_size(&self) -> bool {
        let before = *self.version.lock();
        {
            let mut dropped = self.maximum_dropped.lock();
            match *dropped {
                None => return true,
                Some(_) if self.dialect.cached_discovery => return false,
                Some(discovered) if discovered.elapsed() < self.rediscovery_interval => return false,
                Some(_) => *dropped = Some(Instant::now()),
            }
        }
        let found = self.best_version().await;
        let Ok(Some(version)) = found else {
            return false;
        };
        let is_other = before.is_some_and(|before| before != version);
        if is_other {
            self.set_version(version);
        }
        is_other
    }

    pub(crate) async fn create(&self, object: &CSIStorageCapacity) -> kube::Result<CSIStorageCapacity> {
        let parameters = PostParams::default();
        let created = match self.served_api().await? {
            Access::V1(api) => api.create(&parameters, object).await,
            Access::Older(api, version) => {
                let created = api.create(&parameters, &convert_version(object, version)?).await;
                created.and_then(|created| as_v1(&created))
            }
        };
        self.check_served(created)
            .inspect(|created| self.record_maximum_dropped(object, created))
    }

    /// Updates a CSIStorageCapacity object. Fails if the object was modified since this publisher read it.
    pub(crate) async fn write(&self, object: &CSIStorageCapacity) -> kube::Result<CSIStorageCapacity> {
        let name = object.name_any();
        let written = match self.served_api().await? {
            Access::V1(api) => put_or_patch(&api, &name, object, self.patch(object, "v1")).await,
            Access::Older(api, version) => {
                let sent = convert_version(object, version)?;
                let written = put_or_patch(&api, &name, &sent, self.patch(object, version)).await;
                written.and_then(|written| as_v1(&written))
            }
        };
        self.check_served(written)
            .inspect(|written| self.record_maximum_dropped(object, written))
    }

    /// The patch that updates a CSIStorageCapacity object. `None` if the configured request form updates with PUT.
    fn patch(&self, object: &CSIStorageCapacity, version: &str) -> Option<(PatchParams, Patch<Value>)> {
        let is_apply = match self.dialect.update {
            UpdateVerb::Update => return None,
            UpdateVerb::Apply => object.maximum_volume_size.is_some(),
            UpdateVerb::MergePatch => false,
        };
        let metadata = &object.metadata;
        let mut change = json!({
            "metadata": {"resourceVersion": metadata.resource_version, "ownerReferences": metadata.owner_references},
            "capacity": object.capacity,
            "maximumVolumeSize": object.maximum_volume_size,
        });
        if !is_apply {
            return Some((PatchParams::default(), Patch::Merge(change)));
        }
        change["apiVersion"] = api_version(version).into();
        change["kind"] = KIND.into();
        change["metadata"]["name"] = json!(metadata.name);
        change["storageClassName"] = object.storage_class_name.as_str().into();
        let parameters = PatchParams::apply("capacity-publisher").force();
        Some((parameters, Patch::Apply(change)))
    }

    pub(crate) async fn get(&self, name: &str) -> kube::Result<CSIStorageCapacity> {
        let found = match self.served_api().await? {
            Access::V1(api) => api.get(name).await,
            Access::Older(api, _) => api.get(name).await.and_then(|found| as_v1(&found)),
        };
        self.check_served(found)
    }

    /// Lists the CSIStorageCapacity objects that the parameters select, and converts them to `v1`.
    pub(crate) async fn list(&self, parameters: &ListParams) -> kube::Result<Vec<CSIStorageCapacity>> {
        let found = match self.served_api().await? {
            Access::V1(api) => api.list(parameters).await.map(|found| found.items),
            Access::Older(api, _) => {
                let found = api.list(parameters).await;
                found.and_then(|found| found.items.iter().map(as_v1).collect())
            }
        };
        self.check_served(found)
    }

    pub(crate) async fn delete(&self, name: &str, parameters: &DeleteParams) -> kube::Result<()> {
        let deleted = match self.served_api().await? {
            Access::V1(api) => api.delete(name, parameters).await.map(drop),
            Access::Older(api, _) => api.delete(name, parameters).await.map(drop),
        };
        self.check_served(deleted)
    }

    /// Waits for the rate limiter, then returns the client for the API version that the server serves.
    async fn served_api(&self) -> kube::Result<Access> {
        self.limiter.acquire().await;
        let version = self.version().await?;
        Ok(if version == "v1" {
            Access::V1(self.v1_api())
        } else {
            Access::Older(self.dynamic_api(version), version)
        })
    }

    pub(super) async fn version(&self) -> kube::Result<&'static str> {
        let known = *self.version.lock();
        match known {
            Some(version) => Ok(version),
            None => self.discover().await,
        }
    }

    pub(super) fn v1_api(&self) -> Api<CSIStorageCapacity> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) fn dynamic_api(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(GROUP, version, KIND);
        let resource = ApiResource::from_gvk_with_plural(&kind, RESOURCE);
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Records whether the server dropped `maximumVolumeSize`, so that the publisher does not write the field again at every refresh.
    fn record_maximum_dropped(&self, sent: &CSIStorageCapacity, written: &CSIStorageCapacity) {
        if sent.maximum_volume_size.is_some() {
            let dropped = written.maximum_volume_size.is_none();
            *self.maximum_dropped.lock() = dropped.then(Instant::now);
        }
    }

    /// Discovers the newest version of CSIStorageCapacity that the server serves. `None` if it serves none.
    async fn best_version(&self) -> kube::Result<Option<&'static str>> {
        served_version(&self.client, GROUP, &VERSIONS, RESOURCE).await
    }

    fn set_version(&self, version: &'static str) {
        *self.version.lock() = Some(version);
        // A server whose newest version is v1alpha1 lacks the field `maximumVolumeSize`.
        *self.maximum_dropped.lock() = (version == ALPHA).then(Instant::now);
        tracing::info!(version, "the API server serves CSIStorageCapacity");
    }

    async fn discover(&self) -> kube::Result<&'static str> {
        if let Some(version) = self.best_version().await? {
            self.set_version(version);
            return Ok(version);
        }
        let text = "the API server does not serve CSIStorageCapacity; enable its API version, or run without --enable-capacity";
        Err(kube::Error::Api(
            Status::failure(text, "NotFound").with_code(404).boxed(),
        ))
    }

    pub(super) fn mark_not_served(&self) {
        *self.version.lock() = None;
    }

    /// Calls [`Self::mark_not_served`] if the error shows that the server no longer serves the API version in use.
    fn check_served<T>(&self, result: kube::Result<T>) -> kube::Result<T> {
        if result.as_ref().is_err_and(is_type_missing) {
            self.mark_not_served();
        }
        result
    }
}

/// Updates a CSIStorageCapacity object with `patch`, or with PUT if `patch` is `None`.
async fn put_or_patch<T: Clone + Debug + Serialize + DeserializeOwned>(
    api: &Api<T>,
    name: &str,
    object: &T,
    patch: Option<(PatchParams, Patch<Value>)>,
) -> kube::Result<T> {
    match patch {
        None => api.replace(name, &PostParams::default(), object).await,
        Some((parameters, patch)) => api.patch(name, &parameters, &patch).await,
    }
}

pub(super) fn as_v1(object: &DynamicObject) -> kube::Result<CSIStorageCapacity> {
    convert_version(object, "v1")
}

fn convert_version<T: DeserializeOwned>(object: &impl Serialize, version: &str) -> kube::Result<T> {
    let mut value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    value["apiVersion"] = api_version(version).into();
    value["kind"] = KIND.into();
    serde_json::from_value(value).map_err(kube::Error::SerdeError)
}
