//! What every call has in common: it is counted, may be scripted, is answered under the lock, and is reported to the observer exactly once.
//! Does not know what the answers mean.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::{
    Answer, Effect, Event, Method, NodeIdentity,
    connection::Line,
    state::{DriverState, Shared},
};

/// One socket's view of the driver; the three services are implemented on it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: Option<NodeIdentity>,
    /// Cancelled when the endpoint stops; calls in flight then fail.
    pub(crate) stopped: CancellationToken,
}

/// A call that arrived.
pub(crate) struct Call {
    /// What the observer will hear.
    pub(crate) event: Event,
    /// Cuts its connection.
    cut: Option<CancellationToken>,
}

/// The message of INTERNAL for a call whose handler panicked.
pub const PANICKED: &str = "the fake driver panicked while handling this call";

/// What a service says about a call: the message, and the same for the observer.
pub(crate) type Answered<M> = Result<(M, Answer), Status>;

impl Endpoint {
    /// A description of a call, to be filled from the request.
    pub(crate) fn call<T>(&self, method: Method, request: &Request<T>) -> Call {
        let line = Line::of_call(request);
        let peer = line.as_ref().map(|line| line.peer).unwrap_or_default();
        let node = self.node.as_ref().map(|node| node.node_id.clone());
        Call {
            event: Event::new(method, node, peer),
            cut: line.map(|line| line.cut),
        }
    }

    /// Answers a call that reports nothing but success.
    pub(crate) async fn tell<M>(&self, call: Call, message: M) -> Result<Response<M>, Status> {
        self.serve(call, |_, _, _| Ok((message, Answer::Done))).await
    }

    /// Answers a call: scripted deviations first, then `answer`, which may read and change the books and complete the event.
    pub(crate) async fn serve<M>(
        &self,
        call: Call,
        answer: impl FnOnce(&mut DriverState, &mut Event, Option<Effect>) -> Answered<M>,
    ) -> Result<Response<M>, Status> {
        let latency = self.shared.spec.latency;
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let mut flight = Flight::start(&self.shared, call.event);
        // It may have stopped meanwhile.
        self.unless_stopped(std::future::ready(()), &mut flight).await?;
        let decision = self.shared.state.lock().script.decide(&flight.call);
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
                flight.end(|state, event| answer(state, event, None))
            }
            Some(Effect::Disconnect) => {
                flight.call.lost = true;
                let ended = flight.end(|_, _| Err(Status::unavailable("the script cut the connection")));
                cut();
                ended
            }
            Some(Effect::LoseAnswer) => {
                flight.call.lost = true;
                let ended = flight.end(|state, event| answer(state, event, None));
                cut();
                ended
            }
            effect => flight.end(|state, event| answer(state, event, effect)),
        }
    }

    async fn unless_stopped(
        &self,
        wait: impl Future<Output = ()>,
        flight: &mut Flight,
    ) -> Result<(), Status> {
        tokio::select! {
            biased;
            () = self.stopped.cancelled() => {
                flight.end(|_, _| Err::<((), Answer), _>(Status::unavailable("the driver stopped"))).map(|_| ())
            }
            () = wait => Ok(()),
        }
    }
}

/// A call in flight. If it is dropped before its end, its caller gave up, and the observer hears of that.
struct Flight {
    shared: Arc<Shared>,
    call: Event,
    started: Instant,
    ended: bool,
}

impl Flight {
    fn start(shared: &Arc<Shared>, call: Event) -> Flight {
        shared.in_flight.send_modify(|calls| *calls += 1);
        Flight {
            shared: Arc::clone(shared),
            call,
            started: Instant::now(),
            ended: false,
        }
    }

    /// Answers and reports to the observer, as one step under the lock.
    fn end<M>(
        &mut self,
        answer: impl FnOnce(&mut DriverState, &mut Event) -> Answered<M>,
    ) -> Result<Response<M>, Status> {
        let mut state = self.shared.state.lock();
        let caught = catch_unwind(AssertUnwindSafe(|| answer(&mut state, &mut self.call)));
        let answered = caught.unwrap_or_else(|_| Err(Status::internal(PANICKED)));
        self.call.outcome = answered
            .as_ref()
            .map(|(_, answer)| answer.clone())
            .map_err(Into::into);
        self.ended = true;
        self.tell();
        drop(state);
        answered.map(|(message, _)| Response::new(message))
    }

    /// Must be called with the books locked, so that events have the order in which the calls took effect.
    fn tell(&self) {
        tracing::debug!(method = %self.call.method, outcome = ?self.call.outcome, "call ended");
        if let Some(observer) = &self.shared.observer {
            observer.observe(Event {
                elapsed: self.started.elapsed(),
                ..self.call.clone()
            });
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.ended {
            let _order = self.shared.state.lock();
            self.tell();
        }
        self.shared.in_flight.send_modify(|calls| *calls -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DriverSpec, FakeDriver};

    #[test]
    fn a_handler_that_panics_answers_internal_and_the_next_call_is_served() {
        let driver = FakeDriver::new(DriverSpec::new("d"), None);
        let flight = || Flight::start(&driver.0, Event::new(Method::Probe, None, crate::Peer::default()));
        let status = flight()
            .end::<()>(|_, _| panic!("a defect"))
            .expect_err("it panicked");
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::Internal, PANICKED)
        );
        assert!(flight().end(|_, _| Ok(((), Answer::Done))).is_ok());
    }
}
