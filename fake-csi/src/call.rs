//! What every call has in common: it is counted, may be scripted, is answered under the lock, and is told to the observer exactly once.
//! Does not know what the answers mean.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Response, Status};

use crate::{
    Answer, Effect, Event, Method, NodeIdentity,
    driver::{Books, Shared},
};

/// One socket's view of the driver; the three services are implemented on it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: Option<NodeIdentity>,
    /// Cancelled when the endpoint stops; calls in flight then fail.
    pub(crate) stopped: CancellationToken,
}

/// What a service says about a call: the message, and the same for the observer.
pub(crate) type Answered<M> = Result<(M, Answer), Status>;

impl Endpoint {
    /// A description of a call, to be filled from the request.
    pub(crate) fn call(&self, method: Method) -> Event {
        Event::new(method, self.node.as_ref().map(|node| node.node_id.clone()))
    }

    /// Answers a call: scripted deviations first, then `answer`, which may read and change the books and complete the event.
    pub(crate) async fn serve<M>(
        &self,
        call: Event,
        answer: impl FnOnce(&mut Books, &mut Event, Option<Effect>) -> Answered<M>,
    ) -> Result<Response<M>, Status> {
        let mut flight = Flight::start(&self.shared, call);
        let decision = self.shared.books.lock().script.decide(&flight.call);
        if !decision.delay.is_zero() {
            self.unless_stopped(tokio::time::sleep(decision.delay), &mut flight)
                .await?;
        }
        match decision.effect {
            Some(Effect::Hang) => self.unless_stopped(std::future::pending(), &mut flight).await?,
            Some(Effect::Code(code, message)) => return flight.end(|_, _| Err(Status::new(code, message))),
            Some(Effect::Delay(_) | Effect::Capacity { .. }) | None => {}
        }
        flight.end(|books, call| answer(books, call, decision.effect))
    }

    async fn unless_stopped(
        &self,
        wait: impl Future<Output = ()>,
        flight: &mut Flight,
    ) -> Result<(), Status> {
        tokio::select! {
            () = wait => Ok(()),
            () = self.stopped.cancelled() => {
                flight.end(|_, _| Err::<((), Answer), _>(Status::unavailable("the driver stopped"))).map(|_| ())
            }
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

    /// Answers and tells the observer, as one step under the lock.
    fn end<M>(
        &mut self,
        answer: impl FnOnce(&mut Books, &mut Event) -> Answered<M>,
    ) -> Result<Response<M>, Status> {
        let mut books = self.shared.books.lock();
        let answered = answer(&mut books, &mut self.call);
        self.call.outcome = answered
            .as_ref()
            .map(|(_, answer)| answer.clone())
            .map_err(Into::into);
        self.ended = true;
        self.tell();
        drop(books);
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
            let _order = self.shared.books.lock();
            self.tell();
        }
        self.shared.in_flight.send_modify(|calls| *calls -= 1);
    }
}
