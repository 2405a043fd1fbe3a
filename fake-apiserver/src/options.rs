//! What may be chosen about a server. Does not know how the choices are carried out.

use crate::release::Release;
use std::collections::BTreeMap;

/// Options of an [`ApiServer`](crate::ApiServer).
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How many events are kept for watches and paged lists to go on from, over all resources. Older ones are
    /// compacted: a watch from before gets an `410 Expired` event, a list a 410 answer.
    pub history: usize,
    /// How many undelivered events one watch may have before it is dropped. Writers never wait for watchers.
    pub watch_queue: usize,
    /// There are no kubelets: pods that are bound to a node are deleted at once instead of waiting for a grace
    /// period to be confirmed, and new nodes do not get the `node.kubernetes.io/not-ready` taint.
    pub kubelet_less: bool,
    /// Put the `kubernetes.io/pvc-protection` and `kubernetes.io/pv-protection` finalizers on new claims and
    /// volumes, as the StorageObjectInUseProtection admission plugin does. A controller has to remove them.
    pub storage_protection: bool,
    /// The release of Kubernetes whose API is served. Where KEP-1472 is not concerned, 1.36 is served whatever is set.
    pub release: Release,
    /// Feature gates by name. Only `CSIStorageCapacity` changes anything: it exists from 1.19, is on from 1.21, and
    /// cannot be set any more from 1.24 on.
    pub gates: BTreeMap<String, bool>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            history: 100_000,
            watch_queue: 16_384,
            kubelet_less: true,
            storage_protection: false,
            release: Release::default(),
            gates: BTreeMap::new(),
        }
    }
}
