//! Who may use the machine: many cases at once, or one alone when no other is running.
//!
//! Whoever waits to be alone keeps nobody from starting, so that a run does not come to a stop for it.

use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// The turns of all cases of a process.
#[derive(Debug)]
pub struct Turns {
    state: watch::Sender<State>,
    /// One for each case at the same time, so that few of those that wait wake when a turn ends.
    seats: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    together: usize,
    is_alone: bool,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub struct Turn<'t> {
    turns: &'t Turns,
    /// Of one beside others.
    _seat: Option<SemaphorePermit<'t>>,
}

impl Turns {
    /// So many at the same time, and at least one.
    pub fn of(jobs: usize) -> Self {
        Turns {
            state: watch::Sender::default(),
            seats: Semaphore::new(jobs.clamp(1, Semaphore::MAX_PERMITS)),
        }
    }

    /// A turn beside others, as soon as none is alone and there are not too many.
    pub async fn together(&self) -> Turn<'_> {
        // The semaphore is never closed.
        let seat = self.seats.acquire().await.ok();
        self.when(|state| !state.is_alone, |state| state.together += 1)
            .await;
        Turn {
            turns: self,
            _seat: seat,
        }
    }

    /// A turn alone, as soon as there is no other.
    pub async fn alone(&self) -> Turn<'_> {
        let is_free = |state: &State| !state.is_alone && state.together == 0;
        self.when(is_free, |state| state.is_alone = true).await;
        Turn {
            turns: self,
            _seat: None,
        }
    }

    async fn when(&self, is_free: impl Fn(&State) -> bool, take: impl Fn(&mut State)) {
        let mut state = self.state.subscribe();
        loop {
            let taken = self.state.send_if_modified(|state| {
                let is_free = is_free(state);
                if is_free {
                    take(state);
                }
                is_free
            });
            if taken {
                return;
            }
            // The sender lives in self, so the wait can't fail.
            let _ = state.changed().await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Nobody runs beside one that is alone.
        self.turns.state.send_modify(|state| match state.is_alone {
            true => state.is_alone = false,
            false => state.together -= 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn there_may_be_no_bound() {
        let turns = Turns::of(usize::MAX);
        let taken = [turns.together().await, turns.together().await];
        assert!(turns.alone().now_or_never().is_none(), "two are running");
        drop(taken);
    }

    #[tokio::test]
    async fn one_that_is_alone_waits_for_all_others_and_keeps_them_waiting() {
        let turns = Turns::of(2);
        let (first, second) = (turns.together().await, turns.together().await);
        assert!(turns.together().now_or_never().is_none(), "two are running");
        assert!(turns.alone().now_or_never().is_none(), "two are running");
        drop(first);
        assert!(turns.alone().now_or_never().is_none(), "one is running");
        drop(second);
        let alone = turns.alone().now_or_never().expect("nobody is running");
        assert!(turns.together().now_or_never().is_none(), "one is alone");
        assert!(turns.alone().now_or_never().is_none(), "one is alone");
        drop(alone);
        assert!(turns.together().now_or_never().is_some(), "nobody is running");
    }
}
