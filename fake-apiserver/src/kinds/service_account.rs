//! Service accounts. What their tokens are worth is known to `access::auth`.

use super::{Kind, PLAIN, Subresource};

pub(super) static SERVICE_ACCOUNT: Kind = Kind {
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    singular: "serviceaccount",
    short_names: &["sa"],
    subresources: &[Subresource::Token],
    unconditional_update: false,
    returns_deleted: true,
    ..PLAIN
};
