//! Asking webhooks, and waiting for their answers while nobody holds the state.
//!
//! Owns the order in which they are asked, what a failure to ask means, and what becomes of an object on the way. Does not
//! know the verbs that have questions, nor how requests came in.

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

/// Asks all that is still to be asked, and keeps the answers.
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
        // The rest is about objects that nothing happens to after this one.
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
