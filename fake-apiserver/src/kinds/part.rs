//! The parts of an object that have paths of their own.

/// Which part of an object is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The object itself.
    Main,
    /// Its `/status`.
    Status,
    /// A subresource of its own.
    Sub(Subresource),
}

/// A subresource with behaviour of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// `certificatesigningrequests/approval`: the conditions that say whether a request is granted.
    Approval,
    /// `pods/attach`: to the process of a container.
    Attach,
    /// `pods/binding`.
    Binding,
    /// `pods/ephemeralcontainers`: containers that come to look into a running pod.
    EphemeralContainers,
    /// `pods/eviction`.
    Eviction,
    /// `pods/exec`: a command in a container.
    Exec,
    /// `namespaces/finalize`.
    Finalize,
    /// `pods/log`.
    Log,
    /// `pods/portforward`.
    PortForward,
    /// `proxy` of nodes, pods and services: HTTP requests to them.
    Proxy,
    /// `pods/resize`: what the containers of a running pod may use.
    Resize,
    /// `scale` of workloads, as a `Scale` of autoscaling/v1.
    Scale,
    /// `serviceaccounts/token`.
    Token,
}

impl Part {
    pub(crate) fn as_str(self) -> Option<&'static str> {
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

    /// The subresource of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sub| sub.as_str() == name)
    }

    /// Whether it is the object itself that is read and written there, and only a part of it changes.
    pub(crate) fn is_of_whole(self) -> bool {
        matches!(self, Self::Approval | Self::EphemeralContainers | Self::Resize)
    }

    /// Whether it leads through the server, to a node, a pod or a service.
    pub(crate) fn is_connection(self) -> bool {
        matches!(
            self,
            Self::Attach | Self::Exec | Self::Log | Self::PortForward | Self::Proxy
        )
    }

    /// What discovery calls the options of a connection to an object of that kind; logs have the pod itself.
    pub(crate) fn options_of(self, kind: &str) -> Option<&'static str> {
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

    /// The last segment of its path.
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
