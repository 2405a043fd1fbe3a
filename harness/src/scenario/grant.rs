//! What a case lets a role do: rules of rbac.authorization.k8s.io, with the namespace in which they hold.

use serde::{Deserialize, Serialize};

/// One rule, in the words of a ClusterRole or a Role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantSpec {
    /// Only in that namespace, as a Role; unset: everywhere, as a ClusterRole.
    #[serde(skip_serializing)]
    pub namespace: Option<String>,
    /// API groups; the core group is `""`.
    pub api_groups: Vec<String>,
    /// Plural resource names, with a subresource after a slash.
    pub resources: Vec<String>,
    /// Verbs: get, list, watch, create, update, patch, delete, deletecollection.
    pub verbs: Vec<String>,
}
