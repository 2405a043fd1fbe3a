//! Data that all connections of the HTTP control share: the driver, the stored calls and the token.

use std::sync::Arc;

use super::record::CallRecord;
use crate::FakeDriver;

pub(super) struct Context {
    pub(super) driver: FakeDriver,
    pub(super) calls: Arc<CallRecord>,
    pub(super) token: String,
}
