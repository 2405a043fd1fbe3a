//! The HTTP layer: connections, and requests and responses as bytes.
//!
//! Owns limits on what clients may send. Does not know what verbs do or how objects are stored.

mod answer;
mod authorize;
mod body;
mod body_reader;
mod client_certificate;
mod converting;
mod endpoint;
mod gzip;
mod head;
mod health;
mod impersonate;
mod inflight;
mod listener;
pub(crate) mod metrics;
mod negotiate;
mod non_resource;
mod offload;
mod openapi;
mod outcome;
mod payload;
mod pending_responses;
mod pieces;
mod protobuf;
mod render;
mod request_timeout;
mod respond;
mod route;
mod service;
mod stream;
mod table;
pub(crate) mod tls;
mod warnings;
mod write_timeout;

pub use answer::PANICKED;
pub(crate) use listener::{ListenerConfig, serve, serve_connection};
pub(crate) use service::Service;
