//! The variables of CEL expressions for one admission request.

use fake_apiserver_cel::{Authorizer, Budget, Check, Expression, Failure, Scope, from_json};
use serde_json::Value;

const SPENT: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The values of the CEL variables (`evaluationActivation` of k8s.io/apiserver).
#[derive(Clone, Copy)]
pub struct Activation<'a> {
    /// `object`: the new object.
    pub object: &'a Value,
    /// `oldObject`: the stored object.
    pub old_object: &'a Value,
    /// `request`: the AdmissionRequest without its objects.
    pub request: &'a Value,
    /// `params`: the parameter object. None if the policy has no `paramKind`.
    pub params: Option<&'a Value>,
    /// `namespaceObject`: the namespace of the object.
    pub namespace: &'a Value,
    /// `authorizer`, and the attributes of `authorizer.requestResource`.
    pub authorizer: (&'a dyn Authorizer, &'a Check),
}

impl<'a> Activation<'a> {
    /// Binds the CEL variables of the admission request in a new scope with this cost budget.
    pub fn scope(&self, budget: &Budget) -> Scope<'a> {
        let mut scope = Scope::new(budget);
        scope.bind("object", from_json(self.object));
        scope.bind("oldObject", from_json(self.old_object));
        scope.bind("request", from_json(self.request));
        scope.bind("namespaceObject", from_json(self.namespace));
        if let Some(params) = self.params {
            scope.bind("params", from_json(params));
        }
        let (authorizer, request) = self.authorizer;
        scope.bind_authorizer(authorizer, request.clone());
        scope
    }
}

/// Evaluates an expression for an admission request. Returns the error message on failure.
pub fn evaluate(expression: &Expression, scope: &Scope<'_>) -> Result<Value, String> {
    let why = match expression.evaluate(scope) {
        Ok(value) => return Ok(value),
        Err(Failure::Spent) => return Err(SPENT.to_owned()),
        Err(Failure::TooExpensive) => "operation cancelled: actual cost limit exceeded".to_owned(),
        Err(Failure::Error(why)) => why,
    };
    Err(format!(
        "expression '{}' resulted in error: {why}",
        expression.text()
    ))
}
