//! Searches the journal for API requests. Does not know any particular defect.

use crate::client_name::HARNESS_CLIENTS;
use crate::journal::{Fact, What};

/// Whether a client other than the harness sent a request for the resource or received a watch event of it. A fault fact matches every
/// resource, because it may not contain the request.
pub(super) fn any_is_for(facts: &[Fact], resource: &str) -> bool {
    let is_other = |client: &str| !HARNESS_CLIENTS.contains(&client);
    facts.iter().any(|fact| match &fact.what {
        What::Request(request) => {
            request.resource.split('/').next() == Some(resource) && is_other(&request.client)
        }
        What::Delivery(delivery) => *delivery.resource == *resource && is_other(&delivery.client),
        What::Fault(fault) => fault.client.as_deref().is_some_and(is_other),
        _ => false,
    })
}
