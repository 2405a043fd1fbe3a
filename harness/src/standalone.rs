//! The API server on its own, for whoever wants no scenario around it.
//!
//! Only passes on what the server crate offers: commands reach it through here.

pub use fake_apiserver::{ApiServer, Authorization, Kubeconfig, ServerOptions, Tls, User};
