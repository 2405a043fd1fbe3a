//! Who may use the machine: many cases at once, or one alone when no other is running.
//!
//! Whoever waits to be alone keeps nobody from starting, so that a run does not come to a stop for it.

use tokio::sync::watch;

/// The turns of all cases of a process.
#[derive(Debug)]
pub struct Turns {
    state: watch::Sender<State>,
    /// Cases at the same time, at the most.
    jobs: usize,
}

#[derive(Debug, Default)]
struct State {
    together: usize,
    is_alone: bool,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub struct Turn<'t>(&'t Turns);

impl Turns {
    /// So many at the same time, and at least one.
    pub fn of(jobs: usize) -> Self {
        Turns {
            state: watch::Sender::default(),
            jobs: jobs.max(1),
        }
    }

    /// A turn beside others, as soon as none is alone and there are not too many.
    pub async fn together(&self) -> Turn<'_> {
        let is_free = |state: &State| !state.is_alone && state.together < self.jobs;
        self.when(is_free, |state| state.together += 1).await
    }

    /// A turn alone, as soon as there is no other.
    pub async fn alone(&self) -> Turn<'_> {
        let is_free = |state: &State| !state.is_alone && state.together == 0;
        self.when(is_free, |state| state.is_alone = true).await
    }

    async fn when(&self, is_free: impl Fn(&State) -> bool, take: impl Fn(&mut State)) -> Turn<'_> {
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
                return Turn(self);
            }
            // The sender lives in self, so the wait can't fail.
            let _ = state.changed().await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Nobody runs beside one that is alone.
        self.0.state.send_modify(|state| match state.is_alone {
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
