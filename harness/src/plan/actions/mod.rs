//! What a step does: the registry of the actions of a case.
//!
//! An action is a file with its keys, how it is resolved, and the text that the timeline shows; it has a line in the registry. What is done in
//! the end are the [`Action`]s of the plan, which the cluster carries out.

mod api_fault;
mod ask;
mod backend;
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
pub use ask::CsiCallSpec;
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

/// What is done, each with the text of the timeline. Errors are texts; the caller knows the place.
pub(super) type Resolved = Result<Vec<(Action, String)>, String>;

macro_rules! actions {
    ($($(#[$doc:meta])* $key:ident($spec:ty) => $resolve:path,)*) => {
        /// One thing the harness does.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum ActionSpec {
            $($(#[$doc])* $key($spec),)*
        }

        impl ActionSpec {
            /// Checks what it names, and makes objects and rules of it.
            pub(super) fn resolve(&self, scope: &mut Scope<'_>) -> Resolved {
                match self {
                    $(ActionSpec::$key(spec) => $resolve(scope, spec),)*
                }
            }
        }
    };
}

actions! {
    /// Change raw storage by segment, as in `backend: {n1: 20Gi}`; null takes the pool away.
    Backend(BTreeMap<String, Option<Short<PoolSpec>>>) => backend::resolve,
    /// A node comes, goes or changes.
    Node(NodeAction) => node::resolve,
    /// A storage class comes or goes.
    Class(ClassAction) => class::resolve,
    /// Change the CSIDriver object.
    CsiDriver(CsiDriverAction) => csi_driver::resolve,
    /// Create a pod, and the claims it names.
    Pod(PodSpec) => pod::resolve,
    /// Create a claim.
    Claim(ClaimSpec) => pod::resolve_claim,
    /// Create, edit or delete a CSIStorageCapacity object as another client.
    Capacity(CapacityAction) => capacity::resolve,
    /// Delete a pod, a claim, or any other object.
    Delete(DeleteAction) => object::resolve_delete,
    /// Ask the driver, as a publisher would, and keep the answer under a name.
    Ask(CsiCallSpec) => ask::resolve,
    /// Ask the API server in which versions it serves a resource, such as `csistoragecapacities.storage.k8s.io`; `served` says what it must
    /// answer.
    Discover(String) => release::resolve_discover,
    /// The kubelet's part, once, for a pod that has a node: the driver publishes its volumes (NodePublishVolume), and the pod's status and
    /// an event say what came of it.
    Mount(String) => mount,
    /// Script what the driver answers.
    Csi(Box<RuleText<String, Size>>) => driver_fault::resolve,
    /// A script, by its id, is over: `uncsi: slow`. Calls that hang because of it go on.
    Uncsi(String) => driver_fault::resolve_end,
    /// An extender of the scheduler holds devices for claims.
    Reserve(ReserveSpec) => reserve::resolve,
    /// An extender's reservation, by its name, is over.
    Unreserve(String) => reserve::resolve_end,
    /// Stop a role, as in `stop: publisher`: its processes end, its objects stay. The driver's sockets go away with it, and its storage stays.
    Stop(Role) => program::resolve_stop,
    /// Start a role that was stopped: `start: publisher`. Where the publisher's namespace, its pod or an owner of that was deleted, it is created again.
    Start(Role) => program::resolve_start,
    /// Start the publisher anew with these settings; what is left out has its default again.
    Publisher(PublisherSpec) => program::resolve_publisher,
    /// Start the scheduler anew with these settings; what is left out has its default again.
    Scheduler(SchedulerSpec) => program::resolve_scheduler,
    /// The API server fails in some way from now on.
    Fault(Box<FaultSpec>) => api_fault::resolve,
    /// A fault, by its id, is over: `unfault: down`.
    Unfault(String) => api_fault::resolve_end,
    /// The API server becomes another release, or the same one with other gates: `release: {gates: {CSIStorageCapacity: true}}`.
    Release(ReleaseSpec) => release::resolve,
    /// Change an object.
    Merge(MergeSpec) => object::resolve_merge,
    /// Send an object in the place of the one with its name (PUT).
    Replace(ReplaceSpec) => object::resolve_replace,
    /// Apply an object as a field manager (server-side apply).
    Apply(ApplySpec) => object::resolve_apply,
    /// Create any other object, as the API takes it.
    Object(Value) => object::resolve_object,
    /// Do something that the API server may refuse. Whether it must is for the expectations to say.
    Attempt(Box<ActionSpec>) => attempt,
}

fn mount(_: &mut Scope<'_>, pod: &str) -> Resolved {
    let note = format!("the kubelet publishes the volumes of pod {pod}");
    Ok(vec![(Action::Mount(pod.to_owned()), note)])
}

/// The API server may refuse these, so objects need not be valid.
fn attempt(scope: &mut Scope<'_>, inner: &ActionSpec) -> Resolved {
    let actions = match inner {
        ActionSpec::Replace(spec) => vec![object::replace(spec)],
        ActionSpec::Apply(spec) => vec![object::apply(spec)],
        ActionSpec::Object(created) => {
            scope.class_object(created);
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
