//! The interface of admission plugins in other crates: what the core calls, and what they read and write.
//!
//! Does not know which plugins there are, nor how objects are stored.

use crate::kinds::{Kind, Part};
use crate::machinery::status::Status;
use crate::object::Object;
use serde_json::Value;
use std::sync::Arc;

/// A write that an admission plugin decides about (`admission.Attributes` of k8s.io/apiserver).
pub struct Attributes<'r> {
    /// The resource that is written.
    pub kind: &'r Kind,
    /// The object itself, its status, or another subresource.
    pub part: Part,
    /// The stored object; None for a creation.
    pub old: Option<&'r Value>,
}

/// An admission plugin that reads other objects (`admission.Interface` of k8s.io/apiserver).
///
/// Plugins run in the order in which they are registered, after the plugins of the core, and only if
/// [`Admission`](crate::Admission) has their name switched on. All calls are made with the store locked.
pub trait AdmissionPlugin: Send + Sync + 'static {
    /// The name in `--enable-admission-plugins`, such as `LimitRanger`.
    fn name(&self) -> &'static str;

    /// Completes a new object before it is validated. Errors refuse the request.
    fn admit(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Status> {
        let _ = (txn, request, object);
        Ok(())
    }

    /// Decides about a valid object, new or changed. Errors refuse the request.
    fn validate(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &Value,
    ) -> Result<(), Status> {
        let _ = (txn, request, object);
        Ok(())
    }

    /// Follows a committed change, in the same transaction. `new` is None for a deletion.
    fn committed(&self, txn: &mut dyn Transaction, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        let _ = (txn, kind, old, new);
    }
}

/// The objects of the server during one request, with the changes that it has made so far.
pub trait Transaction {
    /// A resource by API group and plural name; None if no release has it.
    fn kind(&self, group: &str, plural: &str) -> Option<Kind>;

    /// All resources that store objects in namespaces.
    fn namespaced_kinds(&self) -> Vec<Kind>;

    /// The object of that name; None if it does not exist. Cluster-scoped objects have no namespace.
    fn object(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Option<Arc<Object>>;

    /// All objects of a resource, or those in one namespace.
    fn objects(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Arc<Object>>;

    /// Writes an object that the server itself changed, without validation.
    fn write(&mut self, kind: &Kind, namespace: Option<&str>, name: &str, object: Value);

    /// Adds a text for a `Warning` header of the response.
    fn warn(&mut self, text: String);
}

/// The plugins of a server.
pub(crate) type Plugins = Arc<[Arc<dyn AdmissionPlugin>]>;
