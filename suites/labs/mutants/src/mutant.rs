//! Which mutant is active on the current thread, and which mutants' code the thread has executed. Each reference with a mutant runs on its
//! own thread.

use std::cell::Cell;

thread_local! {
    static ACTIVE: Cell<usize> = const { Cell::new(0) };
    static REACHED: Cell<MutantSet> = const { Cell::new(0) };
}

/// A set of mutants, one bit each.
pub(crate) type MutantSet = u128;

/// Activates the mutant of this number on this thread; 0 activates none.
pub(crate) fn activate(number: usize) {
    ACTIVE.set(number);
}

/// Whether this mutant is active on this thread. Called only by mutated code, so a call also records that the thread executed this code.
pub(crate) fn is_active(number: usize) -> bool {
    REACHED.set(REACHED.get() | 1 << number);
    ACTIVE.get() == number
}

/// The mutants whose code this thread has executed so far.
pub(crate) fn executed_mutants() -> MutantSet {
    REACHED.get()
}
