//! Which mutant the present thread runs. Each system with a mistake has a thread of its own, and so everything that it does.

use std::cell::Cell;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// From now on, this thread makes that mistake; 0: none.
pub(crate) fn set(number: usize) {
    NUMBER.set(number);
}

/// Whether this thread makes that mistake.
pub(crate) fn is(number: usize) -> bool {
    NUMBER.get() == number
}
