//! Strategic merge patches: merge patches that also merge lists, by merge key, and preserve the order of the entries.
//!
//! The schema defines which lists are merged. Does not know requests.

mod directives;
mod members;
mod merge;
mod names;
mod order;

pub(crate) use directives::StrategicPatchError;

use crate::schema::Type;
use members::Members;
use serde_json::Value;

pub(crate) fn apply(of: &'static Type, object: &mut Value, patch: &Value) -> Result<(), StrategicPatchError> {
    let Value::Object(patch) = patch else {
        return Err(StrategicPatchError::Form(
            "a strategic merge patch must be a JSON object".to_owned(),
        ));
    };
    let original = std::mem::take(object);
    let Value::Object(mut members) = original else {
        return Err(StrategicPatchError::Fit(
            "the patched document is not a JSON object".to_owned(),
        ));
    };
    merge::merge(Members::Struct(of), &mut members, patch.clone())?;
    *object = members.into();
    Ok(())
}

#[cfg(test)]
mod tests;
