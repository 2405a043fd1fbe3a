//! Mutating webhooks: called in order, each with the result of the previous ones.

use super::asking::{Asking, Trouble};
use super::convert;
use crate::admission::{Verdict, Webhook};
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::patch::json_patch;
use crate::verbs::from_webhook;
use serde_json::Value;
use std::collections::BTreeSet;

/// Calls all mutating webhooks; with `only`, just those due for reinvocation.
pub(super) async fn run(asking: &Asking<'_>, only: Option<&BTreeSet<usize>>) -> Verdict {
    let mut verdict = Verdict::unchanged(None);
    let mut object = asking.question.object.clone();
    for (number, hook) in asking.registry.mutating.iter().enumerate() {
        let wanted = match asking.wanted(hook, object.as_ref()).await {
            Ok(wanted) => wanted,
            Err(refusal) => return refused(verdict, refusal),
        };
        // Reinvocation only includes webhooks that were called before.
        let is_due = only.is_none_or(|only| only.contains(&number));
        let Some(kind) = wanted.filter(|_| is_due) else {
            continue;
        };
        let changed = match change(asking, hook, &kind, object.as_ref(), &mut verdict.warnings).await {
            Ok(changed) => changed,
            Err(trouble) => match trouble.refusal(hook) {
                Some(refusal) => return refused(verdict, refusal),
                None => None,
            },
        };
        if let Some(changed) = changed {
            if object.as_ref() != Some(&changed) {
                verdict.changed = true;
                verdict.again.append(&mut verdict.watching);
            }
            object = Some(changed);
        }
        if hook.again {
            verdict.watching.insert(number);
        }
    }
    Verdict {
        outcome: Ok(object),
        ..verdict
    }
}

fn refused(verdict: Verdict, refusal: Status) -> Verdict {
    Verdict {
        outcome: Err(refusal),
        ..verdict
    }
}

/// Calls one webhook. Returns the changed object, or None if there is no patch.
async fn change(
    asking: &Asking<'_>,
    hook: &Webhook,
    kind: &Kind,
    object: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<Option<Value>, Trouble> {
    let reply = asking.ask(hook, kind, object, true).await?;
    warnings.extend(reply.warnings);
    let patch = match reply.outcome.map_err(Trouble::Refused)? {
        Some(Value::Array(patch)) if patch.is_empty() => return Ok(None),
        Some(patch) if !patch.is_null() => patch,
        _ => return Ok(None),
    };
    let Some(object) = object else {
        let why = format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name
        );
        return Err(Trouble::Refused(Status::internal_error(why)));
    };
    let undecodable =
        |why: String| Trouble::Failed(format!("received undecodable patch in webhook response: {why}"));
    let (operations, _) = json_patch::read(&patch).map_err(undecodable)?;
    let subject = &asking.question.subject;
    let internal = |why: String| Trouble::Refused(Status::internal_error(why));
    let mut document = asking.form(kind, Some(object)).await.map_err(internal)?;
    json_patch::apply(&mut document, &operations).map_err(|_| {
        internal(format!(
            "the patch of admission webhook {:?} does not apply",
            hook.name
        ))
    })?;
    if !document.is_object() {
        let why = format!(
            "admission webhook {:?} has made something else of an object",
            hook.name
        );
        return Err(internal(why));
    }
    if !subject.is_whole() {
        return Ok(Some(document));
    }
    let made = from_webhook(kind, &subject.kind, object, document).map_err(internal)?;
    let made = convert::value_of(asking.store, &subject.kind, &made).await;
    made.map(Some).map_err(internal)
}
