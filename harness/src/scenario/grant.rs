//! RBAC rules of a role in a case, as in rbac.authorization.k8s.io, each with its namespace.

use serde::{Deserialize, Serialize};

/// A PolicyRule of a ClusterRole or Role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantSpec {
    /// Namespace of the Role that contains the rule. Unset: a ClusterRole contains the rule.
    #[serde(skip_serializing)]
    pub namespace: Option<String>,
    /// API groups; the core group is `""`.
    pub api_groups: Vec<String>,
    /// Plural resource names, with a subresource after a slash.
    pub resources: Vec<String>,
    /// Verbs: get, list, watch, create, update, patch, delete, deletecollection.
    pub verbs: Vec<String>,
}
