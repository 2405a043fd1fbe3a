//! Dynamic admission: the interface of admission webhooks and policies, which objects of admissionregistration.k8s.io configure.
//!
//! Owns admission requests and the admission session. Other crates match admission requests, call webhooks and evaluate policies. Sends no
//! HTTP requests, does not know verbs, and reads the state of the server only through `StateReader`.

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
