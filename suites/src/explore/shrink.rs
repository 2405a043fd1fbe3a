//! Minimizes a history while it shows the same finding. Does not know the finding.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesOrdered;

use super::history::History;
use super::reduce::smaller;

/// Result of minimizing.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The smallest history found.
    pub history: History,
    /// Number of histories tried.
    pub tried: usize,
    /// Whether no smaller history is left to try.
    pub is_smallest: bool,
}

impl Shrunk {
    /// A history before minimizing.
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
pub struct Tries {
    /// Maximum number of histories.
    pub max: usize,
    /// Number of concurrent runs.
    pub together: usize,
    /// Deadline; `None` for no limit.
    pub until: Option<Instant>,
}

/// Removes parts of a history while it still satisfies `shows`, which the input does.
///
/// Deterministic until the deadline: the histories tried, and their order, depend only on the results. Each is tried once. Of concurrent
/// tries the first success continues, and later ones do not count. At the deadline the smallest history so far is returned.
pub async fn shrink<F: Future<Output = bool>>(
    history: History,
    tries: Tries,
    mut shows: impl FnMut(History) -> F,
) -> Shrunk {
    let mut shrunk = Shrunk::of(history);
    let mut known = BTreeSet::from([text(&shrunk.history)]);
    'smaller: loop {
        let mut candidates = smaller(&shrunk.history);
        let (mut running, mut untried) = (FuturesOrdered::new(), VecDeque::new());
        loop {
            let room = tries.together.min(tries.max - shrunk.tried).max(1);
            while running.len() < room
                && let Some(candidate) = candidates.find(|candidate| known.insert(text(candidate)))
            {
                if shrunk.tried == tries.max {
                    return shrunk;
                }
                untried.push_back(text(&candidate));
                let answer = shows(candidate.clone());
                running.push_back(async move { (candidate, answer.await) });
            }
            let Some(answer) = before(tries.until, running.next()).await else {
                return shrunk;
            };
            let Some((candidate, is_shown)) = answer else {
                break;
            };
            shrunk.tried += 1;
            untried.pop_front();
            if is_shown {
                known.retain(|text| !untried.contains(text));
                shrunk.history = candidate;
                continue 'smaller;
            }
        }
        shrunk.is_smallest = true;
        return shrunk;
    }
}

/// The output of a future; `None` if the deadline came first.
pub(super) async fn before<F: Future>(until: Option<Instant>, future: F) -> Option<F::Output> {
    match until {
        Some(until) => tokio::time::timeout_at(until.into(), future).await.ok(),
        None => Some(future.await),
    }
}

/// A text that is unique per history.
fn text(history: &History) -> String {
    // All parts serialize: maps with string keys, lists and strings.
    serde_json::to_string(history).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::explore::draw;

    const ALL: Tries = Tries {
        max: usize::MAX,
        together: 7,
        until: None,
    };

    /// Minimizes with a predicate on the JSON tree.
    async fn shrunk(history: History, shows: impl Fn(&Value) -> bool) -> (Value, Shrunk) {
        let shrunk = shrink(history, ALL, |candidate| {
            std::future::ready(shows(&json!(candidate)))
        })
        .await;
        (json!(shrunk.history), shrunk)
    }

    fn has(tree: &Value, words: &[&str]) -> bool {
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
        let (left, shrunk) = shrunk(history, |tree| has(tree, &["relabel", "n2", "maximum"])).await;
        assert_eq!(
            left,
            json!({
                // Only an existing node can be relabelled; the node with storage is not needed.
                "world": {"roles": ["publisher"], "backend": {"n2": {"capacity": "1Gi", "maximum": "1Gi"}}},
                "steps": [[{"node": {"join": {"name": "n3"}}}, {"node": {"relabel": {"name": "n3", "labels": {}}}}]],
            })
        );
        assert!(shrunk.is_smallest);
    }

    #[tokio::test]
    async fn an_already_minimal_history_stays() {
        let history = draw(1, &[]).history;
        let again = shrink(history.clone(), ALL, |_| std::future::ready(false)).await;
        assert_eq!(again.history, history);
        assert!(again.is_smallest && again.tried > 0);
        let three = Tries {
            max: 3,
            together: 2,
            ..ALL
        };
        let bounded = shrink(history.clone(), three, |_| std::future::ready(true)).await;
        assert_eq!(bounded.tried, 3);
        assert!(!bounded.is_smallest);
    }

    #[tokio::test]
    async fn at_the_deadline_the_smallest_history_so_far_is_returned() {
        let history = draw(1, &[]).history;
        let now = Tries {
            until: Some(Instant::now()),
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
            let history = draw(seed, &[]).history;
            let shows = |tree: &Value| {
                tree["steps"]
                    .as_array()
                    .is_some_and(|steps| steps.iter().flat_map(|step| step.as_array().unwrap()).count() > 1)
            };
            if !shows(&json!(history)) {
                continue;
            }
            let (first, shrunk_first) = shrunk(history.clone(), shows).await;
            let (second, _) = shrunk(history, shows).await;
            assert_eq!(first, second);
            assert_eq!(shrunk_first.history.events(), 2);
        }
    }
}
