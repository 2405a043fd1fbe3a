//! Evaluation of policies for one admission request: matching bindings, their parameters, and the variables of expressions.

use super::policy::{Binding, Policy, Reference};
use fake_apiserver::Status;
use fake_apiserver::extension::{Kind, Object, PolicyContext, metadata, namespace_range};
use fake_apiserver_cel::{Budget, Check, Scope as Variables};
use fake_apiserver_webhooks::{Activation, RequestAuthorizer, request_resource, review_request};
use serde_json::Value;
use std::ops::Deref;
use std::sync::Arc;

/// The admission request for which admission policies are evaluated.
#[derive(Clone, Copy)]
pub(super) struct Context<'a>(pub(super) &'a PolicyContext<'a>);

impl<'a> Deref for Context<'a> {
    type Target = PolicyContext<'a>;

    fn deref(&self) -> &PolicyContext<'a> {
        self.0
    }
}

/// A policy binding that matches the request, with its parameter objects. `params` is an error if no parameters were found, or if the match
/// could not be decided.
pub(super) struct MatchingBinding<'a> {
    pub(super) binding: &'a Binding,
    pub(super) params: Result<Vec<Value>, String>,
}

/// The kind (resource and version) in which an admission policy matched the request, and the matching bindings of the policy.
pub(super) type PolicyMatch<'a> = (Kind, Vec<MatchingBinding<'a>>);

/// The values of the CEL variables for one API object, in the API version in which the policy matched.
pub(super) struct VariableValues {
    pub(super) object: Value,
    old: Value,
    request: Value,
    namespace: Value,
    check: Check,
}

impl Context<'_> {
    /// The bindings of a policy that match the request. None if the policy does not match the request. An invalid policy is an error.
    pub(super) fn match_policy<'p>(
        &self,
        policy: &'p Policy,
        object: Option<&Value>,
    ) -> Result<Option<PolicyMatch<'p>>, String> {
        let found = policy.criteria.matched_kind(self.request, object, self.state);
        let Some(kind) = found.map_err(|status| status.message)? else {
            return Ok(None);
        };
        let params = match &policy.params {
            None => None,
            Some((version, kind)) => Some(self.param_kind(version, kind)?),
        };
        let mut cases = Vec::new();
        for binding in &policy.bindings {
            match self.is_bound(binding, object) {
                Ok(false) => {}
                Ok(true) => cases.push(MatchingBinding {
                    binding,
                    params: self.params(params.as_ref(), binding.params.as_ref()),
                }),
                Err(status) => cases.push(MatchingBinding {
                    binding,
                    params: Err(status.message),
                }),
            }
        }
        Ok(Some((kind, cases)))
    }

    fn is_bound(&self, binding: &Binding, object: Option<&Value>) -> Result<bool, Status> {
        match &binding.criteria {
            None => Ok(true),
            Some(criteria) if criteria.has_no_rules() => {
                criteria.matches_labels(self.request, object, self.state)
            }
            Some(criteria) => criteria
                .matched_kind(self.request, object, self.state)
                .map(|found| found.is_some()),
        }
    }

    fn param_kind(&self, version: &str, kind: &str) -> Result<Kind, String> {
        self.state.served_kind(version, kind).ok_or_else(|| {
            let slash = if version.contains('/') { "" } else { "/" };
            format!("failed to find resource referenced by paramKind: '{slash}{version}, Kind={kind}'")
        })
    }

    /// The parameter objects of a policy binding. A single `null` if the binding has no `paramRef`, or the policy no `paramKind`.
    fn params(&self, kind: Option<&Kind>, reference: Option<&Reference>) -> Result<Vec<Value>, String> {
        let (Some(kind), Some(reference)) = (kind, reference) else {
            return Ok(vec![Value::Null]);
        };
        let namespace = match (reference.namespace.as_str(), kind.namespaced) {
            ("", false) => None,
            (_, false) => {
                let why = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
                return Err(why.to_owned());
            }
            ("", true) if self.request.target.namespace.is_empty() => {
                let why =
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
                return Err(why.to_owned());
            }
            ("", true) => Some(self.request.target.namespace.as_str()),
            (namespace, true) => Some(namespace),
        };
        let found = self.referenced_objects(kind, namespace, reference);
        if found.is_empty() && reference.required {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
        }
        let shown = found
            .iter()
            .map(|object| self.conversion.convert(kind, &object.document()));
        Ok(shown.collect())
    }

    fn referenced_objects(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        reference: &Reference,
    ) -> Vec<Arc<Object>> {
        let Some(selector) = &reference.selector else {
            let key = kind.key(namespace, &reference.name);
            return self.state.object(kind, &key).into_iter().collect();
        };
        let all = self.state.objects(kind);
        let objects = namespace_range(&all, namespace).map(|(_, object)| object);
        objects
            .filter(|object| object.read_value(|value| selector.matches(value)))
            .cloned()
            .collect()
    }

    /// The values of the CEL variables for an API object, converted to the version of `kind`.
    pub(super) fn variable_values(
        &self,
        kind: &Kind,
        object: Option<&Value>,
    ) -> Result<VariableValues, Status> {
        let (request, target) = (self.request, &self.request.target);
        let old = request.old.as_ref().map(|old| old.document());
        let namespace = match target.namespace.as_str() {
            "" => Value::Null,
            _ if target.is_namespace() => Value::Null,
            name => self.state.namespace(name)?.value().clone(),
        };
        Ok(VariableValues {
            object: object.map_or(Value::Null, |object| self.conversion.convert(kind, object)),
            old: old.map_or(Value::Null, |old| self.conversion.convert(kind, &old)),
            request: review_request(request, self.requester, kind),
            namespace,
            check: request_resource(target),
        })
    }

    pub(super) fn authorizer(&self) -> RequestAuthorizer<'_> {
        RequestAuthorizer {
            state: self.state,
            user: &self.requester.user,
        }
    }

    /// Name or generateName of the request's object, for denial messages; `Unknown` if the object has neither.
    pub(super) fn name(&self) -> &str {
        let object = self.request.object.as_ref();
        let generated = object.map_or("", |object| metadata::text(object, "generateName"));
        let names = [self.request.target.name.as_str(), generated, "Unknown"];
        names
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default()
    }
}

impl VariableValues {
    pub(super) fn activation<'a>(
        &'a self,
        policy: &Policy,
        params: &'a Value,
        authorizer: &'a RequestAuthorizer<'a>,
    ) -> Activation<'a> {
        Activation {
            object: &self.object,
            old_object: &self.old,
            request: &self.request,
            params: policy.params.is_some().then_some(params),
            namespace: &self.namespace,
            authorizer: (authorizer, &self.check),
        }
    }
}

/// The variables of a policy's expressions, including those that the policy declares in `variables`.
pub(super) fn variables<'a>(policy: &Policy, activation: &Activation<'a>) -> Variables<'a> {
    let mut variables = activation.scope(&Budget::for_validation());
    for (name, expression) in &policy.variables {
        variables.bind_computed(name, expression);
    }
    variables
}
