//! Owns the data that all connections of a control share. Does not know connections or paths.

use std::sync::Arc;

use super::record::CallRecord;
use crate::FakeDriver;

/// Shared by all connections.
pub(super) struct Context {
    pub(super) driver: FakeDriver,
    pub(super) calls: Arc<CallRecord>,
    pub(super) token: String,
}
