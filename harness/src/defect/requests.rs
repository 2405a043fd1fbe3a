//! Requests to the API server as the journal has them. Knows no defect.

use crate::client_name::OURS;
use crate::journal::{Fact, What};

/// Whether anybody but the harness has asked for a resource, or was shown an object of it. Which request a fault has swallowed is told in
/// words alone.
pub(super) fn any_is_for(facts: &[Fact], resource: &str) -> bool {
    let is_other = |client: &str| !OURS.contains(&client);
    facts.iter().any(|fact| match &fact.what {
        What::Request(request) => {
            request.resource.split('/').next() == Some(resource) && is_other(&request.client)
        }
        What::Delivery(delivery) => *delivery.resource == *resource && is_other(&delivery.client),
        What::Fault(fault) => fault.client.as_deref().is_some_and(is_other),
        _ => false,
    })
}
