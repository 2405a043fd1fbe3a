//! Webhook calls, made while the state is not locked.
//!
//! Owns the order of calls, the handling of failures, and the object between calls. Does not know verbs, nor the
//! transport of client requests.

mod address;
mod asking;
mod chain;
mod convert;
mod look;

pub(crate) use convert::objects as convert_objects;

use crate::admission::{Consultation, Question, Stage, Verdict};
use crate::store::Store;
use asking::Asking;
use std::collections::BTreeSet;

/// Makes all pending calls and conversions, and records the results.
pub(crate) async fn answer(store: &Store, consultation: &mut Consultation) {
    convert::asked(store, consultation).await;
    for question in std::mem::take(&mut consultation.asked) {
        let verdict = {
            let asking = Asking {
                store,
                registry: &consultation.registry,
                requester: &consultation.requester,
                question: &question,
            };
            verdict(&asking, &question).await
        };
        let is_refused = verdict.outcome.is_err();
        consultation.note(question, verdict);
        // Later requests are about objects that will not be processed after this denial.
        if is_refused {
            return;
        }
    }
}

async fn verdict(asking: &Asking<'_>, question: &Question) -> Verdict {
    match &question.stage {
        Stage::Mutate => chain::run(asking, None).await,
        Stage::MutateAgain(eligible) => chain::run(asking, Some(eligible)).await,
        Stage::Validate => look::run(asking).await,
        Stage::Delete => {
            let first = chain::run(asking, None).await;
            if first.outcome.is_err() {
                return first;
            }
            let mut verdict = look::run(asking).await;
            verdict.warnings.splice(0..0, first.warnings);
            Verdict {
                again: BTreeSet::new(),
                ..verdict
            }
        }
    }
}
