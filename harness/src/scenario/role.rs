//! Roles of systems under test, and levels of cases.

use serde::Deserialize;

/// Whether and for whom a failure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every implementation of the role must pass.
    #[default]
    Core,
    /// Systems that claim the feature must pass.
    Extended,
    /// Runs and is reported, but never fails the run.
    Provisional,
}

/// The role of a system under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Publishes CSIStorageCapacity objects and provisions volumes.
    Publisher,
    /// Filters and scores nodes by CSIStorageCapacity objects.
    Scheduler,
    /// Deletes the objects of publishers whose nodes were deleted.
    Cleaner,
    /// Provides the storage and reports its capacity (CSI).
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

    /// Client name of the role's instance on a node, or of its only instance.
    pub(crate) fn client(self, node: Option<&str>) -> String {
        match node {
            Some(node) => format!("{}@{node}", self.as_str()),
            None => self.as_str().to_owned(),
        }
    }

    /// The role of a client: `publisher@n1` is a publisher. None for the harness and its controllers.
    pub fn of_client(client: &str) -> Option<Role> {
        let name = client.split('@').next();
        Role::ALL.into_iter().find(|role| name == Some(role.as_str()))
    }
}
