//! The API objects as the scheduler stores them: parsed once on arrival, and reduced to the fields that decisions use.
//!
//! The snapshot relates objects to each other, and the filters make decisions.

mod attachment;
mod budget;
mod capacity;
mod claim;
mod disk;
mod host_port;
mod lease;
mod namespace;
mod node;
mod pod;
mod pod_affinity;
mod resources;
mod selector;
mod spread;
mod storage;
mod taint;
mod volume;

use std::fmt;

use capacity_types::{Quantity, QuantityError};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use self::attachment::VolumeAttachment;
pub use self::budget::DisruptionBudget;
pub use self::capacity::Capacity;
pub use self::claim::{BIND_COMPLETED, Claim, SELECTED_NODE};
pub use self::disk::Disk;
pub use self::host_port::HostPort;
pub use self::lease::Lease;
pub use self::namespace::Namespace;
pub use self::node::{CsiDriverOnNode, CsiNode, Node};
pub use self::pod::{Pod, PodVolume};
pub use self::pod_affinity::PodAffinityTerm;
pub use self::resources::Resources;
pub use self::selector::{label_selector, node_selector};
pub use self::spread::SpreadConstraint;
pub use self::storage::{AllowedTopology, Class, Driver};
pub use self::taint::{Taint, Toleration};
pub use self::volume::{BOUND_BY_CONTROLLER, ClaimRef, DriverVolume, Volume, driver_of};

/// Namespace and name. The namespace of cluster-scoped objects is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace of the object. Empty for cluster-scoped objects.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl ObjectKey {
    /// The key of a namespaced object.
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: &str) -> Self {
        Self::namespaced("", name)
    }

    /// The key from an object's metadata.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// An API object as the scheduler stores it.
pub trait Object: Sized + Send + Sync + 'static {
    /// The API type from which the object is parsed.
    type Api: kube::Resource;

    /// Parses the API object. Fails if a field has a value that no API server accepts.
    fn read(source: &Self::Api) -> Result<Self, ReadError>;

    /// The object's key and resource version.
    fn identity(&self) -> (&ObjectKey, &str);

    /// The object's key.
    fn key(&self) -> &ObjectKey {
        self.identity().0
    }

    /// The object's resource version. Objects with equal resource versions are equal.
    fn version(&self) -> &str {
        self.identity().1
    }
}

/// Why an API object cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field {field} of {key} is unreadable: {source}")]
pub struct ReadError {
    key: ObjectKey,
    field: &'static str,
    source: QuantityError,
}

/// The resource name of PVC requests and PersistentVolume capacity.
const STORAGE: &str = "storage";
/// The beta annotation for the StorageClass name. It takes precedence over the field, even if empty.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The StorageClass name of a PVC or PersistentVolume. Empty if unset.
fn class_name(metadata: &ObjectMeta, field: Option<&String>) -> String {
    let annotated = annotation(metadata, BETA_CLASS).map(str::to_owned);
    annotated.or_else(|| field.cloned()).unwrap_or_default()
}

fn version(metadata: &ObjectMeta) -> String {
    metadata.resource_version.clone().unwrap_or_default()
}

fn quantity(
    key: &ObjectKey,
    field: &'static str,
    source: Option<&ApiQuantity>,
) -> Result<Option<Quantity>, ReadError> {
    let parsed = source.map(|quantity| quantity.0.parse()).transpose();
    parsed.map_err(|source| ReadError {
        key: key.clone(),
        field,
        source,
    })
}
