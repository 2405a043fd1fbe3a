//! The parts that systems under test play, and how binding a failure of theirs is.

use serde::Deserialize;

/// How binding a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every implementation of the role must pass.
    #[default]
    Core,
    /// Must pass where the feature is claimed.
    Extended,
    /// Runs and is reported, but never gates.
    Provisional,
}

/// The part a system under test plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Keeps CSIStorageCapacity objects right, and provisions volumes.
    Publisher,
    /// Filters and scores nodes with them.
    Scheduler,
    /// Removes the objects of publishers whose nodes are gone.
    Cleaner,
    /// Holds the storage, and reports how much there is (CSI).
    Driver,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [Role::Publisher, Role::Scheduler, Role::Cleaner, Role::Driver];

    /// The word used in case files, journals and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Publisher => "publisher",
            Role::Scheduler => "scheduler",
            Role::Cleaner => "cleaner",
            Role::Driver => "driver",
        }
    }

    /// The name of the client that plays it: of the one on a node, or of the only one.
    pub(crate) fn client(self, node: Option<&str>) -> String {
        match node {
            Some(node) => format!("{}@{node}", self.as_str()),
            None => self.as_str().to_owned(),
        }
    }

    /// The role that the name of a client belongs to: `publisher@n1` is a publisher. The harness and its controllers have none.
    pub fn of_client(client: &str) -> Option<Role> {
        let name = client.split('@').next();
        Role::ALL.into_iter().find(|role| name == Some(role.as_str()))
    }
}
