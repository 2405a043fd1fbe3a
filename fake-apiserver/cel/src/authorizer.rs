//! The CEL variable `authorizer`: a chain of method calls that ends with a decision.

use super::arguments::{receiver, texts, with_state};
use super::decisions::{Check, Decision};
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, ResolveResult, Value};
use std::sync::Arc;

type SetAttribute = fn(&mut Check, &[Arc<String>]);

/// Methods that set an attribute of the authorization check: name, argument count, setter. Selectors are ignored, because RBAC does not
/// evaluate selectors.
const CALLS: [(&str, usize, SetAttribute); 10] = [
    ("serviceAccount", 2, |check, with| {
        check.account = Some((with[0].to_string(), with[1].to_string()));
    }),
    ("path", 1, |check, with| check.path = Some(with[0].to_string())),
    ("group", 1, |check, with| check.group = Some(with[0].to_string())),
    ("resource", 1, |check, with| check.resource = with[0].to_string()),
    ("subresource", 1, |check, with| {
        check.subresource = with[0].to_string();
    }),
    ("namespace", 1, |check, with| {
        check.namespace = with[0].to_string();
    }),
    ("name", 1, |check, with| check.name = with[0].to_string()),
    ("fieldSelector", 1, |_, _| {}),
    ("labelSelector", 1, |_, _| {}),
    ("check", 1, |check, with| check.verb = with[0].to_string()),
];

pub(super) fn register(context: &mut Context<'_>) {
    for (name, count, call) in CALLS {
        context.add_function(
            name,
            move |with: &FunctionContext, This(this): This<Value>, Arguments(arguments): Arguments| {
                let mut check = receiver::<Check>(&this)?.clone();
                let arguments = texts(&arguments)?;
                if arguments.len() != count {
                    return Err(ExecutionError::NoSuchOverload);
                }
                call(&mut check, &arguments);
                if name != "check" {
                    return Ok(Value::Opaque(Arc::new(check)));
                }
                let decision = with_state(with, |state| {
                    let found = state.decisions.find(check);
                    found.ok_or_else(|| with.error("the authorization check is not decided yet"))
                })?;
                Ok(Value::Opaque(Arc::new(decision)))
            },
        );
    }
    context.add_function("allowed", |This(this): This<Value>| -> ResolveResult {
        Ok(receiver::<Decision>(&this)?.allowed.into())
    });
    context.add_function("errored", |This(this): This<Value>| -> ResolveResult {
        receiver::<Decision>(&this).map(|_| false.into())
    });
    context.add_function("reason", |This(this): This<Value>| -> ResolveResult {
        Ok(receiver::<Decision>(&this)?.reason.as_str().into())
    });
    context.add_function("error", |This(this): This<Value>| -> ResolveResult {
        receiver::<Decision>(&this).map(|_| "".into())
    });
}
