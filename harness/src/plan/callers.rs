//! Which CSI methods are called in a case. Expectations and fault rules for other methods would have no effect, so they are rejected.

use fake_csi::Method;

use crate::scenario::{Mode, Role};

/// CSI methods that the publisher calls, as external-provisioner does.
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

/// CSI method that the harness calls as external-resizer does, if a publisher runs.
const RESIZER: Method = Method::ControllerExpandVolume;

/// The programs and actions that call CSI methods in a case.
pub(super) struct Callers {
    has_publisher: bool,
    is_distributed: bool,
    /// CSI methods that `callDriver` and `mount` actions of any step call.
    by_actions: Vec<Method>,
}

impl Callers {
    /// The callers in a case that runs these roles, with the publisher deployed in this mode. Contains no actions yet.
    pub(super) fn of(roles: &[Role], mode: Mode) -> Self {
        Callers {
            has_publisher: roles.contains(&Role::Publisher),
            is_distributed: mode == Mode::Distributed,
            by_actions: Vec::new(),
        }
    }

    pub(super) fn add_called_method(&mut self, method: Method) {
        self.by_actions.push(method);
    }

    /// Checks that calls of the method (None: of any method) can go to the driver instance on this node.
    pub(super) fn check_node(&self, method: Option<Method>, node: &str) -> Result<(), String> {
        let is_of_kubelet = match method {
            Some(method) => matches!(method, Method::NodePublishVolume | Method::NodeGetInfo),
            None => self.by_actions.contains(&Method::NodePublishVolume),
        };
        if self.is_distributed || is_of_kubelet {
            return Ok(());
        }
        Err(format!(
            "`node` matches no {} call, as a central publisher calls the driver at its only endpoint, which is on no node; write \
             `segment: {node}`, or set `mode: distributed`",
            method.map_or("CSI", Method::as_str)
        ))
    }

    /// Checks that a program or action calls the CSI method (None: any method) in the case.
    pub(super) fn check(&self, method: Option<Method>) -> Result<(), String> {
        let is_called_by_publisher = |method| PUBLISHER.contains(&method) || method == RESIZER;
        let is_called = match method {
            None => self.has_publisher || !self.by_actions.is_empty(),
            Some(method) => {
                self.has_publisher && is_called_by_publisher(method) || self.by_actions.contains(&method)
            }
        };
        if is_called {
            return Ok(());
        }
        Err(match method {
            Some(method @ Method::NodePublishVolume) => {
                format!("no action or program of the case calls {method}; add `mount: POD` to the actions")
            }
            Some(method) if !is_called_by_publisher(method) => {
                let methods = PUBLISHER.map(Method::as_str).join(", ");
                format!(
                    "no role calls {method}; correct the method, or remove it; the publisher calls {methods}, and the harness {RESIZER}"
                )
            }
            _ => format!(
                "no client calls {} of the driver, as the case has no publisher; add `publisher` to `roles`, or call the method with `callDriver`",
                method.map_or("*", Method::as_str)
            ),
        })
    }
}
