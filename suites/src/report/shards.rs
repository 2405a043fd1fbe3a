//! Which part of a run that several machines share a record is of.

use harness::plan::Plan;
use ring::digest::{Context, SHA256};

use super::ShardsRecord;
use crate::select::{Shard, falls_to};

impl ShardsRecord {
    /// Of one part. `plans`: all cases of the run, whichever part they are in; `run`: its id, where it has one.
    pub fn new(shard: Shard, plans: &[Plan], run: Option<String>) -> Self {
        let texts = plans.iter().flat_map(|plan| [plan.id(), plan.text.as_str()]);
        Self::of(shard, texts, run)
    }

    /// Of one part of a run over all that these texts say.
    pub fn of<'t>(shard: Shard, texts: impl IntoIterator<Item = &'t str>, run: Option<String>) -> Self {
        ShardsRecord {
            of: shard.of(),
            parts: vec![shard.part()],
            selection: digest(texts),
            run,
            is_joined: false,
        }
    }

    /// Whether the thing of that number, from 0, of all that the run has is in the parts that are here.
    pub fn has(&self, index: usize) -> bool {
        self.parts.iter().any(|part| falls_to(index, *part, self.of))
    }
}

/// SHA-256 of texts, in hexadecimal digits.
fn digest<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut context = Context::new(&SHA256);
    for text in texts {
        // With its length, so that no text can pass for two.
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
