//! The CEL functions of the crates `cel` and `kube-cel`, with replacements for functions that are missing, different or unbounded.

use super::arguments::{charge, receiver, size, texts, with_state};
use super::{authorizer, urls};
use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue};
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::objects::{OptionalValue, ValueType};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, ResolveResult, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

/// CEL function that `rewrite` inserts: charges the cost of a number of AST nodes and returns true.
pub(super) const TICK: &str = "@tick";
/// CEL function that `rewrite` inserts: charges the size of a value and returns the value.
pub(super) const SIZED: &str = "@sized";

/// CEL function that `rewrite` inserts: converts an optional to a list of at most one item.
pub(super) const ITEMS: &str = "@items";

/// Type identifiers in expressions, each with the result of `type()` for a value of this type.
pub(super) const TYPES: [(&str, &str); 9] = [
    ("bool", "bool"),
    ("bytes", "bytes"),
    ("double", "double"),
    ("int", "int"),
    ("list", "list"),
    ("map", "map"),
    ("null_type", "null_type"),
    ("string", "string"),
    ("uint", "uint"),
];

/// The functions of `cel` and `kube-cel`, without the replacements of this crate.
static ORIGINALS: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

/// All CEL functions and type names that expressions can use, without variables.
pub(super) static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function(TICK, |with: &FunctionContext, nodes: i64| {
        with_state(with, |state| {
            state.charge(usize::try_from(nodes).unwrap_or_default())
        })?;
        Ok(Value::Bool(true))
    });
    context.add_function(SIZED, |with: &FunctionContext, value: Value| {
        charge(with, size(&value))?;
        Ok(value)
    });
    context.add_function(ITEMS, |value: Value| -> ResolveResult {
        let value = receiver::<OptionalValue>(&value)?.value();
        Ok(value.cloned().into_iter().collect::<Vec<_>>().into())
    });
    context.add_function("dyn", |value: Value| -> ResolveResult { Ok(value) });
    context.add_function("type", |value: Value| type_name(&value).to_owned());
    context.add_function("bool", to_bool);
    context.add_function("int", to_int);
    context.add_function("string", to_string);
    context.add_function("size", length);
    context.add_function("replace", replace);
    context.add_function("join", join);
    context.add_function("lists.range", range);
    authorizer::register(&mut context);
    urls::register(&mut context);
    for (name, of) in TYPES {
        context.add_variable_from_value(name, of);
    }
    context
});

/// Whether a function named `name` exists. The function registry of `cel` is private, so this calls the function without arguments.
pub(super) fn exists(name: &str) -> bool {
    let call = call(name, None, Vec::new());
    let outcome = catch_unwind(AssertUnwindSafe(|| Value::resolve(&call, &FUNCTIONS)));
    !matches!(outcome, Ok(Err(ExecutionError::UndeclaredReference(_))))
}

/// The result of `timestamp()` or `duration()` for a string; None on error.
pub fn convert(name: &str, text: &str) -> Option<Value> {
    Value::resolve(&call(name, None, vec![text_literal(text)]), &FUNCTIONS).ok()
}

pub(super) fn call(name: &str, target: Option<IdedExpr>, args: Vec<IdedExpr>) -> IdedExpr {
    node(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: target.map(Box::new),
        args,
    }))
}

pub(super) fn text_literal(text: &str) -> IdedExpr {
    node(Expr::Literal(LiteralValue::String(text.into())))
}

pub(super) fn node(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn type_name(value: &Value) -> &str {
    match value.type_of() {
        ValueType::List => "list",
        ValueType::Map => "map",
        ValueType::Int => "int",
        ValueType::UInt => "uint",
        ValueType::Float => "double",
        ValueType::String => "string",
        ValueType::Bytes => "bytes",
        ValueType::Bool => "bool",
        ValueType::Duration => "google.protobuf.Duration",
        ValueType::Timestamp => "google.protobuf.Timestamp",
        ValueType::Null => "null_type",
        ValueType::Opaque | ValueType::Function => match value {
            Value::Opaque(opaque) => opaque.runtime_type_name(),
            _ => "function",
        },
    }
}

fn to_bool(with: &FunctionContext<'_, '_>, value: Value) -> ResolveResult {
    match value {
        Value::Bool(value) => Ok(value.into()),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true.into()),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false.into()),
            _ => Err(with.error("type conversion error from 'string' to 'bool'")),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// `int()` of a timestamp (Unix seconds) or a duration (seconds), which `cel` does not convert.
fn to_int(value: Value) -> ResolveResult {
    match value {
        Value::Timestamp(time) => Ok(time.timestamp().into()),
        Value::Duration(duration) => Ok(duration.num_seconds().into()),
        other => call_original("int", other),
    }
}

fn to_string(This(value): This<Value>) -> ResolveResult {
    match value {
        Value::Bool(value) => Ok(value.to_string().into()),
        Value::Timestamp(time) => Ok(time.to_rfc3339().replace("+00:00", "Z").into()),
        other => call_original("string", other),
    }
}

fn call_original(name: &str, argument: Value) -> ResolveResult {
    let mut context = ORIGINALS.new_inner_scope();
    context.add_variable_from_value("@argument", argument);
    let argument = node(Expr::Ident("@argument".to_owned()));
    Value::resolve(&call(name, None, vec![argument]), &context)
}

/// CEL's `size()` of a string is the number of its code points; `cel` counts bytes.
fn length(This(this): This<Value>) -> ResolveResult {
    let length = match this {
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    Ok(Value::Int(length.try_into().unwrap_or(i64::MAX)))
}

/// The CEL function `replace`. The implementation in `kube-cel` allocates the result before the size can be charged.
fn replace(
    with: &FunctionContext<'_, '_>,
    This(text): This<Arc<String>>,
    Arguments(arguments): Arguments,
) -> ResolveResult {
    let (strings, most) = match arguments.as_slice() {
        [_, _] => (&arguments[..], usize::MAX),
        [_, _, Value::Int(most)] => (&arguments[..2], usize::try_from(*most).unwrap_or(usize::MAX)),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let strings = texts(strings)?;
    let [from, to] = strings.as_slice() else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let count = text.matches(from.as_str()).take(most).count();
    charge(with, text.len() + count.saturating_mul(to.len()))?;
    Ok(text.replacen(from.as_str(), to, most).into())
}

fn join(
    with: &FunctionContext<'_, '_>,
    This(parts): This<Arc<Vec<Value>>>,
    Arguments(arguments): Arguments,
) -> ResolveResult {
    let (parts, arguments) = (texts(&parts)?, texts(&arguments)?);
    let separator = match arguments.as_slice() {
        [] => "",
        [separator] => separator.as_str(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let length: usize = parts.iter().map(|part| part.len()).sum();
    charge(with, length + parts.len().saturating_mul(separator.len()))?;
    let parts: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
    Ok(parts.join(separator).into())
}

fn range(with: &FunctionContext<'_, '_>, end: i64) -> ResolveResult {
    let count = usize::try_from(end).map_err(|_| with.error("the end of `lists.range` is negative"))?;
    charge(with, count.saturating_mul(size_of::<Value>()))?;
    Ok((0..end).map(Value::Int).collect::<Vec<_>>().into())
}
