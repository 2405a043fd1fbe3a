//! The parts of an object that a request path can address: the object itself or a subresource.

/// The part of an object that a request path addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The object itself (no subresource).
    Main,
    /// The `/status` subresource.
    Status,
    /// A subresource other than `/status`.
    Sub(Subresource),
}

/// A subresource other than `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// `certificatesigningrequests/approval`: the conditions that approve or deny the request.
    Approval,
    /// `pods/attach`: attaches to the streams of a container's main process.
    Attach,
    /// `pods/binding`: assigns a pod to a node.
    Binding,
    /// `pods/ephemeralcontainers`: debug containers added to a running pod.
    EphemeralContainers,
    /// `pods/eviction`: deletes a pod if its PodDisruptionBudget allows it.
    Eviction,
    /// `pods/exec`: runs a command in a container.
    Exec,
    /// `namespaces/finalize`: sets `spec.finalizers`.
    Finalize,
    /// `pods/log`: the log of a container.
    Log,
    /// `pods/portforward`: forwards connections to ports of a pod.
    PortForward,
    /// `proxy` of nodes, pods and services: forwards HTTP requests to a node, pod or service.
    Proxy,
    /// `pods/resize`: changes the container resources of a running pod.
    Resize,
    /// `scale` of workloads: the number of replicas as a `Scale` of autoscaling/v1.
    Scale,
    /// `serviceaccounts/token`: issues a token.
    Token,
}

impl Part {
    /// The name of the subresource; `None` for the object itself.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Main => None,
            Self::Status => Some("status"),
            Self::Sub(sub) => Some(sub.as_str()),
        }
    }
}

impl Subresource {
    const ALL: [Self; 13] = [
        Self::Approval,
        Self::Attach,
        Self::Binding,
        Self::EphemeralContainers,
        Self::Eviction,
        Self::Exec,
        Self::Finalize,
        Self::Log,
        Self::PortForward,
        Self::Proxy,
        Self::Resize,
        Self::Scale,
        Self::Token,
    ];

    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sub| sub.as_str() == name)
    }

    /// Whether the body of the subresource has the type of the object itself and updates a part of it.
    pub(crate) fn has_object_type(self) -> bool {
        matches!(self, Self::Approval | Self::EphemeralContainers | Self::Resize)
    }

    /// Whether the server forwards the request to a node, a pod or a service.
    pub(crate) fn is_forwarded(self) -> bool {
        matches!(
            self,
            Self::Attach | Self::Exec | Self::Log | Self::PortForward | Self::Proxy
        )
    }

    /// The kind of a connect subresource in discovery, such as `PodExecOptions`; `None` for logs, which have the kind Pod.
    pub(crate) fn connect_options_kind(self, kind: &str) -> Option<&'static str> {
        match (self, kind) {
            (Self::Attach, _) => Some("PodAttachOptions"),
            (Self::Exec, _) => Some("PodExecOptions"),
            (Self::PortForward, _) => Some("PodPortForwardOptions"),
            (Self::Proxy, "Node") => Some("NodeProxyOptions"),
            (Self::Proxy, "Pod") => Some("PodProxyOptions"),
            (Self::Proxy, _) => Some("ServiceProxyOptions"),
            _ => None,
        }
    }

    /// The name of the subresource as the last segment of the request path.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Attach => "attach",
            Self::Binding => "binding",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Eviction => "eviction",
            Self::Exec => "exec",
            Self::Finalize => "finalize",
            Self::Log => "log",
            Self::PortForward => "portforward",
            Self::Proxy => "proxy",
            Self::Resize => "resize",
            Self::Scale => "scale",
            Self::Token => "token",
        }
    }
}
