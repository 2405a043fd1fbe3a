//! Dynamic admission: webhooks and policies, as configured by objects of admissionregistration.k8s.io.
//!
//! Owns request matching, AdmissionReviews and match conditions. Another crate evaluates policies. Sends no requests, does not know verbs, and
//! reads the state only through `StateReader`.

mod authority;
mod conditions;
mod consultation;
mod inputs;
mod matching;
mod policies;
mod question;
mod registry;
mod review;
mod state_reader;
mod webhook;

pub use authority::Asker;
pub use conditions::Conditions;
pub(crate) use consultation::Consultation;
pub use inputs::{Inputs, evaluate};
pub use matching::Selection;
pub use policies::{Mutated, Policies, PolicyContext, PolicySource, VersionConversion};
pub(crate) use question::Verdict;
pub use question::{Operation, Question, Requester, Stage, Subject};
pub(crate) use registry::{Registrar, Registry};
pub use review::request as review_request;
pub(crate) use review::{Reply, read as read_review};
pub use state_reader::StateReader;
pub(crate) use webhook::{Client, Place, Webhook};
