//! An admission policy with compiled expressions, and its bindings.

use fake_apiserver::extension::json::{list, string, texts};
use fake_apiserver::extension::{LabelSelector, Objects, intern, metadata};
use fake_apiserver_cel::{Expression, Scope};
use fake_apiserver_webhooks::{MatchConditions, MatchCriteria, evaluate};
use serde_json::Value;

pub(super) type CompiledExpression = Result<Expression, String>;

/// The value of an expression, or the reason why it has none.
pub(super) fn evaluate_expression(
    expression: &CompiledExpression,
    variables: &Scope<'_>,
) -> Result<Value, String> {
    evaluate(expression.as_ref().map_err(Clone::clone)?, variables)
}

/// An admission policy with compiled CEL expressions, and its bindings.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) criteria: MatchCriteria,
    pub(super) conditions: MatchConditions,
    /// True for `failurePolicy: Ignore`: evaluation errors do not deny the request.
    pub(super) ignores_failures: bool,
    /// `apiVersion` and `kind` of `paramKind`.
    pub(super) params: Option<(String, String)>,
    pub(super) variables: Vec<(String, CompiledExpression)>,
    pub(super) validations: Vec<Validation>,
    /// Value expressions of `auditAnnotations`. There is no audit log, so only their errors have an effect.
    pub(super) notes: Vec<CompiledExpression>,
    pub(super) mutations: Vec<Mutation>,
    /// True for `reinvocationPolicy: IfNeeded`.
    pub(super) reinvocable: bool,
    pub(super) bindings: Vec<Binding>,
}

/// A compiled entry of `validations` of a ValidatingAdmissionPolicy.
#[derive(Debug)]
pub(super) struct Validation {
    pub(super) expression: CompiledExpression,
    pub(super) text: String,
    pub(super) message: String,
    pub(super) message_expression: Option<Expression>,
    pub(super) reason: &'static str,
}

/// A compiled entry of `mutations` of a MutatingAdmissionPolicy, by `patchType`.
#[derive(Debug)]
pub(super) enum Mutation {
    Apply(CompiledExpression),
    Patch(CompiledExpression),
}

#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    /// `matchResources`. None: the binding applies to every request that the policy matches.
    pub(super) criteria: Option<MatchCriteria>,
    pub(super) params: Option<Reference>,
    pub(super) denies: bool,
    pub(super) warns: bool,
}

/// `paramRef` of a policy binding.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) selector: Option<LabelSelector>,
    /// True for `parameterNotFoundAction: Deny`: a missing parameter object is an error.
    pub(super) required: bool,
}

/// All admission policies with at least one binding, sorted by policy name.
pub(super) fn policies(policies: &Objects, bindings: &Objects) -> Vec<Policy> {
    let bindings: Vec<(&str, &Value)> = bindings
        .values()
        .map(|binding| (string(&binding.value()["spec"], "policyName"), binding.value()))
        .collect();
    let read = policies.values().filter_map(|policy| {
        let name = metadata::text(policy.value(), "name");
        let own = bindings.iter().filter(|(of, _)| *of == name);
        let own: Vec<Binding> = own.map(|(_, binding)| Binding::read(binding)).collect();
        (!own.is_empty()).then(|| Policy::read(policy.value(), own))
    });
    read.collect()
}

impl Policy {
    fn read(policy: &Value, bindings: Vec<Binding>) -> Self {
        let spec = &policy["spec"];
        let ignores_failures = spec["failurePolicy"] == "Ignore";
        let params = &spec["paramKind"];
        let variables = list(&spec["variables"]).iter();
        Self {
            name: metadata::text(policy, "name").to_owned(),
            criteria: MatchCriteria::of_policy(&spec["matchConstraints"]),
            conditions: MatchConditions::read(&spec["matchConditions"], false),
            ignores_failures,
            params: params.is_object().then(|| {
                (
                    string(params, "apiVersion").to_owned(),
                    string(params, "kind").to_owned(),
                )
            }),
            variables: variables
                .map(|variable| (string(variable, "name").to_owned(), read(variable, "expression")))
                .collect(),
            validations: list(&spec["validations"]).iter().map(Validation::read).collect(),
            notes: list(&spec["auditAnnotations"])
                .iter()
                .map(|note| read(note, "valueExpression"))
                .collect(),
            mutations: list(&spec["mutations"]).iter().map(Mutation::read).collect(),
            reinvocable: spec["reinvocationPolicy"] == "IfNeeded",
            bindings,
        }
    }
}

fn read(of: &Value, name: &str) -> CompiledExpression {
    Expression::read(string(of, name)).map_err(|why| format!("compilation error: {why}"))
}

impl Validation {
    fn read(validation: &Value) -> Self {
        let message = string(validation, "messageExpression");
        Self {
            expression: read(validation, "expression"),
            text: string(validation, "expression").trim().to_owned(),
            message: string(validation, "message").trim().to_owned(),
            message_expression: Some(message)
                .filter(|text| !text.is_empty())
                .and_then(|text| Expression::read(text).ok()),
            reason: match string(validation, "reason") {
                "" => "Invalid",
                reason => intern::name(reason),
            },
        }
    }
}

impl Mutation {
    fn read(mutation: &Value) -> Self {
        match mutation["patchType"] == "JSONPatch" {
            true => Self::Patch(read(&mutation["jsonPatch"], "expression")),
            false => Self::Apply(read(&mutation["applyConfiguration"], "expression")),
        }
    }
}

impl Binding {
    fn read(binding: &Value) -> Self {
        let spec = &binding["spec"];
        let (params, actions) = (&spec["paramRef"], texts(&spec["validationActions"]));
        let resources = &spec["matchResources"];
        Self {
            name: metadata::text(binding, "name").to_owned(),
            criteria: resources.is_object().then(|| MatchCriteria::of_policy(resources)),
            params: params.is_object().then(|| Reference {
                name: string(params, "name").to_owned(),
                namespace: string(params, "namespace").to_owned(),
                selector: Some(&params["selector"])
                    .filter(|selector| selector.is_object())
                    .and_then(LabelSelector::from_object),
                required: params["parameterNotFoundAction"] == "Deny",
            }),
            denies: actions.contains(&"Deny"),
            warns: actions.contains(&"Warn"),
        }
    }
}
