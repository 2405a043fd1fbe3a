//! The active mutant of the current thread, and the mutants whose code it executed. Each mutated system runs on a thread of its own.

use std::cell::Cell;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
    static REACHED: Cell<Numbers> = const { Cell::new(0) };
}

/// A set of mutants, one bit each.
pub(crate) type Numbers = u128;

/// Activates a mutant on this thread; 0 for none.
pub(crate) fn set(number: usize) {
    NUMBER.set(number);
}

/// Whether a mutant is active on this thread. Called exactly at the mutated code, so it also records the execution.
pub(crate) fn is(number: usize) -> bool {
    REACHED.set(REACHED.get() | 1 << number);
    NUMBER.get() == number
}

/// The mutants whose code this thread has executed.
pub(crate) fn reached() -> Numbers {
    REACHED.get()
}
