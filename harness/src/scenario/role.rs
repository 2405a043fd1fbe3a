//! Roles of programs under test, and levels of cases.

use serde::Deserialize;

/// Whether, and for which programs, a failure of a case fails the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every program of the role must pass.
    #[default]
    Core,
    /// Programs that claim the features of the case must pass.
    Extended,
    /// The case runs and is reported, but its failure never fails the run.
    Provisional,
}

/// The role of a program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Creates CSIStorageCapacity objects and provisions volumes.
    Publisher,
    /// Filters and scores nodes by CSIStorageCapacity objects.
    Scheduler,
    /// Deletes the CSIStorageCapacity objects of publishers whose nodes were deleted.
    Cleaner,
    /// Provides the storage and returns its capacity (CSI).
    Driver,
}

impl Role {
    /// All roles of programs under test.
    pub const ALL: [Role; 4] = [Role::Publisher, Role::Scheduler, Role::Cleaner, Role::Driver];

    /// Name of the role in case files, journals and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Publisher => "publisher",
            Role::Scheduler => "scheduler",
            Role::Cleaner => "cleaner",
            Role::Driver => "driver",
        }
    }

    /// Client name of the role's program on a node; None: of its only program.
    pub(crate) fn client_name(self, node: Option<&str>) -> String {
        match node {
            Some(node) => format!("{}@{node}", self.as_str()),
            None => self.as_str().to_owned(),
        }
    }

    /// The role in a client name such as `publisher@n1`. None for the harness and its controllers.
    pub fn of_client(client: &str) -> Option<Role> {
        let name = client.split('@').next();
        Role::ALL.into_iter().find(|role| name == Some(role.as_str()))
    }
}
