//! The cost budget of CEL evaluation.
//!
//! The `cel` crate does not count costs, so `rewrite` inserts calls that charge the budget. The cost of each iteration of a macro is the
//! number of AST nodes in its body. The cost of a function whose result may be larger than its operands (`+`, `join`, `format` …) is the
//! size of the result; the cost of a list or map is the size of its elements. Other costs are bounded by the length of the expression times
//! the size of the object. Each charge also checks the deadline: copying a large object in a loop takes longer than its cost suggests.

use super::decisions::Decisions;
use kube_cel::cel::ExecutionError;
use kube_cel::cel::objects::Opaque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Maximum cost of one evaluation (upstream: `PerCallLimit`).
const CALL: i64 = 1_000_000;

/// Time limit for all evaluations that share a budget. Needed because evaluations run while the store is locked.
const TIME: Duration = Duration::from_secs(3);

/// The cost budget that a group of CEL expressions shares.
#[derive(Clone, Debug)]
pub struct Budget(pub(super) Arc<State>);

/// The state of a budget. CEL functions read the state from the variable [`State::VARIABLE`].
#[derive(Debug)]
pub(crate) struct State {
    left: AtomicI64,
    /// Remaining cost of the current evaluation.
    call: AtomicI64,
    /// Set when the first evaluation starts, so that the conversion of a large object to CEL does not count: it takes long on a slow host.
    deadline: OnceLock<Instant>,
    pub(super) decisions: Decisions,
}

impl Budget {
    /// The budget for all rules of a custom resource or all expressions of a policy (upstream: `RuntimeCELCostBudget`).
    pub fn for_validation() -> Self {
        Self::of(10_000_000)
    }

    /// The budget for match conditions (upstream: `RuntimeCELCostBudgetMatchConditions`).
    pub fn for_match_conditions() -> Self {
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

    /// Whether an evaluation exceeded the shared cost or time limit, so that later evaluations fail.
    pub fn is_spent(&self) -> bool {
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

    /// Subtracts a cost from the budget; the evaluation fails if the budget is exhausted.
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
