//! Much work, of which some is done at the same time. Knows nothing of the work.

use tokio::task::JoinSet;

/// Does the work for each item, so many at the same time and begun in their order; `each` hears of what came of it, as it ends. Whoever
/// waits no longer ends what runs.
pub(crate) async fn spread<I, T, F>(
    jobs: usize,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> F,
    mut each: impl FnMut(&T),
) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut waiting = items.into_iter();
    let mut tasks = JoinSet::new();
    for item in waiting.by_ref().take(jobs.max(1)) {
        tasks.spawn(work(item));
    }
    let mut done = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        if let Some(item) = waiting.next() {
            tasks.spawn(work(item));
        }
        match joined {
            Ok(result) => {
                each(&result);
                done.push(result);
            }
            // Ours, not a system's: those panic inside tasks of their own.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    done
}
