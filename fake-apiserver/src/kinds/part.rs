//! The parts of an object that have paths of their own.

/// Which part of an object is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The object itself.
    Main,
    /// Its `/status`.
    Status,
    /// A subresource of its own.
    Sub(Subresource),
}

/// A subresource with behaviour of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subresource {
    /// `certificatesigningrequests/approval`: the conditions that say whether a request is granted.
    Approval,
    /// `pods/binding`.
    Binding,
    /// `pods/ephemeralcontainers`: containers that come to look into a running pod.
    EphemeralContainers,
    /// `pods/eviction`.
    Eviction,
    /// `namespaces/finalize`.
    Finalize,
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
    const ALL: [Self; 7] = [
        Self::Approval,
        Self::Binding,
        Self::EphemeralContainers,
        Self::Eviction,
        Self::Finalize,
        Self::Scale,
        Self::Token,
    ];

    /// The subresource of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sub| sub.as_str() == name)
    }

    /// Whether it is the object itself that is read and written there, and only a part of it changes.
    pub(crate) fn is_of_whole(self) -> bool {
        matches!(self, Self::Approval | Self::EphemeralContainers)
    }

    /// The last segment of its path.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Binding => "binding",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Finalize => "finalize",
            Self::Eviction => "eviction",
            Self::Scale => "scale",
            Self::Token => "token",
        }
    }
}
