//! Owns the common handling of CSI calls: each call is counted, may match a fault rule, gets its response under the lock, and is reported
//! to the observer once. Does not know the content of responses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::{
    Answer, Effect, Event, Method, NodeIdentity,
    connection::ConnectionInfo,
    state::{DriverState, Shared},
};

/// The driver as served on one socket; implements the three CSI services.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: Option<NodeIdentity>,
    /// Cancelled when the endpoint stops; calls in flight then fail with UNAVAILABLE.
    pub(crate) stopped: CancellationToken,
}

pub(crate) struct Call {
    /// The event that is reported to the observer.
    pub(crate) event: Event,
    /// Cancelling the token closes the connection on which the call arrived.
    cut: Option<CancellationToken>,
}

/// Message of the INTERNAL error that a call returns if its handler panicked.
pub const PANICKED: &str = "the fake driver panicked while handling this call";

/// Result of a call's handler: the response, and its summary for the observer.
pub(crate) type HandlerResult<M> = Result<(M, Answer), Status>;

impl Endpoint {
    /// Creates a call whose event contains no arguments yet; the handler adds the arguments of the request.
    pub(crate) fn begin_call<T>(&self, method: Method, request: &Request<T>) -> Call {
        let connection = ConnectionInfo::of_call(request);
        let peer = connection
            .as_ref()
            .map(|connection| connection.peer)
            .unwrap_or_default();
        let node = self.node.as_ref().map(|node| node.node_id.clone());
        Call {
            event: Event::new(method, node, peer),
            cut: connection.map(|connection| connection.cut),
        }
    }

    /// Responds to a call. The event reports only success, none of the values in `message`.
    pub(crate) async fn respond<M>(&self, call: Call, message: M) -> Result<Response<M>, Status> {
        self.serve(call, |_, _, _| Ok((message, Answer::Done))).await
    }

    /// Handles a call: applies fault rules, then runs `handler`, which may read and change the driver's state and fill in the event.
    pub(crate) async fn serve<M>(
        &self,
        call: Call,
        handler: impl FnOnce(&mut DriverState, &mut Event, Option<Effect>) -> HandlerResult<M>,
    ) -> Result<Response<M>, Status> {
        let latency = self.shared.spec.latency;
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let mut flight = CallInFlight::start(&self.shared, call.event);
        // The endpoint may have stopped while the latency elapsed.
        self.unless_stopped(std::future::ready(()), &mut flight).await?;
        let decision = self.shared.state.lock().rules.decide(&flight.call);
        if !decision.delay.is_zero() {
            self.unless_stopped(tokio::time::sleep(decision.delay), &mut flight)
                .await?;
        }
        let cut = || call.cut.iter().for_each(CancellationToken::cancel);
        match decision.effect {
            Some(Effect::Code(code, message)) => flight.end(|_, _| Err(Status::new(code, message))),
            Some(Effect::Hang) => {
                self.unless_stopped(decision.removed.cancelled(), &mut flight)
                    .await?;
                flight.end(|state, event| handler(state, event, None))
            }
            Some(Effect::Disconnect) => {
                flight.call.lost = true;
                let ended = flight.end(|_, _| Err(Status::unavailable("a fault rule cut the connection")));
                cut();
                ended
            }
            Some(Effect::LoseAnswer) => {
                flight.call.lost = true;
                let ended = flight.end(|state, event| handler(state, event, None));
                cut();
                ended
            }
            effect => flight.end(|state, event| handler(state, event, effect)),
        }
    }

    async fn unless_stopped(
        &self,
        wait: impl Future<Output = ()>,
        flight: &mut CallInFlight,
    ) -> Result<(), Status> {
        tokio::select! {
            biased;
            () = self.stopped.cancelled() => {
                flight.end(|_, _| Err::<((), Answer), _>(Status::unavailable("the driver has stopped"))).map(|_| ())
            }
            () = wait => Ok(()),
        }
    }
}

/// A call in flight. If the value is dropped before the call ends, the client has cancelled the call, which is reported as CANCELLED.
struct CallInFlight {
    shared: Arc<Shared>,
    call: Event,
    started: Instant,
    ended: bool,
}

impl CallInFlight {
    fn start(shared: &Arc<Shared>, call: Event) -> CallInFlight {
        shared.in_flight.send_modify(|calls| *calls += 1);
        CallInFlight {
            shared: Arc::clone(shared),
            call,
            started: Instant::now(),
            ended: false,
        }
    }

    /// Runs the handler of the call, and reports the call to the observer while the state is locked.
    fn end<M>(
        &mut self,
        handler: impl FnOnce(&mut DriverState, &mut Event) -> HandlerResult<M>,
    ) -> Result<Response<M>, Status> {
        let mut state = self.shared.state.lock();
        let caught = catch_unwind(AssertUnwindSafe(|| handler(&mut state, &mut self.call)));
        let result = caught.unwrap_or_else(|_| Err(Status::internal(PANICKED)));
        self.call.outcome = result
            .as_ref()
            .map(|(_, summary)| summary.clone())
            .map_err(Into::into);
        self.ended = true;
        self.report();
        drop(state);
        result.map(|(message, _)| Response::new(message))
    }

    /// Reports the call to the observer. The state must be locked, so that events have the order in which the calls took effect.
    fn report(&self) {
        tracing::debug!(method = %self.call.method, outcome = ?self.call.outcome, "call ended");
        if let Some(observer) = &self.shared.observer {
            observer.observe(Event {
                elapsed: self.started.elapsed(),
                ..self.call.clone()
            });
        }
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        if !self.ended {
            let _order = self.shared.state.lock();
            self.report();
        }
        self.shared.in_flight.send_modify(|calls| *calls -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DriverSpec, FakeDriver};

    #[test]
    fn panicking_handler_returns_internal_and_the_next_call_is_served() {
        let driver = FakeDriver::new(DriverSpec::new("d"), None);
        let flight =
            || CallInFlight::start(&driver.0, Event::new(Method::Probe, None, crate::Peer::default()));
        let status = flight()
            .end::<()>(|_, _| panic!("injected panic"))
            .expect_err("it panicked");
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::Internal, PANICKED)
        );
        assert!(flight().end(|_, _| Ok(((), Answer::Done))).is_ok());
    }
}
