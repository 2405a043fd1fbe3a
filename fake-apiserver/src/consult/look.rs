//! Validating webhooks, called concurrently.

use super::asking::Asking;
use crate::admission::{Reply, Verdict, Webhook};
use crate::kinds::Kind;
use crate::machinery::status::Status;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Calls all matching validating webhooks.
pub(super) async fn run(asking: &Asking<'_>) -> Verdict {
    let object = asking.question.object.as_ref();
    let mut verdict = Verdict::unchanged(None);
    let mut wanted: Vec<(&Webhook, Kind)> = Vec::new();
    for hook in &asking.registry.validating {
        match asking.wanted(hook, object).await {
            Ok(kind) => wanted.extend(kind.map(|kind| (hook, kind))),
            Err(refusal) => {
                verdict.outcome = Err(refusal);
                return verdict;
            }
        }
    }
    let calls = wanted
        .iter()
        .map(|(hook, kind)| asking.ask(hook, kind, object, false));
    for ((hook, _), answered) in wanted.iter().zip(all(calls).await) {
        let refusal = match answered {
            Ok(Reply { outcome, warnings }) => {
                verdict.warnings.extend(warnings);
                outcome.err()
            }
            Err(trouble) => trouble.refusal(hook),
        };
        if let Some(refusal) = refusal.filter(|_| verdict.outcome.is_ok()) {
            verdict.outcome = Err::<_, Status>(refusal);
        }
    }
    verdict
}

/// Runs all futures concurrently and returns their results in the given order.
async fn all<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = work.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = running.iter().map(|_| None).collect();
    poll_fn(move |context| {
        for (one, slot) in running.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let Poll::Ready(value) = Pin::new(one).poll(context)
            {
                *slot = Some(value);
            }
        }
        match done.iter().all(Option::is_some) {
            true => Poll::Ready(done.iter_mut().filter_map(Option::take).collect()),
            false => Poll::Pending,
        }
    })
    .await
}
