//! The `callDriver` action: the harness calls the driver as a publisher does, and stores the response under a name.

use std::collections::BTreeMap;

use fake_csi::Method;
use serde::Deserialize;

use super::Resolved;
use crate::expectation::response_names;
use crate::plan::scope::Scope;
use crate::plan::vocabulary::join_names;
use crate::plan::{Action, CsiCall, CsiCallKind};
use crate::scenario::{Expression, ResponseSpec, Short};

/// A CSI call that the harness makes, through the socket that publishers use.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CsiCallSpec {
    /// Name of the response, to which expectations and later calls refer.
    #[serde(rename = "as")]
    pub name: String,
    /// The CSI method, such as `GetCapacity`.
    pub call: String,
    /// GetCapacity and CreateVolume: the StorageClass whose parameters the call contains.
    pub class: Option<String>,
    /// GetCapacity and CreateVolume: parameters in addition to those of the StorageClass.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// GetCapacity and CreateVolume: the requested topology segment.
    pub segment: Option<String>,
    /// CreateVolume: name of the volume.
    pub volume: Option<String>,
    /// CreateVolume: size of the volume, such as `1Gi`, `before.room` or `before.room + 1`.
    pub size: Option<Short<Expression>>,
    /// DeleteVolume: name of the CreateVolume response that contains the volume id.
    pub of: Option<String>,
    /// GetCapacity: conditions on the response, as in the expectation `responses`. The call is repeated until they hold, for up to 10 s,
    /// because drivers may update their capacity late. The last response is stored.
    #[serde(default)]
    pub until: ResponseSpec,
}

const WITHOUT_ARGUMENTS: [Method; 5] = [
    Method::GetPluginInfo,
    Method::GetPluginCapabilities,
    Method::Probe,
    Method::ControllerGetCapabilities,
    Method::NodeGetInfo,
];

pub(super) fn resolve(scope: &mut Scope<'_>, spec: &CsiCallSpec) -> Resolved {
    let kind = kind(scope, spec)?;
    let expected = BTreeMap::from([(spec.name.clone(), spec.until.clone())]);
    let mut others = response_names(&expected)
        .into_iter()
        .filter(|name| *name != spec.name);
    others.try_for_each(|name| scope.known_response(name))?;
    let segment = spec
        .segment
        .as_deref()
        .map(|text| scope.segments.parse(text))
        .transpose()?;
    if !scope.responses.insert(spec.name.clone()) {
        return Err(format!(
            "another `callDriver` has the name `{}` already; choose another name",
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

fn kind(scope: &Scope<'_>, spec: &CsiCallSpec) -> Result<CsiCallKind, String> {
    let needs = |what: &str| format!("{} needs `{what}`", spec.call);
    let method = spec.call.parse().ok();
    check_keys(spec, method)?;
    Ok(match method {
        Some(Method::GetCapacity) => CsiCallKind::Capacity(parameters(scope, spec)?),
        Some(Method::CreateVolume) => {
            let size = spec.size.as_ref().ok_or_else(|| needs("size"))?.0.clone();
            for name in size.responses() {
                scope.known_response(name)?;
            }
            CsiCallKind::Create {
                volume: spec.volume.clone().ok_or_else(|| needs("volume"))?,
                size,
                parameters: parameters(scope, spec)?,
            }
        }
        Some(Method::DeleteVolume) => {
            let of = spec.of.clone().ok_or_else(|| needs("of"))?;
            scope.known_response(&of)?;
            CsiCallKind::Delete(of)
        }
        Some(plain) if WITHOUT_ARGUMENTS.contains(&plain) => CsiCallKind::Plain(plain),
        _ => {
            let (call, calls) = (&spec.call, WITHOUT_ARGUMENTS.map(Method::as_str).join(", "));
            return Err(format!(
                "`{call}` is not supported; calls: GetCapacity, CreateVolume, DeleteVolume, {calls}"
            ));
        }
    })
}

/// The parameters of the StorageClass, and the additional parameters of the call.
fn parameters(scope: &Scope<'_>, spec: &CsiCallSpec) -> Result<BTreeMap<String, String>, String> {
    let mut parameters = match &spec.class {
        None => BTreeMap::new(),
        Some(class) => scope.classes.get(class).cloned().ok_or_else(|| {
            format!(
                "class `{class}` is not defined; classes: {}",
                join_names(&scope.classes)
            )
        })?,
    };
    parameters.extend(spec.parameters.clone());
    Ok(parameters)
}

/// Rejects keys of a `callDriver` action that do not apply to the CSI method: they would otherwise be ignored silently.
fn check_keys(spec: &CsiCallSpec, method: Option<Method>) -> Result<(), String> {
    let is = |wanted| method == Some(wanted);
    let is_about_storage = is(Method::GetCapacity) || is(Method::CreateVolume);
    let keys = [
        ("class", spec.class.is_some(), is_about_storage),
        ("parameters", !spec.parameters.is_empty(), is_about_storage),
        ("segment", spec.segment.is_some(), is_about_storage),
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
