//! What all connections of a control share. Knows neither connections nor paths.

use std::sync::Arc;

use super::record::CallRecord;
use crate::FakeDriver;

/// What all connections share.
pub(super) struct Context {
    pub(super) driver: FakeDriver,
    pub(super) calls: Arc<CallRecord>,
    pub(super) token: String,
}
