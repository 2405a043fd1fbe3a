//! Job slots for running cases: many cases concurrently, or a single case exclusively.
//!
//! While a job waits for the exclusive slot, shared slots are still granted, so that the run does not stall.

use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// The job slots of a process.
#[derive(Debug)]
pub struct JobSlots {
    state: watch::Sender<State>,
    /// One permit per shared slot. A released permit wakes a single waiter, instead of all waiters of `state`.
    permits: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    shared: usize,
    is_exclusive: bool,
}

/// A job slot, released on drop.
#[derive(Debug)]
pub struct JobSlot<'t> {
    slots: &'t JobSlots,
    /// Permit of a shared slot; `None` for the exclusive slot.
    _permit: Option<SemaphorePermit<'t>>,
}

impl JobSlots {
    /// Creates job slots for `jobs` concurrent cases, at least one.
    pub fn of(jobs: usize) -> Self {
        JobSlots {
            state: watch::Sender::default(),
            permits: Semaphore::new(jobs.clamp(1, Semaphore::MAX_PERMITS)),
        }
    }

    /// A shared slot, once no exclusive job runs and a permit is free.
    pub async fn shared(&self) -> JobSlot<'_> {
        // `acquire` fails only if the semaphore is closed, which never happens.
        let permit = self.permits.acquire().await.ok();
        self.wait_until(|state| !state.is_exclusive, |state| state.shared += 1)
            .await;
        JobSlot {
            slots: self,
            _permit: permit,
        }
    }

    /// The exclusive slot, once no other job runs.
    pub async fn exclusive(&self) -> JobSlot<'_> {
        let is_free = |state: &State| !state.is_exclusive && state.shared == 0;
        self.wait_until(is_free, |state| state.is_exclusive = true).await;
        JobSlot {
            slots: self,
            _permit: None,
        }
    }

    async fn wait_until(&self, is_free: impl Fn(&State) -> bool, take: impl Fn(&mut State)) {
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

impl Drop for JobSlot<'_> {
    fn drop(&mut self) {
        // If an exclusive job runs, this slot is the exclusive slot, because no shared job runs at the same time.
        self.slots.state.send_modify(|state| match state.is_exclusive {
            true => state.is_exclusive = false,
            false => state.shared -= 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn the_number_of_slots_can_be_unlimited() {
        let slots = JobSlots::of(usize::MAX);
        let taken = [slots.shared().await, slots.shared().await];
        assert!(slots.exclusive().now_or_never().is_none(), "two jobs are running");
        drop(taken);
    }

    #[tokio::test]
    async fn an_exclusive_job_waits_for_all_others_and_blocks_them() {
        let slots = JobSlots::of(2);
        let (first, second) = (slots.shared().await, slots.shared().await);
        assert!(slots.shared().now_or_never().is_none(), "two jobs are running");
        assert!(slots.exclusive().now_or_never().is_none(), "two jobs are running");
        drop(first);
        assert!(slots.exclusive().now_or_never().is_none(), "one job is running");
        drop(second);
        let exclusive = slots.exclusive().now_or_never().expect("no job is running");
        assert!(
            slots.shared().now_or_never().is_none(),
            "an exclusive job is running"
        );
        assert!(
            slots.exclusive().now_or_never().is_none(),
            "an exclusive job is running"
        );
        drop(exclusive);
        assert!(slots.shared().now_or_never().is_some(), "no job is running");
    }
}
