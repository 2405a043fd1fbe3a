//! Who is asked about a request beside the server itself: webhooks and policies, as their objects describe them.
//!
//! Owns which of them a request concerns, what a webhook is sent and what its answer means. Does not send anything, does
//! not know the verbs, and sees the state only through `Surroundings`.

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
