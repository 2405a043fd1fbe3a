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
            LeftOut::Server => "the API server changes or may refuse",
            LeftOut::Passing => "the state is meant to pass",
            LeftOut::Race => "it depends on what is seen first",
            LeftOut::Extender => "an extender has its say",
            LeftOut::Deviation => "the scheduler is told to be wrong",
            LeftOut::WhichNode => "it depends on the node that was chosen",
            LeftOut::Retries => "a volume cannot be made at once",
            LeftOut::ByHand => "the case makes volumes itself",
            LeftOut::Grows => "a volume grows",
            LeftOut::OwnerGoes => "the owner of objects goes",
            LeftOut::Stopped => "a program does not run",
            LeftOut::Settings => "the publisher gets other settings",
            LeftOut::Permissions => "programs may not do everything",
        })
    }
}
