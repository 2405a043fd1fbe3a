//! Scripted answers of the driver.

use std::collections::BTreeMap;

use fake_csi::{Code, Method, code_name};

use super::scope::Scope;
use super::vocabulary::names;
use super::{Action, Effect, Script, vocabulary};
use crate::scenario::{CutSpec, ScriptSpec, Size};

impl Scope<'_> {
    pub(super) fn script(&mut self, spec: &ScriptSpec) -> Result<Vec<(Action, String)>, String> {
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
        let method = vocabulary::method(&spec.method)?;
        self.callers.check(Some(method))?;
        let effect = effect(spec)?;
        if let Some(id) = &spec.id
            && !self.scripts.insert(id.clone())
        {
            return Err(format!("script `{id}` was used before; give it another `id`"));
        }
        let note = format!(
            "the driver is told: {}{}",
            format(method, &effect),
            which(spec.skip, spec.times)
        );
        let (id, skip, times) = (spec.id.clone(), spec.skip, spec.times);
        Ok(vec![(
            Action::Script(Script {
                id,
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

    pub(super) fn unscript(&self, id: &str) -> Result<Vec<(Action, String)>, String> {
        if !self.scripts.contains(id) {
            return Err(format!(
                "there was no script `{id}` of the driver; name one by its `id`"
            ));
        }
        let note = format!("the driver no longer does as {id} says");
        Ok(vec![(Action::Unscript(id.to_owned()), note)])
    }
}

fn format(method: Method, effect: &Effect) -> String {
    match effect {
        Effect::Code(code) => {
            format!("{method} fails with {}", code_name(Code::from(*code)))
        }
        Effect::Delay(time) => format!("{method} is answered {time:?} later"),
        Effect::Hang => format!("{method} is not answered"),
        Effect::Disconnect => format!("{method} cuts the connection and does nothing"),
        Effect::LoseAnswer => format!("{method} is carried out, and cuts the connection"),
        Effect::Answer {
            available,
            maximum,
            minimum,
        } => {
            let bounds = [("maximum", maximum), ("minimum", minimum)];
            let limits = bounds.map(|(name, bytes)| bytes.map(|bytes| format!(" ({name} {bytes})")));
            let limits: String = limits.into_iter().flatten().collect();
            format!("{method} answers {available}{limits}")
        }
    }
}

/// Which of the calls, or of the requests, are meant.
pub(super) fn which(skip: u32, times: Option<u32>) -> String {
    let skip = match skip {
        0 => String::new(),
        skip => format!(", after {skip} more"),
    };
    let times = times.map(|times| format!(", {times}×")).unwrap_or_default();
    skip + &times
}

/// A figure as CSI has it.
fn figure(size: &Size) -> Result<i64, String> {
    let out_of_range =
        |_| format!("`{size}` is none of the 64 bits that CSI has for it; write one such as 30Gi");
    size.bytes().try_into().map_err(out_of_range)
}

fn effect(spec: &ScriptSpec) -> Result<Effect, String> {
    let code = |name: &String| match vocabulary::code(name)? {
        Code::Ok => Err("`OK` is no error; leave `code` out, or choose another".to_owned()),
        code => Ok(Effect::Code(code.into())),
    };
    let candidates = [
        spec.code.as_ref().map(code),
        spec.delay.map(|time| Ok(Effect::Delay(time))),
        spec.hang.then_some(Ok(Effect::Hang)),
        spec.cut.map(|cut| match cut {
            CutSpec::Before => Ok(Effect::Disconnect),
            CutSpec::After => Ok(Effect::LoseAnswer),
        }),
        spec.available.as_ref().map(|available| {
            Ok(Effect::Answer {
                available: figure(available)?,
                maximum: spec.maximum.as_ref().map(figure).transpose()?,
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
