//! ServiceAccounts. `access::auth` verifies their tokens.

use super::{MetadataChecks, PLAIN, ResourceDefinition, Subresource};

pub(super) static SERVICE_ACCOUNT: ResourceDefinition = ResourceDefinition {
    kind: "ServiceAccount",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "serviceaccounts",
    short_names: &["sa"],
    subresources: &[Subresource::Token],
    returns_deleted: true,
    ..PLAIN
};
