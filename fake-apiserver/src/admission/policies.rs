//! The interface of admission policies, which another crate implements.
//!
//! Owns when policies are called and what they get. Does not know CEL.

use super::request::{AdmissionRequest, Requester};
use super::state_reader::StateReader;
use crate::kinds::{Kind, Part};
use crate::machinery::status::Status;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// The configured policies. All calls are made with the store locked.
pub trait Policies: Debug + Send + Sync {
    /// Whether there are none.
    fn is_empty(&self) -> bool;

    /// Whether there are validating policies.
    fn has_validating(&self) -> bool;

    /// Whether any policy may match requests for this resource and subresource.
    fn may_match_resource(&self, kind: &Kind, part: Part) -> bool;

    /// Runs mutating policies on an object; with `only`, just those due for reinvocation. None if there are no mutating policies.
    fn mutate(
        &self,
        context: &PolicyContext<'_>,
        object: &Value,
        only: Option<&BTreeSet<String>>,
    ) -> Option<Result<Mutated, Status>>;

    /// Runs validating policies; returns warnings.
    fn validate(&self, context: &PolicyContext<'_>) -> (Result<(), Status>, Vec<String>);
}

/// Result of mutating policies.
pub struct Mutated {
    /// The object after all mutations.
    pub object: Value,
    /// Whether a policy changed the object.
    pub changed: bool,
    /// Policies to reinvoke because a later policy changed the object. Keys: policy, binding and parameter.
    pub reinvoke: BTreeSet<String>,
    /// Policies to reinvoke if a webhook or the server changes the object.
    pub reinvoke_if_changed: BTreeSet<String>,
}

/// The context of policies on one request.
pub struct PolicyContext<'a> {
    /// The admission request.
    pub request: &'a AdmissionRequest,
    /// User and options of the request.
    pub requester: &'a Requester,
    /// The state of the server.
    pub state: &'a dyn StateReader,
    /// Conversion of the request's objects.
    pub conversion: &'a dyn VersionConversion,
}

/// Conversion of objects between versions.
pub trait VersionConversion {
    /// An object in the version of `kind`.
    fn convert(&self, kind: &Kind, object: &Value) -> Value;
    /// A changed object in the version of `kind`, converted back to the version in which writes are validated.
    fn convert_back(&self, kind: &Kind, before: &Value, changed: Value) -> Result<Value, String>;
}
