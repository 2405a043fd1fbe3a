//! Helpers of CEL functions: receiver, string arguments, and the budget of the call.

use super::budget::State;
use kube_cel::cel::{ExecutionError, FunctionContext, Value};
use std::sync::Arc;

/// Number of bytes of a string that cost as much as one AST node (upstream: `StringTraversalCostFactor`).
const BYTES: usize = 10;

/// Calls `work` with the state of the evaluation (cost budget and authorization decisions), which is bound to a CEL variable.
pub(super) fn with_state<T>(
    with: &FunctionContext<'_, '_>,
    work: impl FnOnce(&State) -> Result<T, ExecutionError>,
) -> Result<T, ExecutionError> {
    let found = with.ptx.get_variable(State::VARIABLE);
    let found = found.map(|found| Value::try_from(found.as_ref()));
    let state = match &found {
        Some(Ok(Value::Opaque(opaque))) => opaque.downcast_ref::<State>(),
        _ => None,
    };
    work(state.ok_or_else(|| with.error("the evaluation has no cost budget"))?)
}

/// Charges the cost budget of the evaluation for a result of `bytes` bytes.
pub(super) fn charge(with: &FunctionContext<'_, '_>, bytes: usize) -> Result<(), ExecutionError> {
    with_state(with, |state| state.charge(1 + bytes / BYTES))
}

/// Approximate size of a CEL value in bytes.
pub(super) fn size(value: &Value) -> usize {
    const ENTRY: usize = 16;
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.iter().map(|item| ENTRY + size(item)).sum(),
        Value::Map(map) => map.map.values().map(|item| 2 * ENTRY + size(item)).sum(),
        _ => 1,
    }
}

pub(super) fn texts(values: &[Value]) -> Result<Vec<Arc<String>>, ExecutionError> {
    let texts = values.iter().map(|value| match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(ExecutionError::NoSuchOverload),
    });
    texts.collect()
}

/// The receiver of a method call, as the opaque type `T`.
pub(super) fn receiver<T: 'static>(this: &Value) -> Result<&T, ExecutionError> {
    let found = match this {
        Value::Opaque(opaque) => opaque.downcast_ref::<T>(),
        _ => None,
    };
    found.ok_or(ExecutionError::NoSuchOverload)
}
