//! Reasons for not comparing an expectation with the specification: the outcome depends on something that the specification
//! does not model.

use std::fmt;

/// Why an expectation is not compared with the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SkipReason {
    /// A fault of the API server is active.
    Fault,
    /// A program was killed in the middle of its work.
    Killed,
    /// The API server changes its release, or may reject an action.
    ServerChange,
    /// The expected state exists only for a short time.
    TransientState,
    /// Objects change while a pod is scheduled, and the outcome depends on which change the scheduler observes first.
    Race,
    /// A scheduler extender affects the scheduling decision.
    Extender,
    /// The scheduler is configured to deviate from the KEPs.
    Deviation,
    /// Several nodes are allowed, and later results depend on the node that the scheduler chose.
    ChosenNode,
    /// A volume cannot be provisioned on the first chosen node.
    Retries,
    /// The case itself creates, deletes or clones volumes.
    HarnessVolumes,
    VolumeExpansion,
    /// The owner of capacity objects is deleted.
    OwnerDeleted,
    /// A program on which the outcome depends does not run.
    Stopped,
    /// The publisher restarts with other settings.
    Settings,
    /// Programs have limited permissions.
    Permissions,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::Fault => "the API server fails",
            SkipReason::Killed => "a program is killed",
            SkipReason::ServerChange => "the API server changes its release or may reject an action",
            SkipReason::TransientState => "the expected state is transient",
            SkipReason::Race => "the outcome depends on the order of watch events",
            SkipReason::Extender => "an extender takes part in the decision",
            SkipReason::Deviation => "the scheduler has an injected defect",
            SkipReason::ChosenNode => "the outcome depends on the chosen node",
            SkipReason::Retries => "a volume cannot be provisioned on the first chosen node",
            SkipReason::HarnessVolumes => "the case creates or deletes volumes",
            SkipReason::VolumeExpansion => "a volume is expanded",
            SkipReason::OwnerDeleted => "the owner of objects is deleted",
            SkipReason::Stopped => "a program does not run",
            SkipReason::Settings => "the publisher restarts with other settings",
            SkipReason::Permissions => "programs have limited permissions",
        })
    }
}
