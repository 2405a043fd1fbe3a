//! Calls of the driver by a case: which there are, what each needs, and that expectations name only answers of such calls.

use std::collections::BTreeMap;

use fake_csi::Method;

use super::scope::Scope;
use super::vocabulary::names;
use super::{Action, CsiCall, CsiCallKind};
use crate::expectation::names_of;
use crate::scenario::CsiCallSpec;

/// The calls without arguments.
const PLAIN: [Method; 5] = [
    Method::GetPluginInfo,
    Method::GetPluginCapabilities,
    Method::Probe,
    Method::ControllerGetCapabilities,
    Method::NodeGetInfo,
];

impl Scope<'_> {
    pub(super) fn csi_call(&mut self, spec: &CsiCallSpec) -> Result<Vec<(Action, String)>, String> {
        let kind = self.ask_kind(spec)?;
        let figures = BTreeMap::from([(spec.name.clone(), spec.until.clone())]);
        let mut others = names_of(&figures).into_iter().filter(|name| *name != spec.name);
        others.try_for_each(|name| self.known_answer(name))?;
        let segment = spec
            .segment
            .as_deref()
            .map(|text| self.segments.parse(text))
            .transpose()?;
        if !self.answers.insert(spec.name.clone()) {
            return Err(format!(
                "`{}` is asked for already; choose another name",
                spec.name
            ));
        }
        let note = format!("call the driver: {} as {}", spec.call, spec.name);
        let call = CsiCall {
            name: spec.name.clone(),
            class: spec.class.clone(),
            segment,
            kind,
            until: spec.until.clone(),
        };
        Ok(vec![(Action::CsiCall(call), note)])
    }

    fn ask_kind(&self, spec: &CsiCallSpec) -> Result<CsiCallKind, String> {
        let needs = |what: &str| format!("{} needs `{what}`", spec.call);
        let method = spec.call.parse().ok();
        check_keys(spec, method)?;
        Ok(match method {
            Some(Method::GetCapacity) => CsiCallKind::Capacity(self.parameters(spec)?),
            Some(Method::CreateVolume) => {
                let size = spec.size.as_ref().ok_or_else(|| needs("size"))?.0.clone();
                for name in size.answers() {
                    self.known_answer(name)?;
                }
                CsiCallKind::Create {
                    volume: spec.volume.clone().ok_or_else(|| needs("volume"))?,
                    size,
                    parameters: self.parameters(spec)?,
                }
            }
            Some(Method::DeleteVolume) => {
                let of = spec.of.clone().ok_or_else(|| needs("of"))?;
                self.known_answer(&of)?;
                CsiCallKind::Delete(of)
            }
            Some(plain) if PLAIN.contains(&plain) => CsiCallKind::Plain(plain),
            _ => {
                let (call, calls) = (&spec.call, PLAIN.map(Method::as_str).join(", "));
                return Err(format!(
                    "`{call}` can't be asked; calls: GetCapacity, CreateVolume, DeleteVolume, {calls}"
                ));
            }
        })
    }

    /// Those of the class, and more.
    fn parameters(&self, spec: &CsiCallSpec) -> Result<BTreeMap<String, String>, String> {
        let mut parameters = match &spec.class {
            None => BTreeMap::new(),
            Some(class) => self.classes.get(class).cloned().ok_or_else(|| {
                format!(
                    "class `{class}` is not defined; classes: {}",
                    names(&self.classes)
                )
            })?,
        };
        parameters.extend(spec.parameters.clone());
        Ok(parameters)
    }
}

/// What a call has no use for would be ignored without a word.
fn check_keys(spec: &CsiCallSpec, method: Option<Method>) -> Result<(), String> {
    let is = |wanted| method == Some(wanted);
    let is_about_room = is(Method::GetCapacity) || is(Method::CreateVolume);
    let keys = [
        ("class", spec.class.is_some(), is_about_room),
        ("parameters", !spec.parameters.is_empty(), is_about_room),
        ("segment", spec.segment.is_some(), is_about_room),
        ("volume", spec.volume.is_some(), is(Method::CreateVolume)),
        ("size", spec.size.is_some(), is(Method::CreateVolume)),
        ("of", spec.of.is_some(), is(Method::DeleteVolume)),
        ("until", !spec.until.is_empty(), is(Method::GetCapacity)),
    ];
    match keys.iter().find(|(_, given, useful)| *given && !*useful) {
        Some((key, ..)) => Err(format!("{} has no `{key}`; remove it", spec.call)),
        None => Ok(()),
    }
}
