//! A larger stack for recursion whose depth the input determines, for example in parsers of CEL, regular expressions and YAML.

/// Maximum recursion depth that runs on the caller's stack.
pub const SHALLOW: usize = 20;

/// Size in bytes of the stack for deeper recursion. In a debug build, 250 nested levels of an expression or pattern use a quarter of it.
const STACK: usize = 32 << 20;

/// Runs recursive work on a stack that is sufficient for `depth`. The caller must limit the depth.
pub fn with_stack<T>(depth: usize, work: impl FnOnce() -> T) -> T {
    match depth {
        ..=SHALLOW => work(),
        _ => stacker::grow(STACK, work),
    }
}
