//! Which mutant the present thread runs, and which it has come past. Each system with a mistake has a thread of its own, and so everything
//! that it does.

use std::cell::Cell;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
    static REACHED: Cell<Numbers> = const { Cell::new(0) };
}

/// Numbers of mutants, a bit for each.
pub(crate) type Numbers = u128;

/// From now on, this thread makes that mistake; 0: none.
pub(crate) fn set(number: usize) {
    NUMBER.set(number);
}

/// Whether this thread makes that mistake. Asked wherever it would matter, and nowhere else.
pub(crate) fn is(number: usize) -> bool {
    REACHED.set(REACHED.get() | 1 << number);
    NUMBER.get() == number
}

/// The mutants that this thread has come to so far.
pub(crate) fn reached() -> Numbers {
    REACHED.get()
}
