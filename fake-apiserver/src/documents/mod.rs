//! Documents about the API itself: discovery and OpenAPI.
//!
//! Both are computed from the resource definitions, the schema and the release. Does not know HTTP.

pub(crate) mod discovery;
pub(crate) mod openapi;
pub(crate) mod root;
pub(crate) mod served;
