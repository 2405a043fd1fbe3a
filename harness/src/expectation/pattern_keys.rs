//! Owns which keys a fact pattern of each kind may have. A key that does not fit the kind would be ignored or never match; a `never`
//! expectation would then always hold. Does not check the values of the keys.

use fake_csi::Method;

use super::pattern::Pattern;
use crate::scenario::Role;

/// A YAML key of fact patterns, and the kinds of facts to which the key applies.
struct Key {
    name: &'static str,
    is_set: fn(&Pattern) -> bool,
    /// Kinds of facts to which the key applies, by the pattern key that selects the kind.
    kinds: &'static [&'static str],
    /// For CSI calls: the methods to which the key applies; empty for every method.
    methods: &'static [Method],
}

const CALL_ONLY: &[&str] = &["call"];

const VOLUME_METHODS: &[Method] = &[
    Method::CreateVolume,
    Method::DeleteVolume,
    Method::ValidateVolumeCapabilities,
    Method::ControllerExpandVolume,
    Method::ControllerModifyVolume,
    Method::NodePublishVolume,
    Method::NodeUnpublishVolume,
];

/// CSI methods about the storage of a topology segment.
const STORAGE_METHODS: &[Method] = &[
    Method::GetCapacity,
    Method::CreateVolume,
    Method::DeleteVolume,
    Method::ControllerExpandVolume,
    Method::ControllerModifyVolume,
    Method::NodePublishVolume,
    Method::NodeUnpublishVolume,
];

macro_rules! keys {
    ($($name:literal, $is_set:expr, $kinds:expr, $methods:expr;)+) => {
        /// Pattern keys that apply to some kinds of facts only. `by` and `node` apply to every kind.
        const KEYS: &[Key] = &[$(Key { name: $name, is_set: $is_set, kinds: $kinds, methods: $methods }),+];
    };
}

keys! {
    "name", |it| it.name.is_some(), &["write", "request", "delivery", "call", "extender"], VOLUME_METHODS;
    "having", |it| !it.having.is_null(), &["write"], &[];
    "code", |it| it.code.is_some(), &["request", "call", "extender"], &[];
    "harness", |it| it.harness, &["write", "request"], &[];
    "version", |it| it.version.is_some(), &["request"], &[];
    "segment", |it| it.segment.is_some(), CALL_ONLY, STORAGE_METHODS;
    "parameters", |it| it.parameters.is_some(), CALL_ONLY, STORAGE_METHODS;
    "secrets", |it| it.secrets.is_some(), CALL_ONLY, &[Method::CreateVolume, Method::DeleteVolume, Method::ControllerModifyVolume];
    "capabilities", |it| it.capabilities.is_some(), CALL_ONLY, &[Method::GetCapacity, Method::CreateVolume, Method::ValidateVolumeCapabilities];
    "minimum", |it| it.minimum.is_some(), CALL_ONLY, &[Method::GetCapacity];
    "required", |it| it.required.is_some(), CALL_ONLY, &[Method::CreateVolume, Method::ControllerExpandVolume];
    "mutable", |it| it.mutable.is_some(), CALL_ONLY, &[Method::CreateVolume, Method::ControllerModifyVolume];
    "copy", |it| it.copy.is_some(), CALL_ONLY, &[Method::CreateVolume];
    "placed", |it| it.placed.is_some(), CALL_ONLY, &[Method::CreateVolume, Method::ControllerExpandVolume];
}

/// Checks that all YAML keys of a fact pattern fit its kind of fact.
pub(crate) fn check(spec: &Pattern) -> Result<(), String> {
    let kind = spec.kind()?;
    KEYS.iter().filter(|key| (key.is_set)(spec)).try_for_each(|key| {
        let name = key.name;
        if !key.kinds.contains(&kind) {
            let kinds = join_with_and(key.kinds.iter().map(|kind| format!("`{kind}`")));
            return Err(format!(
                "`{name}` is allowed only with {kinds}, not with `{kind}`; remove it"
            ));
        }
        check_method(key, spec.call.as_deref())
    })?;
    check_client(spec, kind)
}

fn check_method(key: &Key, method: Option<&str>) -> Result<(), String> {
    // None for `*`, which matches only CSI calls that have the field, and for unknown methods, which `resolve_pattern` rejects.
    let method = method.and_then(|text| text.parse::<Method>().ok());
    match method {
        Some(method) if !key.methods.is_empty() && !key.methods.contains(&method) => Err(format!(
            "`{}` is allowed only for calls of {}, not of {}; remove it",
            key.name,
            join_with_and(key.methods.iter().map(|method| method.as_str().to_owned())),
            method.as_str()
        )),
        _ => Ok(()),
    }
}

/// Checks that the role in `by` can cause this kind of fact.
fn check_client(spec: &Pattern, kind: &str) -> Result<(), String> {
    if spec.harness && (spec.by.is_some() || spec.node.is_some()) {
        return Err("`harness` selects the client; remove `by` and `node`".to_owned());
    }
    let only = match kind {
        "call" => Role::Publisher,
        "extender" => Role::Scheduler,
        _ => return Ok(()),
    };
    match spec.by.filter(|by| *by != only) {
        Some(by) => Err(format!(
            "no {} makes such a call, only a {} does; remove `by`",
            by.as_str(),
            only.as_str()
        )),
        None => Ok(()),
    }
}

/// Joins words as `a, b and c`.
fn join_with_and(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn error(spec: Value) -> Option<String> {
        let spec: Pattern = serde_json::from_value(spec).expect("valid pattern");
        check(&spec).err()
    }

    #[test]
    fn an_unsuitable_key_is_an_error_that_lists_the_kinds_that_have_it() {
        for (spec, words) in [
            (
                json!({"write": "update pods", "parameters": {}}),
                "`parameters` is allowed only with `call`, not with `write`",
            ),
            (
                json!({"log": "x", "name": "n"}),
                "`name` is allowed only with `write`, `request`, `delivery`, `call` and `extender`",
            ),
            (
                json!({"call": "CreateVolume", "minimum": "1Gi"}),
                "`minimum` is allowed only for calls of GetCapacity, not of CreateVolume",
            ),
            (
                json!({"call": "GetCapacity", "name": "v"}),
                "`name` is allowed only for calls of CreateVolume,",
            ),
            (json!({"call": "*", "by": "scheduler"}), "only a publisher does"),
            (
                json!({"extender": "filter", "by": "cleaner"}),
                "only a scheduler does",
            ),
            (
                json!({"write": "update pods", "harness": true, "by": "scheduler"}),
                "remove `by` and `node`",
            ),
        ] {
            let error = error(spec).expect("unsuitable key");
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_call_pattern_for_any_method_may_have_every_call_key() {
        let spec = json!({"call": "*", "minimum": "1Gi", "name": "v", "required": "1Gi", "by": "publisher"});
        assert_eq!(error(spec), None);
    }
}
