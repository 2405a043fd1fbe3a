//! Admission webhooks for `fake-apiserver`: the resources MutatingWebhookConfiguration and ValidatingWebhookConfiguration, and calls of the
//! configured webhooks.
//!
//! Also owns the code that webhooks share with admission policies (which another crate evaluates): matching, match conditions, and the
//! variables of expressions.
//!
//! ```
//! use fake_apiserver::{ApiServer, ServerOptions};
//!
//! let extensions = vec![fake_apiserver_webhooks::extension()];
//! let server = ApiServer::with_extensions(ServerOptions::default(), None, extensions);
//! # drop(server);
//! ```

mod accessor;
mod activation;
mod authorizer;
mod configuration;
mod criteria;
mod defaults;
mod dispatcher;
mod expression_validation;
mod matchconditions;
mod mutating;
mod resources;
mod review;
mod rule_validation;
mod validating;
mod validation;

pub use activation::{Activation, evaluate};
pub use authorizer::{RequestAuthorizer, request_resource};
pub use criteria::MatchCriteria;
pub use expression_validation::{admission_variables, validate_expression, validate_match_conditions};
pub use matchconditions::MatchConditions;
pub use resources::REGISTRATION;
pub use review::review_request;
pub use rule_validation::{FAILURE_POLICIES, MATCH_POLICIES, validate_rule};

use fake_apiserver::extension::Extension;

/// The extension that serves admission webhooks. Each server needs its own extension.
pub fn extension() -> Extension {
    Extension {
        resources: vec![
            &resources::MUTATING_WEBHOOK_CONFIGURATION,
            &resources::VALIDATING_WEBHOOK_CONFIGURATION,
        ],
        webhooks: Some(configuration::read),
        ..Extension::default()
    }
}
