//! The interface of admission plugins and controllers in other crates: calls by the core, and access to objects.
//!
//! Does not know individual ones, nor how objects are stored.

use crate::kinds::{Kind, Part};
use crate::machinery::status::Status;
use crate::object::Object;
use serde_json::Value;
use std::sync::Arc;

/// The write that an admission plugin handles (`admission.Attributes` of k8s.io/apiserver).
pub struct Attributes<'r> {
    /// The resource of the object.
    pub kind: &'r Kind,
    /// The object itself, its status, or another subresource.
    pub part: Part,
    /// The stored object. None for a creation.
    pub old: Option<&'r Value>,
}

/// An admission plugin that reads other objects (`admission.Interface` of k8s.io/apiserver).
///
/// Plugins run in registration order, after the plugins of the core, and only if [`Admission`](crate::Admission)
/// enables them. All calls are made with the store locked.
pub trait AdmissionPlugin: Send + Sync + 'static {
    /// The name in `--enable-admission-plugins`, such as `LimitRanger`.
    fn name(&self) -> &'static str;

    /// Mutates a new object before validation. An error rejects the request.
    fn admit(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Status> {
        let _ = (txn, request, object);
        Ok(())
    }

    /// Validates a valid new or changed object against other objects. An error rejects the request.
    fn validate(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &Value,
    ) -> Result<(), Status> {
        let _ = (txn, request, object);
        Ok(())
    }

    /// Handles a committed change, in the same transaction. `new` is None for a deletion.
    fn committed(&self, txn: &mut dyn Transaction, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        let _ = (txn, kind, old, new);
    }
}

/// The objects of the server during one request, including its own changes.
pub trait Transaction {
    /// A resource by API group and plural name. None if it is not registered.
    fn kind(&self, group: &str, plural: &str) -> Option<Kind>;

    /// All namespaced resources that are stored.
    fn namespaced_kinds(&self) -> Vec<Kind>;

    /// The object of that name. None if it does not exist. `namespace` is None for cluster-scoped objects.
    fn object(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Option<Arc<Object>>;

    /// All objects of a resource, or those in one namespace.
    fn objects(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Arc<Object>>;

    /// Writes an object on behalf of the server, without validation.
    fn write(&mut self, kind: &Kind, namespace: Option<&str>, name: &str, object: Value);

    /// Adds a `Warning` header to the response.
    fn warn(&mut self, text: String);
}

/// A controller of another crate, which reacts to changes in the transaction of the request that made them.
pub trait Controller: Send + Sync + 'static {
    /// Whether the controller reacts to changes of a resource.
    fn watches(&self, kind: &Kind) -> bool;

    /// Records a change of a watched resource, within its commit. `new` is None for a deletion.
    fn committed(&self, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        let _ = (kind, old, new);
    }

    /// Reconciles an object that was written or deleted, before the response to the request.
    fn reconcile(&self, txn: &mut dyn ControllerTransaction, kind: &Kind, key: &str, is_deleted: bool);
}

/// What controllers can read and write.
pub trait ControllerTransaction: Transaction {
    /// The time of the request, in the format of `metadata` timestamps.
    fn now(&self) -> Arc<str>;

    /// All versions of a custom resource.
    fn custom_resource(&self, group: &str, plural: &str) -> Vec<Kind>;

    /// The number of the table of a custom resource in the store, allocated if it is new.
    fn table_index(&mut self, group: &str, plural: &str) -> usize;

    /// Starts serving all versions of a custom resource in place of its previous versions. `rewrite`: rewrites the stored objects
    /// by the new schema.
    fn define(&mut self, kinds: Vec<Kind>, rewrite: bool);

    /// Stops serving a custom resource.
    fn undefine(&mut self, group: &str, plural: &str);

    /// Deletes all objects of a resource. Returns whether none is left: finalizers delay deletions.
    fn delete_all(&mut self, kind: &Kind) -> bool;

    /// Writes a changed object as a field manager of its status, or deletes it if its last finalizer was removed.
    fn update_status(&mut self, kind: &Kind, key: &str, old: &Object, new: Value, manager: &str);

    /// Applies a status on behalf of a field manager of the server, without validation. `status` is the whole object to apply.
    fn apply_status(&mut self, kind: &Kind, key: &str, manager: &str, status: &Value);
}

/// The plugins of a server.
pub(crate) type Plugins = Arc<[Arc<dyn AdmissionPlugin>]>;
