//! Stack for work that recurses as deep as a text nests, in libraries as well as here.

/// What nests no deeper works on the stack of the caller.
pub(crate) const SHALLOW: usize = 20;

/// The stack for what nests deeper, in bytes. In a debug build, 250 nested parts of an expression or a pattern take a quarter of it.
const STACK: usize = 32 << 20;

/// Does work that recurses. `depth`: how deep the text nests, which has a limit of its own.
pub(crate) fn with_stack<T>(depth: usize, work: impl FnOnce() -> T) -> T {
    match depth {
        ..=SHALLOW => work(),
        _ => stacker::grow(STACK, work),
    }
}
