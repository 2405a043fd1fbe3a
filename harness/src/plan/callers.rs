//! The CSI methods that are called in a case. An expectation or a script about any other method has no effect.

use fake_csi::Method;

use crate::scenario::{ActionSpec, Role, Scenario};

/// Methods that the publisher calls, which are those of external-provisioner.
const PUBLISHER: [Method; 8] = [
    Method::Probe,
    Method::GetPluginInfo,
    Method::GetPluginCapabilities,
    Method::ControllerGetCapabilities,
    Method::NodeGetInfo,
    Method::GetCapacity,
    Method::CreateVolume,
    Method::DeleteVolume,
];

/// The method that the harness calls as external-resizer if a publisher runs.
const RESIZER: Method = Method::ControllerExpandVolume;

/// The methods that are called in a case.
pub(super) struct Callers {
    /// The publisher runs.
    has_publisher: bool,
    /// Methods of the actions `ask` and `mount` of all steps.
    by_actions: Vec<String>,
}

impl Callers {
    /// The callers of a scenario in which these roles run.
    pub(super) fn of(scenario: &Scenario, roles: &[Role]) -> Self {
        let mut by_actions = Vec::new();
        let steps = scenario.file.steps.iter();
        steps
            .flat_map(|step| &step.value.actions)
            .for_each(|action| add(&action.value, &mut by_actions));
        Callers {
            has_publisher: roles.contains(&Role::Publisher),
            by_actions,
        }
    }

    /// Whether a method, or `*` for any, is called at all.
    pub(super) fn check(&self, method: &str) -> Result<(), String> {
        let mut with_publisher = PUBLISHER.iter().chain([&RESIZER]);
        let of_publisher = with_publisher.any(|known| known.as_str() == method);
        let is_any = method == "*" && !self.by_actions.is_empty();
        if self.has_publisher && (of_publisher || method == "*")
            || is_any
            || self.by_actions.iter().any(|known| known == method)
        {
            return Ok(());
        }
        Err(match method {
            "NodePublishVolume" => {
                "nothing calls NodePublishVolume; add `mount: POD` to the actions".to_owned()
            }
            _ if of_publisher || method == "*" => format!(
                "nothing calls the driver ({method}), as no publisher runs in the case; add it to `roles`, or call the method with `ask`"
            ),
            _ => {
                let methods = PUBLISHER.map(Method::as_str).join(", ");
                format!(
                    "no role calls {method}; correct the method, or remove it; the publisher calls {methods}, and the harness {RESIZER}"
                )
            }
        })
    }
}

fn add(action: &ActionSpec, methods: &mut Vec<String>) {
    match action {
        ActionSpec::Ask(call) => methods.push(call.call.clone()),
        ActionSpec::Mount(_) => methods.push(Method::NodePublishVolume.as_str().to_owned()),
        ActionSpec::Attempt(inner) => add(inner, methods),
        _ => {}
    }
}
