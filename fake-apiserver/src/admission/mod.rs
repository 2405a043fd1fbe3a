//! Dynamic admission: the interface of webhooks and policies, as configured by objects of admissionregistration.k8s.io.
//!
//! Owns admission requests and their session. Other crates match requests, call webhooks and evaluate policies. Sends no
//! requests, does not know verbs, and reads the state only through `StateReader`.

mod policies;
mod registry;
mod request;
mod session;
mod state_reader;
mod webhooks;

pub use policies::{Mutated, Policies, PolicyContext, VersionConversion};
pub use registry::BuildFromObjects;
pub(crate) use registry::{Registry, RegistryCache};
pub use request::{AdmissionRequest, AdmissionTarget, Operation, Phase, Requester};
pub(crate) use session::AdmissionSession;
pub use state_reader::StateReader;
pub use webhooks::{AdmissionResponse, ObjectConverter, WebhookContext, Webhooks};
