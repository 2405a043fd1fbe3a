//! A larger stack for recursion whose depth the input decides, such as in parsers of CEL, regular expressions and YAML.

/// Up to this depth the caller's stack is used.
pub(crate) const SHALLOW: usize = 20;

/// Size in bytes of the stack for greater depths. In a debug build, 250 nested parts of an expression or a pattern use a quarter of it.
const STACK: usize = 32 << 20;

/// Runs recursive work on a stack for that depth. The caller limits `depth`.
pub(crate) fn with_stack<T>(depth: usize, work: impl FnOnce() -> T) -> T {
    match depth {
        ..=SHALLOW => work(),
        _ => stacker::grow(STACK, work),
    }
}
