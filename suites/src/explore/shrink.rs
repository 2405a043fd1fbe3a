//! Makes a history smaller for as long as it shows the same. Does not know what it shows.

use std::collections::BTreeSet;

use futures::future::join_all;

use super::history::History;
use super::reduce::smaller;

/// What is left of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The smallest one that was found.
    pub history: History,
    /// How many histories were tried.
    pub tried: usize,
    /// Whether none is left to try: taking anything more away, it shows something else.
    pub is_smallest: bool,
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// At most so many histories.
    pub max: usize,
    /// So many at the same time.
    pub together: usize,
}

/// Takes away what can be taken away so that a history still `shows` the same, which it does as it is.
///
/// Deterministic: which histories are tried, and in which order, depends on the answers alone. Each is tried once. Of those that are tried
/// at the same time, the first that shows it is gone on with, and the others count as not tried.
pub async fn shrink<F: Future<Output = bool>>(
    history: History,
    tries: Tries,
    mut shows: impl FnMut(History) -> F,
) -> Shrunk {
    let mut shrunk = Shrunk {
        history,
        tried: 0,
        is_smallest: false,
    };
    let mut known = BTreeSet::from([text(&shrunk.history)]);
    'smaller: loop {
        let mut candidates = smaller(&shrunk.history).filter(|candidate| known.insert(text(candidate)));
        loop {
            let together = tries.together.min(tries.max - shrunk.tried);
            let batch: Vec<History> = candidates.by_ref().take(together.max(1)).collect();
            if batch.is_empty() {
                break;
            }
            if together == 0 {
                return shrunk;
            }
            let answers = join_all(batch.iter().cloned().map(&mut shows)).await;
            let found = answers.into_iter().position(|shows| shows);
            shrunk.tried += found.map_or(batch.len(), |at| at + 1);
            if let Some(at) = found {
                drop(candidates);
                for untried in &batch[at + 1..] {
                    known.remove(&text(untried));
                }
                shrunk.history = batch.into_iter().nth(at).unwrap_or(shrunk.history);
                continue 'smaller;
            }
        }
        shrunk.is_smallest = true;
        return shrunk;
    }
}

/// Tells histories apart.
fn text(history: &History) -> String {
    // Its parts are maps with text keys, lists and words.
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
    };

    /// Shrinks a history to one that is shown by its tree.
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
    async fn what_is_left_is_the_smallest_that_shows_it() {
        let history: History = serde_json::from_value(json!({
            "world": {
                "roles": ["publisher"], "mode": "distributed", "publisher": {"zero": true},
                "nodes": [{"name": "n1", "labels": {"a": "b"}}, {"name": "n2"}], "classes": [{"name": "fast"}],
                "backend": {"n1": "20Gi", "n2": {"capacity": "5Gi+1", "largest": "2Gi"}},
            },
            "steps": [
                [{"node": {"join": {"name": "n3"}}}],
                [{"node": {"relabel": {"name": "n3", "labels": {"a": "c"}}}}, {"stop": "publisher"}],
                [{"start": "publisher"}, {"class": {"delete": "fast"}}],
            ],
        }))
        .unwrap();
        let (left, shrunk) = shrunk(history, |tree| has(tree, &["relabel", "n2", "largest"])).await;
        assert_eq!(
            left,
            json!({
                // Only what there is can be relabelled, and the node with storage need not be there.
                "world": {"roles": ["publisher"], "backend": {"n2": {"capacity": "1Gi", "largest": "1Gi"}}},
                "steps": [[{"node": {"join": {"name": "n3"}}}, {"node": {"relabel": {"name": "n3", "labels": {}}}}]],
            })
        );
        assert!(shrunk.is_smallest);
    }

    #[tokio::test]
    async fn histories_without_what_matters_are_left_at_once() {
        let history = draw(1, &[]).history;
        let again = shrink(history.clone(), ALL, |_| std::future::ready(false)).await;
        assert_eq!(again.history, history);
        assert!(again.is_smallest && again.tried > 0);
        let three = Tries { max: 3, together: 2 };
        let bounded = shrink(history.clone(), three, |_| std::future::ready(true)).await;
        assert_eq!(bounded.tried, 3);
        assert!(!bounded.is_smallest);
    }

    #[tokio::test]
    async fn what_is_left_is_the_same_each_time() {
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
