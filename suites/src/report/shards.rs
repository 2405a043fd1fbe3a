//! Shards of a report.

use harness::plan::Plan;
use ring::digest::{Context, SHA256};

use super::ShardsRecord;
use crate::select::{Shard, is_in_shard};

impl ShardsRecord {
    /// The record of a single shard. `plans`: all cases of the run, of every shard; `run`: the id of the run, if any.
    pub fn new(shard: Shard, plans: &[Plan], run: Option<String>) -> Self {
        let texts = plans.iter().flat_map(|plan| [plan.id(), plan.text.as_str()]);
        Self::of(shard, texts, run)
    }

    /// The record of a single shard. `texts`: equal in all shards of the run; their hash shows whether two shards belong together.
    pub fn of<'t>(shard: Shard, texts: impl IntoIterator<Item = &'t str>, run: Option<String>) -> Self {
        ShardsRecord {
            of: shard.shard_count(),
            parts: vec![shard.part()],
            selection: digest(texts),
            run,
            is_joined: false,
        }
    }

    /// Whether a contained shard includes the item of this 0-based index.
    pub fn has_item(&self, index: usize) -> bool {
        self.parts.iter().any(|part| is_in_shard(index, *part, self.of))
    }
}

/// SHA-256 of texts, as hex.
fn digest<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut context = Context::new(&SHA256);
    for text in texts {
        // Each text is preceded by its length, so that different lists of texts have different digests.
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
