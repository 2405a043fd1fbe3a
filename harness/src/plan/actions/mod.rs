//! Actions of a step: the registry of the action kinds of a case.
//!
//! Each action has a file with its keys, its resolution and its timeline text, and a line in the registry. An action of a case file is
//! resolved to [`Action`]s of the plan, which the cluster executes.

mod api_fault;
mod backend;
mod call_driver;
mod capacity;
mod class;
mod csi_driver;
mod driver_fault;
mod node;
mod object;
mod pod;
mod program;
mod release;
mod reserve;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

pub use api_fault::{ChanceSpec, FaultSpec, LagSpec, StaleSpec};
pub use call_driver::CsiCallSpec;
pub use capacity::CapacityAction;
pub use class::ClassAction;
pub use csi_driver::CsiDriverAction;
pub use node::{LabelOrder, NodeAction, RegisterSpec};
pub use object::{DeleteAction, MergeSpec};
pub use pod::{ClaimSpec, PodSpec, VolumeMode};
pub use release::ReleaseSpec;
pub use reserve::{ReserveSpec, ReservedClaimSpec};

use super::scope::Scope;
use super::{Action, Target};
use crate::scenario::{ApplySpec, PoolSpec, PublisherSpec, ReplaceSpec, Role, SchedulerSpec, Short, Size};
use fake_csi::RuleText;

/// Resolved actions, each with its timeline text. Errors are messages; the caller adds the file position.
pub(super) type Resolved = Result<Vec<(Action, String)>, String>;

macro_rules! actions {
    ($($(#[$doc:meta])* $key:ident($spec:ty) => $resolve:path,)*) => {
        /// One action of a case file.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum ActionSpec {
            $($(#[$doc])* $key($spec),)*
        }

        impl ActionSpec {
            /// Checks the names in an action and resolves the action to objects and rules.
            pub(super) fn resolve(&self, scope: &mut Scope<'_>) -> Resolved {
                match self {
                    $(ActionSpec::$key(spec) => $resolve(scope, spec),)*
                }
            }
        }
    };
}

actions! {
    /// Set the raw storage of segments, as in `backend: {n1: 20Gi}`. The value null removes the pool of the segment.
    Backend(BTreeMap<String, Option<Short<PoolSpec>>>) => backend::resolve,
    /// Create, delete or change a node.
    Node(NodeAction) => node::resolve,
    /// Create or delete a StorageClass.
    Class(ClassAction) => class::resolve,
    /// Create, change or delete the CSIDriver object.
    CsiDriver(CsiDriverAction) => csi_driver::resolve,
    /// Create a pod and its PVCs.
    Pod(PodSpec) => pod::resolve,
    /// Create a PVC.
    Claim(ClaimSpec) => pod::resolve_claim,
    /// Create, edit or delete a CSIStorageCapacity object as a client other than the publisher.
    Capacity(CapacityAction) => capacity::resolve,
    /// Delete a pod, a PVC, or any other object.
    Delete(DeleteAction) => object::resolve_delete,
    /// Call the driver as a publisher does, and store the response under a name.
    #[serde(alias = "ask")]
    CallDriver(CsiCallSpec) => call_driver::resolve,
    /// Read from API discovery in which versions the API server serves a resource, such as `csistoragecapacities.storage.k8s.io`. The
    /// expectation `served` checks the result.
    Discover(String) => release::resolve_discover,
    /// Mount the volumes of the scheduled pod with this name once, as the kubelet does: call NodePublishVolume, then write the result to
    /// the pod's status and an Event.
    Mount(String) => resolve_mount,
    /// Inject a fault into the driver, or set the response of a CSI method.
    #[serde(alias = "csi")]
    DriverFault(Box<RuleText<String, Size>>) => driver_fault::resolve,
    /// End the driver fault with this id: `removeDriverFault: slow`. Calls that already hang continue to hang.
    #[serde(alias = "uncsi")]
    RemoveDriverFault(String) => driver_fault::resolve_end,
    /// Reserve devices at the driver for PVCs, as a scheduler extender does.
    Reserve(ReserveSpec) => reserve::resolve,
    /// End the reservation with this name.
    Unreserve(String) => reserve::resolve_end,
    /// Stop all programs of a role, as in `stop: publisher`. Their API objects remain. A stopped driver loses its sockets, but not its
    /// storage.
    Stop(Role) => program::resolve_stop,
    /// Start the programs of a stopped role: `start: publisher`. If the publisher's namespace, pod or owners were deleted, they are created
    /// again.
    Start(Role) => program::resolve_start,
    /// Restart the publisher with these settings. Omitted settings get their default values.
    Publisher(PublisherSpec) => program::resolve_publisher,
    /// Restart the scheduler with these settings. Omitted settings get their default values.
    Scheduler(SchedulerSpec) => program::resolve_scheduler,
    /// Inject a fault into the API server from now on.
    Fault(Box<FaultSpec>) => api_fault::resolve,
    /// End the API server fault with this id: `removeFault: down`.
    #[serde(alias = "unfault")]
    RemoveFault(String) => api_fault::resolve_end,
    /// Make the API server emulate another release or other feature gates: `release: {gates: {CSIStorageCapacity: true}}`.
    Release(ReleaseSpec) => release::resolve,
    /// Patch an object with a JSON merge patch.
    Merge(MergeSpec) => object::resolve_merge,
    /// Replace the object with the same name (PUT).
    Replace(ReplaceSpec) => object::resolve_replace,
    /// Send a server-side apply request as a field manager.
    Apply(ApplySpec) => object::resolve_apply,
    /// Create an object of any kind from its manifest.
    Object(Value) => object::resolve_object,
    /// Perform an action that the API server may reject, as in `attempt: {object: …}`. Expectations define whether it must.
    Attempt(Box<ActionSpec>) => resolve_attempt,
}

fn resolve_mount(_: &mut Scope<'_>, pod: &str) -> Resolved {
    let note = format!("the kubelet publishes the volumes of pod {pod}");
    Ok(vec![(Action::Mount(pod.to_owned()), note)])
}

/// Resolves an `attempt` action. Does not validate the objects of the inner action, because the API server may reject its request.
fn resolve_attempt(scope: &mut Scope<'_>, inner: &ActionSpec) -> Resolved {
    let actions = match inner {
        ActionSpec::Replace(spec) => vec![object::replace(spec)],
        ActionSpec::Apply(spec) => vec![object::apply(spec)],
        ActionSpec::Object(created) => {
            scope.register_class_object(created);
            vec![object::create_object(created)]
        }
        other => other.resolve(scope)?,
    };
    let attempted = |(action, note)| (Action::Attempt(Box::new(action)), format!("attempt: {note}"));
    Ok(actions.into_iter().map(attempted).collect())
}

fn create(object: Value, kind: &str, name: &str) -> (Action, String) {
    (Action::Create(object), format!("create {kind} {name}"))
}

fn cluster_wide(resource: &str, name: &str) -> Target {
    Target::Named {
        resource: resource.to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}
