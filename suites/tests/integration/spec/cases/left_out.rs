//! Why an expectation is not compared: the world cannot say what the case depends on.

use std::fmt;

/// Why an expectation is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeftOut {
    /// The API server fails by a rule that is in force.
    Fault,
    /// A program was killed in the middle of its work.
    Killed,
    /// The API server became another release, or something was tried that it may refuse.
    Server,
    /// The state is one that is meant to pass.
    Passing,
    /// Things change while a pod is decided on, and the outcome depends on which is seen first.
    Race,
    /// An extender has its say.
    Extender,
    /// The scheduler is told to be wrong.
    Deviation,
    /// Several nodes are allowed, and what follows depends on which it is.
    WhichNode,
    /// A volume cannot be made where the pod is first sent.
    Retries,
    /// The case makes and deletes volumes itself, or a copy is wanted.
    ByHand,
    /// A volume grows.
    Grows,
    /// The owner of objects goes.
    OwnerGoes,
    /// A program that is needed does not run.
    Stopped,
    /// The publisher starts with other settings.
    Settings,
    /// Programs may not do everything.
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
