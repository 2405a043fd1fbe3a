//! Reports requests that fail before they become CSI calls: unknown methods, and messages that are too large or cannot be decoded.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
};

use tonic::{
    Status,
    codegen::{
        Service,
        http::{Request, Response},
    },
};
use tower::Layer;

use crate::{connection::ConnectionInfo, method::code_name};

/// Tower layer that wraps the services of a socket in [`RefusalReportingService`].
#[derive(Clone, Copy)]
pub(crate) struct RefusalReportingLayer;

/// The services of a socket. Reports requests that reach none of the CSI services.
#[derive(Clone)]
pub(crate) struct RefusalReportingService<S>(S);

impl<S> Layer<S> for RefusalReportingLayer {
    type Service = RefusalReportingService<S>;

    fn layer(&self, services: S) -> RefusalReportingService<S> {
        RefusalReportingService(services)
    }
}

impl<S, B, R> Service<Request<B>> for RefusalReportingService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let path = request.uri().path().to_owned();
        // All requests of a connection share its `ConnectionInfo`, but each request needs its own `is_call` flag.
        let connection = request
            .extensions_mut()
            .get_mut::<ConnectionInfo>()
            .map(|connection| {
                connection.is_call = Arc::default();
                connection.clone()
            });
        let response = self.0.call(request);
        Box::pin(async move {
            let response = response.await?;
            if let Some(connection) = connection
                && !connection.is_call.load(Ordering::Relaxed)
            {
                connection.report_refused(Some(&path), refusal_reason(&response));
            }
            Ok(response)
        })
    }
}

fn refusal_reason<R>(response: &Response<R>) -> String {
    match Status::from_header_map(response.headers()) {
        Some(status) if status.message().is_empty() => code_name(status.code()).to_owned(),
        Some(status) => format!("{}: {}", code_name(status.code()), status.message()),
        None => format!("HTTP status {}", response.status().as_u16()),
    }
}
