//! Names under which the harness's own clients are in the journal. Those of systems under test begin with their role.

/// Client name of the harness itself.
pub(crate) const HARNESS: &str = "harness";
