//! Runs a function on all CPU cores. Does not know what the function does.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies `work` to every item and returns the results in the order of the items. Each core processes one item at a time.
pub fn on_all_cores<T: Sync, U: Send>(items: &[T], work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let next = AtomicUsize::new(0);
    let one_core = || {
        let indices = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let results = indices.map_while(|index| Some((index, work(items.get(index)?))));
        results.collect::<Vec<_>>()
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut done: Vec<(usize, U)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..cores.min(items.len()))
            .map(|_| scope.spawn(one_core))
            .collect();
        let mut done = one_core();
        for thread in threads {
            done.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
