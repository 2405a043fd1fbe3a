//! What evaluation may cost.
//!
//! The `cel` crate counts nothing; `rewrite` adds the calls that charge. Each iteration of a macro costs the nodes of its body, and
//! what makes a value larger than its operands costs the size of the result: the sums, `join`, `replace`, `format` and the like, and
//! the elements of lists and maps. The rest is bounded by the length of the expression times the size of the object. Each charge also
//! looks at the clock, since copying a large object in a loop takes longer than its cost tells.

use super::authority::Decisions;
use kube_cel::cel::ExecutionError;
use kube_cel::cel::objects::Opaque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Cost of one evaluation at most (upstream: `PerCallLimit`).
const CALL: i64 = 1_000_000;

/// Time that all evaluations of one budget may take together. They run while the store is locked.
const TIME: Duration = Duration::from_secs(3);

/// The budget of expressions that are evaluated together.
#[derive(Clone, Debug)]
pub(crate) struct Budget(pub(super) Arc<State>);

/// What functions find in the variable [`State::VARIABLE`].
#[derive(Debug)]
pub(crate) struct State {
    left: AtomicI64,
    /// Left of the current evaluation.
    call: AtomicI64,
    /// Set when the first evaluation starts: a slow machine takes long to prepare a large object.
    deadline: OnceLock<Instant>,
    pub(super) decisions: Decisions,
}

impl Budget {
    /// For all rules of a custom resource and for all expressions of a policy (upstream: `RuntimeCELCostBudget`).
    pub(crate) fn validation() -> Self {
        Self::of(10_000_000)
    }

    /// For match conditions (upstream: `RuntimeCELCostBudgetMatchConditions`).
    pub(crate) fn conditions() -> Self {
        Self::of(2_500_000)
    }

    fn of(cost: i64) -> Self {
        Self(Arc::new(State {
            left: cost.into(),
            call: CALL.into(),
            deadline: OnceLock::new(),
            decisions: Decisions::default(),
        }))
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.0.left.load(Ordering::Relaxed) < 0
    }

    pub(super) fn start_call(&self) {
        self.0.deadline.get_or_init(|| Instant::now() + TIME);
        self.0.call.store(CALL, Ordering::Relaxed);
    }

    pub(super) fn is_call_spent(&self) -> bool {
        self.0.call.load(Ordering::Relaxed) < 0
    }
}

impl State {
    pub(super) const VARIABLE: &str = "@state";

    /// Takes a cost from the budget; evaluation ends where nothing is left.
    pub(super) fn charge(&self, cost: usize) -> Result<(), ExecutionError> {
        let cost = i64::try_from(cost).unwrap_or(i64::MAX / 4);
        if self.deadline.get().is_some_and(|end| Instant::now() >= *end) {
            self.left.store(-1, Ordering::Relaxed);
        }
        let left = self.left.fetch_sub(cost, Ordering::Relaxed) - cost;
        let call = self.call.fetch_sub(cost, Ordering::Relaxed) - cost;
        match left.min(call) {
            ..0 => Err(ExecutionError::function_error(
                "cost",
                "actual cost limit exceeded",
            )),
            _ => Ok(()),
        }
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for State {}

impl Opaque for State {
    fn runtime_type_name(&self) -> &str {
        Self::VARIABLE
    }
}
