//! Reasons for not comparing an expectation: the specification does not model something that the case depends on.

use std::fmt;

/// Reason for not comparing an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeftOut {
    /// An API fault is active.
    Fault,
    /// A program was killed while working.
    Killed,
    /// The API server changed its release, or an action may be rejected.
    Server,
    /// The expected state is transient.
    Passing,
    /// Objects change while a pod is scheduled, and the outcome depends on the order of observation.
    Race,
    /// An extender takes part in the decision.
    Extender,
    /// The scheduler is configured to deviate.
    Deviation,
    /// Several nodes are allowed, and later results depend on the chosen one.
    WhichNode,
    /// A volume cannot be provisioned on the first chosen node.
    Retries,
    /// The case creates and deletes volumes itself, or clones one.
    ByHand,
    /// A volume is expanded.
    Grows,
    /// The owner of objects is deleted.
    OwnerGoes,
    /// A required program does not run.
    Stopped,
    /// The publisher restarts with other settings.
    Settings,
    /// Programs have limited permissions.
    Permissions,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeftOut::Fault => "the API server fails",
            LeftOut::Killed => "a program is killed",
            LeftOut::Server => "the API server changes its release or may reject an action",
            LeftOut::Passing => "the expected state is transient",
            LeftOut::Race => "the outcome depends on the order of watch events",
            LeftOut::Extender => "an extender takes part in the decision",
            LeftOut::Deviation => "the scheduler has an injected defect",
            LeftOut::WhichNode => "the outcome depends on the chosen node",
            LeftOut::Retries => "a volume cannot be provisioned on the first chosen node",
            LeftOut::ByHand => "the case creates or deletes volumes",
            LeftOut::Grows => "a volume is expanded",
            LeftOut::OwnerGoes => "the owner of objects is deleted",
            LeftOut::Stopped => "a program does not run",
            LeftOut::Settings => "the publisher restarts with other settings",
            LeftOut::Permissions => "programs have limited permissions",
        })
    }
}
