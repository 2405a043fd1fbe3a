//! A larger stack for recursion whose depth the input determines, for example in parsers of CEL, regular expressions and YAML.

/// Up to this depth the caller's stack is used.
pub const SHALLOW: usize = 20;

/// Stack size in bytes for greater depths. In a debug build, 250 nested parts of an expression or pattern use a quarter of it.
const STACK: usize = 32 << 20;

/// Runs recursive work on a stack sufficient for `depth`, which the caller must limit.
pub fn with_stack<T>(depth: usize, work: impl FnOnce() -> T) -> T {
    match depth {
        ..=SHALLOW => work(),
        _ => stacker::grow(STACK, work),
    }
}
