//! The interface of admission plugins and controllers in other crates: calls by the core, and access to objects.
//!
//! Does not know the individual plugins and controllers, nor how objects are stored.

use crate::config::options::ServerOptions;
use crate::kinds::{Kind, Part};
use crate::machinery::status::Status;
use crate::object::Object;
use serde_json::Value;
use std::sync::Arc;

/// A write request, as an admission plugin sees it (`admission.Attributes` of k8s.io/apiserver).
pub struct Attributes<'r> {
    /// The definition of the written resource.
    pub kind: &'r Kind,
    /// What the request writes: the object itself, its status, or another subresource.
    pub part: Part,
    /// The stored object before the write; `None` for a creation.
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

    /// Validates a new or changed object, which is valid on its own, against other objects. An error rejects the
    /// request.
    fn validate(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &Value,
    ) -> Result<(), Status> {
        let _ = (txn, request, object);
        Ok(())
    }

    /// Handles a committed change, in the transaction of the change. `new` is None for a deletion.
    fn on_commit(&self, txn: &mut dyn Transaction, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        let _ = (txn, kind, old, new);
    }
}

/// The objects of the server as one request sees them, including its uncommitted changes.
pub trait Transaction {
    /// The registered resource with this API group and plural name, if any.
    fn kind(&self, group: &str, plural: &str) -> Option<Kind>;

    /// All stored resources that are namespaced.
    fn namespaced_kinds(&self) -> Vec<Kind>;

    /// The object with this name, if it exists. `namespace` is `None` for cluster-scoped objects.
    fn object(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Option<Arc<Object>>;

    /// All objects of a resource, or if `namespace` is set only those in the namespace.
    fn objects(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Arc<Object>>;

    /// Writes an object on behalf of the server, without validation.
    fn write(&mut self, kind: &Kind, namespace: Option<&str>, name: &str, object: Value);

    /// Adds a `Warning` header to the response of the request.
    fn warn(&mut self, text: String);

    /// The options of the server.
    fn options(&self) -> &ServerOptions;

    /// Whether the request is a dry run.
    fn is_dry_run(&self) -> bool;

    /// A random number below `limit`, which is at least 1.
    fn random_below(&mut self, limit: u64) -> u64;
}

/// Functions of another crate that convert the OpenAPI v3 documents in JSON to v2 and to protobuf.
#[derive(Clone, Copy)]
pub struct OpenApiEncoders {
    /// Merges v3 documents, one for each group version, into the document at `/openapi/v2`.
    pub version2: fn(&mut dyn Iterator<Item = Value>) -> Value,
    /// Encodes a v2 document in protobuf.
    pub version2_protobuf: fn(&Value) -> Vec<u8>,
    /// Encodes a v3 document in protobuf.
    pub version3_protobuf: fn(&Value) -> Vec<u8>,
}

/// A controller in another crate. It runs in the transaction of the request that changed an object.
pub trait Controller: Send + Sync + 'static {
    /// Whether the controller reacts to changes of a resource.
    fn watches(&self, kind: &Kind) -> bool;

    /// Records a change of a watched resource, within its commit. `new` is None for a deletion.
    fn on_commit(&self, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        let _ = (kind, old, new);
    }

    /// Creates initial objects at the start of the server.
    fn start(&self, txn: &mut dyn ControllerTransaction) {
        let _ = txn;
    }

    /// Completes an object of a watched resource between preparation and validation of a write (`BeginCreate` and `BeginUpdate` of
    /// upstream's registry). An error rejects the request.
    fn begin_write(
        &self,
        txn: &mut dyn Transaction,
        kind: &Kind,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let _ = (txn, kind, object, old);
        Ok(())
    }

    /// Reconciles a written or deleted object before the server responds to the request.
    fn reconcile(&self, txn: &mut dyn ControllerTransaction, kind: &Kind, key: &str, is_deleted: bool);
}

/// What controllers can read and write in the transaction in which they run.
pub trait ControllerTransaction: Transaction {
    /// The time of the request, in the format of `metadata` timestamps.
    fn now(&self) -> Arc<str>;

    /// Creates an object from its content, on behalf of the server; sets type and system metadata.
    fn create(&mut self, kind: &Kind, namespace: Option<&str>, name: &str, object: Value);

    /// Deletes an object, without regard to finalizers.
    fn delete(&mut self, kind: &Kind, namespace: Option<&str>, name: &str);

    /// All versions of a custom resource, by API group and plural name.
    fn custom_resource(&self, group: &str, plural: &str) -> Vec<Kind>;

    /// The index of the custom resource's table in the store, allocated if the resource has none.
    fn table_index(&mut self, group: &str, plural: &str) -> usize;

    /// Starts serving the versions `kinds` of a custom resource instead of its previous versions. With `rewrite`, converts the stored
    /// objects to the new schema.
    fn define_custom_resource(&mut self, kinds: Vec<Kind>, rewrite: bool);

    /// Stops serving a custom resource.
    fn undefine_custom_resource(&mut self, group: &str, plural: &str);

    /// Deletes all objects of a resource. Returns whether no object is left; objects with finalizers remain until these are removed.
    fn delete_all(&mut self, kind: &Kind) -> bool;

    /// Writes the changed object `new` with `manager` as the field manager of its status, or deletes the object if its last finalizer was
    /// removed.
    fn update_status(&mut self, kind: &Kind, key: &str, old: &Object, new: Value, manager: &str);

    /// Applies `status`, a whole object, by server-side apply with the server's field manager `manager`. Does not validate.
    fn apply_status(&mut self, kind: &Kind, key: &str, manager: &str, status: &Value);
}

pub(crate) type Plugins = Arc<[Arc<dyn AdmissionPlugin>]>;
