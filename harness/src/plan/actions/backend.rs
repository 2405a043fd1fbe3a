//! The `backend` action: sets the raw storage of topology segments.

use std::collections::BTreeMap;

use super::Resolved;
use crate::plan::scope::Scope;
use crate::plan::{Action, backend};
use crate::scenario::{PoolSpec, Short};

pub(super) fn resolve(scope: &Scope<'_>, pools: &BTreeMap<String, Option<Short<PoolSpec>>>) -> Resolved {
    let change = |(text, spec): (&String, &Option<Short<PoolSpec>>)| {
        let segment = scope.segments.parse(text)?;
        scope.cluster_names.check_segment(&segment, &scope.segments)?;
        let (plan, note) = match spec {
            Some(spec) => (
                Some(backend::storage(spec)?),
                format!("backend {text} is now {}", backend::format_pool(spec)),
            ),
            None => (None, format!("backend {text} is gone")),
        };
        Ok((Action::SetPool(segment, plan), note))
    };
    pools.iter().map(change).collect()
}
