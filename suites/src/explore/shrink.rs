//! Minimizes a history: removes parts of it as long as a predicate still holds, such as that a run shows the same finding.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesOrdered;

use super::history::History;
use super::reduce::smaller_histories;

/// Result of minimizing a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The smallest history found.
    pub history: History,
    /// Number of histories tried.
    pub tried: usize,
    /// Whether every smaller history was tried.
    pub is_smallest: bool,
}

impl Shrunk {
    /// The result before minimizing: the given history.
    pub(super) fn of(history: History) -> Self {
        Shrunk {
            history,
            tried: 0,
            is_smallest: false,
        }
    }
}

/// Limits of minimizing.
#[derive(Clone, Copy, Debug)]
pub struct ShrinkLimits {
    /// Maximum number of histories to try.
    pub max: usize,
    /// Number of histories that run concurrently.
    pub concurrency: usize,
    /// Time at which minimizing ends; `None` for no limit.
    pub deadline: Option<Instant>,
}

/// Removes parts of a history as long as `reproduces` holds for the result. `reproduces` must hold for the given history.
///
/// Deterministic until the deadline: which histories are tried, and in which order, depends only on earlier results. Each history is tried
/// once. If several concurrent runs succeed, the first in order is used and the others are ignored. At the deadline, the smallest history
/// so far is returned.
pub async fn shrink<F: Future<Output = bool>>(
    history: History,
    limits: ShrinkLimits,
    mut reproduces: impl FnMut(History) -> F,
) -> Shrunk {
    let mut shrunk = Shrunk::of(history);
    let mut known = BTreeSet::from([history_key(&shrunk.history)]);
    'smaller: loop {
        let mut candidates = smaller_histories(&shrunk.history);
        let (mut running, mut pending) = (FuturesOrdered::new(), VecDeque::new());
        loop {
            let slots = limits.concurrency.min(limits.max - shrunk.tried).max(1);
            while running.len() < slots
                && let Some(candidate) = candidates.find(|candidate| known.insert(history_key(candidate)))
            {
                if shrunk.tried == limits.max {
                    return shrunk;
                }
                pending.push_back(history_key(&candidate));
                let outcome = reproduces(candidate.clone());
                running.push_back(async move { (candidate, outcome.await) });
            }
            let Some(outcome) = until_deadline(limits.deadline, running.next()).await else {
                return shrunk;
            };
            let Some((candidate, is_reproduced)) = outcome else {
                break;
            };
            shrunk.tried += 1;
            pending.pop_front();
            if is_reproduced {
                known.retain(|text| !pending.contains(text));
                shrunk.history = candidate;
                continue 'smaller;
            }
        }
        shrunk.is_smallest = true;
        return shrunk;
    }
}

/// The output of a future; `None` if the deadline passes first.
pub(super) async fn until_deadline<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline.into(), future).await.ok(),
        None => Some(future.await),
    }
}

/// The history as JSON text, to detect histories that were tried already.
fn history_key(history: &History) -> String {
    // Cannot fail: a history consists of maps with string keys, lists and plain values, which all serialize.
    serde_json::to_string(history).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::explore::generate;

    const ALL: ShrinkLimits = ShrinkLimits {
        max: usize::MAX,
        concurrency: 7,
        deadline: None,
    };

    async fn shrunk(history: History, reproduces: impl Fn(&Value) -> bool) -> (Value, Shrunk) {
        let shrunk = shrink(history, ALL, |candidate| {
            std::future::ready(reproduces(&json!(candidate)))
        })
        .await;
        (json!(shrunk.history), shrunk)
    }

    fn contains_words(tree: &Value, words: &[&str]) -> bool {
        let text = tree.to_string();
        words.iter().all(|word| text.contains(word))
    }

    #[tokio::test]
    async fn the_result_is_a_minimal_history() {
        let history: History = serde_json::from_value(json!({
            "world": {
                "roles": ["publisher"], "mode": "distributed", "publisher": {"zeroCapacityObjects": true},
                "nodes": [{"name": "n1", "labels": {"a": "b"}}, {"name": "n2"}], "classes": [{"name": "fast"}],
                "backend": {"n1": "20Gi", "n2": {"capacity": "5Gi+1", "maximum": "2Gi"}},
            },
            "steps": [
                [{"node": {"join": {"name": "n3"}}}],
                [{"node": {"relabel": {"name": "n3", "labels": {"a": "c"}}}}, {"stop": "publisher"}],
                [{"start": "publisher"}, {"class": {"delete": "fast"}}],
            ],
        }))
        .unwrap();
        let (left, shrunk) = shrunk(history, |tree| {
            contains_words(tree, &["relabel", "n2", "maximum"])
        })
        .await;
        assert_eq!(
            left,
            json!({
                // Relabelling a node requires that the node exists; the node with storage is not required.
                "world": {"roles": ["publisher"], "backend": {"n2": {"capacity": "1Gi", "maximum": "1Gi"}}},
                "steps": [[{"node": {"join": {"name": "n3"}}}, {"node": {"relabel": {"name": "n3", "labels": {}}}}]],
            })
        );
        assert!(shrunk.is_smallest);
    }

    #[tokio::test]
    async fn an_already_minimal_history_stays() {
        let history = generate(1, &[]).history;
        let again = shrink(history.clone(), ALL, |_| std::future::ready(false)).await;
        assert_eq!(again.history, history);
        assert!(again.is_smallest && again.tried > 0);
        let three = ShrinkLimits {
            max: 3,
            concurrency: 2,
            ..ALL
        };
        let bounded = shrink(history.clone(), three, |_| std::future::ready(true)).await;
        assert_eq!(bounded.tried, 3);
        assert!(!bounded.is_smallest);
    }

    #[tokio::test]
    async fn at_the_deadline_the_smallest_history_so_far_is_returned() {
        let history = generate(1, &[]).history;
        let now = ShrinkLimits {
            deadline: Some(Instant::now()),
            ..ALL
        };
        let mut tried = 0;
        let shrunk = shrink(history.clone(), now, |_| {
            tried += 1;
            let is_first = tried == 1;
            async move {
                match is_first {
                    true => true,
                    false => std::future::pending().await,
                }
            }
        })
        .await;
        assert_ne!(shrunk.history, history);
        assert_eq!((shrunk.tried, shrunk.is_smallest), (1, false));
    }

    #[tokio::test]
    async fn minimizing_is_deterministic() {
        for seed in 0..50 {
            let history = generate(seed, &[]).history;
            let reproduces = |tree: &Value| {
                tree["steps"]
                    .as_array()
                    .is_some_and(|steps| steps.iter().flat_map(|step| step.as_array().unwrap()).count() > 1)
            };
            if !reproduces(&json!(history)) {
                continue;
            }
            let (first, shrunk_first) = shrunk(history.clone(), reproduces).await;
            let (second, _) = shrunk(history, reproduces).await;
            assert_eq!(first, second);
            assert_eq!(shrunk_first.history.events(), 2);
        }
    }
}
