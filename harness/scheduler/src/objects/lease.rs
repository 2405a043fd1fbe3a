//! Lease: when its holder last renewed it, and how long it lasts.

use k8s_openapi::api::coordination::v1::Lease as ApiLease;

use super::{Object, ObjectKey, ReadError, version};

/// One Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Namespace and name of the Lease.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `spec.renewTime`, in seconds since 1970.
    pub renewed: Option<i64>,
    /// `spec.leaseDurationSeconds`: seconds from `renewTime` to expiry.
    pub seconds: i64,
}

impl Object for Lease {
    type Api = ApiLease;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let spec = source.spec.as_ref();
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref());
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            renewed: renewed.map(|time| time.0.as_second()),
            seconds: spec
                .and_then(|spec| spec.lease_duration_seconds)
                .unwrap_or(0)
                .into(),
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}
