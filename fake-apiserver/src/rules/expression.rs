//! Expressions of admission: conditions of webhooks and policies, and all that policies compute.
//!
//! Owns which variables there are, what an expression may yield, and the texts of what goes wrong. Does not know
//! webhooks, policies or requests.

use super::authority::{Authority, Check, Permission};
use super::check::check;
use super::declared::Declared;
use super::evaluate::evaluate;
use super::failure::Failure;
use super::program::Program;
use super::records::{NAMESPACE, REQUEST};
use super::types::CelType;
use super::value::{Computed, Val};
use crate::schema::Type;
use crate::structural::Schema;
use serde_json::Value;
use std::rc::Rc;
use std::sync::Arc;

const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
const SPENT: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
const CANCELLED: &str = "operation cancelled: actual cost limit exceeded";

/// An expression that was read.
#[derive(Debug)]
pub(crate) struct Expression {
    program: Program,
    text: String,
}

/// What an expression is to yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    Bool,
    Text,
    TextOrNull,
    /// Part of an object that is applied.
    Object,
    /// Operations of a JSON patch.
    Patch,
    Anything,
}

/// What is known of the objects that an expression is about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum ObjectForm<'a> {
    #[default]
    Any,
    Typed(&'static Type),
    Defined(&'a Schema),
}

/// The variables of an expression, as far as they are known before it is evaluated.
pub(crate) struct Declarations<'a> {
    object: ObjectForm<'a>,
    params: Option<ObjectForm<'a>>,
    authorizer: bool,
    /// Objects and operations of patches can be made.
    makes: bool,
    computed: Arc<Vec<(&'a str, CelType<'a>)>>,
}

impl<'a> Declarations<'a> {
    /// `object`, `oldObject`, `request`, `namespaceObject` and `authorizer`.
    pub(crate) fn new() -> Self {
        Self {
            object: ObjectForm::Any,
            params: None,
            authorizer: true,
            makes: false,
            computed: Arc::default(),
        }
    }

    /// The same for objects of a form.
    pub(crate) fn about(mut self, object: ObjectForm<'a>) -> Self {
        self.object = object;
        self
    }

    /// The same with `params`, where there are any.
    pub(crate) fn with_params(mut self, params: Option<ObjectForm<'a>>) -> Self {
        self.params = params;
        self
    }

    /// The same where objects and operations of patches can be made.
    pub(crate) fn making(mut self) -> Self {
        self.makes = true;
        self
    }

    /// Without `authorizer`.
    pub(crate) fn unauthorized(&self) -> Self {
        Self {
            authorizer: false,
            computed: self.computed.clone(),
            ..*self
        }
    }

    /// Adds a value of `variables`, which the expressions before it do not see. What is wrong with it, otherwise.
    pub(crate) fn compute(&mut self, name: &'a str, expression: &'a Expression) -> Result<(), String> {
        let of = self.check(expression);
        let known = of.as_ref().map_or(CelType::Dyn, Clone::clone);
        Arc::make_mut(&mut self.computed).push((name, known));
        of.map(drop)
    }

    fn check(&self, expression: &'a Expression) -> Result<CelType<'a>, String> {
        let form = |form: ObjectForm<'a>| match form {
            ObjectForm::Any => CelType::Dyn,
            ObjectForm::Typed(of) => CelType::Typed(of),
            ObjectForm::Defined(schema) => {
                CelType::of(Declared::Value(schema, true), "Object").unwrap_or(CelType::Dyn)
            }
        };
        let mut known = vec![
            ("object", form(self.object)),
            ("oldObject", form(self.object)),
            ("request", CelType::Record(&REQUEST)),
            ("namespaceObject", CelType::Record(&NAMESPACE)),
        ];
        if !self.computed.is_empty() {
            known.push(("variables", CelType::Computed(self.computed.clone())));
        }
        if let Some(params) = self.params {
            known.push(("params", form(params)));
        }
        if self.authorizer {
            known.push(("authorizer", CelType::Library(AUTHORIZER)));
            known.push(("authorizer.requestResource", CelType::Library(RESOURCE_CHECK)));
        }
        if self.makes {
            known.extend(["Object", "JSONPatch"].map(|name| (name, CelType::Made(name))));
        }
        check(&expression.program, known).map(|checked| checked.of)
    }
}

impl Expression {
    /// Reads an expression. What is wrong with it, otherwise.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        Ok(Self {
            program: Program::read(text)?,
            text: text.to_owned(),
        })
    }

    /// Checks that the expression makes sense and yields what it is to yield. What is wrong with it, otherwise.
    pub(crate) fn check<'a>(&'a self, known: &Declarations<'a>, returns: Returns) -> Result<(), String> {
        let of = known.check(self)?;
        let (wanted, fits) = match returns {
            Returns::Bool => ("bool", of == CelType::Bool),
            Returns::Text => ("string", of == CelType::Text),
            Returns::TextOrNull => ("string", matches!(of, CelType::Text | CelType::Null)),
            Returns::Object => ("Object", of == CelType::Made("Object")),
            Returns::Anything => ("dyn", true),
            Returns::Patch => ("list(JSONPatch)", of == CelType::list(CelType::Made("JSONPatch"))),
        };
        if fits {
            return Ok(());
        }
        Err(match returns {
            Returns::TextOrNull => format!("must evaluate to one of [string null_type] but got {of}"),
            _ => format!("must evaluate to {wanted} but got {of}"),
        })
    }

    /// What the expression yields. Why it yields nothing, otherwise.
    pub(crate) fn evaluate<'a>(
        &'a self,
        inputs: &Inputs<'a>,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Value, String> {
        if budget.0 < 0 {
            return Err(SPENT.to_owned());
        }
        let outcome = self.value(inputs, variables, budget);
        outcome
            .and_then(|value| value.to_json())
            .map_err(|failure| self.failed(failure))
    }

    fn value<'a>(
        &'a self,
        inputs: &Inputs<'a>,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Val<'a>, Failure> {
        let (outcome, cost) = evaluate(
            &self.program,
            &self.program.expression,
            inputs.variables(variables),
        );
        budget.0 -= i64::try_from(cost).unwrap_or(i64::MAX);
        if budget.0 < 0 {
            return Err(Failure::TooExpensive);
        }
        outcome
    }

    fn failed(&self, failure: Failure) -> String {
        let why = match failure {
            Failure::Failed(why) => why,
            Failure::TooExpensive => CANCELLED.to_owned(),
        };
        format!("expression '{}' resulted in error: {why}", self.text)
    }
}

/// What the expressions about one request may still cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(i64);

impl Budget {
    /// That of the conditions that come first.
    pub(crate) const CONDITIONS: Self = Self(2_500_000);
    /// That of a policy.
    pub(crate) const POLICY: Self = Self(10_000_000);
}

/// What the expressions about one request see.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) object: &'a Value,
    pub(crate) old_object: &'a Value,
    pub(crate) request: &'a Value,
    /// None: there is no such variable.
    pub(crate) params: Option<&'a Value>,
    pub(crate) namespace: &'a Value,
    pub(crate) authority: Option<(&'a dyn Authority, &'a Check)>,
}

impl<'a> Inputs<'a> {
    fn variables(&self, computed: &Variables<'a>) -> Vec<(&'a str, Val<'a>)> {
        let of = |value: &'a Value| Val::of(value, None);
        let mut known = vec![
            ("object", of(self.object)),
            ("oldObject", of(self.old_object)),
            ("request", of(self.request)),
            ("namespaceObject", of(self.namespace)),
            ("variables", Val::Computed(computed.0.clone())),
        ];
        if let Some(params) = self.params {
            known.push(("params", of(params)));
        }
        if let Some((authority, request)) = self.authority {
            let permission = Permission::new(authority, request.clone());
            known.push(("authorizer", Val::Permission(Rc::new(permission))));
        }
        known
    }
}

/// The values of `variables`.
#[derive(Clone, Default)]
pub(crate) struct Variables<'a>(Rc<Computed<'a>>);

impl<'a> Variables<'a> {
    /// Notes that a value cannot be had.
    pub(crate) fn fail(&mut self, name: &'a str, why: &str) {
        Rc::make_mut(&mut self.0).push((name, Err(Failure::new(why))));
    }

    /// Computes a value from those before it; a failure is one for whoever uses the value.
    pub(crate) fn compute(
        &mut self,
        name: &'a str,
        expression: &'a Expression,
        inputs: &Inputs<'a>,
        budget: &mut Budget,
    ) {
        let value = expression.value(inputs, self, budget);
        let value = value.map_err(|failure| match failure {
            Failure::Failed(why) => {
                Failure::new(format!("composited variable \"{name}\" fails to evaluate: {why}"))
            }
            failure @ Failure::TooExpensive => failure,
        });
        Rc::make_mut(&mut self.0).push((name, value));
    }
}
