//! Admission policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings.
//!
//! Owns the resources, their validation, and the evaluation of policies for a request. Does not know when requests reach admission.

mod binding_validation;
mod constraints;
mod defaults;
mod matching;
mod mutating;
mod policy;
mod policy_validation;
mod resources;
mod status;
mod validating;

use fake_apiserver::Status;
use fake_apiserver::extension::resource::ResourceDefinition;
use fake_apiserver::extension::{Extension, Kind, Mutated, Objects, Part, Policies, PolicyContext};
use matching::Context;
use policy::{Policy, policies};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) fn extension() -> Extension {
    Extension {
        resources: vec![
            &resources::MUTATING_ADMISSION_POLICY,
            &resources::MUTATING_ADMISSION_POLICY_BINDING,
            &resources::VALIDATING_ADMISSION_POLICY,
            &resources::VALIDATING_ADMISSION_POLICY_BINDING,
        ],
        controllers: vec![Arc::new(status::PolicyStatus)],
        policies: Some(read),
        ..Extension::default()
    }
}

/// All admission policies with at least one binding, sorted by policy name.
#[derive(Debug)]
struct AllPolicies {
    mutating: Vec<Policy>,
    validating: Vec<Policy>,
}

/// Combines admission policies and bindings. Policies without a binding are omitted.
fn read(objects: &dyn Fn(&str) -> Objects) -> Arc<dyn Policies> {
    let read = |all: &ResourceDefinition, bindings: &ResourceDefinition| {
        policies(&objects(all.plural), &objects(bindings.plural))
    };
    Arc::new(AllPolicies {
        mutating: read(
            &resources::MUTATING_ADMISSION_POLICY,
            &resources::MUTATING_ADMISSION_POLICY_BINDING,
        ),
        validating: read(
            &resources::VALIDATING_ADMISSION_POLICY,
            &resources::VALIDATING_ADMISSION_POLICY_BINDING,
        ),
    })
}

impl Policies for AllPolicies {
    fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    fn has_validating(&self) -> bool {
        !self.validating.is_empty()
    }

    fn may_match_resource(&self, kind: &Kind, part: Part) -> bool {
        let mut all = self.mutating.iter().chain(&self.validating);
        all.any(|policy| policy.criteria.may_match_resource(kind, part))
    }

    fn mutate(
        &self,
        context: &PolicyContext<'_>,
        object: &Value,
        only: Option<&BTreeSet<String>>,
    ) -> Option<Result<Mutated, Status>> {
        if self.mutating.is_empty() {
            return None;
        }
        Some(mutating::mutate(
            &self.mutating,
            Context(context),
            object.clone(),
            only,
        ))
    }

    fn validate(&self, context: &PolicyContext<'_>) -> (Result<(), Status>, Vec<String>) {
        validating::validate(&self.validating, Context(context))
    }
}
