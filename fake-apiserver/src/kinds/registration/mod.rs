//! Defaults and validation of webhook configurations, and of what policies have in common with them.
//!
//! Does not know how webhooks are called.

mod clients;
mod conditions;
mod defaults;
mod matching;
mod webhooks;

pub use clients::place as client_place;
pub use conditions::{conditions, expression, variables};
pub(super) use defaults::webhooks as default_webhooks;
pub use matching::{FAILURES, MATCHES, operations};
pub(super) use webhooks::validate as webhooks;
