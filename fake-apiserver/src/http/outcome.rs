//! The outcome of a request: reported to the observer and converted to a response.

use super::body::Body;
use super::head::RequestHead;
use super::inflight::InFlightGuard;
use super::negotiate::Accept;
use super::respond::{self, CompleteResponse};
use super::service::Service;
use super::stream::WatchBody;
use crate::machinery::status::Status;
use hyper::Response;

pub(super) enum Rendered {
    Plain(CompleteResponse),
    Watch(Box<WatchBody>),
}

/// A response or error, before it is reported and sent.
pub(super) struct Outcome {
    answer: Result<Rendered, Status>,
    /// The response form in which `answer` is rendered if it is an error.
    accept: Accept,
    warnings: Vec<String>,
    /// Whether the response is already reported: the store reports the responses of the requests that it executes.
    is_reported: bool,
}

impl Outcome {
    /// The outcome of a request that the store did not execute.
    pub(super) fn of(head: &RequestHead, answer: Result<Rendered, Status>) -> Self {
        Self {
            answer,
            accept: head.accept,
            warnings: Vec::new(),
            is_reported: false,
        }
    }

    pub(super) fn from_store(
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

    /// Renders an error as JSON, regardless of the `Accept` header.
    pub(super) fn with_error_as_json(self) -> Self {
        Self {
            accept: Accept::Json,
            ..self
        }
    }

    /// Reports the response, unless the store has reported it.
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

    /// Builds the response. Unless it is a watch, the request counts as in flight until the connection has accepted the whole body.
    pub(super) fn respond(self, head: &RequestHead, hold: InFlightGuard) -> Response<Body> {
        match self.answer {
            Ok(Rendered::Plain(plain)) => plain.with_warnings(&self.warnings).into_response(hold),
            Ok(Rendered::Watch(body)) => respond::watch(body, head.accept, &self.warnings),
            Err(refusal) => {
                let plain = respond::status(&refusal, self.accept, head.pretty);
                plain.with_warnings(&self.warnings).into_response(hold)
            }
        }
    }
}
