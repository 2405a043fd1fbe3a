//! The interface of admission policies, which another crate implements.
//!
//! Owns when policies are called and which context they receive. Does not know CEL.

use super::request::{AdmissionRequest, Requester};
use super::state_reader::StateReader;
use crate::kinds::{Kind, Part};
use crate::machinery::status::Status;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// The configured policies. All methods are called with the store locked.
pub trait Policies: Debug + Send + Sync {
    /// Whether no policies are configured.
    fn is_empty(&self) -> bool;

    /// Whether any validating policy is configured.
    fn has_validating(&self) -> bool;

    /// Whether any policy may match requests for this resource and subresource.
    fn may_match_resource(&self, kind: &Kind, part: Part) -> bool;

    /// Runs all mutating policies on an object or, for a reinvocation, only the policies in `only`. Returns `None` if no mutating policies
    /// are configured.
    fn mutate(
        &self,
        context: &PolicyContext<'_>,
        object: &Value,
        only: Option<&BTreeSet<String>>,
    ) -> Option<Result<Mutated, Status>>;

    /// Runs the validating policies. Returns their decision about the request, and warnings for the client.
    fn validate(&self, context: &PolicyContext<'_>) -> (Result<(), Status>, Vec<String>);
}

/// Result of the mutating policies: the changed object, and the policies to reinvoke.
pub struct Mutated {
    /// The object after the last mutation.
    pub object: Value,
    /// Whether a policy changed the object. If so, built-in admission runs again on the changed object.
    pub changed: bool,
    /// Policies to reinvoke because a later policy changed the object. Each string consists of policy, binding and parameter.
    pub reinvoke: BTreeSet<String>,
    /// Policies to reinvoke if a webhook or the server changes the object after all policies have run.
    pub reinvoke_if_changed: BTreeSet<String>,
}

/// What policies can read while they are evaluated for one admission request.
pub struct PolicyContext<'a> {
    /// The request to admit, with the new and the old object.
    pub request: &'a AdmissionRequest,
    /// The user of the request, and its options such as `CreateOptions`.
    pub requester: &'a Requester,
    /// Reads stored objects, served resources and permissions.
    pub state: &'a dyn StateReader,
    /// Converts the objects of the request between versions.
    pub conversion: &'a dyn VersionConversion,
}

/// Conversion of objects between API versions.
pub trait VersionConversion {
    /// Converts an object to the version of `kind`.
    fn convert(&self, kind: &Kind, object: &Value) -> Value;
    /// Converts `changed`, which a policy returned in the version of `kind`, to the version in which writes are validated.
    fn convert_back(&self, kind: &Kind, before: &Value, changed: Value) -> Result<Value, String>;
}
