//! Service accounts. What their tokens are worth is known to `access::auth`.

use super::{PLAIN, Row, Subresource};

pub(super) static SERVICE_ACCOUNT: Row = Row {
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    singular: "serviceaccount",
    short_names: &["sa"],
    subresources: &[Subresource::Token],
    unconditional_update: false,
    returns_deleted: true,
    ..PLAIN
};
