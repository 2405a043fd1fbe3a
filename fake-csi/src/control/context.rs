//! Data that all connections of a control share.

use std::sync::Arc;

use super::record::CallRecord;
use crate::FakeDriver;

pub(super) struct Context {
    pub(super) driver: FakeDriver,
    pub(super) calls: Arc<CallRecord>,
    pub(super) token: String,
}
