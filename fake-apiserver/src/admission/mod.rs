//! Dynamic admission: webhooks and policies, as configured by objects of admissionregistration.k8s.io.
//!
//! Owns request matching, AdmissionReviews and the evaluation of policies. Sends no requests, does not know verbs, and
//! reads the state only through `Surroundings`.

mod amend;
mod authority;
mod conditions;
mod consultation;
mod examine;
mod inputs;
mod matching;
mod policy;
mod question;
mod registry;
mod review;
mod scene;
mod surroundings;
mod webhook;

pub(crate) use amend::{Amended, amend};
pub(crate) use authority::Asker;
pub(crate) use consultation::Consultation;
pub(crate) use examine::examine;
pub(crate) use inputs::Inputs;
pub(crate) use question::{Operation, Question, Requester, Stage, Subject, Verdict};
pub(crate) use registry::{Registrar, Registry, Sources};
pub(crate) use review::{Reply, read as read_review, request as review_request};
pub(crate) use scene::{Forms, Scene};
pub(crate) use surroundings::Surroundings;
pub(crate) use webhook::{Client, Place, Webhook};
