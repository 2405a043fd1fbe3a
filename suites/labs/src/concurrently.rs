//! Runs a function for many items, a limited number of them at a time.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Runs `work` for each item, at most `jobs` at a time, started in order; calls `each` with every result. Dropping the future aborts
/// running jobs.
///
/// Workers fetch items themselves, so that no worker idles while `each` runs.
pub(crate) async fn run_concurrently<I, T, F>(
    jobs: usize,
    items: impl IntoIterator<Item = I, IntoIter: Send + 'static>,
    work: impl Fn(I) -> F + Send + Sync + 'static,
    mut each: impl FnMut(&T),
) -> Vec<T>
where
    I: Send + 'static,
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (work, items) = (Arc::new(work), Arc::new(Mutex::new(items.into_iter())));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let mut workers = JoinSet::new();
    for _ in 0..jobs.max(1) {
        let (work, items, sender) = (work.clone(), items.clone(), sender.clone());
        workers.spawn(async move {
            loop {
                // The lock is released at the end of this line, before the work starts.
                let item = items.lock().next();
                let Some(item) = item else { break };
                sender.send(work(item).await).ok();
            }
        });
    }
    drop(sender);
    let mut done = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some(result) = receiver.recv() => {
                each(&result);
                done.push(result);
            }
            // A panic here is a bug of the harness: a panic in a system under test ends only the task of that system.
            Some(ended) = workers.join_next() => {
                ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            }
            else => return done,
        }
    }
}
