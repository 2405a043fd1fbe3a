//! What the driver is told to answer.

use std::collections::BTreeMap;

use super::lower::{Lowering, names};
use super::{Action, Effect, Script, expect};
use crate::scenario::{CutSpec, ScriptSpec};

impl Lowering<'_> {
    pub(super) fn script(&self, spec: &ScriptSpec) -> Result<Vec<(Action, String)>, String> {
        let parameters = match &spec.class {
            Some(class) => self.classes.get(class).cloned().ok_or_else(|| {
                format!(
                    "class `{class}` is not defined; classes: {}",
                    names(&self.classes)
                )
            })?,
            None => BTreeMap::new(),
        };
        let segment = spec
            .segment
            .as_deref()
            .map(|text| self.segments.parse(text))
            .transpose()?;
        let effect = effect(spec)?;
        let note = format!("driver script: {} {effect:?}", spec.method);
        let (method, skip, times) = (spec.method.clone(), spec.skip, spec.times);
        Ok(vec![(
            Action::Script(Script {
                method,
                segment,
                parameters,
                skip,
                times,
                effect,
            }),
            note,
        )])
    }
}

/// gRPC codes by their number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

fn effect(spec: &ScriptSpec) -> Result<Effect, String> {
    let code = |name: &String| {
        let number = CODES
            .iter()
            .position(|code| code == name)
            .filter(|number| *number > 0);
        let number = number
            .ok_or_else(|| format!("`{name}` is no gRPC error code; codes: {}", CODES[1..].join(", ")))?;
        Ok::<_, String>(Effect::Code(i32::try_from(number).unwrap_or_default()))
    };
    let candidates = [
        spec.code.as_ref().map(code),
        spec.delay
            .as_ref()
            .map(|text| expect::delay(text).map(Effect::Delay)),
        spec.hang.then_some(Ok(Effect::Hang)),
        spec.cut.map(|cut| match cut {
            CutSpec::Before => Ok(Effect::Disconnect),
            CutSpec::After => Ok(Effect::LoseAnswer),
        }),
        spec.available.map(|available| {
            Ok(Effect::Answer {
                available,
                maximum: spec.maximum,
                minimum: None,
            })
        }),
    ];
    let mut given = candidates.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(effect), None) => effect,
        _ => Err("a script has exactly one of `code`, `delay`, `hang`, `cut`, `available`".to_owned()),
    }
}
