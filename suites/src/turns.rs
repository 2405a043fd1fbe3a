//! Job slots for running cases: many concurrently, or one exclusively.
//!
//! A waiting exclusive job does not block shared ones, so that the run does not stall.

use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// The job slots of a process.
#[derive(Debug)]
pub struct Turns {
    state: watch::Sender<State>,
    /// One permit per shared slot, so that few waiters are woken when a slot is released.
    seats: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    together: usize,
    is_alone: bool,
}

/// A slot, released on drop.
#[derive(Debug)]
pub struct Turn<'t> {
    turns: &'t Turns,
    /// Permit of a shared slot.
    _seat: Option<SemaphorePermit<'t>>,
}

impl Turns {
    /// Creates at least one shared slot.
    pub fn of(jobs: usize) -> Self {
        Turns {
            state: watch::Sender::default(),
            seats: Semaphore::new(jobs.clamp(1, Semaphore::MAX_PERMITS)),
        }
    }

    /// A shared slot, once no exclusive job runs and a permit is free.
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

    /// The exclusive slot, once no other job runs.
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
            // `self` owns the sender, so waiting cannot fail.
            let _ = state.changed().await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // No shared job runs beside an exclusive one.
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
    async fn the_number_of_slots_can_be_unlimited() {
        let turns = Turns::of(usize::MAX);
        let taken = [turns.together().await, turns.together().await];
        assert!(turns.alone().now_or_never().is_none(), "two jobs are running");
        drop(taken);
    }

    #[tokio::test]
    async fn an_exclusive_job_waits_for_all_others_and_blocks_them() {
        let turns = Turns::of(2);
        let (first, second) = (turns.together().await, turns.together().await);
        assert!(turns.together().now_or_never().is_none(), "two jobs are running");
        assert!(turns.alone().now_or_never().is_none(), "two jobs are running");
        drop(first);
        assert!(turns.alone().now_or_never().is_none(), "one job is running");
        drop(second);
        let alone = turns.alone().now_or_never().expect("no job is running");
        assert!(
            turns.together().now_or_never().is_none(),
            "an exclusive job is running"
        );
        assert!(
            turns.alone().now_or_never().is_none(),
            "an exclusive job is running"
        );
        drop(alone);
        assert!(turns.together().now_or_never().is_some(), "no job is running");
    }
}
