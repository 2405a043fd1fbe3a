//! How a request was answered: the one place in which answers are reported and refusals become responses.

use super::body::Body;
use super::head::RequestHead;
use super::inflight::RequestHold;
use super::negotiate::Accept;
use super::respond::{self, Plain};
use super::service::Service;
use super::stream::WatchBody;
use crate::machinery::status::Status;
use hyper::Response;

/// What is sent.
pub(super) enum Rendered {
    Plain(Plain),
    Watch(Box<WatchBody>),
}

/// What has come of a request.
pub(super) struct Outcome {
    answer: Result<Rendered, Status>,
    /// The form in which a refusal is sent.
    accept: Accept,
    warnings: Vec<String>,
    /// The store has carried the request out, and has reported it under its lock.
    is_reported: bool,
}

impl Outcome {
    /// An answer that the store had no part in.
    pub(super) fn of(head: &RequestHead, answer: Result<Rendered, Status>) -> Self {
        Self {
            answer,
            accept: head.accept,
            warnings: Vec::new(),
            is_reported: false,
        }
    }

    /// An answer to a request that the store has carried out.
    pub(super) fn executed(
        head: &RequestHead,
        answer: Result<Rendered, Status>,
        warnings: Vec<String>,
    ) -> Self {
        Self {
            warnings,
            is_reported: true,
            ..Self::of(head, answer)
        }
    }

    /// The same, with a refusal in JSON whatever the client takes.
    pub(super) fn refused_in_json(self) -> Self {
        Self {
            accept: Accept::Json,
            ..self
        }
    }

    /// Reports the answer, unless the store has.
    pub(super) fn report(&self, head: &RequestHead, service: &Service) {
        if self.is_reported {
            return;
        }
        match &self.answer {
            Ok(Rendered::Plain(plain)) => head.report(service, plain.code(), None),
            Ok(Rendered::Watch(_)) => head.report(service, 200, None),
            Err(refusal) => head.report(service, refusal.code, Some(refusal)),
        }
    }

    /// The response; what the request holds is let go when the answer has been taken.
    pub(super) fn respond(self, head: &RequestHead, hold: RequestHold) -> Response<Body> {
        match self.answer {
            Ok(Rendered::Plain(plain)) => plain.warned(&self.warnings).with(hold),
            Ok(Rendered::Watch(body)) => respond::watch(body, head.accept, &self.warnings),
            Err(refusal) => {
                let plain = respond::status(&refusal, self.accept, head.pretty);
                plain.warned(&self.warnings).with(hold)
            }
        }
    }
}
